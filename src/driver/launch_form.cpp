// Looking at the descriptors of a block.
#include "driver/launch_form.h"

#include <algorithm>
#include <numeric>

#include "runtime/array.h"
#include "support/hot.h"

namespace weft::driver {

ir::Form LaunchForm::in_ir() const {
  ir::Form form;
  form.no_overlap = no_overlap;
  form.strided = strided;
  form.aligned = aligned;
  form.taped = taped;
  form.adjoint = adjoint;
  form.meet = meet;
  form.objects_apart = objects_apart;
  form.rank = rank;
  return form;
}

LaunchForm LaunchForm::of(const ir::Form& form) {
  LaunchForm out;
  out.rank = form.rank;
  out.no_overlap = form.no_overlap;
  out.strided = form.strided;
  out.aligned = form.aligned;
  out.taped = form.taped;
  out.adjoint = form.adjoint;
  out.meet = form.meet;
  out.objects_apart = form.objects_apart;
  return out;
}

namespace {

const ArrayDesc& desc_at(const void* block, const ParamLayout::Array& array) {
  return *reinterpret_cast<const ArrayDesc*>(static_cast<const char*>(block) + array.offset);
}

}  // namespace

bool gradients_may_meet(const ParamLayout& layout, const void* block) {
  runtime::ByteRange seen[64];
  std::size_t count = 0;
  bool meet = false;
  for (const ParamLayout::Array& array : layout.arrays) {
    const ArrayDesc& desc = desc_at(block, array);
    if (!desc.grad) continue;
    for (std::int32_t d = 0; d < desc.ndim; ++d) meet |= desc.shape[d] > 1 && desc.strides[d] == 0;
    const runtime::ByteRange range = runtime::grad_range(desc, array.element_size);
    for (std::size_t k = 0; k < count; ++k) meet |= range.intersects(seen[k]);
    if (count < std::size(seen))
      seen[count++] = range;
    else
      meet = true;  // too many to compare: the careful form
  }
  return meet;
}

void ArrayOrder::note(const std::uintptr_t* lows, std::size_t count) {
  std::uint8_t sorted[kMost];
  std::iota(sorted, sorted + count, std::uint8_t(0));
  std::sort(sorted, sorted + count, [&](std::uint8_t a, std::uint8_t b) { return lows[a] < lows[b]; });
  for (std::size_t k = 0; k < count; ++k) order_[k].store(sorted[k], std::memory_order_relaxed);
}

WEFT_HOT LaunchForm form_of(const ParamLayout& layout, const void* block, std::size_t rank, ArrayOrder* order) {
  std::uintptr_t lows[ArrayOrder::kMost], highs[ArrayOrder::kMost];
  std::size_t count = 0;
  LaunchForm form;
  form.rank = std::uint8_t(rank);
  std::uint64_t beyond = 0;  // bits above the 32 of signed numbers
  std::uint64_t begins = 0;  // bits of addresses and of distances between rows
  for (const ParamLayout::Array& array : layout.arrays) {
    const ArrayDesc& desc = desc_at(block, array);
    for (std::uint32_t d = 0; d < array.rank; ++d)
      beyond |= (std::uint64_t(desc.shape[d]) + 0x80000000u) | (std::uint64_t(desc.strides[d]) + 0x80000000u);
    begins |= reinterpret_cast<std::uintptr_t>(desc.data) | reinterpret_cast<std::uintptr_t>(desc.grad);
    for (std::uint32_t d = 0; d + 1 < array.rank; ++d) begins |= std::uint64_t(desc.strides[d]);
    if (desc.data && desc.strides[array.rank - 1] != std::int64_t(array.element_size)) form.strided = true;
    const runtime::ByteRange range = runtime::data_range(desc, array.element_size);
    if (range.lo == range.hi) continue;
    if (count == ArrayOrder::kMost) {
      form.no_overlap = false;  // too many to compare: the careful form
      continue;
    }
    lows[count] = range.lo;
    highs[count++] = range.hi;
  }
  if (form.no_overlap && !(order && order->apart(lows, highs, count))) {
    bool meet = false;  // without branches
    for (std::size_t k = 1; k < count; ++k)
      for (std::size_t j = 0; j < k; ++j) meet |= (lows[k] < highs[j]) & (lows[j] < highs[k]);
    form.no_overlap = !meet;
    if (order && !meet) order->note(lows, count);
  }
  form.large = beyond >> 32;
  form.aligned = layout.asks_alignment && !form.strided && !form.large && begins % ir::kAlignedRows == 0;
  return form;
}

}  // namespace weft::driver
