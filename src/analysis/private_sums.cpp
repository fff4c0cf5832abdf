// Every access is traced back to its parameter; one that can't be traced spoils all, for it may be to any of them.
#include "analysis/private_sums.h"

#include <algorithm>
#include <map>

#include "analysis/uses.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

/// A descriptor in the parameter block, or its gradient.
struct Target {
  std::uint32_t offset = 0;
  bool gradient = false;
  auto operator<=>(const Target&) const = default;
};

class Finder {
 public:
  explicit Finder(const ir::Function& kernel) : kernel_(kernel), uses_(use_counts(kernel)) {
    for (const Value* param : kernel.params()) layout_.add({}, param->type);
  }

  std::vector<LoneAdds> run() {
    bool lost = false;
    ir::walk(*kernel_.body, [&](Op& op) {
      switch (ir::access_of(op.code)) {
        case ir::Access::callee:
          for (const Value* value : op.operands) lost |= ir::has_array(value->type);
          return;
        case ir::Access::reads:
        case ir::Access::writes:
        case ir::Access::updates:
        case ir::Access::address: break;
        case ir::Access::none: return;
      }
      const ir::Origin from = ir::origin_of(op.operand(0));
      switch (from.kind) {
        case ir::Origin::Kind::none:
        case ir::Origin::Kind::local:
        case ir::Origin::Kind::fixed: return;
        case ir::Origin::Kind::shared:
        case ir::Origin::Kind::unknown: lost = true; return;
        case ir::Origin::Kind::parameter: break;
      }
      // One of several parameters: an addition that may be to either is one to neither alone.
      lost |= !from.param;
      if (lost) return;
      // By place in the parameter block, so that all ways to one descriptor meet.
      Use& use = uses_of_[{layout_.params[from.param->index].offset + from.offset, from.gradient}];
      if (adds_alone(op))
        use.adds.push_back(&op);
      else
        use.other = true;
    });
    std::vector<LoneAdds> out;
    if (lost) return out;
    for (auto& [from, use] : uses_of_) {
      if (use.other || (!from.gradient && !kernel_.form.no_overlap)) continue;
      const Type* element = element_of(*use.adds.front());
      out.push_back({{from.offset, from.gradient, element->scalar_kind(), std::uint32_t(element->size())}, use.adds});
    }
    return out;
  }

 private:
  struct Use {
    std::vector<Op*> adds;
    bool other = false;
  };

  bool adds_alone(const Op& op) const {
    // Nobody looks at the old value: it would be that of a worker's copy, not of the sum.
    return op.code == OpCode::atomic && op.atomic == ir::AtomicKind::add && uses_[op.result()->id] == 0 &&
           element_of(op)->is_numeric();
  }
  /// Sums of whole elements of one kind of number: the copies are added up as such.
  static const Type* element_of(const Op& op) { return op.operand(0)->type->element(); }

  const ir::Function& kernel_;
  std::vector<std::uint32_t> uses_;
  ParamLayout layout_;
  std::map<Target, Use> uses_of_;
};

}  // namespace

std::vector<LoneAdds> find_private_sums(const ir::Function& kernel) { return Finder(kernel).run(); }

std::vector<PrivateSum> mark_private_sums(ir::Function& kernel) {
  std::vector<PrivateSum> out;
  for (const LoneAdds& adds : find_private_sums(kernel)) {
    for (Op* op : adds.ops) op->imm = kAddsAlone;
    out.push_back(adds.to);
  }
  return out;
}

std::vector<SumStream> find_sum_streams(const ir::Function& kernel, bool mark) {
  constexpr std::uint32_t kMostScalars = 16;
  constexpr std::size_t kMostStreams = 8;
  // Blocks of threads switch between each other in the middle of a chunk.
  if (kernel.form.block != 0) return {};
  std::vector<SumStream> out;
  std::vector<std::pair<Op*, std::size_t>> numbers;
  const std::vector<LoneAdds> sums = find_private_sums(kernel);
  for (std::size_t k = 0; k < sums.size(); ++k)
    for (Op* op : sums[k].ops) {
      const Type* type = op->result()->type;
      const SumStream stream{std::uint32_t(k), type->scalar_kind(), type->component_count()};
      switch (stream.scalar) {
        case ScalarKind::i32:
        case ScalarKind::u32:
        case ScalarKind::i64:
        case ScalarKind::u64:
        case ScalarKind::f32:
        case ScalarKind::f64: break;
        default: return {};
      }
      if (stream.count > kMostScalars) return {};
      const auto known = std::find(out.begin(), out.end(), stream);
      numbers.emplace_back(op, std::size_t(known - out.begin()));
      if (known == out.end()) out.push_back(stream);
    }
  if (out.size() > kMostStreams) return {};
  if (mark)
    for (const auto& [op, number] : numbers) op->imm = kAddsByStream + std::int64_t(number);
  return out;
}

}  // namespace weft::analysis
