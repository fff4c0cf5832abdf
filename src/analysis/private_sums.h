// Arrays that a kernel only ever adds to. Threads of the CPU need no atomic operations for them: a launch on one worker
// adds plainly, and a launch on several gives each its own copy and adds the copies up at the end.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// An array parameter, or an array in a struct parameter, whose elements (or whose gradient's) are only added to.
struct PrivateSum {
  std::uint32_t offset = 0;  // of the descriptor in the parameter block
  bool gradient = false;     // the gradient's elements, not the array's
  ScalarKind scalar = ScalarKind::f32;
  std::uint32_t element_size = 4;  // of an element, which is made of such scalars
};

/// The additions to such an array.
struct LoneAdds {
  PrivateSum to;
  std::vector<ir::Op*> ops;
};
/// Finds such arrays. Where parameters may overlap only gradients count; whether gradients do is the launch's business to
/// find out.
std::vector<LoneAdds> find_private_sums(const ir::Function& kernel);

/// Finds such arrays and marks the additions to them (Op::imm = kAddsAlone): code generation makes them plain.
inline constexpr std::int64_t kAddsAlone = 1;
std::vector<PrivateSum> mark_private_sums(ir::Function& kernel);

/// Additions of one form to one such array, which launches may write down and sort by their places (runtime/sum_buckets.h).
struct SumStream {
  std::uint32_t sum = 0;  // which of the arrays, as find_private_sums counts them
  ScalarKind scalar = ScalarKind::f32;
  std::uint32_t count = 1;  // neighbouring scalars that are added at once
  auto operator<=>(const SumStream&) const = default;
};
/// The streams of a kernel; none if some addition can't be written down. `mark`: gives additions the number of theirs
/// (Op::imm = kAddsByStream + number), from which code generation makes records.
inline constexpr std::int64_t kAddsByStream = 16;
std::vector<SumStream> find_sum_streams(const ir::Function& kernel, bool mark);

}  // namespace weft::analysis
