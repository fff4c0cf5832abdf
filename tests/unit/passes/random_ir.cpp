// The generator: a random walk that keeps a list of the values in scope and only builds operations that type-check.
#include "random_ir.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/builder.h"

namespace weft::testing {
namespace {

using ir::Builder;
using ir::OpCode;
using ir::PathStep;
using ir::Value;

constexpr std::uint64_t kIndexMask = 3;  // every array in a program has at least four elements per dimension

const Type* point_type() {
  Field fields[] = {{"x", types::f32(), 0}, {"n", types::i32(), 0}, {"v", types::vec(types::f32(), 3), 0}};
  return types::structure("Point", fields);
}

const Type* holder_type() {
  Field fields[] = {{"data", types::array(types::f32(), 1), 0}, {"k", types::i32(), 0}};
  return types::structure("Holder", fields);
}

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomIrOptions& options)
      : random_(seed), options_(options), module_(std::make_unique<ir::Module>()) {}

  RandomProgram run() {
    for (std::uint64_t i = random_.below(3); i > 0; --i) make_function("f" + std::to_string(i));
    ir::Function* kernel = make_kernel();
    return {std::move(module_), kernel};
  }

 private:
  const Type* random_scalar() { return types::scalar(ScalarKind(random_.below(kScalarKinds))); }
  const Type* random_number() { return types::scalar(ScalarKind(1 + random_.below(kScalarKinds - 1))); }
  const Type* random_float() { return types::scalar(ScalarKind(9 + random_.below(4))); }
  const Type* random_int() { return types::scalar(ScalarKind(1 + random_.below(8))); }

  /// Mostly the types that programs use most, so that values meet.
  const Type* random_type() {
    switch (random_.below(14)) {
      case 0:
      case 1:
      case 2: return types::f32();
      case 3:
      case 4:
      case 5: return types::i32();
      case 6: return types::boolean();
      case 7: return random_scalar();
      case 8: return types::vec(types::f32(), 3);
      case 9: return types::vec(random_number(), 2);
      case 10: return types::mat(types::f32(), 2, 2);
      case 11: return types::quat(types::f32());
      case 12: return point_type();
      default: return types::i64();
    }
  }

  void make_function(const std::string& name) {
    function_ = module_->add(name, ir::FunctionKind::function);
    scope_.clear();
    indices_.clear();
    for (const Type* type : {types::f32(), types::i32(), types::array(types::f32(), 1)})
      scope_.push_back(function_->add_argument(function_->body, type, ""));
    scope_.push_back(function_->add_argument(function_->body, random_type()));
    function_->result_types = {types::f32(), random_type()};
    build_ = std::make_unique<Builder>(*function_, function_->body);
    budget_ = options_.budget / 4;
    statements(1);
    std::vector<Value*> results;
    for (const Type* type : function_->result_types) results.push_back(value(type));
    build_->ret(results);
    functions_.push_back(function_);
  }

  ir::Function* make_kernel() {
    function_ = module_->add("k", ir::FunctionKind::kernel);
    function_->form.no_overlap = random_.chance(50);
    scope_.clear();
    indices_.clear();
    auto param = [&](const char* name, const Type* type) {
      scope_.push_back(function_->add_argument(function_->body, type, name));
      return scope_.back();
    };
    param("f", types::array(types::f32(), 1));
    param("g", types::array(types::f32(), 1));
    param("i", types::array(types::i32(), 1));
    param("h", types::array(random_scalar(), 1));
    param("m", types::array(types::i32(), 2));
    param("v", types::array(types::vec(types::f32(), 3), 1));
    param("p", types::array(point_type(), 1));
    param("w", holder_type());
    param("n", types::i32());
    param("x", types::f32());
    param("b", types::boolean());
    build_ = std::make_unique<Builder>(*function_, function_->body);
    scope_.push_back(build_->tid(0));
    tid_ = scope_.back();
    budget_ = options_.budget;
    statements(0);
    // What was computed reaches memory.
    for (int k = 0; k < 3; ++k) store();
    build_->ret({});
    return function_;
  }

  Value* constant(const Type* type) {
    if (!type->is_scalar()) return function_->zero(type);
    if (type->is_bool()) return function_->constant_bool(random_.chance(50));
    if (type->is_float()) {
      constexpr std::array<double, 12> kFloats = {0.0,  -0.0, 1.0,  -1.0,  0.5,      2.0,
                                                  3.25, -7.5, 1e10, 1e-20, INFINITY, NAN};
      return function_->constant_float(type, kFloats[random_.below(kFloats.size())]);
    }
    constexpr std::array<std::int64_t, 10> kInts = {0, 1, -1, 2, 3, 7, 31, -128, INT32_MIN, INT64_MAX};
    return function_->constant_int(type, kInts[random_.below(kInts.size())]);
  }

