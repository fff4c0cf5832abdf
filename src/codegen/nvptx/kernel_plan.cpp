// Plans of GPU kernels, read off the IR.
#include "codegen/nvptx/kernel_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/block_threads.h"
#include "analysis/private_sums.h"
#include "analysis/uniformity.h"
#include "codegen/cpu/lane_choice.h"
#include "ir/tile_memory.h"

namespace weft::codegen {
namespace {

using ir::OpCode;

constexpr std::uint64_t kMaxTwoBodyWeight = 2000;
constexpr std::uint64_t kMinLongWeight = 40;
constexpr std::uint32_t kMaxSumWords = 32;

bool is_parameter(const ir::Function& kernel, const ir::Value* value) {
  return value->kind == ir::ValueKind::argument && value->region == kernel.body;
}

bool is_tid(const ir::Value* value) { return value->kind == ir::ValueKind::result && value->op->code == OpCode::tid; }

void collect(const ir::Region& region, std::vector<const ir::Op*>& out) {
  for (const ir::Op& op : region) {
    out.push_back(&op);
    for (const ir::Region* nested : op.regions) collect(*nested, out);
  }
}

bool touches_array(const ir::Op& op) {
  return op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic;
}

/// The element of the array that an operation touches.
const Type* element_of(const ir::Op& op) { return op.operand(0)->type->element(); }

/// Lanes for elements of one array access: scalars that fill at most 16 bytes. Composites move in wide pieces by
/// themselves, or, like vec3, in pieces that several of them together would not make wider.
int lanes_for(const Type* element) {
  if (!element->is_scalar()) return 1;
  return element->size() == 8 ? 2 : 4;
}

/// Lanes that a kernel's body can have: straight code that reads and writes elements at its thread's own index.
int straight_lanes(const ir::Function& kernel, const std::vector<const ir::Op*>& ops) {
  if (kernel.form.rank != 1 || kernel.form.strided || !kernel.form.no_overlap || !is_light(kernel)) return 1;
  int lanes = 4;
  bool streams = false;
  for (const ir::Op* op : ops) {
    if (!op->regions.empty()) return 1;
    switch (ir::class_of(op->code)) {
      case ir::OpClass::effect:
        if (op->code != OpCode::tid) return 1;
        break;
      case ir::OpClass::memory: {
        if (!touches_array(*op)) return 1;
        if (!is_parameter(kernel, op->operand(0)) || op->num_indices != 1 || !op->path.empty()) return 1;
        const ir::Value* index = op->indices()[0];
        if (op->code == OpCode::atomic) break;
        if (is_tid(index)) {
          lanes = std::min(lanes, lanes_for(element_of(*op)));
          streams = true;
        } else if (!index->is_constant()) {
          return 1;
        }
        break;
      }
      case ir::OpClass::control:  // only what ends the body has no regions
      case ir::OpClass::arith:
      case ir::OpClass::bits:
      case ir::OpClass::compare:
      case ir::OpClass::round:
      case ir::OpClass::math:
      case ir::OpClass::data:
      case ir::OpClass::whole: break;
    }
  }
  return streams ? lanes : 1;
}

/// Registers that sums of such elements take; 0: they can't be kept in any.
std::uint32_t words_of(const Type* type) {
  if (!type->is_scalar() && !type->is_composite()) return 0;
  switch (type->scalar_kind()) {
    case ScalarKind::i32:
    case ScalarKind::u32:
    case ScalarKind::i64:
    case ScalarKind::u64:
    case ScalarKind::f32:
    case ScalarKind::f64: return std::uint32_t(type->size() / 4);
    default: return 0;
  }
}

/// Whether an array is a parameter's, or one in a struct of parameters, or the gradient of such: known at the kernel's end.
bool known_at_end(const ir::Function& kernel, const ir::Value* array) {
  if (is_parameter(kernel, array)) return true;
  if (array->kind != ir::ValueKind::result || array->op->operands.size() != 1) return false;
  return (array->op->code == OpCode::gradient || array->op->code == OpCode::extract) &&
         known_at_end(kernel, array->op->operand(0));
}

/// Whether every thread comes to an operation once, but for conditions; where there are loops, but for whether a gradient
/// is wanted: threads of such kernels better take one step each.
bool comes_once(const ir::Op& op, bool loops) {
  for (const ir::Region* region = op.parent; region->parent_op; region = region->parent_op->parent) {
    const ir::Op& around = *region->parent_op;
    if (around.code != OpCode::if_) return false;
    const ir::Value* condition = around.operand(0);
    const bool asks_gradient = condition->kind == ir::ValueKind::result && condition->op->code == OpCode::nonnull;
    if (loops && !asks_gradient) return false;
  }
  return true;
}

std::vector<std::vector<const ir::Op*>> find_sums(const ir::Function& kernel, const std::vector<const ir::Op*>& ops,
                                                  const std::vector<analysis::LoneAdds>& lone) {
  std::vector<std::vector<const ir::Op*>> sums;
  const bool loops = std::any_of(ops.begin(), ops.end(), [](const ir::Op* op) {
    return op->code == OpCode::for_ || op->code == OpCode::while_ || op->code == OpCode::call;
  });
  std::uint32_t words = 0;
  for (const analysis::LoneAdds& to : lone) {
    std::map<std::vector<std::int64_t>, std::vector<const ir::Op*>> places;
    const std::uint32_t more = words_of(element_of(*to.ops.front()));
    for (const ir::Op* op : to.ops) {
      const auto constant = [](const ir::Value* v) { return v->is_constant() && v->as_int() >= 0; };
      if (more == 0 || !op->path.empty() || !known_at_end(kernel, op->operand(0)) || !comes_once(*op, loops) ||
          !std::all_of(op->indices().begin(), op->indices().end(), constant))
        continue;
      std::vector<std::int64_t> place;
      for (const ir::Value* v : op->indices()) place.push_back(v->as_int());
      places[place].push_back(op);
    }
    for (auto& [place, adds] : places) {
      if (words + more > kMaxSumWords) break;
      words += more;
      sums.push_back(std::move(adds));
    }
  }
  return sums;
}

/// Whether a number is the same in all threads of a warp: made of such, or of the thread's number in the block with the part that
/// differs cut off.
bool same_in_warp(const ir::Value* v, const analysis::Uniformity& in_block, int depth = 0) {
  constexpr int kBits = 5;
  constexpr std::int64_t kWarp = 1 << kBits;
  if (v->is_constant() || in_block.uniform(v)) return true;
  if (v->kind != ir::ValueKind::result || depth > 8) return false;
  const ir::Op& op = *v->op;
  // How often the thread's number is in it, beside multiples of a warp that all threads have alike: warps begin at such.
  const auto threads = [&](const auto& self, const ir::Value* x, int d) -> std::optional<int> {
    if (x->is_constant()) return x->as_int() % kWarp == 0 ? std::optional(0) : std::nullopt;
    if (x->kind != ir::ValueKind::result || d > 8) return std::nullopt;
    const ir::Op& made = *x->op;
    if (made.code == OpCode::block_thread) return 1;
    if (made.code == OpCode::add) {
      const auto a = self(self, made.operand(0), d + 1), b = self(self, made.operand(1), d + 1);
      return a && b ? std::optional(*a + *b) : std::nullopt;
    }
    if (made.operands.size() != 2 || !made.operand(1)->is_constant() || !in_block.uniform(made.operand(0)))
      return std::nullopt;
    const std::int64_t n = made.operand(1)->as_int();
    const bool times = made.code == OpCode::mul && n % kWarp == 0;
    return times || (made.code == OpCode::shl && n >= kBits && n < 32) ? std::optional(0) : std::nullopt;
  };
  const auto moved = [&](const ir::Value* x) {
    const auto found = threads(threads, x, 0);
    return found && *found <= 1;
  };
  switch (op.code) {
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::cast:
      return std::all_of(op.operands.begin(), op.operands.end(),
                         [&](const ir::Value* x) { return same_in_warp(x, in_block, depth + 1); });
    case OpCode::shr: return op.operand(1)->is_constant() && op.operand(1)->as_int() >= kBits && moved(op.operand(0));
    case OpCode::div:
    case OpCode::floordiv:
      return op.operand(1)->is_constant() && op.operand(1)->as_int() > 0 && op.operand(1)->as_int() % kWarp == 0 &&
             moved(op.operand(0));
    default: return false;  // safe: each thread then adds by itself
  }
}

std::unordered_set<const ir::Op*> find_meeting_adds(const ir::Function& kernel, std::vector<const ir::Op*> ops) {
  std::unordered_set<const ir::Op*> meeting;
  std::erase_if(ops, [](const ir::Op* op) { return op->code != OpCode::atomic || op->atomic != ir::AtomicKind::add; });
  if (ops.empty()) return meeting;
  analysis::LaneEntry in_row;
  in_row.in_step = false;
  in_row.tids[kernel.form.rank - 1] = in_row.thread = 1;
  const analysis::Uniformity shapes(kernel, in_row);
  for (const ir::Op* op : ops) {
    const auto places = op->operands.subspan(1, op->operands.size() - 2);
    if (shapes.shape(op->operand(0), analysis::kUnitData) == analysis::kUniform &&
        std::all_of(places.begin(), places.end(), [&](const ir::Value* v) { return shapes.uniform(v); }))
      meeting.insert(op);
  }
  return meeting;
}

/// Whether elements move as a whole that are several times 8 bytes large.
bool moves_wide(const std::vector<const ir::Op*>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const ir::Op* op) {
    if ((op->code != OpCode::load && op->code != OpCode::store) || !op->path.empty()) return false;
    const Type* element = element_of(*op);
    return element->is_composite() && element->size() % 8 == 0;
  });
}

