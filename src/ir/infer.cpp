// The typing rules of docs/design/ir.md, one function per group of operations (infer_memory.cpp: arrays). Errors are plain sentences that name the
// operation and the types at hand; structs are shown by name.
#include "ir/infer.h"

#include "ir/infer_rules.h"
#include "ir/op_cases.h"
#include "types/handle.h"

namespace weft::ir {

typing::Error typing::follow_path(const Op& op, const Type* from, std::size_t first, const Type*& at) {
  at = from;
  std::size_t operand = first;
  for (const PathStep& step : op.path) {
    const Type* next = step_type(at, step);
    if (!next) {
      std::string what = step.kind == PathStep::field ? "." + std::to_string(step.value)
                         : step.dynamic               ? std::string("[…]")
                                                      : "[" + std::to_string(step.value) + "]";
      return fail(op, short_text(at) + " has no part " + what);
    }
    if (step.dynamic && !operand_type(op, operand++)->is_int())
      return fail_operand(op, operand - 1, "an integer index");
    at = next;
  }
  return {};
}

namespace {

using namespace typing;

/// `n` operands of one type for which `accepts` holds; the result has that type.
Error same_type(const Op& op, std::size_t n, bool (*accepts)(const Type*), const char* wanted, Types& results) {
  if (Error e = need_operands(op, n)) return e;
  if (!accepts(operand_type(op, 0))) return fail_operand(op, 0, wanted);
  if (Error e = need_one_type(op)) return e;
  results = {operand_type(op, 0)};
  return {};
}

Error infer_arith(const Op& op, Types& results) {
  switch (op.code) {
    case OpCode::neg:
    case OpCode::abs: return same_type(op, 1, is_number, "a number or a composite of numbers", results);
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::floordiv:
    case OpCode::rem:
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest: return same_type(op, 2, is_number, "a number or a composite of numbers", results);
    case OpCode::fma: break;
    WEFT_CASES(WEFT_OPS_BUT_ARITH) WEFT_UNREACHABLE("not arithmetic");
  }
  if (Error e = need_operands(op, 3)) return e;
  const Type* t = operand_type(op, 0);
  if (!is_floating(t)) return fail_operand(op, 0, "a float or a composite of floats");
  if (operand_type(op, 1) != t && operand_type(op, 1) != component(t))
    return fail_operand(op, 1, t->is_scalar() ? short_text(t) : short_text(t) + " or " + short_text(component(t)));
  if (operand_type(op, 2) != t) return fail_operand(op, 2, short_text(t));
  results = {t};
  return {};
}

Error infer_bits(const Op& op, Types& results) {
  auto integral_or_bool = [](const Type* t) { return t->is_numeric() && !is_float_kind(t->scalar_kind()); };
  switch (op.code) {
    case OpCode::bit_not: return same_type(op, 1, integral_or_bool, "integers or bool", results);
    case OpCode::bit_count:
    case OpCode::trailing_zeros: return same_type(op, 1, is_integral, "an integer or a composite of integers", results);
    case OpCode::handle:
      if (!HandleUse::is_valid(op.imm)) return fail(op, "needs a kind of object");
      return same_type(op, 1, [](const Type* t) { return t == types::u64(); }, "an id, u64", results);
    case OpCode::shl:
    case OpCode::shr: return same_type(op, 2, is_integral, "an integer or a composite of integers", results);
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor: return same_type(op, 2, integral_or_bool, "integers or bool", results);
    WEFT_CASES(WEFT_OPS_BUT_BITS) break;
  }
  WEFT_UNREACHABLE("no operation on bits");
}

bool has_equality(const Type* t) {
  if (t->is_numeric()) return true;
  if (!t->is_struct()) return false;
  for (const Field& field : t->fields())
    if (!has_equality(field.type)) return false;
  return true;
}

Error infer_compare(const Op& op, Types& results) {
  bool equality = op.code == OpCode::eq || op.code == OpCode::ne;
  auto ordered = [](const Type* t) { return t->is_int() || t->is_float(); };
  Error e = equality ? same_type(op, 2, has_equality, "a scalar, a composite or a struct of such", results)
                     : same_type(op, 2, ordered, "an integer or float scalar", results);
  results = {types::boolean()};
  return e;
}

Error infer_math(const Op& op, Types& results) {
  bool two = op.code == OpCode::atan2 || op.code == OpCode::pow;
  return same_type(op, two ? 2 : 1, [](const Type* t) { return t->is_float(); }, "a float scalar", results);
}

Error infer_select(const Op& op, Types& results) {
  if (Error e = need_operands(op, 3)) return e;
  if (!operand_type(op, 0)->is_bool()) return fail_operand(op, 0, "bool");
  if (operand_type(op, 1) != operand_type(op, 2))
    return fail(op, "both choices must have one type, not " + short_text(operand_type(op, 1)) + " and " +
                        short_text(operand_type(op, 2)));
  results = {operand_type(op, 1)};
  return {};
}

Error infer_conversion(const Op& op, const Types& results) {
  if (Error e = need_operands(op, 1)) return e;
  if (Error e = need_given(op, results)) return e;
  const Type* from = operand_type(op, 0);
  const Type* to = results[0];
  if (!from->is_scalar()) return fail_operand(op, 0, "a scalar");
  if (!to->is_scalar()) return fail(op, "the result must be a scalar, not " + short_text(to));
  if (op.code == OpCode::cast) return {};
  if (from->is_bool() || to->is_bool()) return fail(op, "bool has no bits to reinterpret");
  if (from->size() != to->size()) return fail(op, "sizes differ: " + short_text(from) + " and " + short_text(to));
  return {};
}

Error infer_construct(const Op& op, const Types& results) {
  if (Error e = need_given(op, results)) return e;
  const Type* t = results[0];
  if (t->is_composite()) {
    if (op.operands.size() != t->component_count())
      return fail(op, short_text(t) + " has " + std::to_string(t->component_count()) + " components, not " +
                          std::to_string(op.operands.size()));
    for (std::size_t i = 0; i < op.operands.size(); ++i)
      if (operand_type(op, i) != t->element()) return fail_operand(op, i, short_text(t->element()));
    return {};
  }
  if (!t->is_struct() && !t->is_tuple()) return fail(op, "can't construct " + short_text(t));
  if (op.operands.size() != t->fields().size())
    return fail(op, short_text(t) + " has " + std::to_string(t->fields().size()) + " fields, not " +
                        std::to_string(op.operands.size()));
  for (std::size_t i = 0; i < op.operands.size(); ++i)
    if (operand_type(op, i) != t->fields()[i].type) return fail_operand(op, i, short_text(t->fields()[i].type));
  return {};
}

Error infer_splat(const Op& op, const Types& results) {
  if (Error e = need_operands(op, 1)) return e;
  if (Error e = need_given(op, results)) return e;
  if (!results[0]->is_composite()) return fail(op, "the result must be a composite, not " + short_text(results[0]));
  if (operand_type(op, 0) != results[0]->element()) return fail_operand(op, 0, short_text(results[0]->element()));
  return {};
}

Error infer_extract_insert(const Op& op, Types& results) {
  bool insert = op.code == OpCode::insert;
  std::size_t values = insert ? 2 : 1;
  if (op.path.empty()) return fail(op, "the path is empty");
  if (Error e = need_operands(op, values + dynamic_steps(op))) return e;
  const Type* part = nullptr;
  if (Error e = follow_path(op, operand_type(op, 0), values, part)) return e;
  if (insert && operand_type(op, 1) != part) return fail_operand(op, 1, short_text(part));
  results = {insert ? operand_type(op, 0) : part};
  return {};
}

Error infer_product(const Op& op, Types& results) {
  if (Error e = need_operands(op, 2)) return e;
  const Type* a = operand_type(op, 0);
  const Type* b = operand_type(op, 1);
  auto mismatch = [&] { return fail(op, "operands do not fit: " + short_text(a) + " and " + short_text(b)); };
  for (std::size_t i = 0; i < 2; ++i)
    if (!is_number(operand_type(op, i))) return fail_operand(op, i, "made of numbers");
  if (a->scalar_kind() != b->scalar_kind()) return mismatch();
  switch (op.code) {
    case OpCode::scale:
    case OpCode::unscale:
      if (!a->is_composite() || b != a->element()) return mismatch();
      results = {a};
      return {};
    case OpCode::dot:
      if (a != b || !(a->is_vec() || a->is_quat())) return mismatch();
      results = {a->element()};
      return {};
    case OpCode::outer:
      if (!a->is_vec() || !b->is_vec()) return mismatch();
      if (std::uint64_t(a->rows()) * b->rows() > kMaxComponents)
        return fail(op, "the result would have more than " + std::to_string(kMaxComponents) + " components");
      results = {types::mat(a->element(), a->rows(), b->rows())};
      return {};
    case OpCode::matmul: break;
    case OpCode::transpose:
    case OpCode::less_bits:
    case OpCode::less_equal_bits:
    case OpCode::choose_bits: WEFT_CASES(WEFT_OPS_BUT_WHOLE) WEFT_UNREACHABLE("not a product");
  }
  bool left = a->is_mat(), right = b->is_mat();
  if ((!left && !a->is_vec()) || (!right && !b->is_vec()) || (!left && !right)) return mismatch();
  if ((left ? a->cols() : a->rows()) != b->rows()) return mismatch();
  if (left && right) {
    if (std::uint64_t(a->rows()) * b->cols() > kMaxComponents)
      return fail(op, "the result would have more than " + std::to_string(kMaxComponents) + " components");
    results = {types::mat(a->element(), a->rows(), b->cols())};
  } else {
    results = {types::vec(a->element(), left ? a->rows() : b->cols())};
  }
  return {};
}

Error infer_transpose(const Op& op, Types& results) {
  if (Error e = need_operands(op, 1)) return e;
  const Type* m = operand_type(op, 0);
  if (!m->is_mat()) return fail_operand(op, 0, "a mat");
  results = {types::mat(m->element(), m->cols(), m->rows())};
  return {};
}

/// A mask has a bit for each component of a vector.
bool fits_mask(const Type* t) { return t->is_vec() && is_number(t) && t->component_count() <= 32; }

Error infer_mask_of(const Op& op, Types& results) {
  Error e = same_type(op, 2, fits_mask, "a vec of at most 32 numbers", results);
  results = {types::u32()};
  return e;
}

Error infer_choose_bits(const Op& op, Types& results) {
  if (Error e = need_operands(op, 3)) return e;
  if (operand_type(op, 0) != types::u32()) return fail_operand(op, 0, "u32");
  if (!fits_mask(operand_type(op, 1))) return fail_operand(op, 1, "a vec of at most 32 numbers");
  if (operand_type(op, 2) != operand_type(op, 1)) return fail_operand(op, 2, short_text(operand_type(op, 1)));
  results = {operand_type(op, 1)};
  return {};
}

Error infer_whole(const Op& op, Types& results) {
  switch (op.code) {
    case OpCode::transpose: return infer_transpose(op, results);
    case OpCode::less_bits:
    case OpCode::less_equal_bits: return infer_mask_of(op, results);
    case OpCode::choose_bits: return infer_choose_bits(op, results);
    case OpCode::scale:
    case OpCode::unscale:
    case OpCode::dot:
    case OpCode::matmul:
    case OpCode::outer: return infer_product(op, results);
    WEFT_CASES(WEFT_OPS_BUT_WHOLE) break;
  }
  WEFT_UNREACHABLE("no operation on whole aggregates");
}

Error infer_loop(const Op& op, const Types& results, std::size_t bounds) {
  if (op.operands.size() < bounds) return need_operands(op, bounds);
  for (std::size_t i = 0; i < bounds; ++i) {
    const Type* t = operand_type(op, i);
    if (t != types::i32() && t != types::i64()) return fail_operand(op, i, "i32 or i64");
    if (t != operand_type(op, 0)) return fail_operand(op, i, short_text(operand_type(op, 0)));
  }
  if (results.size() != op.operands.size() - bounds)
    return fail(op, "has " + std::to_string(results.size()) + " results for " +
                        std::to_string(op.operands.size() - bounds) + " carried values");
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i] != operand_type(op, bounds + i))
      return fail(op, "result " + std::to_string(i) + " must be " + short_text(operand_type(op, bounds + i)) +
                          ", not " + short_text(results[i]));
  return {};
}

