// Copies on the device around two launches, all on the current stream; another one is waited for and waits.
#include "driver/settled_launch.h"

#include "driver/gpu_launch.h"
#include "runtime/array.h"

namespace weft::driver {
namespace {

using runtime::Array;

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

/// Arrays and what was in them.
class Copies {
 public:
  Copies(const void* block, const std::vector<autodiff::ArrayLeaf>& leaves, cuda::Device& device) {
    for (const autodiff::ArrayLeaf& leaf : leaves) {
      Array live = array_at(block, leaf, device);
      if (!live.is_valid() || live.size() == 0) continue;
      Array copy = Array::empty(live.element(), live.shape(), false, &device);
      copy.assign(live);
      arrays_.emplace_back(std::move(live), std::move(copy));
    }
  }
  void restore() {
    for (auto& [live, copy] : arrays_) live.assign(copy);
  }

 private:
  std::vector<std::pair<Array, Array>> arrays_;
};

}  // namespace

void launch_settled(const KernelVariant& variant, const void* block, const LaunchRequest& request) {
  cuda::Device& device = variant.binary->gpu()->device();
  cuda::ContextScope scope(device);
  const std::shared_ptr<cuda::Stream> current = device.stream();
  const bool elsewhere = request.gpu.stream && request.gpu.stream != current.get();
  LaunchRequest here = request;
  here.gpu.stream = nullptr;
  if (elsewhere) current->wait(*request.gpu.stream);
  Copies before(block, variant.plan->written, device);
  launch_on_gpu(variant, block, here);
  Copies settled(block, variant.plan->settled, device);
  before.restore();
  settled.restore();
  launch_on_gpu(variant, block, here);
  if (elsewhere) request.gpu.stream->wait(*current);
}

}  // namespace weft::driver
