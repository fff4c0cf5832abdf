// Numbers that threads draw from a counter only to know where in a list they write. Cores that draw from one counter wait for each
// other at every draw. But nothing in the kernel depends on when such a number comes: a worker may note what the threads of its
// chunk want to write, draw all their numbers at once, and write then (codegen/emit/draw_queue.h).
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// A place where a kernel draws.
struct LateDraw {
  const ir::Op* draw = nullptr;     // the atomic addition whose result is the number
  std::vector<const ir::Op*> tail;  // what depends on it, operations of the same region in their order
  std::vector<const ir::Op*>
      prepared;  // what the tail needs and can make again of constants and the kernel's parameters
  std::vector<const ir::Value*> kept;  // what else it needs
};

/// An array among the kernel's parameters, or in a struct that is one.
struct ArrayPlace {
  std::uint32_t offset = 0;  // of its descriptor in the parameter block
  const Type* type = nullptr;
};

/// All draws from one counter.
struct LateDraws {
  std::vector<LateDraw> draws;
  /// They may wait unless one of these pairs of arrays overlaps; where the kernel's form says that none do there are no pairs. If one
  /// does, the tail has to run where its last operation stands.
  std::vector<std::pair<ArrayPlace, ArrayPlace>> if_apart;
};

/// The counters of a kernel whose draws may all wait until its chunk ends: the tails only store to arrays that nothing else of the
/// kernel touches, and read what nothing writes.
std::vector<LateDraws> find_late_draws(const ir::Function& kernel);

}  // namespace weft::analysis
