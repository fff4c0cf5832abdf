// The lane-shape fixpoint: an optimistic forward analysis. Everything starts unset; shapes only move down the lattice
// unset → stride → varying, so the rounds end. What merges under a varying condition is varying.
#include "analysis/uniformity.h"

#include <algorithm>

#include "ir/op_cases.h"
#include "ir/tile_memory.h"

namespace weft::analysis {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

// Top of the lattice: not looked at yet. Starting optimistic is what finds a loop counter uniform: by its initial
// value in the first round, confirmed by what the body yields in the next.
constexpr LaneShape kUnset = INT32_MAX;
constexpr int kMaxRounds = 24;

/// A stride that fits, else varying.
LaneShape checked(std::int64_t stride) {
  // Bounded so that sums of strides times 16 lanes stay in 32 bits, wherever the emitter computes them.
  return stride > -(1 << 20) && stride < (1 << 20) ? LaneShape(stride) : kVarying;
}

bool is_stride(LaneShape s) { return s != kUnset && s != kVarying; }

}  // namespace

std::uint32_t lane_units(const Type* type) {
  switch (type->kind()) {
    case TypeKind::array: return 2 + 2 * type->rank();
    case TypeKind::structure:
    case TypeKind::tuple: {
      std::uint32_t n = 0;
      for (const Field& field : type->fields()) n += lane_units(field.type);
      return n;
    }
    default: return 1;
  }
}

std::uint32_t first_unit_of_field(const Type* aggregate, std::size_t field) {
  std::uint32_t n = 0;
  for (std::size_t k = 0; k < field; ++k) n += lane_units(aggregate->fields()[k].type);
  return n;
}

Uniformity::Uniformity(const ir::Function& function, const LaneEntry& entry) : entry_(entry) {
  first_.assign(function.value_count, 0);
  escapes_.assign(function.value_count, false);
  // First of all: whether a local array may be shared is asked in every round.
  find_escapes(*function.body);
  for (const Value* param : function.params()) number(param);
  number(*function.body);
  std::fill(shapes_.begin(), shapes_.end(), kUnset);
  std::size_t k = 0;
  for (const Value* param : function.params()) {
    std::uint32_t units = lane_units(param->type);
    for (std::uint32_t u = 0; u < units; ++u, ++k) join(param, u, entry.params.empty() ? kUniform : entry.params[k]);
  }
  do {
    changed_ = false;
    // Every round moves at least one unit down, of which there may be many: behind the limit carried values go to the
    // bottom at once, where they can't change any more.
    give_up_ = ++rounds_ > kMaxRounds;
    visit(*function.body);
  } while (changed_);
  // What was never reached (results of loops that never yield) reads as varying, which is always safe.
  std::replace(shapes_.begin(), shapes_.end(), kUnset, kVarying);
}

void Uniformity::find_escapes(const Region& region) {
  for (const Op& op : region) {
    bool accesses = op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic ||
                    op.code == OpCode::dim || op.code == OpCode::nonnull;
    // The descriptor as the array of an access shows nothing of how the memory lies; anywhere else (a call, a yield, a
    // view) it might.
    for (std::size_t k = accesses ? 1 : 0; k < op.operands.size(); ++k)
      if (!op.operand(k)->is_constant()) escapes_[op.operand(k)->id] = true;
    for (const Region* inner : op.regions) find_escapes(*inner);
  }
}

void Uniformity::number(const Value* value) {
  first_[value->id] = std::uint32_t(shapes_.size());
  shapes_.resize(shapes_.size() + lane_units(value->type));
}

void Uniformity::number(const Region& region) {
  if (region.parent_op)
    for (const Value* arg : region.args) number(arg);
  for (const Op& op : region) {
    for (const Value* result : op.results) number(result);
    for (const Region* inner : op.regions) number(*inner);
  }
}

/// Of two different strides nothing is left: no one number tells how far lanes are apart then.
LaneShape Uniformity::meet(LaneShape a, LaneShape b) const {
  if (a == kUnset) return b;
  if (b == kUnset || a == b) return a;
  return kVarying;
}

void Uniformity::join(const Value* value, std::uint32_t unit, LaneShape shape) {
  LaneShape& slot = shapes_[first_[value->id] + unit];
  LaneShape met = meet(slot, shape);
  if (met != slot) slot = met, changed_ = true;
}

void Uniformity::join_all(const Value* value, LaneShape shape) {
  for (std::uint32_t u = 0, n = lane_units(value->type); u < n; ++u) join(value, u, shape);
}

