// The verifier: one walk per function. Dominance is region scoping here: a value is visible from its definition to the
// end of the region it is defined in. The walk keeps visible values in a table by id and takes them out when their
// region closes.
#include "ir/verify.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/infer.h"
#include "ir/origin.h"
#include "ir/text.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::ir {
namespace {

constexpr std::size_t kMaxViolations = 100;

/// Thrown when enough was found, or when the structure is so broken that walking on is unsafe.
struct Stop {};

class Verifier {
 public:
  Verifier(const Function& function, std::vector<Violation>& out)
      : function_(function), out_(out), values_(function.value_count), visible_(function.value_count) {}

  void run() {
    try {
      header();
      region(*function_.body, nullptr, 0);
    } catch (const Stop&) {
    }
  }

 private:
  void report(const SourceLoc& loc, const std::string& text) {
    if (out_.size() >= kMaxViolations) throw Stop{};
    out_.push_back({loc, "@" + function_.name + ": " + text});
  }
  /// A violation of one operation, which is shown without its regions.
  void report(const Op& op, const std::string& text) {
    std::string shown = print(op);
    if (std::size_t end = shown.find('\n'); end != std::string::npos) shown = shown.substr(0, end) + " …";
    report(op.loc, text + " in '" + shown + "'");
  }
  [[noreturn]] void broken(const std::string& text) {
    report(function_.loc, text);
    throw Stop{};
  }

  void header();
  void type(const Type* type, const SourceLoc& loc);
  const char* type_error(const Type* type, bool in_memory, int depth);
  void register_value(const Value* value, const SourceLoc& loc);
  void region(const Region& region, const Op* parent, int depth);
  void op(const Op& op, int depth);
  void operands(const Op& op);
  void constant(const Op& op, const Value* value, std::size_t operand);
  void typing(const Op& op);
  void attributes(const Op& op);
  void op_regions(const Op& op);
  void region_arguments(const Op& op, std::size_t index, std::span<const Type* const> types);
  void terminator(const Op& op, const Region& region, const Op* parent);
  void test_region(const Op& loop);