/// Whether an index is the thread's, moved and scaled by what is the same for all.
bool near_thread(const ir::Function& kernel, const ir::Value* index, int depth = 6) {
  if (index->is_constant() || is_parameter(kernel, index)) return true;
  if (index->kind != ir::ValueKind::result || depth == 0) return false;
  switch (index->op->code) {
    case OpCode::tid:
    case OpCode::dim: return true;
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::rem:
    case OpCode::min:
    case OpCode::max:
      return std::all_of(index->op->operands.begin(), index->op->operands.end(),
                         [&](const ir::Value* v) { return near_thread(kernel, v, depth - 1); });
    default: return false;  // safe: it may be far
  }
}

/// Whether all threads do the same work near their own place. Where they don't, threads that take several steps far apart
/// share less of the caches, and some have more to do than others.
bool is_regular(const ir::Function& kernel, const std::vector<const ir::Op*>& ops) {
  return std::all_of(ops.begin(), ops.end(), [&](const ir::Op* op) {
    if (op->code == OpCode::for_ || op->code == OpCode::while_ || op->code == OpCode::call ||
        op->code == OpCode::atomic || op->code == OpCode::shuffle || op->code == OpCode::vote ||
        op->code == OpCode::block_thread || ir::shows_memory(op->code))
      return false;
    return !touches_array(*op) || std::all_of(op->indices().begin(), op->indices().end(),
                                              [&](const ir::Value* v) { return near_thread(kernel, v); });
  });
}

