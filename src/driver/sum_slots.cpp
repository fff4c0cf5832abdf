// What the analysis finds, as launches need it.
#include "driver/sum_slots.h"

#include "analysis/private_sums.h"
#include "codegen/exact_sums.h"

namespace weft::driver {
namespace {

runtime::SumSlot slot_of(const analysis::PrivateSum& sum) {
  return {sum.offset, sum.gradient, sum.scalar, sum.element_size};
}

}  // namespace

std::vector<runtime::SumSlot> private_sums(ir::Function& kernel) {
  std::vector<runtime::SumSlot> out;
  for (const analysis::PrivateSum& sum : analysis::mark_private_sums(kernel)) out.push_back(slot_of(sum));
  return out;
}

std::vector<runtime::SumStream> sum_streams(ir::Function& kernel, bool mark) {
  std::vector<runtime::SumStream> out;
  for (const analysis::SumStream& s : analysis::find_sum_streams(kernel, mark))
    out.push_back({s.sum, s.scalar, s.count});
  return out;
}

std::vector<runtime::SumSlot> exact_sums(ir::Function& kernel) {
  std::vector<runtime::SumSlot> out;
  for (const analysis::LoneAdds& adds : analysis::find_private_sums(kernel)) {
    if (codegen::exact_sum(adds.to.scalar).digits == 0) continue;
    for (ir::Op* op : adds.ops) op->imm = analysis::kAddsAlone;
    out.push_back(slot_of(adds.to));
  }
  return out;
}

}  // namespace weft::driver