void Uniformity::join_copy(const Value* to, std::uint32_t to_unit, const Value* from, std::uint32_t from_unit,
                           std::uint32_t count) {
  for (std::uint32_t u = 0; u < count; ++u) join(to, to_unit + u, shape(from, from_unit + u));
}

LaneShape Uniformity::whole(const Value* value) const {
  LaneShape result = kUniform;
  for (std::uint32_t u = 0, n = lane_units(value->type); u < n; ++u) {
    LaneShape s = shape(value, u);
    // Not known is not varying: an answer now would be final, as shapes never rise.
    if (s == kUnset) return kUnset;
    if (s != kUniform) result = kVarying;
  }
  return result;
}

LaneShape Uniformity::all_of(std::span<Value* const> operands) const {
  LaneShape result = kUniform;
  for (const Value* v : operands) {
    LaneShape s = whole(v);
    if (s == kUnset) return kUnset;
    if (s != kUniform) result = kVarying;
  }
  return result;
}

bool Uniformity::uniform(const Value* value) const { return whole(value) == kUniform; }

bool Uniformity::divergent(const Op& loop) const {
  if (loop.code == OpCode::for_)
    return !uniform(loop.operand(0)) || !uniform(loop.operand(1)) || !uniform(loop.operand(2));
  return !uniform(loop.regions[0]->terminator()->operand(0));
}

void Uniformity::visit(const Region& region) {
  for (const Op& op : region) visit(op);
}

void Uniformity::visit(const Op& op) {
  auto join_results = [&](LaneShape shape) {
    for (const Value* result : op.results) join_all(result, shape);
  };
  switch (ir::lanes_of(op.code)) {
    case ir::Lanes::operands: return join_results(all_of(op.operands));
    case ir::Lanes::uniform:
      return join_results(op.code == OpCode::any && !entry_.in_step ? all_of(op.operands) : kUniform);
    case ir::Lanes::varying: return join_results(kVarying);
    case ir::Lanes::nothing: return;
    case ir::Lanes::own: break;
  }
  switch (ir::class_of(op.code)) {
    case ir::OpClass::arith:
    case ir::OpClass::bits: return visit_arith(op);
    case ir::OpClass::data: return visit_data(op);
    case ir::OpClass::memory: return visit_memory(op);
    case ir::OpClass::control: return visit_control(op);
    case ir::OpClass::effect:
      if (op.code == OpCode::tid) return join(op.result(), 0, op.imm < kMaxRank ? entry_.tids[op.imm] : kUniform);
      if (op.code == OpCode::thread) return join(op.result(), 0, entry_.thread);
      if (op.code == OpCode::block_thread) return join(op.result(), 0, entry_.block_thread);
      break;
    case ir::OpClass::compare:
    case ir::OpClass::round:
    case ir::OpClass::math:
    case ir::OpClass::whole: break;
  }
  WEFT_UNREACHABLE("nothing is said of the lanes of " + std::string(ir::name_of(op.code)));
}

/// Sums and differences of strides, and products with constants, stay strides.
void Uniformity::visit_arith(const Op& op) {
  const Value* result = op.result();
  LaneShape plain = all_of(op.operands);
  // Strides are exact only in wrapping integer arithmetic: of floats, lane 0 plus k·s rounds differently from what
  // each lane computes.
  if (!result->type->is_int() || plain != kVarying) return join(result, 0, plain);
  LaneShape a = shape(op.operand(0)), b = op.operands.size() > 1 ? shape(op.operand(1)) : kUniform;
  LaneShape out = kVarying;
  if (is_stride(a) && is_stride(b)) {
    const Value* x = op.operand(0);
    const Value* y = op.operands.size() > 1 ? op.operand(1) : nullptr;
    switch (op.code) {
      case OpCode::add: out = checked(std::int64_t(a) + b); break;
      case OpCode::sub: out = checked(std::int64_t(a) - b); break;
      case OpCode::neg: out = checked(-std::int64_t(a)); break;
      case OpCode::mul: {
        // A uniform factor that is no constant gives a stride too, but one that is known only at run time; the lattice
        // holds numbers.
        const Value* factor = y->is_constant() ? y : x->is_constant() ? x : nullptr;
        if (!factor) break;
        std::int64_t c = factor->as_int();
        if (c > -(1 << 20) && c < (1 << 20)) out = checked((factor == y ? a : b) * c);
        break;
      }
      case OpCode::shl:
        if (y->is_constant()) {
          std::int64_t count = y->as_int() & (scalar_bits(result->type->scalar_kind()) - 1);  // modulo the width
          if (count < 16) out = checked(std::int64_t(a) << count);
        }
        break;
      default: break;  // safe: no stride is known
    }
  }
  join(result, 0, out);
}

