// Who adds at once. Where data are in order, nearly all additions to a range of an array come from one worker: it may add them in
// place, as long as nobody else does so there, and only the others' additions have to be written down (runtime/sum_buckets.h).
// Which range that is, launches learn from those before them.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weft::runtime {

/// What a launch wrote down for a bucket of an array.
struct BucketUse {
  std::uint64_t all = 0;       // records
  std::uint64_t by_owner = 0;  // of them by the worker who may add in place
  std::uint64_t most = 0;      // of them by the worker with the most
  int who = -1;                // that one
};

/// The owners of an array's buckets. Each worker has neighbouring ones, or none.
class SumOwners {
 public:
  SumOwners() = default;
  SumOwners(std::size_t buckets, std::size_t workers) : owners_(buckets), ranges_(workers) {}

  /// From one bucket to another; empty if both are the same.
  std::pair<std::size_t, std::size_t> range(std::size_t worker) const {
    return worker < ranges_.size() ? ranges_[worker] : std::pair<std::size_t, std::size_t>();
  }
  /// −1: nobody.
  int owner(std::size_t bucket) const { return bucket < owners_.size() ? owners_[bucket].who : -1; }
  bool any() const;

  /// After a launch: whoever wrote most of what there is for a bucket owns it from then on, until others write much more for it
  /// than its owner did.
  void learn(std::span<const BucketUse> uses);

 private:
  struct Owner {
    int who = -1;
    std::uint64_t records = 0;  // that it wrote down when it became the owner
  };
  std::vector<Owner> owners_;  // by bucket
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;
};

/// Launches that learn from each other: of one kernel, over as many buckets, on as many workers. Arrays take turns in many
/// programs, so that their addresses don't count.
struct OwnersKey {
  const void* kernel = nullptr;
  std::size_t slot = 0;  // which of its arrays
  std::size_t buckets = 0, workers = 0;
  bool operator==(const OwnersKey&) const = default;
};
/// As the last such launch left them; nobody owns anything before the first. Thread-safe.
SumOwners known_owners(const OwnersKey& key);
void keep_owners(const OwnersKey& key, SumOwners owners);

}  // namespace weft::runtime
