// One walk over the kernel. What the first thread index, or an array's first extent, may be used for is listed; every other
// use ends the matter.
#include "analysis/own_rows.h"

#include <algorithm>

#include "analysis/uses.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

class Finder {
 public:
  explicit Finder(const ir::Function& kernel)
      : kernel_(kernel),
        uses_(use_counts(kernel)),
        is_index_(kernel.value_count, false),
        extent_of_(kernel.value_count, nullptr),
        found_(kernel.params().size(), RowUse::unused) {}

  std::optional<std::vector<RowUse>> run() {
    ir::walk(*kernel_.body, [&](const Op& op) { good_ = good_ && visit(op); });
    // A thread's index is below the first extent of the arrays that have a row for each thread, and of no others.
    for (const Value* array : compared_) good_ = good_ && found_[array->index] == RowUse::own;
    for (const Value* array : measured_) good_ = good_ && found_[array->index] != RowUse::own;
    if (!good_) return std::nullopt;
    return found_;
  }

 private:
  bool is_index(const Value* value) const { return !value->is_constant() && is_index_[value->id]; }
  const Value* extent_of(const Value* value) const { return value->is_constant() ? nullptr : extent_of_[value->id]; }
  bool is_param(const Value* value) const {
    return value->kind == ir::ValueKind::argument && value->region == kernel_.body;
  }

  bool visit(const Op& op) {
    switch (op.code) {
      case OpCode::tid:
        if (op.imm == 0) is_index_[op.result()->id] = true;
        return true;
      case OpCode::cast: return visit_cast(op);
      case OpCode::dim: return visit_dim(op);
      case OpCode::lt:
      case OpCode::le:
      case OpCode::gt:
      case OpCode::ge: return visit_comparison(op);
      case OpCode::load:
      case OpCode::store:
      case OpCode::atomic:
      case OpCode::prefetch: return visit_access(op);
      case OpCode::view: return visit_view(op);
      case OpCode::nonnull: return true;
      case OpCode::check: return true;  // it tells of an index and an extent
      case OpCode::slice:
      case OpCode::data_ptr:
      case OpCode::gradient:
      case OpCode::with_gradient:
      case OpCode::recall:
      case OpCode::thread:
      case OpCode::breakpoint:
      case OpCode::barrier:
      case OpCode::tally:
      case OpCode::fence:
      case OpCode::warp:
      case OpCode::lane:
      case OpCode::vote:
      case OpCode::shuffle:
      case OpCode::warp_sync:
      case OpCode::print:
      case OpCode::printf: return false;
      default: return is_plain(op);  // safe: it must not have to do with rows
    }
  }

  /// Neither the index nor an array parameter is among the operands from `first` on; extents that are, are noted.
  bool is_plain(const Op& op, std::size_t first = 0) {
    for (const Value* value : op.operands.subspan(first)) {
      if (is_index(value)) return false;
      if (const Value* array = extent_of(value)) measured_.push_back(array);
      if (ir::has_array(value->type) && ir::origin_of(value).kind == ir::Origin::Kind::parameter) return false;
    }
    return true;
  }

  bool visit_cast(const Op& op) {
    const Value* from = op.operand(0);
    const Type* to = op.result()->type;
    const bool keeps = to->is_int() && to->size() >= 4;
    if (!keeps) return is_plain(op);
    is_index_[op.result()->id] = is_index(from);
    extent_of_[op.result()->id] = extent_of(from);
    return true;
  }

  bool visit_dim(const Op& op) {
    const Value* array = op.operand(0);
    if (is_param(array) && op.imm == 0) extent_of_[op.result()->id] = array;
    return true;
  }

  /// Checks of bounds, written by a program or put in by debug mode, ask whether 0 <= index < extent.
  bool visit_comparison(const Op& op) {
    const Value *a = op.operand(0), *b = op.operand(1);
    if (is_index(b)) std::swap(a, b);
    if (!is_index(a)) return is_plain(op);
    if (b->is_zero()) return true;
    const Value* array = extent_of(b);
    if (array) compared_.push_back(array);
    return array != nullptr;
  }

  /// The array parameter that an access goes to, by its rows or by a view of one of them; null: memory of no parameter.
  struct Target {
    const Value* param = nullptr;
    bool own = false;
    bool good = true;
  };
  Target target_of(const Op& op) const {
    const Op* first = &op;
    while (!is_param(first->operand(0))) {
      const Value* array = first->operand(0);
      if (array->kind != ir::ValueKind::result || array->op->code != OpCode::view) {
        const ir::Origin from = ir::origin_of(op.operand(0));
        const bool elsewhere = from.kind == ir::Origin::Kind::local || from.kind == ir::Origin::Kind::fixed ||
                               from.kind == ir::Origin::Kind::none;
        const bool reads = ir::access_of(op.code) == ir::Access::reads || ir::access_of(op.code) == ir::Access::none;
        return {nullptr, false, elsewhere || (reads && from.kind == ir::Origin::Kind::shared)};
      }
      first = array->op;
    }
    if (first->code == OpCode::view && first->imm != 0) return {nullptr, false, false};  // rows of another dimension
    return {first->operand(0), is_index(first->operand(1)), true};
  }

  /// The operands of an access or a view behind its array; the first index of a parameter may be the thread's own.
  bool has_plain_rest(const Op& op) {
    const bool own = is_param(op.operand(0)) && (op.code != OpCode::view || op.imm == 0) && is_index(op.operand(1));
    return is_plain(op, own ? 2 : 1);
  }

  bool visit_view(const Op& op) { return has_plain_rest(op); }

  bool visit_access(const Op& op) {
    const Target to = target_of(op);
    if (!to.good || !has_plain_rest(op)) return false;
    if (!to.param) return true;
    if (to.own) return note(to.param, RowUse::own);
    switch (ir::access_of(op.code)) {
      case ir::Access::none: return true;
      case ir::Access::reads: return note(to.param, RowUse::whole);
      case ir::Access::updates:
        // Whoever looks at the old value sees what others have added.
        return op.atomic == ir::AtomicKind::add && uses_[op.result()->id] == 0 && note(to.param, RowUse::added);
      case ir::Access::writes:
      case ir::Access::address:
      case ir::Access::callee: return false;
    }
    return false;
  }

  bool note(const Value* param, RowUse use) {
    RowUse& known = found_[param->index];
    if (known == RowUse::unused) known = use;
    return known == use;
  }

  const ir::Function& kernel_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> is_index_;           // by value
  std::vector<const Value*> extent_of_;  // by value: the parameter whose first extent it is
  std::vector<const Value*> compared_;   // arrays with whose first extent the index is compared
  std::vector<const Value*> measured_;   // and those whose first extent serves for something else
  std::vector<RowUse> found_;
  bool good_ = true;
};

}  // namespace

std::optional<std::vector<RowUse>> row_uses(const ir::Function& kernel) { return Finder(kernel).run(); }

}  // namespace weft::analysis
