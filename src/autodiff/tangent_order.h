// Where the tangent of a kernel depends on which thread came first. An atomic operation and that of its tangent are two
// operations: results of float atomics, and the derivative of what a minimum left, are right if no other thread comes
// between them. Two ways see to that: threads that run one after another; or, for arrays that a kernel takes nothing but
// minima (or maxima) of, two launches. The first one finds out what is left in the end. If that is there before the second
// one begins, only a thread whose value it is leaves its tangent, and the order has no meaning.
#pragma once
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::autodiff {

/// Arrays of a kernel (array_leaves, by number) that two launches settle; none, if threads must run one after another:
/// then `ordered` hears why, with the place of each operation. To be asked of the kernel that make_tangent is given.
std::vector<std::size_t> tangent_order(const ir::Function& kernel, DiagnosticSink& ordered);

}  // namespace weft::autodiff