void Uniformity::visit_data(const Op& op) {
  const Value* result = op.result();
  switch (op.code) {
    case OpCode::select: {
      LaneShape c = whole(op.operand(0));
      for (std::uint32_t u = 0, n = lane_units(result->type); u < n; ++u) {
        LaneShape a = shape(op.operand(1), u), b = shape(op.operand(2), u);
        // All lanes choose alike, so what is common to both choices stays; else lanes mix, even two uniform values.
        join(result, u, c == kUniform ? meet(a, b) : c);
      }
      return;
    }
    case OpCode::cast: {
      // Wrapping arithmetic survives truncation. Widening is linear only for a thread index, which never wraps.
      const Value* from = op.operand(0);
      LaneShape s = shape(from);
      bool ints = from->type->is_int() && result->type->is_int();
      bool keeps = ints && (result->type->size() <= from->type->size() ||
                            (from->kind == ir::ValueKind::result && from->op->code == OpCode::tid));
      join(result, 0, s == kUniform || s == kUnset || keeps ? s : kVarying);
      return;
    }
    case OpCode::construct:
      if (result->type->is_struct() || result->type->is_tuple()) {
        std::uint32_t unit = 0;
        for (const Value* v : op.operands) {
          std::uint32_t n = lane_units(v->type);
          join_copy(result, unit, v, 0, n);
          unit += n;
        }
        return;
      }
      return join(result, 0, all_of(op.operands));
    case OpCode::extract:
    case OpCode::insert: {
      // Constant field steps select units; any step into a composite ends in its one unit.
      bool inserting = op.code == OpCode::insert;
      const Value* aggregate = op.operand(0);
      const Type* type = aggregate->type;
      std::uint32_t unit = 0;
      // Composites are one unit: a single varying component makes all of it a vector of lanes.
      bool inside = false;
      for (const ir::PathStep& step : op.path) {
        if (step.kind == ir::PathStep::field) {
          unit += first_unit_of_field(type, std::size_t(step.value));
          type = type->fields()[std::size_t(step.value)].type;
        } else {
          inside = true;
        }
      }
      LaneShape dynamic = all_of(op.operands.subspan(inserting ? 2 : 1));
      if (!inserting) {
        if (!inside) return join_copy(result, 0, aggregate, unit, lane_units(result->type));
        LaneShape s = shape(aggregate, unit);
        // Lanes that ask for different components get different numbers, even out of a uniform vector.
        return join(result, 0, dynamic == kUniform || s == kUnset ? s : dynamic);
      }
      const Value* part = op.operand(1);
      std::uint32_t count = inside ? 1 : lane_units(part->type), total = lane_units(result->type);
      for (std::uint32_t u = 0; u < total; ++u) {
        if (u < unit || u >= unit + count) {
          join(result, u, shape(aggregate, u));
        } else if (!inside) {
          join(result, u, shape(part, u - unit));
        } else {
          Value* both[] = {op.operand(1)};
          LaneShape p = all_of(both), s = shape(aggregate, u);
          bool unset = p == kUnset || s == kUnset || dynamic == kUnset;
          join(result, u, unset ? kUnset : p == kUniform && s == kUniform && dynamic == kUniform ? kUniform : kVarying);
        }
      }
      return;
    }
    case OpCode::bitcast:
    case OpCode::splat: WEFT_CASES(WEFT_OPS_BUT_DATA) WEFT_UNREACHABLE("its lanes are known by ops.def");
  }
}

/// A local array stays one for all lanes as long as they write the same to the same place at the same time.
void Uniformity::visit_store(const Op& op) {
  const Value* array = op.operand(0);
  if (array->kind != ir::ValueKind::result || array->op->code != OpCode::local) return;
  if (ir::is_block_memory(*array->op)) return;  // one piece for all, whatever is written
  LaneShape what = all_of(op.operands.subspan(1));
  // Under a condition that lanes answer differently some would not have written. Optimistic about what is unset: the
  // store is looked at again in every round.
  bool same = (what == kUniform || what == kUnset) && parted_ == 0 && op.code == OpCode::store;
  if (!same) join(array, kUnitData, kVarying);
}

void Uniformity::visit_inside(const Region& region, LaneShape condition) {
  bool parts = condition != kUniform && condition != kUnset;
  // Optimistic here, too: a condition that turns out varying later comes through in a later round, when stores inside
  // are met again.
  parted_ += parts;
  visit(region);
  parted_ -= parts;
}

