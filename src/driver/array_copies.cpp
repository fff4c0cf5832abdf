// Elements are copied as their strides say: what lies between them may be somebody else's.
#include "driver/array_copies.h"

namespace weft::driver {

using runtime::Array;

namespace {

/// The array of a block's descriptor.
Array array_at(const void* block, const autodiff::ArrayLeaf& leaf, cuda::Device& device) {
  const ArrayDesc& desc = *reinterpret_cast<const ArrayDesc*>(static_cast<const char*>(block) + leaf.offset);
  if (!desc.data) return {};
  Array::External memory;
  memory.data = desc.data;
  memory.strides = {desc.strides, std::size_t(desc.ndim)};
  memory.space = &device;
  return Array::wrap(leaf.type->element(), {desc.shape, std::size_t(desc.ndim)}, std::move(memory));
}

}  // namespace

ArrayCopies::ArrayCopies(const void* block, const std::vector<autodiff::ArrayLeaf>& leaves, cuda::Device& device) {
  for (const autodiff::ArrayLeaf& leaf : leaves) {
    Array live = array_at(block, leaf, device);
    if (!live.is_valid() || live.size() == 0) continue;
    Array copy = Array::empty(live.element(), live.shape(), false, &device);
    copy.assign(live);
    arrays_.emplace_back(std::move(live), std::move(copy));
  }
}

void ArrayCopies::restore() {
  for (auto& [live, copy] : arrays_) live.assign(copy);
}

StreamJoin::StreamJoin(cuda::Device& device, const cuda::Stream* stream)
    : current_(device.stream()), other_(stream == current_.get() ? nullptr : stream) {}

void StreamJoin::before_copies() const {
  if (other_) current_->wait(*other_);
}

void StreamJoin::before_launch() const {
  if (other_) other_->wait(*current_);
}

}  // namespace weft::driver
