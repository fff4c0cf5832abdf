// The typing rules of operations on arrays and their elements.
#include "ir/fixed_memory.h"
#include "ir/infer_rules.h"
#include "ir/op_cases.h"

namespace weft::ir::typing {
namespace {

Error need_array(const Op& op, std::size_t operands) {
  if (Error e = need_operands(op, operands)) return e;
  if (!operand_type(op, 0)->is_array()) return fail_operand(op, 0, "an array");
  return {};
}

Error need_indices(const Op& op) {
  for (std::size_t i = 1; i <= op.num_indices; ++i)
    if (!operand_type(op, i)->is_int()) return fail_operand(op, i, "an integer index");
  if (op.wrap >> op.num_indices) return fail(op, "marks an index that does not exist as wrapping");
  return {};
}

Error infer_access(const Op& op, Types& results) {
  std::size_t values = op.code == OpCode::load ? 0 : op.code == OpCode::atomic && op.atomic == AtomicKind::cas ? 2 : 1;
  std::size_t first = 1 + op.num_indices + dynamic_steps(op);
  if (Error e = need_array(op, first + values)) return e;
  const Type* array = operand_type(op, 0);
  if (op.num_indices != array->rank())
    return fail(op, short_text(array) + " takes " + std::to_string(array->rank()) + " indices, not " +
                        std::to_string(op.num_indices));
  if (Error e = need_indices(op)) return e;
  const Type* part = nullptr;
  if (Error e = follow_path(op, array->element(), 1 + op.num_indices, part)) return e;
  if (op.code == OpCode::atomic) {
    bool bits = op.atomic >= AtomicKind::bit_and;
    if (bits ? !is_integral(part) : !is_number(part))
      return fail(op, std::string(name_of(op.atomic)) + " is not defined on " + short_text(part));
  }
  for (std::size_t i = first; i < op.operands.size(); ++i)
    if (operand_type(op, i) != part) return fail_operand(op, i, short_text(part));
  if (op.code != OpCode::store) results = {part};
  return {};
}

Error infer_view(const Op& op, Types& results) {
  if (Error e = need_array(op, std::size_t(1) + op.num_indices)) return e;
  const Type* array = operand_type(op, 0);
  if (op.num_indices >= array->rank())
    return fail(op, short_text(array) + " takes fewer than " + std::to_string(array->rank()) + " indices here, not " +
                        std::to_string(op.num_indices));
  if (op.imm < 0 || op.imm + op.num_indices > array->rank())
    return fail(op, "has indices behind the last dimension of " + short_text(array));
  results = {types::array(array->element(), array->rank() - op.num_indices)};
  return need_indices(op);
}

Error infer_slice(const Op& op, Types& results) {
  if (Error e = need_array(op, 4)) return e;
  results = {operand_type(op, 0)};
  for (std::size_t i = 1; i < 4; ++i)
    if (operand_type(op, i) != types::i64()) return fail_operand(op, i, "i64");
  return need_dimension(op, operand_type(op, 0)->rank());
}

Error infer_dim(const Op& op, const Types& results) {
  if (Error e = need_array(op, 1)) return e;
  if (Error e = need_given(op, results)) return e;
  if (results[0] != types::i32() && results[0] != types::i64())
    return fail(op, "the result must be i32 or i64, not " + short_text(results[0]));
  return need_dimension(op, operand_type(op, 0)->rank());
}

Error infer_from_ptr(const Op& op, const Types& results) {
  if (Error e = need_given(op, results)) return e;
  if (!results[0]->is_array()) return fail(op, "the result must be an array, not " + short_text(results[0]));
  if (Error e = need_operands(op, 1 + results[0]->rank())) return e;
  if (operand_type(op, 0) != types::u64()) return fail_operand(op, 0, "u64");
  for (std::size_t i = 1; i < op.operands.size(); ++i)
    if (operand_type(op, i) != types::i64()) return fail_operand(op, i, "i64");
  if (op.imm == kFixedRuns && (results[0]->rank() != 1 || !results[0]->element()->is_vec()))
    return fail(op, "runs are arrays of rank 1 of vectors, not " + short_text(results[0]));
  if (op.imm == kFixedBytes && (results[0]->rank() != 1 || !results[0]->element()->is_scalar()))
    return fail(op, "numbers that begin at each byte are arrays of rank 1, not " + short_text(results[0]));
  return {};
}

Error infer_local(const Op& op, const Types& results) {
  if (Error e = need_operands(op, 0)) return e;
  if (Error e = need_given(op, results)) return e;
  if (!results[0]->is_array()) return fail(op, "the result must be an array, not " + short_text(results[0]));
  if (op.ints.size() != results[0]->rank())
    return fail(op, short_text(results[0]) + " needs " + std::to_string(results[0]->rank()) + " extents, not " +
                        std::to_string(op.ints.size()));
  std::uint64_t bytes = results[0]->element()->size();
  for (std::int64_t extent : op.ints) {
    if (extent < 0) return fail(op, "extent " + std::to_string(extent) + " is negative");
    if (extent != 0 && bytes > kMaxLocalBytes / std::uint64_t(extent))
      return fail(op, "is larger than " + std::to_string(kMaxLocalBytes) + " bytes");
    bytes *= std::uint64_t(extent);
  }
  return {};
}

}  // namespace

Error infer_memory(const Op& op, Types& results) {
  switch (op.code) {
    case OpCode::view: return infer_view(op, results);
    case OpCode::slice: return infer_slice(op, results);
    case OpCode::dim: return infer_dim(op, results);
    case OpCode::nonnull: results = {types::boolean()}; return need_array(op, 1);
    case OpCode::data_ptr: results = {types::u64()}; return need_array(op, 1);
    case OpCode::from_ptr: return infer_from_ptr(op, results);
    case OpCode::recall:
      if (Error e = need_operands(op, 0)) return e;
      return need_given(op, results);
    case OpCode::gradient:
      if (Error e = need_array(op, 1)) return e;
      results = {op.operand(0)->type};
      return {};
    case OpCode::with_gradient:
      if (Error e = need_array(op, 2)) return e;
      if (op.operand(0)->type != op.operand(1)->type) return fail(op, "needs two arrays of one type");
      results = {op.operand(0)->type};
      return {};
    case OpCode::local: return infer_local(op, results);
    case OpCode::prefetch:
      if (Error e = need_array(op, std::size_t(1) + op.num_indices)) return e;
      if (op.num_indices != operand_type(op, 0)->rank()) return fail(op, "needs an index for each dimension");
      return need_indices(op);
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic: return infer_access(op, results);
    WEFT_CASES(WEFT_OPS_BUT_MEMORY) break;
  }
  WEFT_UNREACHABLE("not a memory operation");
}

}  // namespace weft::ir::typing
