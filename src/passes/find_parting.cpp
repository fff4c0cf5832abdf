// Asks for each place where threads meet, and for all branches and loops around it.
#include "passes/find_parting.h"

#include "analysis/block_ways.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using analysis::BlockWays;
using analysis::Spread;
using ir::Op;

std::optional<Parting> parting_at(BlockWays& ways, const Op& meeting) {
  static constexpr std::string_view kTogether = "threads of a block work on tiles together, but ";
  for (const ir::Region* at = meeting.parent; at->parent_op; at = at->parent_op->parent) {
    const Op& around = *at->parent_op;
    if (const ir::Value* by = ways.parts_by(around))
      return Parting{meeting.loc, std::string(kTogether) + "here some of them don't come by: at " +
                                      to_string(around.loc) + " they go different ways " + ways.reason(by) +
                                      "; move it out of there, or use wp.tile_scatter_masked, wp.where or "
                                      "wp.tile_from_thread"};
  }
  for (const ir::Value* number : meeting.operands)
    if (ways.of(number) == Spread::apart)
      return Parting{meeting.loc,
                     std::string(kTogether) + std::string(meeting.text) +
                         " is not the same for all of them: it differs " + ways.reason(number) +
                         "; take one thread's by wp.tile_from_thread, or make a tile of all by wp.tile(x)"};
  return std::nullopt;
}

}  // namespace

std::optional<Parting> find_parting(const ir::Function& kernel) {
  if (kernel.form.block <= 1) return std::nullopt;
  BlockWays ways(kernel);
  std::optional<Parting> found;
  ir::walk(*kernel.body, [&](const Op& op) {
    if (!found && op.code == ir::OpCode::meet) found = parting_at(ways, op);
  });
  return found;
}

}  // namespace weft::passes
