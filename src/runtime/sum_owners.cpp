// Owners, and those of the last launches.
#include "runtime/sum_owners.h"

#include <algorithm>
#include <mutex>

namespace weft::runtime {

bool SumOwners::any() const {
  return std::ranges::any_of(ranges_, [](const auto& range) { return range.first < range.second; });
}

void SumOwners::learn(std::span<const BucketUse> uses) {
  // Two of eight parts of a mesh may reach the same places: one of them as owner saves half of the records.
  constexpr std::uint64_t kOwnerEighths = 3, kMuchMore = 2;
  for (std::size_t k = 0; k < owners_.size(); ++k) {
    const BucketUse& use = uses[k];
    Owner& owner = owners_[k];
    if (owner.who >= 0 && use.all - use.by_owner <= kMuchMore * owner.records) continue;
    owner = {};
    if (use.all > 0 && 8 * use.most >= kOwnerEighths * use.all) owner = {use.who, use.most};
  }
  std::ranges::fill(ranges_, std::pair<std::size_t, std::size_t>());
  for (std::size_t k = 0, end = 0; k < owners_.size(); k = end) {
    const int who = owners_[k].who;
    for (end = k + 1; end < owners_.size() && owners_[end].who == who;) ++end;
    if (who < 0 || std::size_t(who) >= ranges_.size()) continue;
    auto& [from, to] = ranges_[std::size_t(who)];
    if (end - k > to - from) from = k, to = end;
  }
  for (std::size_t k = 0; k < owners_.size(); ++k) {
    const auto [from, to] =
        owners_[k].who < 0 ? std::pair<std::size_t, std::size_t>() : range(std::size_t(owners_[k].who));
    if (k < from || k >= to) owners_[k] = {};
  }
}

namespace {

struct Known {
  OwnersKey key;
  SumOwners owners;
};
struct Kept {
  std::mutex mutex;
  std::vector<Known> known;  // the last ones at the end
};
Kept& kept() {
  static auto& only = *new Kept;  // threads may outlive static destructors
  return only;
}
constexpr std::size_t kMostKept = 64;

}  // namespace

SumOwners known_owners(const OwnersKey& key) {
  std::lock_guard lock(kept().mutex);
  const auto found = std::ranges::find(kept().known, key, &Known::key);
  return found != kept().known.end() ? found->owners : SumOwners(key.buckets, key.workers);
}

void keep_owners(const OwnersKey& key, SumOwners owners) {
  std::lock_guard lock(kept().mutex);
  auto& known = kept().known;
  if (const auto found = std::ranges::find(known, key, &Known::key); found != known.end())
    known.erase(found);
  else if (known.size() >= kMostKept)
    known.erase(known.begin());
  known.push_back({key, std::move(owners)});
}

}  // namespace weft::runtime