/// Whether there is such an operation, in functions that are called too.
bool reaches(const std::vector<const ir::Op*>& ops, OpCode code) {
  return std::any_of(ops.begin(), ops.end(), [&](const ir::Op* op) {
    if (op->code != OpCode::call) return op->code == code;
    std::vector<const ir::Op*> inner;
    collect(*op->callee->body, inner);
    return reaches(inner, code);
  });
}

/// Whether threads vote. Then they walk trees, which is most of the code and of the time.
bool votes(const std::vector<const ir::Op*>& ops) { return reaches(ops, OpCode::vote); }

/// Whether they also hand work to each other, as walks to closest points do: a warp is as long as all its work together,
/// and more of them at a time hide its loads.
bool shares_work(const std::vector<const ir::Op*>& ops) { return votes(ops) && reaches(ops, OpCode::shuffle); }

/// So that eight blocks of 128 threads fit a multiprocessor. Measured: docs/design/geometry.md, "Walks".
constexpr int kSharingRegisters = 64;

}  // namespace

GpuPlan plan_gpu_kernel(const ir::Function& kernel, ThreadOrder order) {
  std::vector<const ir::Op*> ops;
  collect(*kernel.body, ops);
  GpuPlan plan;
  if (shares_work(ops)) plan.registers = kSharingRegisters;
  if (order != ThreadOrder::any) return plan;
  plan.meeting_adds = find_meeting_adds(kernel, ops);
  if (calls_native(kernel)) return plan;  // C++ may do anything with the memory it is given
  std::vector<analysis::LoneAdds> lone;
  if (!plan.meeting_adds.empty() && kernel.form.no_overlap && !kernel.form.meet)
    lone = analysis::find_private_sums(kernel);
  for (const analysis::LoneAdds& to : lone) plan.lone_adds.insert(to.ops.begin(), to.ops.end());
  for (const ir::Op* op : ops)  // debug code reports places one thread at a time, and is not for speed
    if (op->code == OpCode::check || op->code == OpCode::assert_) return plan;
  plan.sums = find_sums(kernel, ops, lone);
  plan.lanes = straight_lanes(kernel, ops);
  const bool several_dimensions = kernel.form.rank > 1 && is_regular(kernel, ops);
  if (several_dimensions || (plan.lanes > 1 && kernel_weight(kernel) >= kMinLongWeight)) plan.steps = 4;
  plan.aligned = plan.lanes == 1 && !votes(ops) && moves_wide(ops) && kernel_weight(kernel) <= kMaxTwoBodyWeight;
  return plan;
}

