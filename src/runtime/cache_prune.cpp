// Keeping the cache below its size. Runs at most about once a day per folder, and whenever one process has written a
// sixteenth of the limit. Any number of processes may prune at once: a file that vanishes meanwhile is simply gone, and
// a reader that has it open keeps reading it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache.h"
#include "runtime/cache_bundles.h"

namespace weft::runtime {
namespace {

constexpr const char* kStampName = "prune.lock";
constexpr std::int64_t kPruneSeconds = 24 * 60 * 60;
constexpr std::int64_t kStaleSeconds = 60 * 60;  // no writer takes that long over a temporary file

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

/// Only names that the cache gives are ever touched.
bool is_entry(std::string_view name) {
  return name.size() == 36 && is_hex(name.substr(0, 32)) &&
         (name.ends_with(".obj") || name.ends_with(".src") || name.ends_with(".pak"));
}
bool is_temporary(std::string_view name) {
  return name.size() == 36 && name.starts_with("tmp-") && is_hex(name.substr(4));
}

struct Found {
  std::string name;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  std::uint64_t bytes = 0;
};

/// The entries of a folder; temporary files older than `stale` seconds are deleted on the way, with 0 all of them: the clock of files
/// may be ahead of this one.
std::vector<Found> scan(DIR* folder, std::int64_t stale) {
  std::vector<Found> entries;
  const std::int64_t now = ::time(nullptr);
  const int fd = ::dirfd(folder);
  while (const dirent* item = ::readdir(folder)) {
    const bool temporary = is_temporary(item->d_name);
    if (!temporary && !is_entry(item->d_name)) continue;
    struct stat info{};
    if (::fstatat(fd, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(info.st_mode)) continue;
    if (!temporary) {
      entries.push_back({item->d_name, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, std::uint64_t(info.st_size)});
    } else if (stale <= 0 || now - info.st_mtim.tv_sec >= stale) {
      ::unlinkat(fd, item->d_name, 0);
    }
  }
  return entries;
}

/// Closes a folder at the end of a scope.
struct Folder {
  explicit Folder(const std::string& path) : dir(::opendir(path.c_str())) {}
  ~Folder() {
    if (dir) ::closedir(dir);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  DIR* dir;
};

/// The file whose lock says that someone is pruning and whose time says when it last happened. One process at a time is
/// enough; where locks don't work (some network disks) several do no harm.
struct Stamp {
  explicit Stamp(const std::string& path) : fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd < 0) return;
    taken_elsewhere = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken_elsewhere) ::futimens(fd, nullptr);
  }
  ~Stamp() {
    if (fd >= 0) ::close(fd);
  }
  Stamp(const Stamp&) = delete;
  Stamp& operator=(const Stamp&) = delete;
  int fd;
  bool taken_elsewhere = false;
};

}  // namespace

void Cache::maybe_prune(std::uint64_t bytes_written) {
  const std::uint64_t written =
      written_since_prune_.fetch_add(bytes_written, std::memory_order_relaxed) + bytes_written;
  bool due = written > options_.max_bytes / 16;
  if (puts_.fetch_add(1, std::memory_order_relaxed) == 0 && !due) {
    struct stat info{};
    const std::string stamp = options_.folder + "/" + kStampName;
    due = ::stat(stamp.c_str(), &info) != 0 || ::time(nullptr) - info.st_mtime > kPruneSeconds;
  }
  if (due) prune();
}

void Cache::prune() noexcept {
  if (!enabled()) return;
  try {
    written_since_prune_.store(0, std::memory_order_relaxed);
    const Stamp lock(options_.folder + "/" + kStampName);
    if (lock.taken_elsewhere) return;
    if (const Folder folder(options_.folder); folder.dir) {
      std::vector<Found> entries = scan(folder.dir, kStaleSeconds);
      std::uint64_t total = 0;
      for (const Found& entry : entries) total += entry.bytes;
      if (total > options_.max_bytes) {
        std::sort(entries.begin(), entries.end(), [](const Found& a, const Found& b) {
          return a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds < b.nanoseconds;
        });
        const std::uint64_t goal = options_.max_bytes - options_.max_bytes / 5;
        for (const Found& entry : entries) {
          if (total <= goal) break;
          ::unlinkat(::dirfd(folder.dir), entry.name.c_str(), 0);
          total -= entry.bytes;
        }
      }
    }
  } catch (...) {
    // Out of memory: the folder stays as large as it is until the next time.
  }
}

void Cache::clear() noexcept {
  note_cache_cleared();
  if (!enabled()) return;
  try {
    const Folder folder(options_.folder);
    if (!folder.dir) return;
    for (const Found& entry : scan(folder.dir, 0)) ::unlinkat(::dirfd(folder.dir), entry.name.c_str(), 0);
    ::unlinkat(::dirfd(folder.dir), kStampName, 0);  // who prunes meanwhile keeps its lock; a second one does no harm
  } catch (...) {
    // Out of memory: some entries stay.
  }
}

}  // namespace weft::runtime