  const Function& function_;
  std::vector<Violation>& out_;
  std::vector<const Value*> values_;  // by id: which value has it
  std::vector<bool> visible_;         // by id
  std::unordered_set<const Type*> good_types_;
  std::vector<const Type*> inferred_;
};

void Verifier::header() {
  if (!function_.body) broken("the function has no body");
  if (function_.kind == FunctionKind::kernel) {
    if (!function_.result_types.empty()) report(function_.loc, "a kernel has no results");
    if (function_.form.rank < 1 || function_.form.rank > kMaxRank)
      report(function_.loc, "the form's rank is not 1 to 4");
  }
  for (const Type* t : function_.result_types) type(t, function_.loc);
}

/// What is wrong with a type, or null.
const char* Verifier::type_error(const Type* t, bool in_memory, int depth) {
  if (depth > kMaxTypeDepth) return "is nested too deeply";
  switch (t->kind()) {
    case TypeKind::scalar: return nullptr;
    case TypeKind::vec:
    case TypeKind::mat:
      return std::uint64_t(t->rows()) * t->cols() > kMaxComponents ? "has too many components" : nullptr;
    case TypeKind::quat:
    case TypeKind::transform: return t->element()->is_float() ? nullptr : "is not made of floats";
    case TypeKind::array: return type_error(t->element(), true, depth + 1);
    case TypeKind::tuple:
      if (in_memory) return "has a tuple in memory";
      [[fallthrough]];
    case TypeKind::structure:
      for (const Field& field : t->fields())
        if (const char* e = type_error(field.type, in_memory || t->is_struct(), depth + 1)) return e;
      return nullptr;
    case TypeKind::function:
    case TypeKind::string: return "is no type of a value";
  }
  return nullptr;
}

void Verifier::type(const Type* t, const SourceLoc& loc) {
  if (!t) broken("a value has no type");
  if (good_types_.count(t)) return;
  if (const char* error = type_error(t, false, 0))
    report(loc, "type " + short_text(t) + " " + error);
  else
    good_types_.insert(t);
}

void Verifier::register_value(const Value* value, const SourceLoc& loc) {
  if (value->id >= values_.size()) broken("a value's id is not below value_count");
  if (values_[value->id] && values_[value->id] != value) broken("two values share the id " + std::to_string(value->id));
  values_[value->id] = value;
  type(value->type, loc);
}

void Verifier::region(const Region& r, const Op* parent, int depth) {
  const SourceLoc& loc = parent ? parent->loc : function_.loc;
  if (depth > kMaxRegionDepth) broken("regions are nested too deeply");
  if (r.function != &function_) broken("a region belongs to another function");
  if (r.parent_op != parent) broken("a region does not know its operation");
  std::vector<const Value*> defined;
  for (std::size_t i = 0; i < r.args.size(); ++i) {
    const Value* arg = r.args[i];
    if (arg->kind != ValueKind::argument || arg->region != &r || arg->index != i)
      broken("argument " + std::to_string(i) + " of a region does not know its place");
    register_value(arg, loc);
    if (visible_[arg->id]) broken("a value is defined twice");
    visible_[arg->id] = true;
    defined.push_back(arg);
  }
  const Op* previous = nullptr;
  for (const Op* o = r.first; o; o = o->next) {
    if (o->parent != &r || o->prev != previous) broken("the operations of a region are linked wrongly");
    previous = o;
    op(*o, depth);
    for (const Value* result : o->results) {
      if (visible_[result->id]) broken("a value is defined twice");
      visible_[result->id] = true;
      defined.push_back(result);
    }
    if (effect_of(o->code) != Effect::end) continue;
    if (o->next) report(*o, "a terminator stands before the end of its region");
    terminator(*o, r, parent);
  }
  if (r.last != previous) broken("the operations of a region are linked wrongly");
  if (!r.terminator())
    report(loc, parent ? "a region of " + std::string(name_of(parent->code)) + " has no terminator"
                       : "the body has no terminator");
  for (const Value* value : defined) visible_[value->id] = false;
}

void Verifier::constant(const Op& op, const Value* value, std::size_t operand) {
  bool legal = value->type->is_scalar() ? is_legal_constant(value->type->scalar_kind(), value->bits) : value->bits == 0;
  if (!legal) report(op, "operand " + std::to_string(operand) + " is no legal constant of " + short_text(value->type));
}

void Verifier::operands(const Op& op) {
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Value* value = op.operands[i];
    if (!value) broken("an operand is missing");
    if (value->is_constant()) {
      register_value(value, op.loc);
      constant(op, value, i);
    } else if (value->id >= values_.size() || values_[value->id] != value || !visible_[value->id]) {
      report(op, "operand " + std::to_string(i) + " is not defined before or not visible here");
    }
  }
}

void Verifier::op(const Op& o, int depth) {
  for (std::size_t i = 0; i < o.results.size(); ++i) {
    const Value* result = o.results[i];
    if (result->kind != ValueKind::result || result->op != &o || result->index != i)
      broken("result " + std::to_string(i) + " of " + std::string(name_of(o.code)) + " does not know its place");
    register_value(result, o.loc);
  }
  operands(o);
  typing(o);
  attributes(o);
  op_regions(o);
  for (const Region* nested : o.regions) region(*nested, &o, depth + 1);
  if (o.code == OpCode::while_ && o.regions.size() == 2) test_region(o);
}

void Verifier::typing(const Op& op) {
  inferred_.clear();
  for (const Value* result : op.results) inferred_.push_back(result->type);
  if (std::optional<std::string> error = infer(op, inferred_)) return report(op, *error);
  bool same = inferred_.size() == op.results.size();
  for (std::size_t i = 0; same && i < inferred_.size(); ++i) same = inferred_[i] == op.results[i]->type;
  if (same) return;
  std::string wanted;
  for (const Type* t : inferred_) wanted += (wanted.empty() ? "" : ", ") + short_text(t);
  report(op, std::string(name_of(op.code)) + ": results must be (" + wanted + ")");
}

