// The pool of copies, and what the system knows of their pages.
#include "runtime/sum_copies.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
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

  /// Memory that had this number if there is some, else any of that size. `resident`, `touched`: how much of it was written to, and
  /// where.
  char* take(std::uint64_t bytes, int number, std::uint64_t& resident, SumCopy::Ranges& touched) {
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
        touched = std::move(best->touched);
        mapped_ -= bytes;
        resident_ -= resident;
        kept_.erase(best);
        return found;
      }
    }
    const bool is_whole = bytes < kMapped;
    resident = is_whole ? bytes : 0;
    if (is_whole) touched = {{0, bytes}};
    return allocate(bytes);
  }

  void give_back(char* memory, std::uint64_t bytes, int number, std::uint64_t resident, SumCopy::Ranges touched) {
    std::lock_guard lock(mutex_);
    kept_.push_back({memory, bytes, resident, number, std::move(touched)});
    mapped_ += bytes;
    resident_ += resident;
    while (resident_ > kMostKept || mapped_ > kMostMapped) {  // the oldest first
      const Kept& oldest = kept_.front();
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
    SumCopy::Ranges touched;
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

SumCopy::SumCopy(std::uint64_t bytes, int number) : bytes_(bytes), number_(number) {
  data_ = Pool::shared().take(bytes, number, resident_, touched_);
}

SumCopy::~SumCopy() {
  if (data_) Pool::shared().give_back(data_, bytes_, number_, resident_, std::move(touched_));
}

const SumCopy::Ranges& SumCopy::touched(bool grown) {
  if (grown && bytes_ >= kMapped) touched_ = ask_touched();
  return touched_;
}

SumCopy::Ranges SumCopy::ask_touched() {
  constexpr std::uint64_t kThere = std::uint64_t(3) << 62;  // in memory, or swapped out
  const std::uint64_t page = page_size(), first = reinterpret_cast<std::uintptr_t>(data_) / page;
  const std::uint64_t count = (bytes_ + page - 1) / page;
  std::vector<std::uint64_t> words(count);
  resident_ = bytes_;
  if (!PageMap().read(first, words)) return {{0, bytes_}};
  Ranges out;
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

void SumCopy::forget_pages(std::uint64_t begin, std::uint64_t end) {
  if (bytes_ < kMapped) return;
  const std::uint64_t page = page_size();
  begin = (begin + page - 1) / page * page;
  if (end < bytes_) end = end / page * page;
  if (begin >= end) return;
  ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
  Ranges left;
  resident_ = 0;
  const auto keep = [&](std::uint64_t lo, std::uint64_t hi) {
    if (lo >= hi) return;
    left.emplace_back(lo, hi);
    resident_ += hi - lo;
  };
  for (const auto& [lo, hi] : touched_) {
    keep(lo, std::min(hi, begin));
    keep(std::max(lo, end), hi);
  }
  touched_ = std::move(left);
}

namespace {

std::optional<std::uint64_t> faults_of_thread() {
  rusage used{};
  if (::getrusage(RUSAGE_THREAD, &used) != 0) return std::nullopt;
  return std::uint64_t(used.ru_minflt) + std::uint64_t(used.ru_majflt);
}

/// Whether the system counts faults: some that run in a sandbox say zero. A page that is touched tells.
bool are_faults_counted() {
  void* const mapped =
      ::mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  const std::optional<std::uint64_t> before = faults_of_thread();
  *static_cast<volatile char*>(mapped) = 1;
  const std::optional<std::uint64_t> after = faults_of_thread();
  ::munmap(mapped, page_size());
  return before && after && *after > *before;
}

}  // namespace

std::uint64_t PageFaults::count() {
  static const bool counted = are_faults_counted();
  if (counted)
    if (const std::optional<std::uint64_t> faults = faults_of_thread()) return *faults;
  // Without an answer each count is another one: as if there had been some.
  static std::atomic<std::uint64_t> unknown{0};
  return unknown.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weft::runtime