std::unordered_set<const ir::Op*> find_block_adds(const ir::Function& kernel) {
  std::unordered_set<const ir::Op*> meeting;
  std::vector<const ir::Op*> ops;
  collect(*kernel.body, ops);
  std::erase_if(ops, [](const ir::Op* op) {
    return op->code != OpCode::atomic || op->atomic != ir::AtomicKind::add || !op->path.empty() ||
           op->num_indices != 1 || !ir::is_block_memory(op->operand(0));
  });
  if (ops.empty()) return meeting;
  const analysis::BlockThreads threads(kernel);
  // In loops that threads leave at different times they may be in different turns.
  const auto in_step = [&](const ir::Op& op) {
    for (const ir::Region* at = op.parent; at && at->parent_op; at = at->parent_op->parent) {
      const ir::Op& around = *at->parent_op;
      const bool loop = around.code == OpCode::for_ || around.code == OpCode::while_;
      if (loop && around.text != ir::kSharedLoop && !threads.together(around)) return false;
    }
    return true;
  };
  for (const ir::Op* op : ops)
    if (in_step(*op) && same_in_warp(op->indices()[0], threads.shapes())) meeting.insert(op);
  return meeting;
}

bool goes_to_one_place(const ir::Op& atomic) {
  const ir::Function& kernel = *atomic.parent->function;
  if (kernel.kind != ir::FunctionKind::kernel || !atomic.path.empty()) return false;
  const auto same = [&](const ir::Value* v) { return v->is_constant() || is_parameter(kernel, v); };
  return same(atomic.operand(0)) && std::all_of(atomic.indices().begin(), atomic.indices().end(), same);
}

}  // namespace weft::codegen