Error infer_call(const Op& op, Types& results) {
  if (!op.callee) return fail(op, "no callee");
  if (op.callee->kind != FunctionKind::function) return fail(op, "@" + op.callee->name + " is a kernel");
  std::span<Value*> params = op.callee->params();
  if (params.size() != op.operands.size())
    return fail(op, "@" + op.callee->name + " takes " + std::to_string(params.size()) +
                        (params.size() == 1 ? " argument" : " arguments") + ", not " +
                        std::to_string(op.operands.size()));
  for (std::size_t i = 0; i < params.size(); ++i)
    if (operand_type(op, i) != params[i]->type) return fail_operand(op, i, short_text(params[i]->type));
  results.assign(op.callee->result_types.begin(), op.callee->result_types.end());
  return {};
}

Error infer_data(const Op& op, Types& results) {
  switch (op.code) {
    case OpCode::select: return infer_select(op, results);
    case OpCode::cast:
    case OpCode::bitcast: return infer_conversion(op, results);
    case OpCode::construct: return infer_construct(op, results);
    case OpCode::splat: return infer_splat(op, results);
    case OpCode::extract:
    case OpCode::insert: return infer_extract_insert(op, results);
    WEFT_CASES(WEFT_OPS_BUT_DATA) break;
  }
  WEFT_UNREACHABLE("not a data operation");
}

