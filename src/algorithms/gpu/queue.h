// How the algorithms reach a device: kernels that are loaded when they are first used, launches on its current stream,
// scratch memory.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/module.h"

namespace weft::algorithms::gpu {

/// The kernels of the algorithms that a device has loaded, by name.
class Kernels {
 public:
  explicit Kernels(cuda::Device& device) : device_(device) {}
  /// The kernel of this name, which `text` gives as a module of PTX on first use. Throws DriverError.
  template <class Text>
  const cuda::KernelCode& get(const std::string& name, Text text) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<cuda::KernelCode>& slot = kernels_[name];
    if (!slot) {
      const std::string ptx = text();
      slot = std::make_unique<cuda::KernelCode>(device_, std::span(ptx.c_str(), ptx.size() + 1), name);
    }
    return *slot;
  }

 private:
  cuda::Device& device_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<cuda::KernelCode>> kernels_;
};

/// Queues the kernel of this name, which `text` makes, on the device's current stream; its context must be current.
template <class Arguments, class Text>
void queue(cuda::Device& device, const std::string& name, std::int64_t blocks, int threads, const Arguments& arguments,
           Text text) {
  const cuda::KernelCode& code = device.companion<Kernels>().get(name, text);
  const std::shared_ptr<cuda::Stream> stream = device.stream();
  const cuda::TimedScope timed(device, stream->handle(), cuda::kTimeBuiltin, "", code.entry());
  code.launch(stream->handle(), unsigned(blocks), unsigned(threads), &arguments, sizeof arguments);
}

/// Memory until the end of a scope: the device gives it back behind the work that is queued by then.
class Scratch {
 public:
  Scratch(cuda::Device& device, std::uint64_t bytes, bool zeroed = false) : memory_(device.allocate(bytes, zeroed)) {}
  cuda::DevicePtr at(std::uint64_t offset = 0) const {
    return reinterpret_cast<cuda::DevicePtr>(memory_.get()) + offset;
  }

 private:
  std::shared_ptr<void> memory_;
};

inline std::string name_of(ScalarKind kind) { return std::string(scalar_text(kind)); }

}  // namespace weft::algorithms::gpu