  /// A value in scope of the type, now and then a constant.
  Value* value(const Type* type) {
    std::vector<Value*> found;
    for (Value* v : scope_)
      if (v->type == type) found.push_back(v);
    if (!found.empty() && !(random_.chance(12) && !type->is_array())) {
      // Recent values are likelier, so that programs are more than independent one-liners.
      std::size_t a = random_.below(found.size()), b = random_.below(found.size());
      return found[std::max(a, b)];
    }
    if (type->is_array()) return local(type);
    return constant(type);
  }

  Value* any() { return scope_[scope_.size() - 1 - random_.below(std::min<std::size_t>(scope_.size(), 12))]; }

  Value* local(const Type* type) {
    std::vector<std::int64_t> shape(type->rank(), std::int64_t(4 + random_.below(3)));
    return build_->local(type, shape);
  }

  void push(Value* v) { scope_.push_back(v); }

  /// Operands are drawn one after the other: arguments of one call have no order of their own in C++.
  Value* two(OpCode code, const Type* a, const Type* b) {
    Value* left = value(a);
    Value* right = value(b);
    return build_->binary(code, left, right);
  }

  /// An index that fits every array, often one used before, so that accesses meet.
  Value* index(bool& wrap) {
    if (!indices_.empty() && random_.chance(60)) {
      Index again = indices_[random_.below(indices_.size())];
      wrap = again.wrap;
      return again.value;
    }
    Value* fresh = new_index(wrap);
    indices_.push_back({fresh, wrap});
    return fresh;
  }

  /// Of some integer type; `wrap` says whether it may be negative.
  Value* new_index(bool& wrap) {
    wrap = false;
    if (random_.chance(25)) {
      const Type* type = random_int();
      return function_->constant_int(type, std::int64_t(random_.below(kIndexMask + 1)));
    }
    Value* v = value(types::i32());
    if (options_.wild_indices && random_.chance(30)) {
      wrap = random_.chance(50);
      return v;
    }
    Value* small = build_->binary(OpCode::bit_and, v, build_->i32(std::int64_t(kIndexMask)));
    if (random_.chance(30)) {
      wrap = true;
      small = build_->binary(OpCode::sub, small, build_->i32(std::int64_t(random_.below(kIndexMask + 2))));
      if (random_.chance(30)) small = build_->cast(small, types::i64());
      return small;
    }
    if (random_.chance(20)) small = build_->cast(small, random_int());
    if (random_.chance(20)) wrap = true;
    return small;
  }

  struct Index {
    Value* value;
    bool wrap;
  };

  struct Place {
    Value* array;
    std::vector<Value*> indices;
    std::uint8_t wrap = 0;
    std::vector<PathStep> path;
    std::vector<Value*> dynamic;
    const Type* type;
  };

  Value* random_array() {
    std::vector<Value*> arrays;
    for (Value* v : scope_)
      if (v->type->is_array()) arrays.push_back(v);
    if (arrays.empty()) return local(types::array(types::f32(), 1));
    // The first two parameters more often than others: they may be one array.
    return arrays[random_.chance(40) ? random_.below(std::min<std::size_t>(2, arrays.size()))
                                     : random_.below(arrays.size())];
  }

  Place place() {
    Place p;
    p.array = random_array();
    for (std::uint32_t k = 0; k < p.array->type->rank(); ++k) {
      bool wrap = false;
      bool whole = p.array->kind == ir::ValueKind::argument && p.array->region == function_->body;
      bool by_thread = k == 0 && p.array->type->rank() == 1 && whole && tid_ &&
                       function_->kind == ir::FunctionKind::kernel && random_.chance(40);
      p.indices.push_back(by_thread ? tid_ : index(wrap));
      if (by_thread) wrap = random_.chance(50);
      p.wrap = std::uint8_t(p.wrap | unsigned(wrap) << k);
    }
    p.type = p.array->type->element();
    path(p.type, p.path, p.dynamic);
    return p;
  }

