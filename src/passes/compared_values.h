// Values whose bits must be the same in a kernel and in its adjoint. The reverse of an atomic minimum or maximum finds the
// thread that came out on top by its value, computed again, which must then be what the array holds. Contraction goes by
// how often a product is used, and that is not the same in both forms:
//   p = x·y; s[i] = p; atomic max a[0], p + z
// stores p, its adjoint does not. So nothing is fused on the way to such a value, in either of them.
#pragma once
#include <unordered_set>

#include "ir/ir.h"

namespace weft::passes {

/// All values of the module that lead to an operand of an atomic minimum or maximum of floats, or to a float that is
/// compared for equality with what was loaded, as adjoints of those do; what decides whether that happens counts, too.
std::unordered_set<const ir::Value*> compared_values(const ir::Module& module);

}  // namespace weft::passes
