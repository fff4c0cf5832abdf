// Unrolls `while` loops over private arrays that end after a few rounds whatever they read, such as the step of an insertion
// sort: each round becomes a branch in the one before, so that what the loop counts is a constant in it. If then all
// indices of an array are constants, the back end keeps it in registers. For GPUs, where other private arrays lie in
// memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ir/ir.h"

namespace weft::passes {

struct WhileLimits {
  std::uint64_t max_rounds = 16;
  std::size_t max_ops = 256;   // in all rounds together
  std::size_t max_depth = 96;  // of regions in each other, afterwards
};

/// Returns whether anything changed; constants are folded then and branches joined (join_branches.h). For the end of the
/// pipeline.
bool unroll_while(ir::Function& function, const WhileLimits& limits = {});

}  // namespace weft::passes
