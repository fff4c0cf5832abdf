// Unrolls `while` loops over private arrays, vectors and matrices that end after a few rounds whatever they read, such as the
// step of an insertion sort, or a constant `for` that is left early: each round becomes a branch in the one before, so that
// what the loop counts is a constant in it. If then all indices are constants, the back end keeps the numbers in registers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ir/ir.h"

namespace weft::passes {

struct WhileLimits {
  std::uint64_t max_rounds = 16;
  std::size_t max_ops = 256;   // in all rounds together
  std::size_t max_depth = 96;  // of regions in each other, afterwards
  bool private_arrays = true;  // also loops that index arrays alone: for GPUs, where these are slow memory otherwise
};

/// Returns whether anything changed; constants are folded then and branches joined (join_branches.h). For the end of the
/// pipeline.
bool unroll_while(ir::Function& function, const WhileLimits& limits = {});

}  // namespace weft::passes