  /// A random way into an aggregate; `type` becomes what it leads to.
  void path(const Type*& type, std::vector<PathStep>& steps, std::vector<Value*>& dynamic, bool at_least_one = false) {
    while (!type->is_scalar() && !type->is_array() && (at_least_one || random_.chance(60))) {
      at_least_one = false;
      if (type->is_struct()) {
        std::size_t k = random_.below(type->fields().size());
        steps.push_back({PathStep::field, false, false, std::int32_t(k)});
        type = type->fields()[k].type;
        continue;
      }
      if (random_.chance(30)) {
        steps.push_back({PathStep::index, true, random_.chance(50), 0});
        dynamic.push_back(random_.chance(50) ? value(types::i32()) : constant(random_int()));
      } else {
        steps.push_back({PathStep::index, false, false, std::int32_t(random_.below(type->rows()))});
      }
      type = type->is_mat() ? types::vec(type->element(), type->cols()) : type->element();
    }
  }

  void load() {
    Place p = place();
    push(build_->load(p.array, p.indices, p.wrap, p.path, p.dynamic));
  }

  /// The same place read before and after something that may write to it.
  void load_twice(int depth) {
    Place p = place();
    push(build_->load(p.array, p.indices, p.wrap, p.path, p.dynamic));
    if (depth < 3 && random_.chance(30))
      for_(depth);
    else
      store();
    push(build_->load(p.array, p.indices, p.wrap, p.path, p.dynamic));
    Value* before = scope_[scope_.size() - 2];
    if (p.type->is_numeric() && before->type == p.type && p.type->scalar_kind() != ScalarKind::boolean)
      push(build_->binary(OpCode::sub, scope_.back(), before));
    store();
  }

  void store() {
    Place p = place();
    build_->store(p.array, p.indices, p.wrap, p.path, p.dynamic, value(p.type));
  }

  void atomic() {
    Place p = place();
    if (!p.type->is_numeric() || p.type->scalar_kind() == ScalarKind::boolean) return;
    bool integral = p.type->scalar_kind() < ScalarKind::f16;
    auto kind = ir::AtomicKind(random_.below(integral ? 8 : 5));
    Value* expected = kind == ir::AtomicKind::cas ? value(p.type) : nullptr;
    Value* operand = value(p.type);
    push(build_->atomic(kind, p.array, p.indices, p.wrap, p.path, p.dynamic, operand, expected));
  }

  void arith() {
    constexpr OpCode kBinary[] = {OpCode::add,      OpCode::sub, OpCode::mul, OpCode::div,
                                  OpCode::floordiv, OpCode::rem, OpCode::min, OpCode::max};
    Value* a = any();
    if (!a->type->is_numeric() || a->type->is_bool()) a = value(random_number());
    bool floats = a->type->scalar_kind() >= ScalarKind::f16;
    switch (random_.below(8)) {
      case 0: return push(build_->unary(random_.chance(50) ? OpCode::neg : OpCode::abs, a));
      case 1:
        if (floats) {
          Value* b = value(a->type);
          Value* c = value(a->type);
          return push(build_->ternary(OpCode::fma, a, b, c));
        }
        break;
      case 2:
        if (floats) {
          constexpr OpCode kRound[] = {OpCode::floor, OpCode::ceil, OpCode::trunc,
                                       OpCode::round, OpCode::rint, OpCode::sqrt};
          return push(build_->unary(kRound[random_.below(6)], a));
        }
        break;
      default: break;
    }
    OpCode code = kBinary[random_.below(8)];
    push(build_->binary(code, a, value(a->type)));
  }

  void bits() {
    const Type* type = random_.chance(30) ? types::boolean() : random_int();
    if (random_.chance(20)) return push(build_->unary(OpCode::bit_not, value(type)));
    constexpr OpCode kBits[] = {OpCode::bit_and, OpCode::bit_or, OpCode::bit_xor, OpCode::shl, OpCode::shr};
    push(two(kBits[random_.below(type->is_bool() ? 3 : 5)], type, type));
  }

  Value* condition() {
    constexpr OpCode kCompare[] = {OpCode::lt, OpCode::le, OpCode::gt, OpCode::ge, OpCode::eq, OpCode::ne};
    if (random_.chance(25)) return value(types::boolean());
    const Type* type = random_.chance(60) ? types::i32() : random_number();
    return two(kCompare[random_.below(6)], type, type);
  }

  void math() {
    if (!options_.math) return;
    const Type* type = random_float();
    if (random_.chance(20)) return push(two(random_.chance(50) ? OpCode::atan2 : OpCode::pow, type, type));
    constexpr OpCode kMath[] = {OpCode::sin,  OpCode::cos, OpCode::exp, OpCode::log,
                                OpCode::tanh, OpCode::erf, OpCode::cbrt};
    OpCode code = kMath[random_.below(7)];
    push(build_->unary(code, value(type)));
  }

