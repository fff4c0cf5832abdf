// Addresses of single lanes, for gathers where a processor has no instruction for them.
#pragma once
#include <cstdint>

#include "ir/ir.h"

namespace llvm {
class Value;
}

namespace weft::codegen {

class CodeUnit;
class Emitter;

/// The address of one lane, so many bytes on: where all begin at one scalar, that and the lane's own number, which are operands of a
/// load, and no vector of addresses.
llvm::Value* lane_pointer(Emitter& e, llvm::Value* pointers, int lane, std::uint32_t offset);

/// Whether loads of all lanes may stand one behind the other in a function: in large ones that would be too much code, and a loop over
/// addresses in memory takes a fraction of the time to compile.
bool loads_stand_open(const ir::Function& function);

/// Memory of zeros for lanes that are not active, and how many bytes it has.
constexpr std::uint32_t kZeros = 256;
llvm::Value* zeros(CodeUnit& unit);

}  // namespace weft::codegen
