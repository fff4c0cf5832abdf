// Every use of a struct parameter is turned to values taken out of it at the kernel's begin, so that adjoints are gathered
// number by number, and not as whole structs that loops would have to carry.
#include "autodiff/struct_numbers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/walk.h"

namespace weft::autodiff {
namespace {

using ir::Op;
using ir::OpCode;
using ir::PathStep;
using ir::Value;

void add_leaves(const Type* type, NumberLeaf& at, std::vector<NumberLeaf>& out, std::size_t& count) {
  if (type->is_numeric()) {
    if (!has_floats(type)) return;
    at.type = type;
    at.first = count;
    count += type->is_scalar() ? 1 : type->component_count();
    return out.push_back(at);
  }
  // Arrays have gradients of their own.
  if (!type->is_struct()) return;
  for (std::size_t k = 0; k < type->fields().size(); ++k) {
    at.path.push_back({PathStep::field, false, false, std::int32_t(k)});
    add_leaves(type->fields()[k].type, at, out, count);
    at.path.pop_back();
  }
}

/// Turns the uses of parameters to what was taken out of them.
class Turner {
 public:
  struct Param {
    Value* rebuilt;                                                // from the leaves
    std::vector<std::pair<std::vector<PathStep>, Value*>> leaves;  // by path
  };

  explicit Turner(std::unordered_map<const Value*, Param> params) : params_(std::move(params)) {}

  /// In the order of the text, so that what an operand was replaced by is known when it is met. Before and
  /// after, for a struct p with fields k and n:
  ///
  ///   a = extract p.0                k0 = extract p.0 ; p0 = insert p, k0, .0       (at the begin)
  ///   call @f(p)                     call @f(p0)                                    (a is k0)
  void turn(Op& op) {
    for (Value*& operand : op.operands)
      if (const auto it = replaced_.find(operand); it != replaced_.end()) operand = it->second;
    if (op.code == OpCode::extract && turn_extract(op)) return;
    for (Value*& operand : op.operands)
      if (const auto it = params_.find(operand); it != params_.end()) operand = it->second.rebuilt;
  }

 private:
  bool turn_extract(Op& op) {
    const Value* param = op.operand(0);
    std::vector<PathStep> path;
    if (const auto it = parts_.find(param); it != parts_.end()) {
      param = it->second.first;
      // An extract of an extract: the path goes on from the parameter.
      path = it->second.second;
    }
    const auto found = params_.find(param);
    if (found == params_.end()) return false;
    const std::size_t before = path.size();
    path.insert(path.end(), op.path.begin(), op.path.end());
    for (const auto& [leaf, value] : found->second.leaves) {
      // The leaf, or something inside of it: a component of a vector, a row.
      if (leaf.size() > path.size() || !std::equal(leaf.begin(), leaf.end(), path.begin())) continue;
      op.operands[0] = value;
      // Leaves are never above the operand: `before` steps lead to a struct, and a leaf is no struct.
      op.path = op.path.subspan(leaf.size() - before);
      if (!op.path.empty()) return true;
      replaced_[op.result()] = value;
      ir::remove_op(&op);
      return true;
    }
    // A struct in the struct, or no float.
    if (op.result()->type->is_struct()) parts_[op.result()] = {param, path};
    return false;
  }

  std::unordered_map<const Value*, Param> params_;
  std::unordered_map<const Value*, Value*> replaced_;
  std::unordered_map<const Value*, std::pair<const Value*, std::vector<PathStep>>> parts_;
};

}  // namespace

std::vector<NumberLeaf> number_leaves(std::span<const Type* const> params) {
  std::vector<NumberLeaf> out;
  std::size_t count = 0;
  for (std::size_t k = 0; k < params.size(); ++k) {
    NumberLeaf at;
    at.param = k;
    if (params[k]->is_struct()) add_leaves(params[k], at, out, count);
  }
  return out;
}

const Type* numbers_type() { return types::array(types::f64(), 1); }

std::vector<NumberRoot> take_out_numbers(ir::Function& kernel) {
  std::vector<const Type*> types;
  for (const Value* param : kernel.params()) types.push_back(param->type);
  std::vector<NumberRoot> roots;
  std::unordered_map<const Value*, Turner::Param> params;
  // The extracts and inserts made here are the one place where parameters are still to be used themselves.
  std::unordered_set<const Op*> own;
  ir::Builder b(kernel, kernel.body);
  b.set_place(kernel.body, kernel.body->first);
  b.set_loc(kernel.loc);
  for (const NumberLeaf& leaf : number_leaves(types)) {
    Value* param = kernel.params()[leaf.param];
    Turner::Param& entry = params.try_emplace(param, Turner::Param{param, {}}).first->second;
    Value* value = b.extract(param, leaf.path);
    // Uses of the whole struct get one in which each leaf is the value taken
    // out, so that their adjoints come to it, too.
    entry.rebuilt = b.insert(entry.rebuilt, value, leaf.path);
    entry.leaves.emplace_back(leaf.path, value);
    own.insert({value->op, entry.rebuilt->op});
    roots.push_back({value, leaf.first});
  }
  if (roots.empty()) return roots;
  Turner turner(std::move(params));
  // A list first: turning removes operations, and the walk would step from a removed one.
  std::vector<Op*> all;
  ir::walk(*kernel.body, [&](const Op& op) { all.push_back(const_cast<Op*>(&op)); });
  for (Op* op : all)
    if (!own.contains(op)) turner.turn(*op);
  return roots;
}

}  // namespace weft::autodiff
