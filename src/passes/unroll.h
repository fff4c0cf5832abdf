// Unrolls counted loops completely. The rule: innermost loops first, a loop with constant bounds is unrolled if it runs
// at most `max_trips` times and its copies hold at most `max_ops` operations in all (what inner loops became included),
// so three nested range(16) unroll once, not 4096 times. A loop that runs once always gives way to its body. A function
// grows by at most `growth` operations. Loops that make local arrays of more than `max_local` elements stay loops, as do
// all but the shortest that read or write such arrays.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ir/ir.h"

namespace weft::passes {

struct UnrollLimits {
  std::uint64_t max_trips = 16;
  std::size_t max_ops = 256;
  std::size_t max_ops_of_few = 256;  // the same for loops of at most four turns
  std::size_t growth = 8192;
  std::int64_t max_local = 64;
};

/// Returns whether anything changed.
bool unroll(ir::Function& function, const UnrollLimits& limits = {});

}  // namespace weft::passes
