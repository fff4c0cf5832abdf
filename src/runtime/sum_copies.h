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
  /// Nothing (data() is null) if there is no memory. Who had a copy of this size before, by the same number, gets it again.
  explicit SumCopy(std::uint64_t bytes, int number = 0);
  ~SumCopy();
  SumCopy(SumCopy&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_),
        resident_(other.resident_),
        number_(other.number_) {}
  SumCopy(const SumCopy&) = delete;
  SumCopy& operator=(const SumCopy&) = delete;
  SumCopy& operator=(SumCopy&&) = delete;

  char* data() const { return data_; }
  /// Ranges of bytes outside of which nobody has written since the copy was made, in order; whole pages.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touched() const;
  /// All of it is zeros again, and most of what was touched once is not any more: gives the pages back to the system.
  void forget_pages() const;

 private:
  char* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  mutable std::uint64_t resident_;  // bytes that somebody has written to, as far as known
  int number_;
};

}  // namespace weft::runtime
