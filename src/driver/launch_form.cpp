// Looking at the descriptors of a block.
#include "driver/launch_form.h"

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

/// Calls visit(descriptor, element size) for every array of a block.
template <class Visit>
WEFT_HOT void visit_arrays(const Type* type, const char* at, const Visit& visit) {
  if (type->is_struct())
    for (const Field& f : type->fields()) visit_arrays(f.type, at + f.offset, visit);
  else if (type->is_array())
    visit(*reinterpret_cast<const ArrayDesc*>(at), *type);
}

}  // namespace

bool gradients_may_meet(const ParamLayout& layout, const void* block) {
  runtime::ByteRange seen[64];
  std::size_t count = 0;
  bool meet = false;
  for (const ParamLayout::Param& p : layout.params)
    visit_arrays(p.type, static_cast<const char*>(block) + p.offset, [&](const ArrayDesc& desc, const Type& type) {
      if (!desc.grad) return;
      for (std::int32_t d = 0; d < desc.ndim; ++d) meet |= desc.shape[d] > 1 && desc.strides[d] == 0;
      const runtime::ByteRange range = runtime::grad_range(desc, type.element()->size());
      for (std::size_t k = 0; k < count; ++k) meet |= range.intersects(seen[k]);
      if (count < std::size(seen))
        seen[count++] = range;
      else
        meet = true;  // too many to compare: the careful form
    });
  return meet;
}

WEFT_HOT LaunchForm form_of(const ParamLayout& layout, const void* block, std::size_t rank) {
  // Each range is found once, and the comparisons have no branch: kernels of sixty arrays have 1800 pairs.
  std::uintptr_t lows[64], highs[64];
  std::size_t count = 0;
  LaunchForm form;
  form.rank = std::uint8_t(rank);
  std::uint64_t beyond = 0;  // bits above the 32 of signed numbers
  std::uint64_t begins = 0;  // bits of addresses and of distances between rows
  for (const ParamLayout::Param& p : layout.params)
    visit_arrays(p.type, static_cast<const char*>(block) + p.offset, [&](const ArrayDesc& desc, const Type& type) {
      const std::uint64_t element = type.element()->size();
      for (std::uint32_t d = 0; d < type.rank(); ++d)
        beyond |= (std::uint64_t(desc.shape[d]) + 0x80000000u) | (std::uint64_t(desc.strides[d]) + 0x80000000u);
      begins |= reinterpret_cast<std::uintptr_t>(desc.data) | reinterpret_cast<std::uintptr_t>(desc.grad);
      for (std::uint32_t d = 0; d + 1 < type.rank(); ++d) begins |= std::uint64_t(desc.strides[d]);
      if (desc.data && desc.strides[type.rank() - 1] != std::int64_t(element)) form.strided = true;
      const runtime::ByteRange range = runtime::data_range(desc, element);
      if (range.lo == range.hi) return;
      bool meets = false;
      for (std::size_t k = 0; k < count; ++k) meets |= (range.lo < highs[k]) & (lows[k] < range.hi);
      if (meets || count == std::size(lows)) {
        form.no_overlap = false;  // or too many to compare: the careful form
      } else {
        lows[count] = range.lo;
        highs[count++] = range.hi;
      }
    });
  form.large = beyond >> 32;
  form.aligned = layout.asks_alignment && !form.strided && !form.large && begins % ir::kAlignedRows == 0;
  return form;
}

}  // namespace weft::driver
