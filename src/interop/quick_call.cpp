// The usual call: comparing buffers with what a record wants, and running the form that is ready.
#include "interop/quick_call.h"

#include <algorithm>
#include <cstring>

#include "interop/call_record.h"
#include "interop/xla_handlers.h"
#include "support/hot.h"

namespace weft::interop {
namespace {

/// XLA's number of a scalar type; 0 where it has none.
xla::DataType number_of(const Type* scalar) {
  for (int number = xla::kPred; number <= xla::kBF16; ++number)
    if (scalar_of(xla::DataType(number)) == scalar) return xla::DataType(number);
  return xla::DataType(0);
}

/// A buffer if it is what a parameter wants; else null.
WEFT_HOT const xla::Buffer* fitting(const xla::Arguments& list, std::int16_t index, const QuickCall::Array& wanted) {
  if (list.types[index] != xla::kBufferArgument) [[unlikely]]
    return nullptr;
  const auto& buffer = *static_cast<const xla::Buffer*>(list.values[index]);
  if (!WEFT_XLA_HAS(buffer, dims) || buffer.dtype != wanted.scalar || buffer.rank != wanted.rank + wanted.inner)
      [[unlikely]]
    return nullptr;
  for (int k = 0; k < wanted.inner; ++k)
    if (buffer.dims[wanted.rank + k] != wanted.sides[k]) [[unlikely]]
      return nullptr;
  return &buffer;
}

/// Fills the descriptor of packed memory, as that of a fresh one; false for extents that need more than 31 bits.
WEFT_HOT bool describe(const xla::Buffer& buffer, const QuickCall::Array& array, ArrayDesc& out, std::size_t& bytes) {
  out = ArrayDesc{};
  out.data = buffer.data;
  out.ndim = array.rank;
  std::int64_t stride = array.element;
  bool empty = false;
  for (int k = array.rank - 1; k >= 0; --k) {
    const std::int64_t extent = buffer.dims[k];
    if (extent > INT32_MAX || stride > INT32_MAX) [[unlikely]]
      return false;
    out.shape[k] = extent;
    out.strides[k] = stride;
    empty |= extent == 0;
    stride *= std::max<std::int64_t>(extent, 1);
  }
  bytes = empty ? 0 : std::size_t(stride);
  return true;
}

}  // namespace

std::unique_ptr<const QuickCall> QuickCall::of(const CallTarget& target) {
  const CallRecord& record = target.record;
  const bool threads = std::find(record.dims.begin(), record.dims.end(), 0) == record.dims.end();
  if (record.direction != Direction::forward || record.batch_rank || record.replays || !threads ||
      target.block.size() * 8 > kMaxBlock)
    return nullptr;
  auto made = std::make_unique<QuickCall>();
  made->form = target.form(nullptr).index();
  for (std::size_t i = 0; i < record.params.size(); ++i) {
    const CallParam& p = record.params[i];
    if (p.role == Role::value) continue;
    const ParamLayout::Param& param = target.layout.params[i];
    const Type* element = param.type->element();
    Array array{};
    array.offset = param.offset;
    array.element = std::uint32_t(element->size());
    array.scalar = number_of(element->is_scalar() ? element : element->element());
    array.arg = p.role == Role::output ? std::int16_t(-1) : p.arg;
    array.ret = p.role == Role::input ? std::int16_t(-1) : p.ret;
    array.rank = std::uint8_t(param.type->rank());
    array.inner = element->is_mat() ? 2 : element->is_composite() ? 1 : 0;
    array.zeroed = p.role == Role::output && p.zeroed;
    array.sides[0] = element->is_mat() ? element->rows() : array.inner ? element->component_count() : 0;
    array.sides[1] = element->is_mat() ? element->cols() : 0;
    const bool whole = (p.role == Role::output || p.arg >= 0) && (p.role == Role::input || p.ret >= 0);
    if (!whole || array.scalar == 0 || p.arg_dot >= 0 || p.ret_dot >= 0) return nullptr;
    made->args = std::max<std::int64_t>(made->args, p.arg + 1);
    made->rets = std::max<std::int64_t>(made->rets, p.ret + 1);
    made->begins |= array.zeroed || p.role == Role::in_out;
    made->arrays.push_back(array);
  }
  return made;
}

WEFT_HOT bool QuickCall::run(const CallTarget& target, const xla::CallFrame& frame) const {
  if (frame.arguments.size != args || frame.results.size != rets) [[unlikely]]
    return false;
  const driver::KernelVariant* variant = target.signature->host.variants[form].load(std::memory_order_acquire);
  if (!variant || !variant->binary || !variant->binary->sums().empty()) return false;
  alignas(ArrayDesc) char block[kMaxBlock];
  std::memcpy(block, target.block.data(), target.block.size() * 8);
  std::size_t bytes = 0;
  for (const Array& array : arrays) {
    const bool comes_out = array.ret >= 0;
    const xla::Buffer* buffer =
        comes_out ? fitting(frame.results, array.ret, array) : fitting(frame.arguments, array.arg, array);
    if (!buffer || !describe(*buffer, array, *reinterpret_cast<ArrayDesc*>(block + array.offset), bytes)) return false;
    if (!comes_out || array.arg < 0) continue;
    const xla::Buffer* from = fitting(frame.arguments, array.arg, array);  // it begins as that
    if (!from || !std::equal(from->dims, from->dims + array.rank, buffer->dims)) return false;
  }
  if (begins) {
    for (const Array& array : arrays) {
      if (array.ret < 0 || (!array.zeroed && array.arg < 0)) continue;
      ArrayDesc seen;
      const auto& to = *static_cast<const xla::Buffer*>(frame.results.values[array.ret]);
      describe(to, array, seen, bytes);
      if (bytes == 0) continue;
      if (array.zeroed) {
        std::memset(to.data, 0, bytes);
        continue;
      }
      const auto& from = *static_cast<const xla::Buffer*>(frame.arguments.values[array.arg]);
      if (from.data != to.data) std::memcpy(to.data, from.data, bytes);
    }
  }
  target.kernel->run(*variant, block, {target.dims(nullptr), target.kernel->cpu_options()});
  return true;
}

}  // namespace weft::interop