void Uniformity::visit_memory(const Op& op) {
  if (op.code == OpCode::store || op.code == OpCode::atomic) visit_store(op);
  if (op.results.empty()) return;
  const Value* result = op.result();
  const Value* array = op.operands.empty() ? nullptr : op.operand(0);
  switch (op.code) {
    // The same place for all lanes needs indices, strides (and, where indices count from the end, extents) and data
    // that are uniform. Then all lanes read the same: no other thread's write comes between the lanes of one load.
    case OpCode::load: {
      LaneShape s = all_of(op.operands.subspan(1));
      LaneShape data = shape(array, kUnitData);
      std::uint32_t rank = array->type->rank();
      for (std::uint32_t d = 0; d < op.num_indices; ++d) {
        LaneShape stride = shape(array, kUnitShape + rank + d);
        LaneShape extent = op.wrap >> d & 1 ? shape(array, kUnitShape + d) : kUniform;
        for (LaneShape part : {stride, extent}) s = s == kUnset || part == kUnset ? kUnset : s != kUniform ? s : part;
      }
      return join_all(result, s == kUnset || data == kUnset       ? kUnset
                              : s == kUniform && data == kUniform ? kUniform
                                                                  : kVarying);
    }
    case OpCode::view: {
      std::uint32_t rank = array->type->rank(), left = result->type->rank();
      std::uint32_t kept = std::uint32_t(op.imm);
      LaneShape offset = all_of(op.operands.subspan(1));
      for (std::uint32_t d = 0; d < op.num_indices; ++d) {
        LaneShape stride = shape(array, kUnitShape + rank + kept + d);
        LaneShape extent = op.wrap >> d & 1 ? shape(array, kUnitShape + kept + d) : kUniform;
        for (LaneShape part : {stride, extent})
          offset = offset == kUnset || part == kUnset ? kUnset : offset != kUniform ? offset : part;
      }
      // Both pointers move by the same offset.
      for (std::uint32_t u : {kUnitData, kUnitGrad}) {
        LaneShape s = shape(array, u);
        join(result, u,
             s == kUnset || offset == kUnset       ? kUnset
             : s == kUniform && offset == kUniform ? kUniform
                                                   : kVarying);
      }
      for (std::uint32_t unit : {kUnitShape, kUnitShape + rank}) {  // extents, then strides
        std::uint32_t to = unit == kUnitShape ? unit : kUnitShape + left;
        join_copy(result, to, array, unit, kept);
        join_copy(result, to + kept, array, unit + kept + op.num_indices, left - kept);
      }
      return;
    }
    // Data, gradient, and extent and stride of the one dimension change; all others are as they were.
    case OpCode::slice: {
      std::uint32_t rank = array->type->rank(), d = std::uint32_t(op.imm);
      LaneShape s = all_of(op.operands.subspan(1));
      for (LaneShape part : {shape(array, kUnitShape + d), shape(array, kUnitShape + rank + d)})
        s = s == kUnset || part == kUnset ? kUnset : s == kUniform && part == kUniform ? kUniform : kVarying;
      for (std::uint32_t u = 0; u < 2 + 2 * rank; ++u) {
        bool own = u == kUnitShape + d || u == kUnitShape + rank + d;
        LaneShape base = shape(array, u);
        bool moved = own || u == kUnitData || u == kUnitGrad;
        join(result, u,
             !moved                              ? base
             : s == kUnset || base == kUnset     ? kUnset
             : s == kUniform && base == kUniform ? kUniform
                                                 : kVarying);
      }
      return;
    }
    case OpCode::dim: return join(result, 0, shape(array, kUnitShape + std::uint32_t(op.imm)));
    case OpCode::nonnull:
    case OpCode::data_ptr: return join(result, 0, shape(array, kUnitData));
    case OpCode::gradient:
      for (std::uint32_t u = 0, n = lane_units(result->type); u < n; ++u)
        join(result, u, u == kUnitData ? shape(array, kUnitGrad) : u == kUnitGrad ? kUniform : shape(array, u));
      return;
    case OpCode::with_gradient:
      for (std::uint32_t u = 0, n = lane_units(result->type); u < n; ++u)
        join(result, u, u == kUnitGrad ? shape(op.operand(1), kUnitData) : shape(array, u));
      return;
    // Strides are made of the extents, so they are as uniform as those are all together.
    case OpCode::from_ptr: {
      LaneShape extents = all_of(op.operands.subspan(1)), data = whole(op.operand(0));
      for (std::uint32_t u = 0, n = lane_units(result->type); u < n; ++u)
        join(result, u, u == kUnitData ? data : u == kUnitGrad ? kUniform : extents);
      return;
    }
    case OpCode::local: {
      // One copy for all lanes, until a store says otherwise; then each lane has its own, and the data pointer varies.
      // Under a parted condition lanes that are not there would share what they never made.
      bool shared = ir::is_block_memory(op) || (only_accessed(result) && parted_ == 0 && !give_up_);
      for (std::uint32_t u = 0, n = lane_units(result->type); u < n; ++u)
        join(result, u, u == kUnitData && !shared ? kVarying : kUniform);
      return;
    }
    case OpCode::atomic: return join_all(result, kVarying);  // each lane gets its own old value
    case OpCode::store:
    case OpCode::prefetch:
    case OpCode::recall: WEFT_CASES(WEFT_OPS_BUT_MEMORY) WEFT_UNREACHABLE("its lanes are known by ops.def");
  }
}

