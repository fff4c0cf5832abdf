// Copies of operations, regions, functions and modules. Everything a copy needs moves into the target's arena: names
// and texts too, so that the source may go away.
#include "ir/clone.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "ir/walk.h"

namespace weft::ir {
namespace {

const Function* owner_of(const Value* value) {
  const Region* region = value->kind == ValueKind::argument ? value->region : value->op->parent;
  return region ? region->function : nullptr;
}

class Cloner {
 public:
  Cloner(Function& target, ValueMap& map, const FunctionMap* callees) : target_(target), map_(map), callees_(callees) {}

  void ops(const Region& from, Region* to, Op* before, bool skip_terminator) {
    // Listed first: a region may be cloned into itself, and what is put in must not be cloned again.
    const Op* end = skip_terminator ? from.terminator() : nullptr;
    std::vector<const Op*> list;
    for (const Op& op : from)
      if (&op != end) list.push_back(&op);
    for (const Op* op : list) insert_op(to, copy(*op), before);
  }

  void argument(const Value* from, Region* to) { map_[from] = target_.add_argument(to, from->type, from->name); }

 private:
  Op* copy(const Op& from) {
    operands_.clear();
    for (Value* operand : from.operands) operands_.push_back(mapped(target_, map_, operand));
    types_.clear();
    for (const Value* result : from.results) types_.push_back(result->type);
    Op* op = target_.make_op(from.code, operands_, types_, from.regions.size());
    copy_attributes(from, target_, *op);
    if (callees_ && from.callee)
      if (auto it = callees_->find(from.callee); it != callees_->end()) op->callee = it->second;
    for (std::size_t i = 0; i < from.results.size(); ++i) {
      op->results[i]->name = target_.arena.copy(from.results[i]->name);
      map_[from.results[i]] = op->results[i];
    }
    for (std::size_t i = 0; i < from.regions.size(); ++i) {
      for (const Value* arg : from.regions[i]->args) argument(arg, op->regions[i]);
      ops(*from.regions[i], op->regions[i], nullptr, false);
    }
    return op;
  }

  Function& target_;
  ValueMap& map_;
  const FunctionMap* callees_;
  std::vector<Value*> operands_;
  std::vector<const Type*> types_;
};

void clone_function(const Function& from, Module& to, FunctionMap& callees) {
  Function* copy = to.add(from.name, from.kind);
  copy->form = from.form;
  copy->result_types = from.result_types;
  copy->loc = from.loc;
  copy->from_library = from.from_library;
  copy->lanewise = from.lanewise;
  copy->native = from.native;
  ValueMap map;
  map.reserve(from.value_count);
  Cloner cloner(*copy, map, &callees);
  for (const Value* param : from.params()) cloner.argument(param, copy->body);
  cloner.ops(*from.body, copy->body, nullptr, false);
  callees[&from] = copy;
}

/// The functions that differentiation uses for one; null where there is none.
std::array<const Function*, 3> links_of(const Function& f) { return {f.gradient, f.replay, f.derives}; }

void clone_links(const FunctionMap& made) {
  auto at = [&](const Function* from) {
    auto it = made.find(from);
    return it == made.end() ? nullptr : it->second;
  };
  for (const auto& [from, to] : made) {
    to->gradient = at(from->gradient);
    to->replay = at(from->replay);
    to->derives = at(from->derives);
  }
}

std::vector<const Function*> callees_of(const Function& function) {
  std::vector<const Function*> list;
  walk(*function.body, [&](const Op& op) {
    if (op.callee) list.push_back(op.callee);
  });
  return list;
}

}  // namespace

void copy_attributes(const Op& from, Function& target, Op& to) {
  to.atomic = from.atomic;
  to.check = from.check;
  to.contract = from.contract;
  to.num_indices = from.num_indices;
  to.wrap = from.wrap;
  to.path = target.arena.copy(std::span<const PathStep>(from.path));
  to.ints = target.arena.copy(std::span<const std::int64_t>(from.ints));
  to.imm = from.imm;
  to.text = target.arena.copy(from.text);
  to.callee = from.callee;
  to.loc = from.loc;
}

Value* mapped(Function& target, const ValueMap& map, Value* value) {
  if (value->is_constant()) return target.constant(value->type, value->bits);
  if (auto it = map.find(value); it != map.end()) return it->second;
  const Function* owner = owner_of(value);
  WEFT_CHECK(!owner || owner == &target, "a value of another function has no counterpart");
  return value;
}

void clone_ops(const Region& from, Function& target, Region* to, ValueMap& map, bool skip_terminator,
               const FunctionMap* callees, Op* before) {
  Cloner(target, map, callees).ops(from, to, before, skip_terminator);
}

std::unique_ptr<Module> clone(const Module& module) {
  auto copy = std::make_unique<Module>();
  copy->sources = module.sources;
  FunctionMap callees;
  for (const auto& function : module.functions) clone_function(*function, *copy, callees);
  clone_links(callees);
  return copy;
}

std::unique_ptr<Module> extract_closure(const Function& root, const Module* from) {
  // Depth first with a stack of our own: chains of calls may be longer than the machine's stack.
  struct Visit {
    const Function* function;
    std::vector<const Function*> callees;
    std::size_t next = 0;
  };
  auto copy = std::make_unique<Module>();
  if (from) copy->sources = from->sources;
  FunctionMap callees;
  std::unordered_set<const Function*> entered;
  std::vector<const Function*> roots = {&root};  // gradients may call what they are the gradient of: they come later
  std::vector<Visit> stack;
  for (std::size_t k = 0; k < roots.size(); ++k) {
    if (entered.insert(roots[k]).second) stack.push_back({roots[k], callees_of(*roots[k])});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == top.callees.size()) {
        clone_function(*top.function, *copy, callees);
        for (const Function* link : links_of(*top.function))
          if (link) roots.push_back(link);
        stack.pop_back();
        continue;
      }
      const Function* callee = top.callees[top.next++];
      if (entered.insert(callee).second) stack.push_back({callee, callees_of(*callee)});
    }
  }
  clone_links(callees);
  if (root.kind == FunctionKind::kernel) {  // nothing calls it: it stays the last one
    auto kernel = std::find_if(copy->functions.begin(), copy->functions.end(),
                               [&](const auto& function) { return function.get() == callees[&root]; });
    std::rotate(kernel, kernel + 1, copy->functions.end());
  }
  return copy;
}

}  // namespace weft::ir
