// Kernels whose threads stay in rows of their own: the thread's first index serves as the first index of arrays and as
// nothing else. Such a launch can be cut along its first dimension, the arrays with it, and nobody can tell: what JAX's
// sharding of a kernel rests on.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// What the threads of a kernel do with an array parameter.
enum class RowUse : std::uint8_t {
  unused,  // nothing; also of parameters that are no arrays
  own,     // each touches rows of its own first index alone
  whole,   // they read it, wherever they like
  added,   // they add to it, wherever they like, and do nothing else
};

/// By parameter; nothing if threads of one first index are not told apart from those of another by their rows alone: the
/// index is a number that the kernel computes with, an array's first extent counts, threads of a block work together, or
/// memory is written to that rows of others may be in. To be asked of optimised kernels, in which calls are inlined.
std::optional<std::vector<RowUse>> row_uses(const ir::Function& kernel);

}  // namespace weft::analysis