void Uniformity::visit_control(const Op& op) {
  switch (op.code) {
    case OpCode::if_: {
      LaneShape c = whole(op.operand(0));
      for (const Region* region : op.regions) visit_inside(*region, c);
      // A result would be joined with shapes that hold only if the condition is uniform.
      if (c == kUnset) return;
      const Op* yields[] = {op.regions[0]->terminator(), op.regions[1]->terminator()};
      for (std::size_t r = 0; r < op.results.size(); ++r)
        for (std::uint32_t u = 0, n = lane_units(op.results[r]->type); u < n; ++u)
          for (const Op* yield : yields) join(op.results[r], u, c == kUniform ? shape(yield->operand(r), u) : kVarying);
      return;
    }
    case OpCode::for_: {
      const Region& body = *op.regions[0];
      LaneShape lo = shape(op.operand(0)), step = shape(op.operand(2));
      LaneShape all = all_of(op.operands.first(3));
      if (all == kUnset) return;
      // All lanes count in step: what lies between their indices at the start stays between them.
      join(body.args[0], 0, step == kUniform ? lo : kVarying);
      // Lanes that leave at different times keep what they had in their last turn: a number per lane, however uniform
      // each turn was.
      bool lost = all != kUniform || give_up_;
      // The start first, then the body under it, then what the body yields: one round sees a whole turn.
      for (int pass = 0; pass < 2; ++pass) {
        const Op* yield = body.terminator();
        for (std::size_t k = 0; k + 1 < body.args.size(); ++k)
          for (std::uint32_t u = 0, n = lane_units(body.args[k + 1]->type); u < n; ++u) {
            LaneShape in = shape(pass == 0 ? op.operand(3 + k) : yield->operand(k), u);
            join(body.args[k + 1], u, lost ? kVarying : in);
            join(op.results[k], u, shape(body.args[k + 1], u));
          }
        if (pass == 0) visit_inside(body, all);
      }
      return;
    }
    case OpCode::while_: {
      const Region &test = *op.regions[0], &body = *op.regions[1];
      // The same carried value has three names: in the test, in the body, behind the loop.
      auto carry = [&](std::size_t k, std::uint32_t u, LaneShape s) {
        join(test.args[k], u, s);
        join(body.args[k], u, shape(test.args[k], u));
        join(op.results[k], u, shape(test.args[k], u));
      };
      for (std::size_t k = 0; k < test.args.size(); ++k)
        for (std::uint32_t u = 0, n = lane_units(test.args[k]->type); u < n; ++u) carry(k, u, shape(op.operand(k), u));
      // The condition of the last round: for this round's it is too early, as its operands are looked at inside.
      LaneShape before = whole(test.terminator()->operand(0));
      visit_inside(test, before);
      visit_inside(body, before);
      LaneShape c = whole(test.terminator()->operand(0));
      bool lost = give_up_ || (c != kUnset && c != kUniform);
      const Op* yield = body.terminator();
      for (std::size_t k = 0; k < test.args.size(); ++k)
        for (std::uint32_t u = 0, n = lane_units(test.args[k]->type); u < n; ++u)
          carry(k, u, lost ? kVarying : shape(yield->operand(k), u));
      return;
    }
    case OpCode::call:
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test: WEFT_CASES(WEFT_OPS_BUT_CONTROL) WEFT_UNREACHABLE("its lanes are known by ops.def");
  }
}

}  // namespace weft::analysis
