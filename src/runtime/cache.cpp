// The object cache: reading and writing entries. Pruning is in cache_prune.cpp.
#include "runtime/cache.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::runtime {
namespace {

constexpr std::int64_t kMaxEntryBytes = std::int64_t(1) << 32;
constexpr std::int64_t kTouchSeconds = 24 * 60 * 60;  // finer would write to the disk on every hit

/// A file descriptor that closes itself.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  /// A full disk can show only here.
  bool close() {
    const bool ok = ::close(fd_) == 0;
    fd_ = -1;
    return ok;
  }

 private:
  int fd_;
};

bool read_all(int fd, std::byte* to, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::read(fd, to, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= std::size_t(n);
  }
  return true;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(std::size_t(n));
  }
  return true;
}

/// Makes a folder and those above it. False with errno set when it can't be.
bool make_folders(const std::string& folder) {
  for (std::size_t at = 1; at <= folder.size(); ++at) {
    if (at < folder.size() && folder[at] != '/') continue;
    if (::mkdir(folder.substr(0, at).c_str(), 0777) != 0 && errno != EEXIST) {
      // A parent that we may not write to can still hold the folder we want.
      struct stat info{};
      const int error = errno;
      if (::stat(folder.substr(0, at).c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
      errno = error;
      return false;
    }
  }
  return true;
}

/// A name that no other process and no other thread uses: processes on several machines may share the folder.
std::string temporary_name(const std::string& folder) {
  static std::atomic<std::uint64_t> counter{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  Hasher hash;
  hash.value(std::int64_t(getpid())).value(counter.fetch_add(1)).value(std::int64_t(now.tv_sec));
  hash.value(std::int64_t(now.tv_nsec)).value(reinterpret_cast<std::uintptr_t>(&now));
  char host[64] = {};
  gethostname(host, sizeof host - 1);
  hash.text(host);
  return folder + "/tmp-" + hash.finish().hex();
}

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
    // Non-blocking, so that whatever lies there (a pipe, a device) can't hold us up.
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info{};
    if (!file.is_open() || ::fstat(file.fd(), &info) != 0) {
      misses_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    CacheHit hit;
    bool good =
        S_ISREG(info.st_mode) && info.st_size >= std::int64_t(kCacheHeaderSize) && info.st_size <= kMaxEntryBytes;
    if (good) {
      constexpr std::align_val_t alignment{64};
      const auto size = std::size_t(info.st_size);
      hit.file_ = {static_cast<std::byte*>(::operator new(size, alignment)),
                   [](std::byte* memory) { ::operator delete(memory, std::align_val_t{64}); }};
      good = read_all(file.fd(), hit.file_.get(), size);
      if (good) {
        const auto view = parse_cache_entry({hit.file_.get(), size}, {table, key, build_});
        good = view.has_value();
        if (good) hit.view_ = *view;
      }
    }
    if (!good) {
      ::unlink(path.c_str());
      damaged_.fetch_add(1, std::memory_order_relaxed);
      misses_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    if (::time(nullptr) - info.st_mtime > kTouchSeconds) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
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
  const std::string temporary = temporary_name(options_.folder);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int fd = ::open(temporary.c_str(), kFlags, 0666);
  if (fd < 0 && errno == ENOENT && make_folders(options_.folder)) fd = ::open(temporary.c_str(), kFlags, 0666);
  File file(fd);
  if (!file.is_open()) {
    warn_once("can't create a file in the kernel cache", errno);
    return false;
  }
  const bool written = write_all(file.fd(), header) && write_all(file.fd(), payload) && write_all(file.fd(), metadata);
  int error = written ? 0 : errno;
  if (!file.close() && !error) error = errno;
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (!error) return true;
  ::unlink(temporary.c_str());
  warn_once("can't write to the kernel cache", error);
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
