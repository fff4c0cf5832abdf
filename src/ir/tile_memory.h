// Which private memory is that of a tile: on GPUs the threads of a block share it.
#pragma once
#include "ir/ir.h"
#include "ir/walk.h"

namespace weft::ir {

inline constexpr std::string_view kTileMemory = "tile";  // the text of its `local`
inline void mark_tile_memory(Op& local) { local.text = kTileMemory; }
inline bool is_tile_memory(const Op& op) { return op.code == OpCode::local && op.text == kTileMemory; }

/// The first memory of a tile in a region; null if there is none.
inline const Op* find_tile_memory(const Region& region) {
  const Op* found = nullptr;
  walk(region, [&](const Op& op) {
    if (!found && is_tile_memory(op)) found = &op;
  });
  return found;
}
/// The same of a module.
inline const Op* find_tile_memory(const Module& module) {
  for (const auto& function : module.functions)
    if (const Op* found = find_tile_memory(*function->body)) return found;
  return nullptr;
}

}  // namespace weft::ir
