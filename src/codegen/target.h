// What the emitter and the pass pipeline need to know of a target, and target machines, which are kept per thread.
#pragma once
#include <string>

#include "codegen/codegen.h"

namespace llvm {
class TargetMachine;
}

namespace weft::codegen {

struct TargetTraits {
  bool x86 = false;
  bool half_convert = false;   // f16 ↔ f32 conversions are instructions
  bool masked_moves = false;   // masked vector loads and stores are instructions
  bool gathers = false;        // so are loads from an address for each lane, and LLVM takes them
  bool quick_gathers = false;  // … and these are quicker than one load after the other
  bool scatters = false;       // so are stores to an address for each lane
};

TargetTraits traits_of(const TargetSpec& target);

/// A target machine of the calling thread; valid until the thread ends. Throws Error for an unknown target.
llvm::TargetMachine& target_machine(const TargetSpec& target, int opt_level);

}  // namespace weft::codegen
