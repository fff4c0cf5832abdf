// Whole-aggregate algebra: scale, dot, matrix products, transpose, outer. Small ones are unrolled; above the limits of
// emitter.h the operands are put in memory and loops are written, so that code size does not grow with the matrix.
#include "codegen/emit/emitter.h"

namespace weft::codegen {

using ir::OpCode;

llvm::Value* Emitter::multiply_add(ScalarKind kind, llvm::Value* x, llvm::Value* y, llvm::Value* sum, bool contract) {
  // The first product starts the sum: 0 + x·y would turn −0 into +0.
  if (!sum) return arith(OpCode::mul, kind, {x, y});
  if (contract && is_floating(kind)) return arith(OpCode::fma, kind, {x, y, sum});
  return arith(OpCode::add, kind, {sum, arith(OpCode::mul, kind, {x, y})});
}

void Emitter::emit_scale(const ir::Op& op) {
  const Type* type = op.result()->type;
  if (is_packed(type)) return emit_packed_arith(op);
  ScalarKind kind = type->scalar_kind();
  OpCode code = op.code == OpCode::scale ? OpCode::mul : OpCode::div;
  llvm::Value* factor = plain(op.operand(1));
  const Parts& in = get(op.operand(0));
  if (is_block(type)) {
    Part from = in[0];
    Part out = new_block(kind, type->component_count(), W > 1 && (from.wide || factor->getType()->isVectorTy()));
    counted_loop(type->component_count(), [&](llvm::Value* i) {
      block_put(out, kind, i, arith(code, kind, {block_get(from, kind, i), factor}));
    });
    return set(op.result(), {out});
  }
  Parts out;
  for (const Part& part : in) out.push_back({arith(code, kind, {plain(part), factor})});
  set(op.result(), std::move(out));
}

void Emitter::emit_dot(const ir::Op& op) {
  const Type* type = op.operand(0)->type;
  ScalarKind kind = type->scalar_kind();
  const Parts &x = get(op.operand(0)), &y = get(op.operand(1));
  if (!is_block(type)) {
    llvm::Value* sum = nullptr;
    for (std::size_t k = 0; k < x.size(); ++k) sum = multiply_add(kind, plain(x[k]), plain(y[k]), sum, op.contract);
    return set(op.result(), {Part{sum}});
  }
  Part p = x[0], q = y[0];
  llvm::Value* zero = b.getInt64(0);
  // What a loop at run time carries lies in memory; LLVM makes a register of a block of one.
  Part sum = new_block(kind, 1, W > 1 && (p.wide || q.wide));
  block_put(sum, kind, zero, multiply_add(kind, block_get(p, kind, zero), block_get(q, kind, zero), nullptr, false));
  counted_loop(type->component_count() - 1, [&](llvm::Value* i) {
    llvm::Value* at = b.CreateAdd(i, b.getInt64(1));
    block_put(
        sum, kind, zero,
        multiply_add(kind, block_get(p, kind, at), block_get(q, kind, at), block_get(sum, kind, zero), op.contract));
  });
  set(op.result(), {Part{block_get(sum, kind, zero)}});
}

void Emitter::emit_matmul(const ir::Op& op) {
  const Type *a = op.operand(0)->type, *c = op.operand(1)->type, *r = op.result()->type;
  ScalarKind kind = r->scalar_kind();
  // A vector on the left is a row, one on the right a column.
  std::uint32_t rows = a->is_mat() ? a->rows() : 1;
  std::uint32_t inner = a->is_mat() ? a->cols() : a->rows();
  std::uint32_t cols = c->is_mat() ? c->cols() : 1;
  if (std::uint64_t(rows) * inner * cols <= kMaxUnrolledProducts && !is_block(a) && !is_block(c) && !is_block(r)) {
    const Parts &x = get(op.operand(0)), &y = get(op.operand(1));
    Parts out;
    for (std::uint32_t i = 0; i < rows; ++i)
      for (std::uint32_t j = 0; j < cols; ++j) {
        llvm::Value* sum = nullptr;
        for (std::uint32_t k = 0; k < inner; ++k)
          sum = multiply_add(kind, plain(x[i * inner + k]), plain(y[k * cols + j]), sum, op.contract);
        out.push_back({sum});
      }
    return set(op.result(), std::move(out));
  }
  Part x = as_block(a, get(op.operand(0))), y = as_block(c, get(op.operand(1)));
  Part out = new_block(kind, rows * cols, W > 1 && (x.wide || y.wide));
  auto n = [&](std::uint64_t k) { return b.getInt64(k); };
  // k runs outside j, so that the inner loop walks rows of both: each component still sums in index order.
  counted_loop(rows, [&](llvm::Value* i) {
    llvm::Value* x_row = b.CreateMul(i, n(inner));
    llvm::Value* out_row = b.CreateMul(i, n(cols));
    llvm::Value* head = block_get(x, kind, x_row);
    counted_loop(cols, [&](llvm::Value* j) {
      block_put(out, kind, b.CreateAdd(out_row, j), multiply_add(kind, head, block_get(y, kind, j), nullptr, false));
    });
    counted_loop(n(inner - 1), [&](llvm::Value* before) {
      llvm::Value* k = b.CreateAdd(before, n(1));
      llvm::Value* factor = block_get(x, kind, b.CreateAdd(x_row, k));
      llvm::Value* y_row = b.CreateMul(k, n(cols));
      counted_loop(cols, [&](llvm::Value* j) {
        llvm::Value* at = b.CreateAdd(out_row, j);
        llvm::Value* sum = block_get(out, kind, at);
        block_put(out, kind, at,
                  multiply_add(kind, factor, block_get(y, kind, b.CreateAdd(y_row, j)), sum, op.contract));
      });
    });
  });
  set(op.result(), from_block(r, out));
}

void Emitter::emit_transpose(const ir::Op& op) {
  const Type* type = op.operand(0)->type;
  ScalarKind kind = type->scalar_kind();
  std::uint32_t rows = type->rows(), cols = type->cols();
  const Parts& in = get(op.operand(0));
  if (!is_block(type)) {
    Parts out;
    for (std::uint32_t j = 0; j < cols; ++j)
      // A renaming of parts: no instruction.
      for (std::uint32_t i = 0; i < rows; ++i) out.push_back(in[i * cols + j]);
    return set(op.result(), std::move(out));
  }
  Part from = in[0];
  Part out = new_block(kind, rows * cols, from.wide);
  counted_loop(rows, [&](llvm::Value* i) {
    counted_loop(cols, [&](llvm::Value* j) {
      llvm::Value* at = b.CreateAdd(b.CreateMul(i, b.getInt64(cols)), j);
      block_put(out, kind, b.CreateAdd(b.CreateMul(j, b.getInt64(rows)), i), block_get(from, kind, at));
    });
  });
  set(op.result(), {out});
}

void Emitter::emit_outer(const ir::Op& op) {
  const Type *a = op.operand(0)->type, *c = op.operand(1)->type, *r = op.result()->type;
  ScalarKind kind = r->scalar_kind();
  if (!is_block(r)) {
    const Parts &x = get(op.operand(0)), &y = get(op.operand(1));
    Parts out;
    for (const Part& p : x)
      for (const Part& q : y) out.push_back({arith(OpCode::mul, kind, {plain(p), plain(q)})});
    return set(op.result(), std::move(out));
  }
  Part x = as_block(a, get(op.operand(0))), y = as_block(c, get(op.operand(1)));
  std::uint32_t rows = a->rows(), cols = c->rows();
  Part out = new_block(kind, rows * cols, W > 1 && (x.wide || y.wide));
  counted_loop(rows, [&](llvm::Value* i) {
    llvm::Value* factor = block_get(x, kind, i);
    counted_loop(cols, [&](llvm::Value* j) {
      llvm::Value* at = b.CreateAdd(b.CreateMul(i, b.getInt64(cols)), j);
      block_put(out, kind, at, arith(OpCode::mul, kind, {factor, block_get(y, kind, j)}));
    });
  });
  set(op.result(), {out});
}

}  // namespace weft::codegen
