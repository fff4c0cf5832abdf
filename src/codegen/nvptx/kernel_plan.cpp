// Plans of GPU kernels, read off the IR.
#include "codegen/nvptx/kernel_plan.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/kernel_size.h"

namespace weft::codegen {
namespace {

using ir::OpCode;

constexpr std::uint64_t kMaxTwoBodyWeight = 2000;
constexpr std::uint64_t kMinLongWeight = 40;

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
      default: break;
    }
  }
  return streams ? lanes : 1;
}

bool is_summable(const Type* type) {
  if (!type->is_scalar()) return false;
  switch (type->scalar_kind()) {
    case ScalarKind::i32:
    case ScalarKind::u32:
    case ScalarKind::i64:
    case ScalarKind::u64:
    case ScalarKind::f32:
    case ScalarKind::f64: return true;
    default: return false;
  }
}

std::vector<const ir::Op*> find_sums(const ir::Function& kernel, const std::vector<const ir::Op*>& ops) {
  std::vector<const ir::Op*> sums;
  if (!kernel.form.no_overlap) return sums;
  std::unordered_set<const ir::Value*> used;
  for (const ir::Op* op : ops) used.insert(op->operands.begin(), op->operands.end());
  for (const ir::Op* op : ops) {
    const bool fits = op->code == OpCode::atomic && op->atomic == ir::AtomicKind::add && op->parent == kernel.body &&
                      op->path.empty() && is_parameter(kernel, op->operand(0)) && is_summable(element_of(*op)) &&
                      !used.count(op->result());
    const auto constant = [](const ir::Value* v) { return v->is_constant() && v->as_int() >= 0; };
    if (!fits || !std::all_of(op->indices().begin(), op->indices().end(), constant)) continue;
    // Nobody else may look at the array before the sum is there.
    const auto other = [&](const ir::Op* o) {
      const bool mentions = std::find(o->operands.begin(), o->operands.end(), op->operand(0)) != o->operands.end();
      return mentions && (o->code != OpCode::atomic || o->atomic != ir::AtomicKind::add || o->parent != kernel.body ||
                          used.count(o->result()));
    };
    if (std::none_of(ops.begin(), ops.end(), other)) sums.push_back(op);
  }
  return sums;
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
    default: return false;
  }
}

/// Whether all threads do the same work near their own place. Where they don't, threads that take several steps far apart
/// share less of the caches, and some have more to do than others.
bool is_regular(const ir::Function& kernel, const std::vector<const ir::Op*>& ops) {
  return std::all_of(ops.begin(), ops.end(), [&](const ir::Op* op) {
    if (op->code == OpCode::for_ || op->code == OpCode::while_ || op->code == OpCode::call ||
        op->code == OpCode::atomic)
      return false;
    return !touches_array(*op) || std::all_of(op->indices().begin(), op->indices().end(),
                                              [&](const ir::Value* v) { return near_thread(kernel, v); });
  });
}

}  // namespace

GpuPlan plan_gpu_kernel(const ir::Function& kernel, ThreadOrder order) {
  std::vector<const ir::Op*> ops;
  collect(*kernel.body, ops);
  GpuPlan plan;
  if (order != ThreadOrder::any || calls_native(kernel))
    return plan;                // C++ may do anything with the memory it is given
  for (const ir::Op* op : ops)  // debug code reports places one thread at a time, and is not for speed
    if (op->code == OpCode::check || op->code == OpCode::assert_) return plan;
  plan.sums = find_sums(kernel, ops);
  plan.lanes = straight_lanes(kernel, ops);
  const bool several_dimensions = kernel.form.rank > 1 && is_regular(kernel, ops);
  if (several_dimensions || (plan.lanes > 1 && kernel_weight(kernel) >= kMinLongWeight)) plan.steps = 4;
  plan.aligned = plan.lanes == 1 && moves_wide(ops) && kernel_weight(kernel) <= kMaxTwoBodyWeight;
  return plan;
}

bool goes_to_one_place(const ir::Op& atomic) {
  const ir::Function& kernel = *atomic.parent->function;
  if (kernel.kind != ir::FunctionKind::kernel || !atomic.path.empty()) return false;
  const auto same = [&](const ir::Value* v) { return v->is_constant() || is_parameter(kernel, v); };
  return same(atomic.operand(0)) && std::all_of(atomic.indices().begin(), atomic.indices().end(), same);
}

}  // namespace weft::codegen
