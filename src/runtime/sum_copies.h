// Copies that workers add to: memory of zeros that costs only where it is touched, and that knows where that was. Large ones
// are pages of the system's, of which it tells which ones somebody has written to (/proc/self/pagemap); so adding up and
// clearing a copy takes as long as the part of the array that its worker reached, not as the whole array.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::runtime {

/// Zeroed memory from a pool, and back to it, where it has to be zeros again.
class SumCopy {
 public:
  /// From one byte to another.
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  /// Nothing (data() is null) if there is no memory. Who had a copy of this size before, by the same number, gets it again.
  explicit SumCopy(std::uint64_t bytes, int number = 0);
  ~SumCopy();
  SumCopy(SumCopy&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_),
        resident_(other.resident_),
        number_(other.number_),
        touched_(std::move(other.touched_)) {}
  SumCopy(const SumCopy&) = delete;
  SumCopy& operator=(const SumCopy&) = delete;
  SumCopy& operator=(SumCopy&&) = delete;

  char* data() const { return data_; }
  /// Ranges outside of which nobody has written since the copy was made, in order; whole pages. `grown`: who has written to it since
  /// the last question had faults of pages (PageFaults); otherwise the answer is the last one, and nobody is asked.
  const Ranges& touched(bool grown = true);
  /// Pages from one byte on to another, which are zeros again and not needed any more, go back to the system.
  void forget_pages(std::uint64_t begin, std::uint64_t end);
  void forget_pages() { forget_pages(0, bytes_); }

 private:
  Ranges ask_touched();

  char* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t resident_ = 0;  // bytes that somebody has written to, as far as known
  int number_;
  Ranges touched_;  // as it was last answered
};

/// How many faults of pages the calling thread has had: a page that is touched first is one.
class PageFaults {
 public:
  PageFaults() : before_(count()) {}
  bool any() const { return count() != before_; }

 private:
  static std::uint64_t count();
  const std::uint64_t before_;
};

}  // namespace weft::runtime
