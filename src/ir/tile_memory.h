// Which private memory is that of a tile, and which of it the threads of a block share.
#pragma once
#include "ir/ir.h"
#include "ir/walk.h"

namespace weft::ir {

// The text of its `local`; the second where a program wishes for shared memory.
inline constexpr std::string_view kTileMemory = "tile", kSharedTileMemory = "tile shared";
/// The text of a loop whose turns the threads of a block share.
inline constexpr std::string_view kSharedLoop = "shared";
/// The text of a shared loop over elements that a thread has in registers: from 0 on by 1 to so many, and its turns are written out.
inline constexpr std::string_view kOwnLoop = "own";
inline constexpr std::int64_t kMostOwnTurns = 128;
/// The text of a loop that stays one, however few turns it has: written out, it would take long to compile.
inline constexpr std::string_view kRolledLoop = "rolled";
inline constexpr std::string_view kLoopTexts[] = {kSharedLoop, kOwnLoop, kRolledLoop};
inline void mark_tile_memory(Op& local, bool shared = false) { local.text = shared ? kSharedTileMemory : kTileMemory; }
inline bool is_shared_tile_memory(const Op& op) { return op.code == OpCode::local && op.text == kSharedTileMemory; }
inline bool is_tile_memory(const Op& op) {
  return op.code == OpCode::local && (op.text == kTileMemory || op.text == kSharedTileMemory);
}

/// Memory that the threads of a block share.
inline bool is_block_memory(const Op& op) { return op.code == OpCode::local && (op.imm & kOfBlock); }
inline bool is_block_memory(const Value* array) {
  return array->kind == ValueKind::result && is_block_memory(*array->op);
}

/// A function of the library that works on memory of tiles.
inline bool is_tile_function(const Function& function) {
  return function.from_library && function.name.starts_with("_tile_");
}

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

/// Whether threads wait for others of their block, or ask which one they are.
inline bool waits_in_block(const Module& module) {
  bool found = false;
  for (const auto& function : module.functions)
    walk(*function->body, [&](const Op& op) {
      switch (op.code) {
        case OpCode::barrier:
        case OpCode::block_thread:
        case OpCode::lane:
        case OpCode::shuffle:
        case OpCode::tally:
        case OpCode::vote:
        case OpCode::warp:
        case OpCode::warp_sync: found = true; break;
        default: break;  // safe: all others are a thread's own
      }
    });
  return found;
}

}  // namespace weft::ir