void Verifier::attributes(const Op& op) {
  if ((op.code == OpCode::tid || op.code == OpCode::thread) && function_.kind != FunctionKind::kernel)
    report(op, std::string(name_of(op.code)) + " outside a kernel");
  if (op.code == OpCode::call && op.callee == &function_) report(op, "a function calls itself");
  if (op.code != OpCode::call && op.callee) report(op, "only a call has a callee");
  if (op.code == OpCode::for_ && op.text == kOwnLoop) {
    const auto number = [&](std::size_t k) { return op.operand(k)->is_constant() ? op.operand(k)->as_int() : -1; };
    if (op.operands.size() != 3 || number(0) != 0 || number(1) < 0 || number(1) > kMostOwnTurns || number(2) != 1)
      report(op, "a loop over a thread's own elements goes from 0 on by 1 to a constant, and carries nothing");
  }
  if (op.contract && op.code != OpCode::dot && op.code != OpCode::matmul) report(op, "only dot and matmul contract");
  bool accesses = op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic;
  if (!op.path.empty() && !accesses && op.code != OpCode::extract && op.code != OpCode::insert)
    report(op, "only an access has a path");
  bool names_place = accesses || op.code == OpCode::view || op.code == OpCode::prefetch;
  if ((op.num_indices || op.wrap) && !names_place) report(op, "only an access has indices");
  if (op.imm && accesses) report(op, "an access has no dimension");
  for (const PathStep& step : op.path)
    if (step.wrap && !step.dynamic) report(op, "a constant index does not wrap");
}

void Verifier::op_regions(const Op& op) {
  std::size_t wanted = op.code == OpCode::for_ ? 1 : op.code == OpCode::if_ || op.code == OpCode::while_ ? 2 : 0;
  if (op.regions.size() != wanted)
    return report(op, std::string(name_of(op.code)) + " has " + std::to_string(wanted) + " regions, not " +
                          std::to_string(op.regions.size()));
  std::vector<const Type*> types;
  if (op.code == OpCode::for_ && !op.operands.empty()) types.push_back(op.operands[0]->type);
  if (op.code != OpCode::if_)
    for (const Value* result : op.results) types.push_back(result->type);
  for (std::size_t i = 0; i < wanted; ++i) region_arguments(op, i, types);
}

void Verifier::region_arguments(const Op& op, std::size_t index, std::span<const Type* const> types) {
  const Region& r = *op.regions[index];
  bool same = r.args.size() == types.size();
  for (std::size_t i = 0; same && i < types.size(); ++i) same = r.args[i]->type == types[i];
  if (!same) report(op, "the arguments of region " + std::to_string(index) + " do not match what is carried");
}

void Verifier::terminator(const Op& op, const Region& region, const Op* parent) {
  OpCode wanted = !parent                                                           ? OpCode::return_
                  : parent->code == OpCode::while_ && parent->regions[0] == &region ? OpCode::test
                                                                                    : OpCode::yield;
  if (op.code != wanted) return report(op, "the region must end in " + std::string(name_of(wanted)));
  if (op.code == OpCode::test) return;
  std::vector<const Type*> types = function_.result_types;
  if (parent) {
    types.clear();
    for (const Value* result : parent->results) types.push_back(result->type);
  }
  bool same = types.size() == op.operands.size();
  for (std::size_t i = 0; same && i < types.size(); ++i) same = op.operands[i]->type == types[i];
  if (same) return;
  std::string list;
  for (const Type* t : types) list += (list.empty() ? "" : ", ") + short_text(t);
  report(op, std::string(name_of(op.code)) + " must give (" + list + ")");
}

/// The test is pure, but for `running`, and for loads in a loop that writes nothing. The rule asks what the body does, not
/// which arrays are meant: so no pass that folds, inlines or merges descriptors can break it.
void Verifier::test_region(const Op& loop) {
  bool writes = false;
  walk(*loop.regions[1], [&](const Op& op) {
    bool opaque_call = op.code == OpCode::call && !is_removable(op);
    writes = writes || op.code == OpCode::store || op.code == OpCode::atomic || opaque_call;
  });
  walk(*loop.regions[0], [&](const Op& op) {
    bool reads = op.code == OpCode::load || (op.code == OpCode::call && is_removable(op) && !is_pure(op));
    if (reads) {
      if (writes) report(op, "a while's test reads memory although the loop writes some");
    } else if (op.code == OpCode::call ? !is_pure(op)
                                       : effect_of(op.code) != Effect::end && effect_of(op.code) != Effect::region &&
                                             op.code != OpCode::running && !is_pure(op)) {
      report(op, "a while's test must be pure");
    }
  });
}

