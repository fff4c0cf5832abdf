// The memory that launches of a kernel touch, as far as they can tell by their arguments: by it, what is captured into graphs
// is put in order (cuda/graph_order.h).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/graph_order.h"
#include "ir/ir.h"

namespace weft::driver {

/// An array among the arguments.
struct TouchedArray {
  std::uint32_t offset = 0;  // of its descriptor in the block of parameters
  std::uint32_t element_size = 0;
  std::uint8_t uses = 0;  // analysis::ParamMemory
};

struct TouchedMemory {
  bool all = false;     // there is no other memory
  bool prints = false;  // which has to happen in the order of launches
  std::vector<TouchedArray> arrays;

  /// That of a launch with such a block, which prints, if it does, to a buffer at that address; nothing if there is other memory.
  std::optional<cuda::Touched> of(const char* block, std::uint64_t print_buffer) const;
};

TouchedMemory touched_memory(const ir::Module& module);

}  // namespace weft::driver
