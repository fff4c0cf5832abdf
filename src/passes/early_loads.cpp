// One walk over each region, with the place of the first operation that ends a block.
#include "passes/early_loads.h"

#include <unordered_map>

#include "analysis/read_only.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

constexpr std::uint32_t kMostScalars = 24;  // that wait in registers, in a region

bool ends_block(const Op& op) {
  switch (op.code) {
    case OpCode::div:
    case OpCode::unscale:
    case OpCode::sqrt: return op.result()->type->is_numeric() && op.result()->type->scalar_kind() >= ScalarKind::f32;
    default: return !op.regions.empty() || ir::class_of(op.code) == ir::OpClass::math;
  }
}

class Mover {
 public:
  explicit Mover(ir::Function& function) : function_(function), read_only_(analysis::read_only_arrays(function)) {}

  bool run() {
    for (const bool any : read_only_)
      if (any) {
        visit(*function_.body);
        break;
      }
    return changed_;
  }

 private:
  void visit(ir::Region& region) {
    std::unordered_map<const Op*, std::size_t> places;  // of the region's operations
    std::vector<std::pair<std::size_t, Op*>> ends;      // those that end a block, in order
    std::uint32_t scalars = 0;
    std::size_t place = 0;
    for (Op& op : region) {
      places[&op] = place++;
      for (ir::Region* inner : op.regions) visit(*inner);
      if (ends_block(op)) ends.emplace_back(places[&op], &op);
      if (op.code != OpCode::load || ends.empty() || !is_read_only(op)) continue;
      // Behind what it needs.
      std::size_t from = 0;
      for (const Value* v : op.operands)
        if (v->kind == ir::ValueKind::result)
          if (auto known = places.find(v->op); known != places.end()) from = std::max(from, known->second + 1);
      for (auto [at, end] : ends) {
        if (at < from) continue;
        const std::uint32_t size = op.result()->type->size() / 4 + 1;
        if ((scalars += size) > kMostScalars) break;
        ir::remove_op(&op);
        ir::insert_op(&region, &op, end);
        places[&op] = at;
        changed_ = true;
        break;
      }
    }
  }

  bool is_read_only(const Op& load) const {
    const Value* array = load.operand(0);
    return array->kind == ir::ValueKind::argument && array->region == function_.body && read_only_[array->index];
  }

  ir::Function& function_;
  const std::vector<bool> read_only_;
  bool changed_ = false;
};

}  // namespace

bool early_loads(ir::Function& function) { return Mover(function).run(); }

}  // namespace weft::passes
