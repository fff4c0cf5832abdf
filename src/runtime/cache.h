// The object cache on disk: key → bytes, in one folder that any number of processes share. Entries are written to a
// temporary file and renamed, so readers see whole files; damaged ones are removed and count as missing. The cache is
// a convenience: no trouble with the folder (missing, read-only, full) ever becomes an error, only slower and one
// warning. Pruned by size, least recently used first.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/cache_entry.h"
#include "support/hash.h"

namespace weft::runtime {

struct CacheOptions {
  std::string folder;    // empty: no caching
  std::string build_id;  // entries of another build do not count
  std::uint64_t max_bytes = std::uint64_t(1) << 30;
  std::function<void(const std::string&)> warn;  // empty: one line on stderr
};

/// WEFT_CACHE_PATH if set, else WARP_CACHE_PATH (which Python programs know), else $XDG_CACHE_HOME/weft/<version>, else
/// ~/.cache/weft/<version>; empty when there is no home.
std::string default_cache_folder(std::string_view version);

/// An entry read from the cache; owns its bytes. The payload is aligned to 64 bytes.
class CacheHit {
 public:
  std::span<const std::byte> payload() const { return view_.payload; }
  std::span<const std::byte> metadata() const { return view_.metadata; }

 private:
  friend class Cache;
  std::shared_ptr<std::byte> file_;
  CacheEntryView view_;
};

struct CacheStats {
  std::uint64_t hits = 0, misses = 0, damaged = 0, stored = 0, failed_stores = 0;
};

/// Thread-safe. No function throws.
class Cache {
 public:
  explicit Cache(CacheOptions options);

  /// The entry for a key, or nothing.
  std::optional<CacheHit> get(CacheTable table, const Hash128& key) noexcept;
  /// Stores an entry; true when it is on disk now.
  bool put(CacheTable table, const Hash128& key, std::span<const std::byte> payload,
           std::span<const std::byte> metadata = {}) noexcept;

  /// The source table: which object a source key leads to.
  std::optional<Hash128> get_content_key(const Hash128& source_key) noexcept;
  bool put_content_key(const Hash128& source_key, const Hash128& content_key) noexcept;

  /// Removes an entry if it is there.
  void remove(CacheTable table, const Hash128& key) noexcept;
  /// Deletes the least recently used entries until the folder holds at most 80 % of the limit, if it is above the
  /// limit, and temporary files left behind by processes that died. put() calls it now and then.
  void prune() noexcept;
  /// Deletes all entries.
  void clear() noexcept;

  bool enabled() const { return !options_.folder.empty(); }
  const std::string& folder() const { return options_.folder; }
  CacheStats stats() const;

 private:
  std::string path_of(CacheTable table, const Hash128& key) const;
  bool write_file(const std::string& path, const CacheIdentity& identity, std::span<const std::byte> payload,
                  std::span<const std::byte> metadata);
  void maybe_prune(std::uint64_t bytes_written);
  void warn_once(const std::string& what, int error);

  CacheOptions options_;
  Hash128 build_;
  std::atomic<bool> warned_{false};
  std::atomic<std::uint64_t> written_since_prune_{0};
  std::atomic<std::uint32_t> puts_{0};
  std::atomic<std::uint64_t> hits_{0}, misses_{0}, damaged_{0}, stored_{0}, failed_{0};
};

}  // namespace weft::runtime
