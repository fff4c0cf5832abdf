// How large a kernel is, in terms that decide about lanes, bodies and optimisation effort.
#pragma once
#include <cstdint>

#include "ir/ir.h"

namespace weft::codegen {

/// Scalar operations of the kernel's own body, large composites counted as the loops they become.
std::uint64_t kernel_weight(const ir::Function& function);

/// Whether there is no loop and no call in it.
bool is_straight(const ir::Function& function);
/// True if a few threads more or less take no time that anyone sees: no loop, no call, few operations.
bool is_light(const ir::Function& function);
/// Whether it calls a function that runs lane by lane, as walks over trees do: that is where its time goes, not into masks.
bool calls_lanewise(const ir::Function& kernel);

/// Whether it has many branches at which lanes may part, so that most of it is under masks: where these cost nothing, a body
/// without masks does not pay for the time that it takes to compile.
bool has_many_branches(const ir::Function& kernel);

/// Whether it reads or writes numbers of less than 32 bits in arrays: AVX2 has no masked accesses for those.
bool accesses_narrow(const ir::Function& kernel);

/// Whether groups that lie in one row get a body of their own, without masks.
bool has_whole_body(const ir::Function& kernel);

/// Words of 32 bits that a thread reads from arrays, all in all; 0 for kernels with loops, calls or atomic operations.
std::uint64_t words_read(const ir::Function& kernel);

/// Private memory of one thread: locals and composites kept in memory, with what callees hold at the same time.
struct PrivateMemory {
  std::uint64_t bytes = 0;
  const ir::Op* largest = nullptr;  // the operation that asks for most
};
PrivateMemory private_memory(const ir::Function& function);

/// True if the function or one that it calls is native: such code runs one lane at a time.
bool calls_native(const ir::Function& function);

}  // namespace weft::codegen
