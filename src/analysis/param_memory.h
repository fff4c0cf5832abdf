// Which parameters of a kernel lead to memory that it reads or writes, if it touches no other: launches that have no memory in
// common need not wait for each other (cuda/graph_order.h).
#pragma once
#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

struct ParamMemory {
  static constexpr std::uint8_t kReads = 1, kWrites = 2;
  static constexpr std::uint8_t kGradient = 4;  // times: the same of gradients
  bool all = false;                             // there is no other memory
  bool prints = false;                          // which has to happen in the order of launches
  std::vector<std::uint8_t> uses;  // by parameter; structs and arrays seen through indices count as a whole
};

/// Of a module's kernel, its last function.
ParamMemory param_memory(const ir::Module& module);

}  // namespace weft::analysis
