// One walk in the order of the text that keeps, for each promoted array, the vectors that hold its content at this place.
#include "passes/promote_locals.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::PathStep;
using ir::Region;
using ir::Value;

/// A number inside an element: its type and the way to it.
struct Leaf {
  const Type* type;
  std::vector<PathStep> path;
};

PathStep step(PathStep::Kind kind, std::size_t at) { return {kind, false, false, std::int32_t(at)}; }

// Row by row and field by field, in the order in which `build` puts an element together again: both walk the type in
// the same way.
/// False if the type holds anything but numbers.
bool find_leaves(const Type* type, std::vector<PathStep>& path, std::vector<Leaf>& out) {
  if (type->is_scalar()) {
    out.push_back({type, path});
    return true;
  }
  bool ok = type->is_composite() || type->is_struct();
  auto inside = [&](PathStep next, const Type* inner) {
    path.push_back(next);
    ok = ok && find_leaves(inner, path, out);
    path.pop_back();
  };
  if (type->is_struct()) {
    for (std::size_t k = 0; k < type->fields().size(); ++k) inside(step(PathStep::field, k), type->fields()[k].type);
  } else if (type->is_mat()) {
    for (std::uint32_t k = 0; k < type->component_count(); ++k) {
      path.push_back(step(PathStep::index, k / type->cols()));
      inside(step(PathStep::index, k % type->cols()), type->element());
      path.pop_back();
    }
  } else if (ok) {
    for (std::uint32_t k = 0; k < type->component_count(); ++k) inside(step(PathStep::index, k), type->element());
  }
  return ok;
}

struct Promoted {
  std::vector<Leaf> leaves;
  std::int64_t elements = 1;
  bool scalar = false;               // elements are numbers themselves
  std::vector<const Type*> content;  // a vector of all elements for each leaf
};

bool replaceable(const Op& use) {
  switch (use.code) {
    case OpCode::load:
    case OpCode::dim: return true;
    // Private memory has one thread, so an atomic is a read and a write. Compare-and-swap would need a select on
    // equality of bits, which no program asks of a private array.
    case OpCode::store: return !use.operands.back()->type->is_array();
    case OpCode::atomic: return use.atomic != ir::AtomicKind::cas;
    default: return false;  // safe: it stays in memory
  }
}

/// For `t = local : array<f32,1> [3]`, before and after:
///
///   store t[i], x                     t1 = insert t0, x, [i]              (t0 is zero)
///   if c { store t[0], y }            t2 = if c { t3 = insert t1, y, [0]; yield t3 } else { yield t1 }
///   z = load t[j]                     z = extract t2[j]
///
/// Structs and vectors as elements have a vector for each of their numbers.
class Promoter {
 public:
  Promoter(ir::Function& function, std::int64_t most)
      : function_(function), most_(most), rewriter_(function), b_(function, function.body) {}

  bool run() {
    choose();
    if (chosen_.empty()) return false;
    Contents contents;
    region(*function_.body, contents);
    // Last: until here accesses know their array by the operation that made it.
    for (auto& [op, promoted] : chosen_) ir::remove_op(const_cast<Op*>(op));
    return true;
  }

 private:
  using Contents = std::map<const Op*, std::vector<Value*>>;  // by the `local`; ordered by address only within one run

  const Op* local_of(const Value* array) const {
    if (array->kind != ir::ValueKind::result || array->op->code != OpCode::local) return nullptr;
    return chosen_.contains(array->op) ? array->op : nullptr;
  }

