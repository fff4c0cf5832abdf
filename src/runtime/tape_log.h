// The memory into which a taped launch writes what its adjoint can't compute again (autodiff/record.h says where each
// value goes). On the CPU the slab for loops is reserved, not taken: pages of the system come as threads write to them.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/array.h"

namespace weft::runtime {

class TapeLog {
 public:
  static constexpr std::size_t kArrays = 4;

  TapeLog() = default;
  /// `fixed_words` 32-bit words for each thread, and pages of `page_words` (0: none) for what loops write. On a GPU there
  /// is room for a guess, or for `words_before` and some more: what such a launch took before, or 0.
  TapeLog(std::uint32_t fixed_words, std::uint32_t page_words, std::int64_t threads, MemorySpace* space,
          std::int64_t words_before = 0);
  /// That guess, in words.
  static std::int64_t guess(std::uint32_t page_words, std::int64_t threads);

  /// The descriptors that the kernel's form takes behind its own parameters.
  void write_descs(ArrayDesc out[kArrays]) const;
  /// To be called once the launch is done: whether there was enough. Waits for a GPU unless settled().
  bool fits();
  /// The same for those who know what is in counter().
  bool fits(std::int64_t counted);
  /// Words of pages that were wanted: an array of one i64, where the log lies.
  const Array& counter() const { return next_; }
  /// The same as an error, now and whenever it is asked again. On the CPU what was not used is given back.
  void finish();
  /// On a GPU, after fits(): moves what the launch wrote to memory of its size if it took less than half. Descriptors from
  /// before are void then.
  void shrink();
  /// Whether it is known that there was enough: after finish(), and always where loops write nothing.
  bool settled() const { return finished_ || !page_words_; }
  /// For a launch that a graph records and runs again later: each run writes anew, so nothing is given back, and finish()
  /// checks the last run. Returns what the memory's users must keep.
  std::vector<Array> keep_open();
  /// The memory, for those who must keep it.
  std::vector<Array> arrays() const { return {fixed_, first_, pages_, next_}; }
  /// Words of pages that the launch wanted, once fits() was called, enough or not.
  std::int64_t words() const { return words_; }
  /// Memory that it takes.
  std::uint64_t bytes() const;

 private:
  std::uint32_t page_words_ = 0;
  Array fixed_, first_, pages_, next_;
  std::uint64_t used_bytes_ = 0;
  std::int64_t words_ = 0;
  std::function<void(std::uint64_t)> trim_;  // gives reserved memory back
  bool finished_ = false, open_ = false;
};

}  // namespace weft::runtime
