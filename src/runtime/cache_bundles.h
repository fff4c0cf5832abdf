// Bundles of a cache folder: for each file of a program, one file with all that its kernels were last found as. They only
// save time: whatever is in one is in the folder by itself as well, and a bundle that is damaged, old or missing is as good
// as none. What a process found outside of them is put in when it ends, or when that is much.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/bundle_format.h"
#include "runtime/cache_file.h"

namespace weft::runtime {

/// What a bundle has for a source key; owns its bytes.
struct BundleHit {
  Hash128 content;
  std::span<const std::byte> payload, metadata;
  std::shared_ptr<const void> file;
};

/// Thread-safe. No function throws.
class CacheBundles {
 public:
  /// An empty folder: nothing is ever found or written.
  CacheBundles(std::string folder, std::string_view build_id);
  ~CacheBundles();
  CacheBundles(const CacheBundles&) = delete;
  CacheBundles& operator=(const CacheBundles&) = delete;

  /// The entry for a source key in the bundle of its group, which is read when the first of its keys is asked for.
  std::optional<BundleHit> get(const Hash128& group, const Hash128& source) noexcept;
  /// Something of the group that was found elsewhere; it comes into the bundle with the next flush.
  void add(const Hash128& group, const Hash128& source, const Hash128& content, std::span<const std::byte> payload,
           std::span<const std::byte> metadata) noexcept;
  /// An entry turned out to be of no use.
  void drop(const Hash128& group, const Hash128& source) noexcept;
  /// Writes what was added. The end of the process does so, too, and that of this object.
  void flush() noexcept;

 private:
  using Bytes = std::vector<std::byte>;
  struct File {
    FileBytes bytes;
    std::vector<BundleRow> rows;
  };
  struct Fresh {
    Hash128 content;
    Bytes payload, metadata;
  };
  struct Group {
    bool looked = false;
    File file;
    std::unordered_map<Hash128, bool> used;    // source keys that this process asked for; false: of no use
    std::unordered_map<Hash128, Fresh> fresh;  // by source key
    std::size_t flush_at = 64;                 // entries in `fresh`
  };

  std::string path_of(const Hash128& group) const;
  File read(const Hash128& group) const;
  void write(const Hash128& group, Group& state) const;
  void forget_if_cleared();

  const std::string folder_;
  const Hash128 build_;
  std::mutex mutex_;
  std::map<Hash128, Group> groups_;
  std::uint64_t cleared_ = 0;
  std::uint64_t fresh_bytes_ = 0;
};

/// Called when entries of a folder are deleted at a program's wish: bundles forget what they have read.
void note_cache_cleared() noexcept;

}  // namespace weft::runtime
