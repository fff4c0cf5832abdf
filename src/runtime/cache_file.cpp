// Reading and writing whole files of the cache folder.
#include "runtime/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>

#include "support/hash.h"

namespace weft::runtime {
namespace {

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

}  // namespace

ReadResult read_cache_file(const std::string& path, std::uint64_t most, FileBytes& out, std::int64_t* modified) {
  // Non-blocking, so that whatever lies there (a pipe, a device) can't hold us up.
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!file.is_open() || ::fstat(file.fd(), &info) != 0) return ReadResult::missing;
  if (!S_ISREG(info.st_mode) || info.st_size < 0 || std::uint64_t(info.st_size) > most) return ReadResult::unfit;
  constexpr std::align_val_t kAlignment{64};
  const auto size = std::size_t(info.st_size);
  out.memory = {static_cast<std::byte*>(::operator new(size, kAlignment)),
                [](std::byte* memory) { ::operator delete(memory, std::align_val_t{64}); }};
  out.size = size;
  if (modified) *modified = info.st_mtime;
  return read_all(file.fd(), out.memory.get(), size) ? ReadResult::whole : ReadResult::unfit;
}

int write_cache_file(const std::string& folder, const std::string& path,
                     std::initializer_list<std::span<const std::byte>> parts, bool* created) {
  const std::string temporary = temporary_name(folder);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int fd = ::open(temporary.c_str(), kFlags, 0666);
  if (fd < 0 && errno == ENOENT && make_folders(folder)) fd = ::open(temporary.c_str(), kFlags, 0666);
  File file(fd);
  if (created) *created = file.is_open();
  if (!file.is_open()) return errno;
  int error = 0;
  for (const std::span<const std::byte> part : parts)
    if (!error && !write_all(file.fd(), part)) error = errno;
  if (!file.close() && !error) error = errno;
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error) ::unlink(temporary.c_str());
  return error;
}

}  // namespace weft::runtime
