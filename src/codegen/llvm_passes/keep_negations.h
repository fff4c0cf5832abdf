// Negated sums of products, kept as they are written.
#pragma once

namespace llvm {
class Module;
}

namespace weft::codegen {

/// For aarch64, after all other passes. LLVM takes −(x·y + z) of single numbers for one instruction, fnmadd, which computes −x·y − z: where the
/// sum is nothing at all, that is +0 instead of −0. Vectors have no such instruction.
void keep_negations(llvm::Module& module);

}  // namespace weft::codegen