std::string lines(const std::vector<Violation>& violations) {
  std::string out;
  for (const Violation& violation : violations)
    out += (violation.loc.known() ? to_string(violation.loc) + ": " : "") + violation.text + "\n";
  return out;
}

}  // namespace

std::vector<Violation> find_violations(const Function& function) {
  std::vector<Violation> out;
  Verifier(function, out).run();
  return out;
}

namespace {

/// Parameters and results as an adjoint of the function has them: (params…, adjoints of results…) → adjoints of params.
bool is_adjoint(const Function& adjoint, const Function& of) {
  std::vector<const Type*> params, results;
  for (const Value* param : of.params()) {
    params.push_back(param->type);
    if (has_floats(param->type)) results.push_back(param->type);
  }
  for (const Type* type : of.result_types)
    if (has_floats(type)) params.push_back(type);
  if (adjoint.params().size() != params.size() || adjoint.result_types != results) return false;
  for (std::size_t k = 0; k < params.size(); ++k)
    if (adjoint.params()[k]->type != params[k]) return false;
  return true;
}

/// Writes to memory that nothing may write while kernels run, as far as the function tells.
bool writes_fixed(const Op& op) {
  const Access access = access_of(op.code);
  return (access == Access::writes || access == Access::updates) &&
         origin_of(op.operand(0)).kind == Origin::Kind::fixed;
}

/// What is wrong with the functions that one names for its differentiation; empty if nothing.
std::string wrong_link(const Function& function, const std::unordered_set<const Function*>& all) {
  for (const Function* other : {function.gradient, function.replay, function.derives})
    if (other && (!all.count(other) || other->kind != FunctionKind::function || other == &function))
      return "names something else than another function of the module";
  if (function.gradient && !is_adjoint(*function.gradient, function)) return "its gradient has another signature";
  if (function.derives && !is_adjoint(function, *function.derives)) return "it has not the signature of an adjoint";
  if (!function.replay) return {};
  bool same = function.replay->result_types == function.result_types &&
              function.replay->params().size() == function.params().size();
  for (std::size_t k = 0; same && k < function.params().size(); ++k)
    same = function.replay->params()[k]->type == function.params()[k]->type;
  return same ? "" : "its replay has another signature";
}

}  // namespace

std::vector<Violation> find_violations(const Module& module) {
  std::vector<Violation> out;
  std::unordered_set<const Function*> before;
  std::unordered_set<std::string_view> names;
  for (const auto& function : module.functions) {
    if (!names.insert(function->name).second)
      out.push_back({function->loc, "@" + function->name + ": the module has two functions of this name"});
    std::size_t known = out.size();
    Verifier(*function, out).run();
    if (out.size() >= kMaxViolations) break;
    if (out.size() == known) {
      walk(*function->body, [&](const Op& op) {
        if (op.callee && !before.count(op.callee) && out.size() < kMaxViolations)
          out.push_back(
              {op.loc, "@" + function->name + ": calls @" + op.callee->name + ", which does not stand before it"});
        if (writes_fixed(op) && out.size() < kMaxViolations)
          out.push_back({op.loc, "@" + function->name + ": writes to fixed memory"});
      });
    }
    before.insert(function.get());
  }
  for (const auto& function : module.functions)
    if (std::string wrong = wrong_link(*function, before); !wrong.empty() && out.size() < kMaxViolations)
      out.push_back({function->loc, "@" + function->name + ": " + wrong});
  return out;
}

std::string verify(const Function& function) { return lines(find_violations(function)); }
std::string verify(const Module& module) { return lines(find_violations(module)); }

}  // namespace weft::ir
