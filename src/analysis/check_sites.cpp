// Numbering of check sites.
#include "analysis/check_sites.h"

namespace weft::analysis {
namespace {

void collect(const ir::Region& region, CheckSites& sites) {
  for (ir::Op& op : region) {
    if (op.code == ir::OpCode::assert_ || op.code == ir::OpCode::check) {
      // In the order of the text: the number in a launch's error record is looked up in the same list.
      sites.number.emplace(&op, std::int32_t(sites.ops.size()));
      sites.ops.push_back(&op);
    }
    for (const ir::Region* nested : op.regions) collect(*nested, sites);
  }
}

}  // namespace

CheckSites check_sites(const ir::Module& module) {
  CheckSites sites;
  for (const auto& function : module.functions) collect(*function->body, sites);
  return sites;
}

}  // namespace weft::analysis
