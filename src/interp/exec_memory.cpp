// Arrays: descriptors, accesses through them and local memory. Every access is checked against the descriptor.
#include <algorithm>
#include <cstdlib>

#include "interp/executor.h"
#include "ir/fixed_memory.h"
#include "ir/infer.h"
#include "ir/op_cases.h"
#include "ir/scalar_eval.h"
#include "ir/tile_memory.h"
#include "runtime/block_threads.h"

namespace weft::interp {
namespace {

using ir::OpCode;

/// Address arithmetic wraps in 64 bits, as in generated code.
std::int64_t times(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) * std::uint64_t(b)); }
std::int64_t plus(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) + std::uint64_t(b)); }

void* advance(void* pointer, std::int64_t bytes) {
  // A view of no array is no array, whatever the index.
  if (!pointer) return nullptr;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(pointer) + std::uintptr_t(bytes));
}

void set_contiguous(ArrayDesc& desc, const Type* type) {
  desc.ndim = std::int32_t(type->rank());
  std::int64_t stride = type->element()->size();
  for (int k = int(type->rank()) - 1; k >= 0; --k) {
    desc.strides[k] = stride;
    stride = times(stride, desc.shape[k]);
  }
}

std::string range_text(std::int64_t index, std::int64_t extent, std::size_t dimension) {
  return "index " + std::to_string(index) + " is out of bounds for dimension " + std::to_string(dimension) +
         " of extent " + std::to_string(extent);
}

ir::OpCode operator_of(ir::AtomicKind kind) {
  switch (kind) {
    case ir::AtomicKind::add: return OpCode::add;
    case ir::AtomicKind::min: return OpCode::min;
    case ir::AtomicKind::max: return OpCode::max;
    case ir::AtomicKind::bit_and: return OpCode::bit_and;
    case ir::AtomicKind::bit_or: return OpCode::bit_or;
    case ir::AtomicKind::bit_xor: return OpCode::bit_xor;
    case ir::AtomicKind::exch:
    case ir::AtomicKind::cas: break;
  }
  WEFT_UNREACHABLE("exchange has no operator");
}

}  // namespace

std::int64_t Executor::index(const ir::Op& op, std::size_t k, const ArrayDesc& array, bool& outside) {
  const ir::Value* value = op.indices()[k];
  // A view may keep leading dimensions (imm of them) in front of those it indexes; accesses keep none.
  const std::int64_t extent = array.shape[k + std::size_t(op.imm)];
  std::int64_t i = integer(value);
  // Read as i64, unsigned numbers from 2⁶³ on look negative: they don't count from the end, and are out of bounds.
  bool is_unsigned_64 = value->type->scalar_kind() == ScalarKind::u64;
  if ((op.wrap >> k & 1) && i < 0 && !is_unsigned_64) i = plus(i, extent);
  outside = i < 0 || i >= extent;
  return i;
}

std::byte* Executor::element(const ir::Op& op) {
  ArrayDesc desc = array(op.operand(0));
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < op.num_indices; ++k) {
    bool outside = false;
    std::int64_t i = index(op, k, desc, outside);
    // With the number that the program wrote, not the wrapped one.
    if (outside && limits_.check_bounds) error(op, range_text(integer(op.indices()[k]), desc.shape[k], k));
    offset = plus(offset, times(i, desc.strides[k]));
  }
  // Behind the check of this access's own indices, which are what the program reads on this line. The number is held
  // against the list, since descriptors that come from outside may have anything in that field.
  if (limits_.check_bounds && desc.reserved > 0 && std::size_t(desc.reserved) <= bad_views_.size()) {
    const BadView& bad = bad_views_[std::size_t(desc.reserved) - 1];
    error(op, "access through a view taken out of bounds at " + to_string(bad.op->loc) + ": " +
                  range_text(bad.index, bad.extent, 0));
  }
  // With checks off, too: the interpreter may give wrong numbers then, but has no reason to crash where it can tell.
  if (!desc.data) error(op, "access to an array without memory (null)");
  return static_cast<std::byte*>(advance(desc.data, offset));
}

void Executor::load(const ir::Op& op) {
  std::byte* from = element(op);
  Place place = resolve(op.operand(0)->type->element(), op.path, op.operands.subspan(1 + op.num_indices));
  // What lies outside of the element touches no memory, and is no access.
  if (limits_.watcher && place.inside) limits_.watcher->access(op, linear_, from + place.offset, place.type);
  if (place.inside)
    std::memcpy(at(op.result()), from + place.offset, place.type->size());
  else
    std::memset(at(op.result()), 0, place.type->size());
}

