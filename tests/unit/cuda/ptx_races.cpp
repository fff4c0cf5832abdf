// What the watcher for races keeps, and what it says.
#include "ptx_races.h"

#include <stdexcept>

namespace weft::cuda::fake {

void PtxRaces::keep(Marks& marks, const Mark& now) {
  Mark* free = nullptr;
  int of_warp = 0, of_others = 0;
  for (Mark& one : marks.of) {
    if (one.time != now.time) {
      if (!free) free = &one;
      continue;
    }
    const bool mine = one.thread / 32 == now.thread / 32;
    if (one.thread == now.thread || (mine && one.warp_time != now.warp_time)) {
      one = now;
      return;
    }
    (mine ? of_warp : of_others)++;
  }
  if (free && of_warp < 2 && (of_warp == 1 || of_others < 3)) *free = now;
}

void PtxRaces::fail(std::size_t k, const Mark& before, const Mark& now) const {
  auto text = [](const Mark& one) {
    const PtxFunction::Statement& statement = (*one.statements)[std::size_t(one.instruction->statement)];
    return "thread " + std::to_string(one.thread) + " by '" + statement.text + "' (line " +
           std::to_string(statement.line) + ")";
  };
  throw std::runtime_error("PTX machine: a race for byte " + std::to_string(k * grain_) +
                           " of shared memory: " + text(before) + " and " + text(now) + ", with no barrier between");
}

}  // namespace weft::cuda::fake
