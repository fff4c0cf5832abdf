// Functions, operations and modules of the IR: making, linking and asking about them. Spans that grow (operands,
// results, arguments) double their room in the arena; the room is remembered by the span's address, so a pass that
// puts a span of its own in place loses nothing.
#include "ir/ir.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace weft::ir {
namespace {

struct OpRow {
  std::string_view name;
  OpClass op_class;
  Effect effect;
  Access access;
  Derivative derivative;
  Lanes lanes;
};

constexpr std::string_view without_underscore(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

constexpr std::array<OpRow, std::size_t(kOpCodes)> kOps = {{
#define WEFT_ROW(name, op_class, effect, access, derivative, lanes) \
  {without_underscore(#name), OpClass::op_class, Effect::effect, Access::access, Derivative::derivative, Lanes::lanes},
    WEFT_OPS(WEFT_ROW)
#undef WEFT_ROW
}};

constexpr std::array<std::string_view, kAtomicKinds> kAtomics = {"add", "min",     "max",    "exch",
                                                                 "cas", "bit_and", "bit_or", "bit_xor"};
constexpr std::array<std::string_view, kCheckKinds> kChecks = {"bounds", "divide_by_zero", "not_finite",
                                                               "object", "aligned",        "together"};

/// What an operation and all it can reach does, as far as dropping and moving are concerned.
struct Reach {
  bool reads = false;
  bool makes_locals = false;
  bool writes = false;
};

/// Looks into regions and callees with a worklist; each callee is entered once, so a tree of calls stays linear.
Reach reach_of(const Op& root) {
  Reach reach;
  std::vector<const Region*> work;
  std::unordered_set<const Function*> entered;
  auto visit = [&](const Op& op) {
    switch (effect_of(op.code)) {
      case Effect::none:
      case Effect::end: break;
      case Effect::read: reach.reads = true; break;
      case Effect::write: (op.code == OpCode::local ? reach.makes_locals : reach.writes) = true; break;
      case Effect::region:
        for (const Region* region : op.regions) work.push_back(region);
        if (op.callee && !op.callee->native.empty()) reach.reads = reach.writes = true;
        if (op.callee && entered.insert(op.callee).second) work.push_back(op.callee->body);
        break;
    }
  };
  visit(root);
  while (!work.empty() && !reach.writes) {
    const Region* region = work.back();
    work.pop_back();
    for (const Op& op : *region) visit(op);
  }
  return reach;
}

}  // namespace

std::string_view name_of(OpCode code) { return kOps[std::size_t(code)].name; }
OpClass class_of(OpCode code) { return kOps[std::size_t(code)].op_class; }
Effect effect_of(OpCode code) { return kOps[std::size_t(code)].effect; }
Access access_of(OpCode code) { return kOps[std::size_t(code)].access; }
Derivative derivative_of(OpCode code) { return kOps[std::size_t(code)].derivative; }
Lanes lanes_of(OpCode code) { return kOps[std::size_t(code)].lanes; }
std::string_view name_of(AtomicKind kind) { return kAtomics[std::size_t(kind)]; }
std::string_view name_of(CheckKind kind) { return kChecks[std::size_t(kind)]; }

std::int64_t Value::as_int() const {
  WEFT_CHECK(is_constant() && (type->is_int() || type->is_bool()));
  return bits_to_int(type->scalar_kind(), bits);
}

double Value::as_float() const {
  WEFT_CHECK(is_constant() && type->is_float());
  return bits_to_float(type->scalar_kind(), bits);
}

Value* Function::constant(const Type* type, std::uint64_t bits) {
  WEFT_CHECK(type->is_scalar() || bits == 0, "a constant of type " + type->text() + " can only be zero");
  WEFT_CHECK(!type->is_scalar() || is_legal_constant(type->scalar_kind(), bits),
             "constant bits do not fit " + type->text());
  auto [it, fresh] = constants_.try_emplace(ConstantKey{type, bits}, nullptr);
  if (fresh) it->second = new_value(type, ValueKind::constant, 0, {});
  it->second->bits = bits;
  return it->second;
}

Value* Function::constant_int(const Type* type, std::int64_t value) {
  WEFT_CHECK(type->is_int() || type->is_bool());
  return constant(type, int_to_bits(type->scalar_kind(), value));
}

Value* Function::constant_float(const Type* type, double value) {
  WEFT_CHECK(type->is_float());
  return constant(type, float_to_bits(type->scalar_kind(), value));
}

Value* Function::new_value(const Type* type, ValueKind kind, std::size_t index, std::string_view name) {
  WEFT_CHECK(type != nullptr);
  Value* value = arena.make<Value>();
  value->type = type;
  value->kind = kind;
  value->id = value_count++;
  value->index = std::uint32_t(index);
  value->bits = 0;
  if (!name.empty()) value->name = arena.copy(name);
  return value;
}

void Function::append(std::span<Value*>& list, Value* value) {
  auto room = room_.find(list.data());
  if (room == room_.end() || room->second <= list.size()) {
    std::size_t capacity = std::max<std::size_t>(4, 2 * list.size());
    std::span<Value*> grown = arena.make_array<Value*>(capacity);
    std::copy(list.begin(), list.end(), grown.begin());
    if (room != room_.end()) room_.erase(room);
    room_.emplace(grown.data(), capacity);
    list = grown.first(list.size());
  }
  list = std::span<Value*>(list.data(), list.size() + 1);
  list.back() = value;
}

Value* Function::add_argument(Region* region, const Type* type, std::string_view name) {
  Value* value = new_value(type, ValueKind::argument, region->args.size(), name);
  value->region = region;
  append(region->args, value);
  return value;
}

Op* Function::make_op(OpCode code, std::span<Value* const> operands, std::span<const Type* const> result_types,
                      std::size_t num_regions) {
  Op* op = arena.make<Op>();
  op->code = code;
  op->operands = arena.copy(operands);
  op->results = arena.make_array<Value*>(result_types.size());
  for (std::size_t i = 0; i < result_types.size(); ++i) {
    op->results[i] = new_value(result_types[i], ValueKind::result, i, {});
    op->results[i]->op = op;
  }
  op->regions = arena.make_array<Region*>(num_regions);
  for (Region*& region : op->regions) region = make_region(op);
  return op;
}

Region* Function::make_region(Op* parent_op) {
  Region* region = arena.make<Region>();
  region->function = this;
  region->parent_op = parent_op;
  return region;
}

void Function::append_operand(Op* op, Value* value) { append(op->operands, value); }

Value* Function::append_result(Op* op, const Type* type, std::string_view name) {
  Value* value = new_value(type, ValueKind::result, op->results.size(), name);
  value->op = op;
  append(op->results, value);
  return value;
}

void insert_op(Region* region, Op* op, Op* before) {
  WEFT_CHECK(!op->parent, "the operation is linked already");
  WEFT_CHECK(!before || before->parent == region);
  op->parent = region;
  op->next = before;
  op->prev = before ? before->prev : region->last;
  (op->prev ? op->prev->next : region->first) = op;
  (before ? before->prev : region->last) = op;
}

void remove_op(Op* op) {
  WEFT_CHECK(op->parent, "the operation is not linked");
  (op->prev ? op->prev->next : op->parent->first) = op->next;
  (op->next ? op->next->prev : op->parent->last) = op->prev;
  op->prev = op->next = nullptr;
  op->parent = nullptr;
}

Function* Module::find(std::string_view name) const {
  for (const auto& function : functions)
    if (function->name == name) return function.get();
  return nullptr;
}

Function* Module::add(std::string name, FunctionKind kind) {
  functions.push_back(std::make_unique<Function>(std::move(name), kind));
  return functions.back().get();
}

bool is_pure(const Op& op) {
  if (effect_of(op.code) != Effect::region) return effect_of(op.code) == Effect::none;
  Reach reach = reach_of(op);
  return !reach.reads && !reach.makes_locals && !reach.writes;
}

bool is_removable(const Op& op) {
  switch (effect_of(op.code)) {
    case Effect::none:
    case Effect::read: return true;
    case Effect::write: return op.code == OpCode::local;
    case Effect::region: return !reach_of(op).writes;
    case Effect::end: return false;
  }
  return false;
}

}  // namespace weft::ir
