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
constexpr std::uint64_t kMostKept = 256 << 20;                 // bytes in the pool that were written to
constexpr std::uint64_t kMostMapped = std::uint64_t(4) << 30;  // and of addresses; what nobody touched costs nothing

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

  /// Memory that had this number if there is some, else any of that size. `resident`: how much of it was written to.
  char* take(std::uint64_t bytes, int number, std::uint64_t& resident) {
    {
      std::lock_guard lock(mutex_);
      auto best = kept_.end();
      for (auto k = kept_.begin(); k != kept_.end(); ++k) {
        if (k->bytes != bytes || (best != kept_.end() && k->number != number)) continue;
        best = k;
        if (k->number == number) break;
      }
      if (best != kept_.end()) {
        char* found = best->memory;
        resident = best->resident;
        mapped_ -= bytes;
        resident_ -= resident;
        kept_.erase(best);
        return found;
      }
    }
    resident = bytes < kMapped ? bytes : 0;
    return allocate(bytes);
  }

  void give_back(char* memory, std::uint64_t bytes, int number, std::uint64_t resident) {
    std::lock_guard lock(mutex_);
    kept_.push_back({memory, bytes, resident, number});
    mapped_ += bytes;
    resident_ += resident;
    while (resident_ > kMostKept || mapped_ > kMostMapped) {  // the oldest first
      const Kept oldest = kept_.front();
      mapped_ -= oldest.bytes;
      resident_ -= oldest.resident;
      release(oldest.memory, oldest.bytes);
      kept_.erase(kept_.begin());
    }
  }

 private:
  struct Kept {
    char* memory;
    std::uint64_t bytes, resident;
    int number;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
  std::uint64_t mapped_ = 0, resident_ = 0;
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

SumCopy::SumCopy(std::uint64_t bytes, int number)
    : data_(Pool::shared().take(bytes, number, resident_)), bytes_(bytes), number_(number) {}

SumCopy::~SumCopy() {
  if (data_) Pool::shared().give_back(data_, bytes_, number_, resident_);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> SumCopy::touched() const {
  if (bytes_ < kMapped) return {{0, bytes_}};
  constexpr std::uint64_t kThere = std::uint64_t(3) << 62;  // in memory, or swapped out
  const std::uint64_t page = page_size(), first = reinterpret_cast<std::uintptr_t>(data_) / page;
  const std::uint64_t count = (bytes_ + page - 1) / page;
  std::vector<std::uint64_t> words(count);
  resident_ = bytes_;
  if (!PageMap().read(first, words)) return {{0, bytes_}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  resident_ = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    if (!(words[k] & kThere)) continue;
    const std::uint64_t begin = k * page, end = std::min(bytes_, begin + page);
    resident_ += end - begin;
    if (!out.empty() && out.back().second == begin)
      out.back().second = end;
    else
      out.emplace_back(begin, end);
  }
  return out;
}

void SumCopy::forget_pages() const {
  if (bytes_ < kMapped) return;
  ::madvise(data_, bytes_, MADV_DONTNEED);
  resident_ = 0;
}

}  // namespace weft::runtime