void Executor::store(const ir::Op& op) {
  std::byte* to = element(op);
  Place place = resolve(op.operand(0)->type->element(), op.path, op.operands.subspan(1 + op.num_indices));
  // A component that is not there: nothing changes, as with `insert`.
  if (!place.inside) return;
  if (limits_.watcher) limits_.watcher->access(op, linear_, to + place.offset, place.type);
  std::memcpy(to + place.offset, at(op.operands.back()), place.type->size());
}

void Executor::atomic(const ir::Op& op) {
  std::byte* memory = element(op);
  Place place = resolve(op.operand(0)->type->element(), op.path, op.operands.subspan(1 + op.num_indices));
  std::byte* result = at(op.result());
  if (!place.inside) {
    std::memset(result, 0, place.type->size());
    return;
  }
  if (limits_.watcher) limits_.watcher->access(op, linear_, memory + place.offset, place.type);
  const ScalarKind kind = place.type->scalar_kind();
  const std::size_t size = types::scalar(kind)->size();
  const std::byte* value = at(op.operands.back());
  const std::byte* expected = op.atomic == ir::AtomicKind::cas ? at(op.operands[op.operands.size() - 2]) : nullptr;
  // Component by component, each atomic by itself: that is all the IR promises for composites, and with one
  // thread at a time it makes no difference.
  for (std::size_t i = 0; i < place.type->component_count(); ++i) {
    std::byte* word = memory + place.offset + i * size;
    std::uint64_t old = read_bits(word, size);
    std::uint64_t operand = read_bits(value + i * size, size);
    std::uint64_t next = operand;
    if (op.atomic == ir::AtomicKind::cas)
      // By bits, also for floats: that is what processors compare and exchange.
      next = old == read_bits(expected + i * size, size) ? operand : old;
    else if (op.atomic != ir::AtomicKind::exch)
      next = ir::eval_binary(operator_of(op.atomic), kind, old, operand);
    write_bits(word, size, next);
    write_bits(result + i * size, size, old);
  }
}

void Executor::view(const ir::Op& op) {
  ArrayDesc desc = array(op.operand(0));
  ArrayDesc part;
  std::int64_t offset = 0;
  // A view of a bad view is bad, and the first fault is the one to report.
  part.reserved = desc.reserved;
  const std::size_t kept = std::size_t(op.imm);
  for (std::size_t k = 0; k < op.num_indices; ++k) {
    bool outside = false;
    std::int64_t i = index(op, k, desc, outside);
    offset = plus(offset, times(i, desc.strides[kept + k]));
    // A view out of bounds is no error yet: programs make views that they then don't use. Its address may
    // point anywhere, so it carries a note of where it was made. One record per operation: a loop over
    // bad views takes no more memory than one.
    if (outside && desc.data && limits_.check_bounds && part.reserved == 0) {
      auto [it, fresh] = bad_view_of_.try_emplace(&op, std::int32_t(bad_views_.size() + 1));
      if (fresh) bad_views_.emplace_back();
      bad_views_[std::size_t(it->second) - 1] = {&op, i, desc.shape[kept + k]};
      part.reserved = it->second;
    }
  }
  part.data = advance(desc.data, offset);
  part.grad = advance(desc.grad, offset);
  part.ndim = std::int32_t(op.result()->type->rank());
  for (std::size_t k = 0; k < std::size_t(part.ndim); ++k) {
    // The indexed dimensions, behind those that are kept, drop out.
    const std::size_t from = k < kept ? k : k + op.num_indices;
    part.shape[k] = desc.shape[from];
    part.strides[k] = desc.strides[from];
  }
  std::memcpy(at(op.result()), &part, sizeof part);
}

