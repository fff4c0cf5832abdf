// Selects that look like a minimum or maximum of floats, kept as they are written.
#pragma once

namespace llvm {
class Module;
}

namespace weft::codegen {

/// For targets other than x86, after all other passes. LLVM takes `x < c ? x : c` for minNum and chooses one instruction
/// (fminnm on aarch64, min.f32 in PTX). Those order −0 before +0 where the select gives its second value, and aarch64's
/// makes a NaN of a signaling one. x86's minps is the select itself.
void keep_selects(llvm::Module& module);

}  // namespace weft::codegen
