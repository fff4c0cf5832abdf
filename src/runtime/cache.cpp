// The object cache: reading and writing entries. Pruning is in cache_prune.cpp.
#include "runtime/cache.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/cache_file.h"

namespace weft::runtime {
namespace {

constexpr std::uint64_t kMaxEntryBytes = std::uint64_t(1) << 32;
constexpr std::int64_t kTouchSeconds = 24 * 60 * 60;  // finer would write to the disk on every hit

std::string home_folder() {
  if (const char* home = std::getenv("HOME"); home && home[0] == '/') return home;
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir &&
      found->pw_dir[0] == '/')
    return found->pw_dir;
  return {};
}

}  // namespace

std::string default_cache_folder(std::string_view version) {
  for (const char* name : {"WEFT_CACHE_PATH", "WARP_CACHE_PATH"})
    if (const char* path = std::getenv(name); path && path[0]) return path;
  std::string base;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && xdg[0] == '/') {
    base = xdg;
  } else {
    base = home_folder();
    if (base.empty()) return {};
    base += "/.cache";
  }
  return base + "/weft/" + std::string(version);
}

Cache::Cache(CacheOptions options)
    : options_(std::move(options)), build_(hash_bytes(options_.build_id.data(), options_.build_id.size())) {
  while (options_.folder.size() > 1 && options_.folder.back() == '/') options_.folder.pop_back();
}

std::string Cache::path_of(CacheTable table, const Hash128& key) const {
  return options_.folder + "/" + key.hex() + (table == CacheTable::object ? ".obj" : ".src");
}

std::optional<CacheHit> Cache::get(CacheTable table, const Hash128& key) noexcept {
  if (!enabled()) return std::nullopt;
  try {
    const std::string path = path_of(table, key);
    FileBytes file;
    std::int64_t modified = 0;
    const ReadResult result = read_cache_file(path, kMaxEntryBytes, file, &modified);
    if (result == ReadResult::missing) {
      misses_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    std::optional<CacheEntryView> view;
    if (result == ReadResult::whole) view = parse_cache_entry(file.span(), {table, key, build_});
    if (!view) {
      ::unlink(path.c_str());
      damaged_.fetch_add(1, std::memory_order_relaxed);
      misses_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    CacheHit hit;
    hit.file_ = std::move(file.memory);
    hit.view_ = *view;
    if (::time(nullptr) - modified > kTouchSeconds) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    hits_.fetch_add(1, std::memory_order_relaxed);
    return hit;
  } catch (...) {
    misses_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
}

bool Cache::put(CacheTable table, const Hash128& key, std::span<const std::byte> payload,
                std::span<const std::byte> metadata) noexcept {
  if (!enabled()) return false;
  try {
    if (write_file(path_of(table, key), {table, key, build_}, payload, metadata)) {
      stored_.fetch_add(1, std::memory_order_relaxed);
      maybe_prune(kCacheHeaderSize + payload.size() + metadata.size());
      return true;
    }
  } catch (...) {
    // No memory for the path or the header: as good as no disk.
  }
  failed_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Cache::write_file(const std::string& path, const CacheIdentity& identity, std::span<const std::byte> payload,
                       std::span<const std::byte> metadata) {
  const std::vector<std::byte> header = cache_entry_header(identity, payload, metadata);
  bool created = false;
  const int error = write_cache_file(options_.folder, path, {header, payload, metadata}, &created);
  if (!error) return true;
  warn_once(created ? "can't write to the kernel cache" : "can't create a file in the kernel cache", error);
  return false;
}

std::optional<Hash128> Cache::get_content_key(const Hash128& source_key) noexcept {
  const std::optional<CacheHit> hit = get(CacheTable::source, source_key);
  if (!hit || hit->payload().size() != sizeof(Hash128)) return std::nullopt;
  Hash128 key;
  std::memcpy(&key, hit->payload().data(), sizeof key);
  return key;
}

bool Cache::put_content_key(const Hash128& source_key, const Hash128& content_key) noexcept {
  return put(CacheTable::source, source_key, std::as_bytes(std::span(&content_key, 1)));
}

void Cache::remove(CacheTable table, const Hash128& key) noexcept {
  if (!enabled()) return;
  try {
    ::unlink(path_of(table, key).c_str());
  } catch (...) {
    // Out of memory: the entry stays.
  }
}

void Cache::warn_once(const std::string& what, int error) {
  if (warned_.exchange(true)) return;
  const std::string text = what + " '" + options_.folder + "': " + std::strerror(error) +
                           "; kernels are compiled again in every process (set WEFT_CACHE_PATH to a writable folder)";
  if (options_.warn)
    options_.warn(text);
  else
    std::fprintf(stderr, "weft: warning: %s\n", text.c_str());
}

CacheStats Cache::stats() const {
  return {hits_.load(), misses_.load(), damaged_.load(), stored_.load(), failed_.load()};
}

}  // namespace weft::runtime