  void choose() {
    ir::walk(*function_.body, [&](const Op& op) {
      if (op.code != OpCode::local || op.imm) return;
      Promoted made;
      for (std::int64_t n : op.ints) made.elements *= n;
      const Type* element = op.result()->type->element();
      std::vector<PathStep> path;
      // Arrays of descriptors stay in memory: a vector holds numbers.
      if (made.elements < 1 || !find_leaves(element, path, made.leaves)) return;
      // Dynamic indices into a vector cost a comparison per element in the adjoint, and loops carry all of it: memory
      // is cheaper beyond some size.
      if (made.elements * std::int64_t(made.leaves.size()) > most_) return;
      made.scalar = element->is_scalar();
      for (const Leaf& leaf : made.leaves) made.content.push_back(types::vec(leaf.type, std::uint32_t(made.elements)));
      chosen_.emplace(&op, std::move(made));
    });
    // Any use that is not an access of the array itself lets the descriptor out. A yield or a call argument would need
    // the content to travel along.
    ir::walk(*function_.body, [&](const Op& op) {
      for (std::size_t k = 0; k < op.operands.size(); ++k) {
        const Value* value = op.operand(k);
        if (value->kind != ir::ValueKind::result || value->op->code != OpCode::local) continue;
        if (k > 0 || !replaceable(op)) chosen_.erase(value->op);
      }
    });
    // For each control operation what is written somewhere inside: these contents it has to carry. What is only read
    // inside is in sight from outside.
    ir::walk(*function_.body, [&](const Op& op) {
      if (op.code != OpCode::store && op.code != OpCode::atomic) return;
      const Op* local = local_of(op.operand(0));
      if (!local) return;
      for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent) {
        auto& list = changed_[at->parent_op];
        if (std::find(list.begin(), list.end(), local) == list.end()) list.push_back(local);
      }
    });
  }

  void region(Region& region, Contents& contents) {
    for (Op& op : region) {
      rewriter_.apply(op);
      if (op.code == OpCode::local && chosen_.contains(&op)) {
        auto& content = contents[&op];
        // In a loop the array is new each time, and zero.
        content.clear();
        for (const Type* type : chosen_.at(&op).content) content.push_back(b_.zero(type));
      } else if (!op.operands.empty() && !op.regions.size() && local_of(op.operand(0))) {
        access(op, contents);
      } else if (!op.regions.empty()) {
        control(op, contents);
      }
    }
  }

  /// Arrays from outside that the operation changes, in the order in which they were found.
  std::vector<const Op*> carried(const Op& op, const Contents& contents) {
    std::vector<const Op*> out;
    auto it = changed_.find(&op);
    if (it == changed_.end()) return out;
    for (const Op* local : it->second)
      // Those made inside are zero at each run and seen by nobody outside.
      if (contents.contains(local) && !inside(*local, op)) out.push_back(local);
    return out;
  }
  static bool inside(const Op& op, const Op& outer) {
    for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent)
      if (at->parent_op == &outer) return true;
    return false;
  }

  void control(Op& op, Contents& contents) {
    const std::vector<const Op*> locals = carried(op, contents);
    const bool loop = op.code != OpCode::if_;
    if (loop)
      for (const Op* local : locals)
        for (Value* value : contents.at(local)) function_.append_operand(&op, value);
    for (Region* side : op.regions) {
      // Both sides start from the content before; what they leave is merged by the operation's new results.
      Contents own = contents;
      if (loop)
        for (const Op* local : locals)
          for (Value*& value : own.at(local)) value = function_.add_argument(side, value->type);
      region(*side, own);
      rewriter_.apply(*side->last);
      if (loop && side != op.regions.back()) continue;  // the test of a `while` changes nothing
      for (const Op* local : locals)
        for (Value* value : own.at(local)) function_.append_operand(side->last, value);
    }
    for (const Op* local : locals)
      for (Value*& value : contents.at(local)) value = function_.append_result(&op, value->type);
  }

  Value* number_of(const Op& op, const Op& local) {
    Value* flat = nullptr;
    for (std::size_t d = 0; d < op.indices().size(); ++d) {
      Value* index = op.indices()[d];
      if (index->type != types::i32()) index = b_.cast(index, types::i32());
      Value* extent = b_.i32(local.ints[d]);
      // As the access would have done; a result out of range still gives zero, or changes nothing, as the IR says of
      // components.
      if (op.wrap >> d & 1) {
        Value* negative = b_.binary(OpCode::lt, index, b_.i32(0));
        index = b_.select(negative, b_.binary(OpCode::add, index, extent), index);
      }
      // Row by row, the last index fastest.
      flat = flat ? b_.binary(OpCode::add, b_.binary(OpCode::mul, flat, extent), index) : index;
    }
    return flat;
  }

  Value* whole(const Type* type, const std::vector<Value*>& content, Value* at) {
    std::size_t next = 0;
    return build(type, content, at, next);
  }
  Value* build(const Type* type, const std::vector<Value*>& content, Value* at, std::size_t& next) {
    if (type->is_scalar()) {
      const PathStep dynamic[] = {{PathStep::index, true, false, 0}};
      return b_.extract(content[next++], dynamic, {&at, 1});
    }
    std::vector<Value*> parts;
    if (type->is_struct())
      for (const Field& field : type->fields()) parts.push_back(build(field.type, content, at, next));
    else
      for (std::uint32_t k = 0; k < type->component_count(); ++k)
        parts.push_back(build(type->element(), content, at, next));
    return b_.construct(type, parts);
  }

  void access(Op& op, Contents& contents) {
    const Op& local = *local_of(op.operand(0));
    b_.set_place(op.parent, &op);
    b_.set_loc(op.loc);
    if (op.code == OpCode::dim) {
      rewriter_.replace(op.result(), function_.constant_int(op.result()->type, local.ints[std::size_t(op.imm)]));
      ir::remove_op(&op);
      return;
    }
    const Promoted& promoted = chosen_.at(&local);
    std::vector<Value*>& content = contents.at(&local);
    const Type* element = local.result()->type->element();
    Value* at = number_of(op, local);
    std::size_t first = 1 + op.num_indices, steps = 0;
    for (const PathStep& s : op.path) steps += s.dynamic;
    std::span<Value* const> dynamic = op.operands.subspan(first, steps);
    // Whole elements, since a path may hold dynamic steps; what nobody needs of them dce and simplify take away.
    Value* before = whole(element, content, at);
    Value* part = op.path.empty() ? before : b_.extract(before, op.path, dynamic);
    if (op.code != OpCode::store) rewriter_.replace(op.result(), part);
    if (op.code != OpCode::load) {
      Value* value = op.operands.back();
      if (op.code == OpCode::atomic) value = combined(op.atomic, part, value);
      Value* after = op.path.empty() ? value : b_.insert(before, value, op.path, dynamic);
      const PathStep place[] = {{PathStep::index, true, false, 0}};
      for (std::size_t k = 0; k < content.size(); ++k) {
        Value* number = promoted.scalar ? after : b_.extract(after, promoted.leaves[k].path);
        // Every vector, also where only one number of the element was stored: the others get
        // back what they had, which simplify sees.
        content[k] = b_.insert(content[k], number, place, {&at, 1});
      }
    }
    ir::remove_op(&op);
  }

  Value* combined(ir::AtomicKind kind, Value* before, Value* value) {
    switch (kind) {
      case ir::AtomicKind::add: return b_.binary(OpCode::add, before, value);
      case ir::AtomicKind::min: return b_.binary(OpCode::min, before, value);
      case ir::AtomicKind::max: return b_.binary(OpCode::max, before, value);
      case ir::AtomicKind::bit_and: return b_.binary(OpCode::bit_and, before, value);
      case ir::AtomicKind::bit_or: return b_.binary(OpCode::bit_or, before, value);
      case ir::AtomicKind::bit_xor: return b_.binary(OpCode::bit_xor, before, value);
      default: return value;
    }
  }

  ir::Function& function_;
  const std::int64_t most_;
  ir::Rewriter rewriter_;
  ir::Builder b_;
  std::unordered_map<const Op*, Promoted> chosen_;
  std::unordered_map<const Op*, std::vector<const Op*>> changed_;  // by control operation: what is written inside
};

}  // namespace

bool promote_locals(ir::Function& function, std::int64_t most) { return Promoter(function, most).run(); }

}  // namespace weft::passes