Error infer_control(const Op& op, Types& results) {
  switch (op.code) {
    case OpCode::if_:
      if (Error e = need_operands(op, 1)) return e;
      if (!operand_type(op, 0)->is_bool()) return fail_operand(op, 0, "bool");
      return {};
    case OpCode::for_: return infer_loop(op, results, 3);
    case OpCode::while_: return infer_loop(op, results, 0);
    case OpCode::call: return infer_call(op, results);
    case OpCode::test:
      if (Error e = need_operands(op, 1)) return e;
      if (!operand_type(op, 0)->is_bool()) return fail_operand(op, 0, "bool");
      return {};
    case OpCode::return_:
    case OpCode::yield: return {};  // what encloses them says what they give
    WEFT_CASES(WEFT_OPS_BUT_CONTROL) break;
  }
  WEFT_UNREACHABLE("not a control operation");
}

Error infer_effect(const Op& op, Types& results) {
  switch (op.code) {
    case OpCode::tid:
      results = {types::i32()};
      if (Error e = need_operands(op, 0)) return e;
      return need_dimension(op, kMaxRank);
    case OpCode::thread: results = {types::i64()}; return need_operands(op, 0);
    case OpCode::block_thread:
    case OpCode::block_dim: results = {types::i32()}; return need_operands(op, 0);
    case OpCode::on_gpu: results = {types::boolean()}; return need_operands(op, 0);
    case OpCode::objects: results = {types::u64()}; return need_operands(op, 0);
    case OpCode::breakpoint:
    case OpCode::barrier:
    case OpCode::fence: return need_operands(op, 0);
    case OpCode::meet: return {};  // anything that all threads have alike
    case OpCode::warp:
    case OpCode::lane: results = {types::u32()}; return need_operands(op, 0);
    case OpCode::vote:
      results = {types::u32()};
      if (Error e = need_operands(op, 2)) return e;
      if (operand_type(op, 0) != types::u32()) return fail_operand(op, 0, "uint32");
      if (!operand_type(op, 1)->is_bool()) return fail_operand(op, 1, "bool");
      return {};
    case OpCode::tally:
      results = {types::i32()};
      if (Error e = need_operands(op, 1)) return e;
      if (!operand_type(op, 0)->is_bool()) return fail_operand(op, 0, "bool");
      return {};
    case OpCode::warp_sync:
      if (Error e = need_operands(op, 1)) return e;
      if (operand_type(op, 0) != types::u32()) return fail_operand(op, 0, "uint32");
      return {};
    case OpCode::shuffle:
      if (Error e = need_operands(op, 3)) return e;
      results = {operand_type(op, 1)};
      if (operand_type(op, 0) != types::u32()) return fail_operand(op, 0, "uint32");
      if (!operand_type(op, 1)->is_scalar() || scalar_bits(operand_type(op, 1)->scalar_kind()) < 32)
        return fail_operand(op, 1, "a number of 32 or 64 bits");
      if (operand_type(op, 2) != types::u32()) return fail_operand(op, 2, "uint32");
      return {};
    case OpCode::texture: {
      const std::int64_t rank = op.imm % kTextureWhole;
      if (rank < 1 || rank > 3 || op.imm > kTextureWhole + 3) return "texture has a rank of 1 to 3";
      if (Error e = need_operands(op, std::size_t(rank) + 2)) return e;
      if (operand_type(op, 0) != types::u64()) return fail_operand(op, 0, "uint64");
      const bool texel = operand_type(op, 1) == types::i32();
      for (std::size_t k = 1; k <= std::size_t(rank); ++k)
        if (operand_type(op, k) != (texel ? types::i32() : types::f32()))
          return fail_operand(op, k, "float32 or int32");
      if (operand_type(op, std::size_t(rank) + 1) != types::f32())
        return fail_operand(op, std::size_t(rank) + 1, "float32");
      results = {types::vec(op.imm > kTextureWhole ? types::i32() : types::f32(), 4)};
      return {};
    }
    case OpCode::running: results = {types::boolean()}; return need_operands(op, 0);
    case OpCode::any:
      results = {types::boolean()};
      if (Error e = need_operands(op, 1)) return e;
      if (!operand_type(op, 0)->is_bool()) return fail_operand(op, 0, "bool");
      return {};
    case OpCode::printf:
      for (std::size_t i = 0; i < op.operands.size(); ++i)
        if (!operand_type(op, i)->is_scalar()) return fail_operand(op, i, "a scalar");
      return {};
    case OpCode::assert_:
      if (Error e = need_operands(op, 1)) return e;
      if (!operand_type(op, 0)->is_bool()) return fail_operand(op, 0, "bool");
      return {};
    case OpCode::check:
      if (Error e = need_operands(op, 3)) return e;
      if (!operand_type(op, 0)->is_bool()) return fail_operand(op, 0, "bool");
      for (std::size_t i = 1; i < 3; ++i)
        if (!operand_type(op, i)->is_int()) return fail_operand(op, i, "an integer");
      return {};
    case OpCode::print: return {};
    WEFT_CASES(WEFT_OPS_BUT_EFFECT) break;
  }
  WEFT_UNREACHABLE("not an effect");
}

