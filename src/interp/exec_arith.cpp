// Elementwise arithmetic, comparisons, elementary functions and whole-aggregate algebra.
#include "interp/executor.h"
#include "ir/scalar_eval.h"
#include "math/library.h"

namespace weft::interp {
namespace {

using ir::OpCode;

/// Components equal throughout, by value (−0 equals 0, NaN equals nothing).
bool all_equal(const Type* type, const std::byte* a, const std::byte* b) {
  if (type->is_numeric()) {
    std::size_t size = types::scalar(type->scalar_kind())->size();
    for (std::size_t i = 0; i < type->component_count(); ++i)
      if (!ir::eval_compare(OpCode::eq, type->scalar_kind(), read_bits(a + i * size, size),
                            read_bits(b + i * size, size)))
        return false;
    return true;
  }
  // Field by field, so that padding has no say.
  for (std::size_t i = 0; i < type->fields().size(); ++i) {
    std::size_t offset = field_offset(type, i);
    if (!all_equal(type->fields()[i].type, a + offset, b + offset)) return false;
  }
  return true;
}

/// The components of an aggregate, strided, as the products below read them.
struct Row {
  const std::byte* first;
  std::size_t stride;  // in components
};

/// In the order that docs/design/ir.md states, which generated code keeps to: from the left, the first product as it
/// is. Starting from zero instead would turn a sum of −0 into +0.
std::uint64_t dot_rows(ScalarKind kind, Row a, Row b, std::size_t n, bool contract) {
  std::size_t size = types::scalar(kind)->size();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t x = read_bits(a.first + i * a.stride * size, size);
    std::uint64_t y = read_bits(b.first + i * b.stride * size, size);
    if (i > 0 && contract) {
      sum = ir::eval_fma(kind, x, y, sum);
    } else {
      std::uint64_t product = ir::eval_binary(OpCode::mul, kind, x, y);
      sum = i == 0 ? product : ir::eval_binary(OpCode::add, kind, sum, product);
    }
  }
  return sum;
}

}  // namespace

void Executor::elementwise(const ir::Op& op) {
  const Type* type = op.result()->type;
  const ScalarKind kind = type->scalar_kind();
  const std::size_t size = types::scalar(kind)->size();
  const std::size_t n = type->component_count();
  const std::size_t arity = op.operands.size();
  const std::byte* from[3] = {nullptr, nullptr, nullptr};
  std::size_t stride[3] = {0, 0, 0};
  for (std::size_t k = 0; k < arity; ++k) {
    from[k] = at(op.operand(k));
    stride[k] = op.operand(k)->type == type ? size : 0;  // a scalar beside composites serves every component
  }
  // A composite times a number is the product of each component with it.
  OpCode code = op.code == OpCode::scale ? OpCode::mul : op.code == OpCode::unscale ? OpCode::div : op.code;
  std::byte* to = at(op.result());
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t v[3] = {0, 0, 0};
    for (std::size_t k = 0; k < arity; ++k) v[k] = read_bits(from[k] + i * stride[k], size);
    // The meaning of an operation on one number is stated in one place, ir/scalar_eval, which folding uses as well.
    std::uint64_t out = arity == 1   ? ir::eval_unary(code, kind, v[0])
                        : arity == 2 ? ir::eval_binary(code, kind, v[0], v[1])
                                     : ir::eval_fma(kind, v[0], v[1], v[2]);
    write_bits(to + i * size, size, out);
  }
}

void Executor::compare(const ir::Op& op) {
  const Type* type = op.operand(0)->type;
  if (type->is_scalar())
    return set_bits(op.result(),
                    ir::eval_compare(op.code, type->scalar_kind(), bits(op.operand(0)), bits(op.operand(1))));
  // Only eq and ne are defined on aggregates, and ne is the negation of eq as a whole.
  bool equal = all_equal(type, at(op.operand(0)), at(op.operand(1)));
  set_bits(op.result(), equal == (op.code == OpCode::eq));
}

/// A function of the library in IR, run like any other: the same operations in the same order as in generated code.
void Executor::math(const ir::Op& op) { call(op, math::math_function(op.code, op.result()->type->scalar_kind())); }

void Executor::dot(const ir::Op& op) {
  const Type* type = op.operand(0)->type;
  set_bits(op.result(), dot_rows(type->scalar_kind(), {at(op.operand(0)), 1}, {at(op.operand(1)), 1},
                                 type->component_count(), op.contract));
}

void Executor::mask_of(const ir::Op& op) {
  const Type* type = op.operand(0)->type;
  const ScalarKind kind = type->scalar_kind();
  const std::size_t size = type->element()->size();
  const OpCode code = op.code == OpCode::less_bits ? OpCode::lt : OpCode::le;
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < type->component_count(); ++i)
    if (ir::eval_compare(code, kind, read_bits(at(op.operand(0)) + i * size, size),
                         read_bits(at(op.operand(1)) + i * size, size)))
      // At most 32 components; typing sees to it.
      mask |= std::uint32_t(1) << i;
  set_bits(op.result(), mask);
}

void Executor::choose_bits(const ir::Op& op) {
  const Type* type = op.result()->type;
  const std::size_t size = type->element()->size();
  const std::uint64_t mask = bits(op.operand(0));
  for (std::size_t i = 0; i < type->component_count(); ++i)
    // As bytes: a choice must not touch the bits of a NaN.
    std::memcpy(at(op.result()) + i * size, at(op.operand(mask >> i & 1 ? 1 : 2)) + i * size, size);
}

void Executor::matmul(const ir::Op& op) {
  const Type* a = op.operand(0)->type;
  const Type* b = op.operand(1)->type;
  const ScalarKind kind = a->scalar_kind();
  const std::size_t size = types::scalar(kind)->size();
  // A vector on the left is one row, on the right one column.
  const std::size_t rows = a->is_mat() ? a->rows() : 1;
  const std::size_t inner = a->is_mat() ? a->cols() : a->rows();
  const std::size_t cols = b->is_mat() ? b->cols() : 1;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) {
      // Matrices lie row by row: a column is every cols-th number.
      Row row = {at(op.operand(0)) + i * inner * size, 1};
      Row col = {at(op.operand(1)) + j * size, cols};
      write_bits(at(op.result()) + (i * cols + j) * size, size, dot_rows(kind, row, col, inner, op.contract));
    }
}

void Executor::transpose(const ir::Op& op) {
  const Type* type = op.operand(0)->type;
  const std::size_t size = type->element()->size();
  for (std::size_t i = 0; i < type->rows(); ++i)
    for (std::size_t j = 0; j < type->cols(); ++j)
      std::memcpy(at(op.result()) + (j * type->rows() + i) * size, at(op.operand(0)) + (i * type->cols() + j) * size,
                  size);
}

void Executor::outer(const ir::Op& op) {
  const Type* type = op.result()->type;
  const std::size_t size = type->element()->size();
  for (std::size_t i = 0; i < type->rows(); ++i)
    for (std::size_t j = 0; j < type->cols(); ++j)
      write_bits(at(op.result()) + (i * type->cols() + j) * size, size,
                 ir::eval_binary(OpCode::mul, type->scalar_kind(), read_bits(at(op.operand(0)) + i * size, size),
                                 read_bits(at(op.operand(1)) + j * size, size)));
}

}  // namespace weft::interp
