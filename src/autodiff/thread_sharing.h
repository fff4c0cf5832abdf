// In which arrays threads can meet. Gradients are added to atomically where they can, plainly where it is plain that they
// can't: each coordinate of the thread is an index of the array, in the same dimension at every access.
#pragma once
#include "analysis/alias.h"
#include "ir/ir.h"

namespace weft::autodiff {

/// Parameter arrays of a kernel (bases of `alias`) whose elements belong to one thread each. None, unless the form says
/// that neither arrays nor gradients share memory.
analysis::BaseMask arrays_apart(const ir::Function& kernel, const analysis::Alias& alias);

/// Whether an atomic operation is a minimum or a maximum.
inline bool is_extreme(const ir::Op& atomic) {
  return atomic.atomic == ir::AtomicKind::min || atomic.atomic == ir::AtomicKind::max;
}
/// Arrays on which a kernel does nothing but atomic minima, or nothing but maxima: whose value came out on top can be told
/// from what is there at the end.
analysis::BaseMask arrays_of_extremes(const ir::Function& kernel, const analysis::Alias& alias);

}  // namespace weft::autodiff