  void data() {
    switch (random_.below(9)) {
      case 0: {
        const Type* type = random_.chance(20) ? types::array(types::f32(), 1) : random_type();
        Value* chosen = condition();
        Value* a = value(type);
        Value* b = value(type);
        return push(build_->select(chosen, a, b));
      }
      case 1:
      case 2: {
        Value* from = value(random_scalar());
        return push(build_->cast(from, random_scalar()));
      }
      case 3: {
        // Not from floats: which NaN an operation gives is nobody's promise.
        const Type* from = random_int();
        std::vector<const Type*> same;
        for (int k = 1; k < kScalarKinds; ++k)
          if (types::scalar(ScalarKind(k))->size() == from->size()) same.push_back(types::scalar(ScalarKind(k)));
        Value* bits = value(from);
        return push(build_->bitcast(bits, same[random_.below(same.size())]));
      }
      case 4: {
        const Type* type = types::vec(random_.chance(50) ? types::f32() : random_number(), 3);
        std::vector<Value*> parts;
        for (int k = 0; k < 3; ++k) parts.push_back(value(type->element()));
        return push(build_->construct(type, parts));
      }
      case 5: {
        Value* parts[] = {value(types::f32()), value(types::i32()), value(types::vec(types::f32(), 3))};
        return push(build_->construct(point_type(), parts));
      }
      case 6: return push(build_->splat(types::vec(types::f32(), 3), value(types::f32())));
      default: {
        Value* whole = any();
        if (whole->type->is_scalar() || whole->type->is_array()) return;
        const Type* type = whole->type;
        std::vector<PathStep> steps;
        std::vector<Value*> dynamic;
        path(type, steps, dynamic, true);
        if (type->is_array() || random_.chance(50)) return push(build_->extract(whole, steps, dynamic));
        return push(build_->insert(whole, value(type), steps, dynamic));
      }
    }
  }

  void whole() {
    const Type* vec = types::vec(types::f32(), 3);
    const Type* mat = types::mat(types::f32(), 2, 2);
    switch (random_.below(6)) {
      case 0: return push(two(OpCode::scale, vec, types::f32()));
      case 1: return push(two(OpCode::unscale, vec, types::f32()));
      case 2: return push(two(OpCode::dot, vec, vec));
      case 3: return push(two(OpCode::matmul, mat, mat));
      case 4: return push(build_->unary(OpCode::transpose, value(mat)));
      default: {
        const Type* pair = types::vec(types::f32(), 2);
        return push(two(OpCode::outer, pair, pair));
      }
    }
  }

  void descriptors() {
    Value* array = random_array();
    switch (random_.below(5)) {
      case 0:
        if (array->type->rank() < 2) return;
        {
          bool wrap = false;
          Value* i = index(wrap);
          return push(build_->view(array, {&i, 1}, wrap));
        }
      case 1:
        if (array->kind != ir::ValueKind::argument || array->region != function_->body || array->type->rank() != 1 ||
            function_->kind != ir::FunctionKind::kernel)
          return;
        {
          Value* start = build_->i64(random_.chance(50) ? 0 : -8);
          Value* step = build_->i64(std::int64_t(random_.below(3)));
          return push(build_->slice(array, 0, start, build_->i64(100), step));
        }
      case 2: {
        int dimension = int(random_.below(array->type->rank()));
        return push(build_->dim(array, dimension, random_.chance(50) ? types::i32() : types::i64()));
      }
      case 3: return push(build_->unary(OpCode::nonnull, array));
      default: return push(local(types::array(random_.chance(50) ? types::f32() : types::i32(), 1)));
    }
  }

  void call() {
    if (functions_.empty()) return;
    ir::Function* callee = functions_[random_.below(functions_.size())];
    if (callee == function_) return;
    std::vector<Value*> args;
    for (const Value* param : callee->params()) args.push_back(value(param->type));
    for (Value* result : build_->call(callee, args)->results) push(result);
  }

  void print() {
    if (!options_.prints || function_->kind != ir::FunctionKind::kernel) return;
    Value* values[] = {value(types::i32()), value(types::f32())};
    ir::Op* op = build_->op(OpCode::print, values);
    op->text = function_->arena.copy(std::string_view("at "));
  }

  std::vector<const Type*> carried_types() {
    std::vector<const Type*> list;
    for (std::uint64_t k = random_.below(3); k > 0; --k)
      list.push_back(random_.chance(10) ? types::array(types::f32(), 1) : random_type());
    return list;
  }

