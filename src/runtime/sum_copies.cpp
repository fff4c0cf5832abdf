// The pool of copies, and what the system knows of their pages.
#include "runtime/sum_copies.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <span>

namespace weft::runtime {
namespace {

constexpr std::uint64_t kMapped = 256 << 10;  // smaller ones are added up whole: less than what the system is asked for
constexpr std::uint64_t kMostKept = 256 << 20;  // bytes in the pool; pages that nobody touched count, but cost nothing

std::uint64_t page_size() {
  static const auto size = std::uint64_t(::sysconf(_SC_PAGESIZE));
  return size;
}

char* allocate(std::uint64_t bytes) {
  if (bytes < kMapped) return static_cast<char*>(std::calloc(bytes, 1));
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  ::madvise(mapped, bytes, MADV_NOHUGEPAGE);  // one addition would touch two megabytes
  return static_cast<char*>(mapped);
}

void release(char* memory, std::uint64_t bytes) {
  if (bytes < kMapped)
    std::free(memory);
  else
    ::munmap(memory, bytes);
}

/// Memory that was a copy before and will be one again: simulations launch the same kernels over and over, and fresh pages cost
/// as much as the additions.
class Pool {
 public:
  static Pool& shared() {
    static Pool* pool = new Pool;  // outlives launches of threads that end late
    return *pool;
  }

  char* take(std::uint64_t bytes) {
    {
      std::lock_guard lock(mutex_);
      // The oldest first: workers then get the copy that reached the same part of the array in the launch before.
      for (std::size_t k = 0; k < kept_.size(); ++k) {
        if (kept_[k].bytes != bytes) continue;
        char* found = kept_[k].memory;
        kept_.erase(kept_.begin() + std::ptrdiff_t(k));
        total_ -= bytes;
        return found;
      }
    }
    return allocate(bytes);
  }

  void give_back(char* memory, std::uint64_t bytes) {
    std::lock_guard lock(mutex_);
    kept_.push_back({memory, bytes});
    total_ += bytes;
    while (total_ > kMostKept) {  // the oldest first
      total_ -= kept_.front().bytes;
      release(kept_.front().memory, kept_.front().bytes);
      kept_.erase(kept_.begin());
    }
  }

 private:
  struct Kept {
    char* memory;
    std::uint64_t bytes;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
  std::uint64_t total_ = 0;
};

/// Where the system tells of pages; -1 if it does not. Not kept over a fork, whose child has another one.
class PageMap {
 public:
  PageMap() : fd_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageMap() {
    if (fd_ >= 0) ::close(fd_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;
  bool read(std::uint64_t page, std::span<std::uint64_t> out) const {
    const auto bytes = ssize_t(out.size_bytes());
    return fd_ >= 0 && ::pread(fd_, out.data(), out.size_bytes(), off_t(page * 8)) == bytes;
  }

 private:
  int fd_;
};

}  // namespace

SumCopy::SumCopy(std::uint64_t bytes) : data_(Pool::shared().take(bytes)), bytes_(bytes) {}

SumCopy::~SumCopy() {
  if (data_) Pool::shared().give_back(data_, bytes_);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> SumCopy::touched() const {
  if (bytes_ < kMapped) return {{0, bytes_}};
  constexpr std::uint64_t kThere = std::uint64_t(3) << 62;  // in memory, or swapped out
  const std::uint64_t page = page_size(), first = reinterpret_cast<std::uintptr_t>(data_) / page;
  const std::uint64_t count = (bytes_ + page - 1) / page;
  std::vector<std::uint64_t> words(count);
  if (!PageMap().read(first, words)) return {{0, bytes_}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (std::uint64_t k = 0; k < count; ++k) {
    if (!(words[k] & kThere)) continue;
    const std::uint64_t begin = k * page, end = std::min(bytes_, begin + page);
    if (!out.empty() && out.back().second == begin)
      out.back().second = end;
    else
      out.emplace_back(begin, end);
  }
  return out;
}

void SumCopy::forget_pages() const {
  if (bytes_ >= kMapped) ::madvise(data_, bytes_, MADV_DONTNEED);
}

}  // namespace weft::runtime
