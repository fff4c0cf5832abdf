// Replaces calls by the bodies of what they call. The rule, per call in module order (callees first, so that what is
// inlined has its own calls settled already):
//   - a callee of at most `small` operations is inlined;
//   - a callee that the module calls in one place only is inlined up to `once` operations;
//   - with `draws`, one that draws from a counter for a caller who wants no result, up to `small_draws`: what is drawn for a list may
//     wait only where it stands in the kernel (analysis/late_draws.h);
//   - but a function never grows by more than `growth` operations in all, and what makes local arrays is not inlined
//     into the test of a `while`, which must stay pure.
// So a tree of functions that call the next one twice stops growing when a level reaches `small`, and a long chain of
// functions costs at most `once` operations for each.
#pragma once
#include <cstddef>

#include "ir/ir.h"

namespace weft::passes {

struct InlineLimits {
  std::size_t small = 48;
  std::size_t once = 1024;
  std::size_t small_draws = 128;
  std::size_t growth = 4096;
  bool keep_custom = false;  // functions with a gradient or replay of their own stay calls: differentiation comes next
  bool memory = false;       // what reads or writes arrays is inlined whatever its size
  bool block = false;        // functions of ir/block_functions.h, too: for targets that don't write them by themselves
  bool draws = false;        // CPUs
  bool lanewise = false;     // functions that run lane by lane, too: for targets that have one lane
};

/// Inlines in every function of the module; functions stay in it even when nothing calls them any more.
/// Returns whether anything changed.
bool inline_calls(ir::Module& module, const InlineLimits& limits = {});

}  // namespace weft::passes