  std::vector<Value*> values(std::span<const Type* const> list) {
    std::vector<Value*> out;
    for (const Type* type : list) out.push_back(value(type));
    return out;
  }

  /// Runs `fill` with the builder in the region and its arguments in scope.
  template <class Fill>
  void inside(ir::Region* region, Fill fill) {
    Builder saved = *build_;
    std::size_t mark = scope_.size(), index_mark = indices_.size();
    build_->set_place(region);
    for (Value* arg : region->args) push(arg);
    fill();
    scope_.resize(mark);
    indices_.resize(index_mark);
    *build_ = saved;
  }

  void if_(int depth) {
    std::vector<const Type*> list = carried_types();
    ir::Op* op = build_->if_op(condition(), list);
    for (ir::Region* side : op->regions)
      inside(side, [&] {
        statements(depth + 1);
        build_->yield(values(list));
      });
    for (Value* result : op->results) push(result);
  }

  void for_(int depth) {
    std::vector<const Type*> list = carried_types();
    std::vector<Value*> init = values(list);
    const Type* type = random_.chance(70) ? types::i32() : types::i64();
    constexpr std::int64_t kSteps[] = {1, 1, 1, 2, -1, 3, 0};
    auto bound = [&]() -> Value* {
      if (random_.chance(50)) return function_->constant_int(type, std::int64_t(random_.below(6)));
      Value* small = build_->binary(OpCode::bit_and, value(types::i32()), build_->i32(7));
      return type == types::i32() ? small : build_->cast(small, type);
    };
    Value* lo = random_.chance(60) ? function_->constant_int(type, 0) : bound();
    Value* hi = bound();
    ir::Op* op = build_->for_op(lo, hi, function_->constant_int(type, kSteps[random_.below(7)]), init);
    inside(op->regions[0], [&] {
      statements(depth + 1);
      build_->yield(values(list));
    });
    for (Value* result : op->results) push(result);
  }

  /// A counter ends it after at most seven rounds, whatever the second half of the test says.
  void while_(int depth) {
    std::vector<const Type*> list = carried_types();
    std::vector<Value*> init = {build_->i32(std::int64_t(random_.below(3)))};
    for (Value* v : values(list)) init.push_back(v);
    Value* limit = build_->binary(OpCode::bit_and, value(types::i32()), build_->i32(7));
    ir::Op* op = build_->while_op(init);
    inside(op->regions[0], [&] {
      Value* more = build_->binary(OpCode::lt, op->regions[0]->args[0], limit);
      if (random_.chance(50)) more = build_->binary(OpCode::bit_and, more, condition());
      build_->test(more);
    });
    inside(op->regions[1], [&] {
      Value* next = build_->binary(OpCode::add, op->regions[1]->args[0], build_->i32(1));
      statements(depth + 1);
      std::vector<Value*> yields = {next};
      for (Value* v : values(list)) yields.push_back(v);
      build_->yield(yields);
    });
    for (Value* result : op->results) push(result);
  }

  void statements(int depth) {
    int count = int(2 + random_.below(depth == 0 ? 30 : 6));
    for (int k = 0; k < count && budget_ > 0; ++k, --budget_) {
      std::uint64_t choice = random_.below(depth < 3 ? 33 : 28);
      if (choice < 7)
        arith();
      else if (choice < 10)
        bits();
      else if (choice < 12)
        push(condition());
      else if (choice < 13)
        math();
      else if (choice < 17)
        data();
      else if (choice < 19)
        whole();
      else if (choice < 22)
        random_.chance(50) ? load_twice(depth) : load();
      else if (choice < 24)
        store();
      else if (choice < 25)
        atomic();
      else if (choice < 26)
        descriptors();
      else if (choice < 27)
        call();
      else if (choice < 28)
        random_.chance(20) ? print() : load();
      else if (choice < 30)
        if_(depth);
      else if (choice < 32)
        for_(depth);
      else
        while_(depth);
    }
  }

  Random random_;
  RandomIrOptions options_;
  std::unique_ptr<ir::Module> module_;
  std::vector<ir::Function*> functions_;
  ir::Function* function_ = nullptr;
  std::unique_ptr<Builder> build_;
  std::vector<Value*> scope_;
  std::vector<Index> indices_;  // those in scope
  Value* tid_ = nullptr;
  int budget_ = 0;
};

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

RandomProgram random_program(std::uint64_t seed, const RandomIrOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace weft::testing
