// Use counts and sizes by one walk.
#include "analysis/uses.h"

#include <algorithm>

#include "ir/walk.h"

namespace weft::analysis {
std::vector<std::uint32_t> use_counts(const ir::Function& function) {
  std::vector<std::uint32_t> uses(function.value_count, 0);
  ir::walk(*function.body, [&](const ir::Op& op) {
    for (const ir::Value* value : op.operands) ++uses[value->id];
  });
  return uses;
}

std::size_t count_ops(const ir::Region& region, std::size_t limit) {
  std::size_t total = 0;
  for (const ir::Op& op : region) {
    if (total > limit) break;
    if (ir::effect_of(op.code) != ir::Effect::end) ++total;
    // Stops soon behind the limit: whoever asks whether a region is small must not pay for a large one.
    for (const ir::Region* nested : op.regions) total += count_ops(*nested, limit - std::min(limit, total));
  }
  return total;
}

}  // namespace weft::analysis
