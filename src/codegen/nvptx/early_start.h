// Kernels that the driver may start while the one before them still ends (programmatic dependent launch, sm_90 and later): what
// takes its time about a start, some microseconds in a graph, is over when their turn comes.
#pragma once
#include <string>

namespace weft::codegen {

inline constexpr int kFirstEarlyStart = 90;  // sm

/// Makes the kernel of a module wait, before anything else, until what was launched before it has ended and is seen in
/// memory, and then allow what follows to be started. In the text, since LLVM moves reads of memory that nobody writes across
/// anything. Without such a launch both are nothing.
void begin_by_waiting(std::string& ptx);

}  // namespace weft::codegen