void Executor::slice(const ir::Op& op) {
  ArrayDesc desc = array(op.operand(0));
  std::size_t d = std::size_t(op.imm);
  std::int64_t extent = std::max<std::int64_t>(0, desc.shape[d]);
  const std::int64_t given = integer(op.operand(3)),
                     step = given == 0 ? 1 : given;  // 0 has no meaning, and counts as 1
  const bool backwards = step < 0;
  // Python's rules: negative counts from the end, and what is beyond either end is the end; on the way back the ends are
  // the last element and the place before the first.
  auto bound = [&](const ir::Value* value) {
    std::int64_t i = integer(value);
    if (i < 0) i = i + extent;
    return std::clamp<std::int64_t>(i, backwards ? -1 : 0, backwards ? extent - 1 : extent);
  };
  const std::int64_t start = bound(op.operand(1)), stop = bound(op.operand(2));
  const std::int64_t length = backwards ? start - stop : stop - start;
  const std::uint64_t by = backwards ? -std::uint64_t(step) : std::uint64_t(step);
  // Rounded up, so that the last element before `stop` is in.
  desc.shape[d] = length > 0 ? std::int64_t(std::uint64_t(length - 1) / by) + 1 : 0;
  // An empty view has no first element, which on the way back would lie outside of the array.
  std::int64_t offset = backwards && desc.shape[d] == 0 ? 0 : times(start, desc.strides[d]);
  desc.data = advance(desc.data, offset);
  desc.grad = advance(desc.grad, offset);
  desc.strides[d] = times(desc.strides[d], step);
  std::memcpy(at(op.result()), &desc, sizeof desc);
}

void Executor::local(const ir::Op& op) {
  const Type* type = op.result()->type;
  ArrayDesc desc;
  std::size_t bytes = type->element()->size();
  bool fits = true;
  for (std::size_t k = 0; k < op.ints.size(); ++k) {
    desc.shape[k] = op.ints[k];
    // Shapes of IR that was written by hand may be absurd; a wrapped product would be
    // a small allocation behind a large shape.
    fits = fits && op.ints[k] >= 0 && !__builtin_mul_overflow(bytes, std::size_t(op.ints[k]), &bytes);
  }
  set_contiguous(desc, type);
  if (block_memory_ && ir::is_block_memory(op)) {
    auto* shared = static_cast<std::byte*>(weft_rt_block_memory()) + block_memory_->offset_of(op);
    block_local(op, shared, type->element()->size(), bytes);
    desc.data = shared;
    std::memcpy(at(op.result()), &desc, sizeof desc);
    return;
  }
  // At least one byte, so that an empty array still has an address of its own.
  void* memory = fits ? std::calloc(std::max<std::size_t>(1, bytes), 1) : nullptr;
  if (!memory) error(op, "no memory for a local array");
  if (op.imm) std::memset(memory, 0xA5, bytes);  // raw: no zeros for whoever reads what nobody wrote
  // New memory each time it is executed, and kept until the function returns: a descriptor from an earlier turn of a
  // loop stays good, which the other executors refuse to compile (analysis/lifetimes).
  frame_->locals.emplace_back(memory);
  desc.data = memory;
  std::memcpy(at(op.result()), &desc, sizeof desc);
}

void Executor::memory(const ir::Op& op) {
  switch (op.code) {
    case OpCode::load: return load(op);
    case OpCode::store: return store(op);
    case OpCode::atomic: return atomic(op);
    case OpCode::view: return view(op);
    case OpCode::slice: return slice(op);
    case OpCode::local: return local(op);
    case OpCode::prefetch: return;
    // Truncated to the result's type by its size.
    case OpCode::dim: return set_bits(op.result(), std::uint64_t(array(op.operand(0)).shape[op.imm]));
    case OpCode::nonnull: return set_bits(op.result(), array(op.operand(0)).data != nullptr);
    case OpCode::data_ptr: return set_bits(op.result(), reinterpret_cast<std::uintptr_t>(array(op.operand(0)).data));
    case OpCode::from_ptr: {
      ArrayDesc desc;
      desc.data = reinterpret_cast<void*>(std::uintptr_t(bits(op.operand(0))));
      for (std::size_t k = 1; k < op.operands.size(); ++k) desc.shape[k - 1] = integer(op.operand(k));
      set_contiguous(desc, op.result()->type);
      if (op.imm == ir::kFixedRuns || op.imm == ir::kFixedBytes) desc.strides[0] = ir::element_distance(op);
      std::memcpy(at(op.result()), &desc, sizeof desc);
      return;
    }
    case OpCode::gradient: {
      ArrayDesc desc = array(op.operand(0));
      desc.data = desc.grad;
      desc.grad = nullptr;
      std::memcpy(at(op.result()), &desc, sizeof desc);
      return;
    }
    case OpCode::with_gradient: {
      ArrayDesc desc = array(op.operand(0));
      desc.grad = array(op.operand(1)).data;
      std::memcpy(at(op.result()), &desc, sizeof desc);
      return;
    }
    case OpCode::recall: WEFT_UNREACHABLE("a value that nothing can recall is an error before code runs");
    WEFT_CASES(WEFT_OPS_BUT_MEMORY) WEFT_UNREACHABLE("not a memory operation");
  }
}

}  // namespace weft::interp