/// True for operations whose result types are given rather than inferred.
bool has_given_results(OpCode code) {
  switch (code) {
    case OpCode::cast:
    case OpCode::bitcast:
    case OpCode::construct:
    case OpCode::splat:
    case OpCode::dim:
    case OpCode::local:
    case OpCode::recall:
    case OpCode::from_ptr:
    case OpCode::if_:
    case OpCode::for_:
    case OpCode::while_: return true;
    case OpCode::select:
    case OpCode::extract:
    case OpCode::insert:
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic:
    case OpCode::view:
    case OpCode::slice:
    case OpCode::nonnull:
    case OpCode::prefetch:
    case OpCode::data_ptr:
    case OpCode::gradient:
    case OpCode::with_gradient:
    case OpCode::call:
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test:
    WEFT_CASES(WEFT_NUMBER_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) return false;
  }
  return false;
}

}  // namespace

std::optional<std::string> infer(const Op& op, std::vector<const Type*>& result_types) {
  if (!has_given_results(op.code)) result_types.clear();
  switch (class_of(op.code)) {
    case OpClass::arith: return infer_arith(op, result_types);
    case OpClass::bits: return infer_bits(op, result_types);
    case OpClass::compare: return infer_compare(op, result_types);
    case OpClass::round: return same_type(op, 1, is_floating, "a float or a composite of floats", result_types);
    case OpClass::math: return infer_math(op, result_types);
    case OpClass::data: return infer_data(op, result_types);
    case OpClass::whole: return infer_whole(op, result_types);
    case OpClass::memory: return infer_memory(op, result_types);
    case OpClass::control: return infer_control(op, result_types);
    case OpClass::effect: return infer_effect(op, result_types);
  }
  return {};
}

}  // namespace weft::ir
