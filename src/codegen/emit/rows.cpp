// Products of 4×4 matrices that go straight from arrays to an array: taken lane by lane and row by row, as memory has
// them. To make vectors of one component of all lanes first, and rows again after, takes longer than the product itself.
// Each component sums the same products in the same order as everywhere else.
#include <algorithm>

#include "codegen/emit/draw_queue.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

using ir::OpCode;

namespace {

constexpr std::uint32_t kSide = 4;

bool is_row_matrix(const Type* type) {
  return type->is_mat() && type->rows() == kSide && type->cols() == kSide &&
         (type->scalar_kind() == ScalarKind::f32 || type->scalar_kind() == ScalarKind::f64);
}

const ir::Op* defining(const ir::Value* value, OpCode code, const ir::Region& region) {
  if (value->kind != ir::ValueKind::result || value->op->code != code || value->op->parent != &region) return nullptr;
  return value->op;
}

void count_uses(const ir::Region& region, std::vector<std::uint32_t>& uses) {
  for (const ir::Op& op : region) {
    for (const ir::Value* v : op.operands) ++uses[v->id];
    for (const ir::Region* inner : op.regions) count_uses(*inner, uses);
  }
}

/// No operation between two of one region writes memory or runs others.
bool only_reads_between(const ir::Op& first, const ir::Op& last) {
  for (const ir::Op* op = first.next; op && op != &last; op = op->next)
    if (ir::effect_of(op->code) != ir::Effect::none && ir::effect_of(op->code) != ir::Effect::read) return false;
  return true;
}

}  // namespace

void Emitter::find_row_products(const ir::Region& region) {
  if (!unit.hooks->multiplies_by_rows()) return;
  std::vector<std::uint32_t> uses;
  for (const ir::Op& store : region) {
    if (store.code != OpCode::store || !is_row_matrix(store.operands.back()->type)) continue;
    if (draws && draws->waits(store)) continue;  // what it stores must be there before
    const ir::Op* product = defining(store.operands.back(), OpCode::matmul, region);
    if (!product || !is_row_matrix(product->operand(0)->type) || !is_row_matrix(product->operand(1)->type)) continue;
    const ir::Op* left = defining(product->operand(0), OpCode::load, region);
    const ir::Op* right = defining(product->operand(1), OpCode::load, region);
    if (!left || !right || !only_reads_between(*left, store) || !only_reads_between(*right, store)) continue;
    if (uses.empty()) {
      uses.resize(source_.value_count);
      count_uses(*source_.body, uses);
    }
    // The loads and the product must have no other use: they are emitted nowhere but in
    // the store. A square uses its load twice.
    const std::uint32_t wanted = left == right ? 2 : 1;
    if (uses[product->result()->id] != 1 || uses[left->result()->id] != wanted || uses[right->result()->id] != wanted)
      continue;
    deferred_.insert({left, right, product});
  }
}

bool Emitter::store_row_product(const ir::Op& store) {
  const ir::Value* value = store.operands.back();
  if (deferred_.empty() || value->kind != ir::ValueKind::result || !deferred_.contains(value->op)) return false;
  const ir::Op& product = *value->op;
  const ir::Op &left = *product.operand(0)->op, &right = *product.operand(1)->op;
  auto place = [&](const ir::Op& op, std::size_t values) {
    const std::size_t path = 1u + op.num_indices;
    return address(op, op.operands.subspan(path, op.operands.size() - path - values));
  };
  Address from = place(left, 0), by = place(right, 0), to = place(store, 1);
  // Scalar pointers without conditions: a lane's matrix lies at a distance that is known.
  auto by_rows = [](const Address& at) { return at.pointer && !at.fast_if && !at.valid; };
  const ScalarKind kind = value->type->scalar_kind();
  llvm::Type* scalar = unit.type(kind);
  const std::uint32_t bytes = scalar->getScalarSizeInBits() / 8, size = kSide * kSide * bytes;
  // It turns out only here that an address is not fit for rows: what was put off is emitted now, in its
  // order, and the store goes its usual way.
  if (mask || !by_rows(from) || !by_rows(by) || !by_rows(to) || (W > 1 && std::abs(to.lane_stride) < size)) {
    emit_load(left);
    if (&left != &right) emit_load(right);
    emit_matmul(product);
    return false;
  }

  // As many rows at once as a vector register holds.
  const auto rows = std::uint32_t(std::clamp(natural_lanes(unit.target) / int(bytes), 1, int(kSide)));
  auto* row_type = llvm::FixedVectorType::get(scalar, kSide);
  auto* rows_type = llvm::FixedVectorType::get(scalar, kSide * rows);
  auto load = [&](llvm::Type* type, const Address& at, int lane, std::uint32_t row) {
    llvm::LoadInst* out = b.CreateAlignedLoad(type, quad_address(at, row * kSide * bytes, lane), llvm::Align(bytes));
    mark_scope(out, at.scope);
    return out;
  };
  for (int lane = 0; lane < W; ++lane) {
    llvm::Value* factors[kSide];
    for (std::uint32_t k = 0; k < kSide; ++k) {
      llvm::SmallVector<int, 16> again;
      // A row of the right matrix once for each row that is worked on at a time.
      for (std::uint32_t n = 0; n < kSide * rows; ++n) again.push_back(int(n % kSide));
      factors[k] = load(row_type, by, lane, k);
      if (rows > 1) factors[k] = b.CreateShuffleVector(factors[k], again);
    }
    llvm::SmallVector<llvm::Value*, 4> sums;
    for (std::uint32_t row = 0; row < kSide; row += rows) {
      llvm::Value* in = load(rows_type, from, lane, row);
      llvm::Value* sum = nullptr;
      for (std::uint32_t k = 0; k < kSide; ++k) {
        llvm::SmallVector<int, 16> one;
        // Component k of each row, four times: row of the result = Σ_k a_k · (row k of b), in the order of k.
        for (std::uint32_t n = 0; n < kSide * rows; ++n) one.push_back(int(n / kSide * kSide + k));
        sum = multiply_add(kind, b.CreateShuffleVector(in, one), factors[k], sum, product.contract);
      }
      sums.push_back(sum);
    }
    // All is read before anything is written: the array may be the same.
    for (std::uint32_t k = 0; k < sums.size(); ++k)
      store_scalar(sums[k], quad_address(to, k * rows * kSide * bytes, lane), bytes, to.scope);
  }
  return true;
}

}  // namespace weft::codegen
