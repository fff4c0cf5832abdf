// Devices, streams and events of the public API.
#include "cuda/device.h"
#include "driver/program_impl.h"

namespace weft {
namespace {

cuda::Device& gpu_of(const Device& device, const char* what) {
  if (device.is_cuda()) return *device.internal();
  throw ArgumentError(std::string(what) + " belong to GPUs; the CPU has none");
}

const cuda::Stream& valid(const std::shared_ptr<cuda::Stream>& stream) {
  if (!stream) throw ArgumentError("this is no stream: it was default-constructed");
  return *stream;
}

}  // namespace

Device Device::cuda(int number) {
  return driver::guarded([&] { return Device(&cuda::System::shared().device(number)); });
}
int Device::cuda_count() { return cuda::System::shared().device_count(); }
std::string Device::why_no_cuda() { return cuda::System::shared().problem(); }

std::string Device::name() const { return gpu_ ? gpu_->name() : "cpu"; }
std::string Device::model() const { return gpu_ ? gpu_->facts().name : "cpu"; }
std::uint64_t Device::total_memory() const { return gpu_ ? gpu_->facts().total_memory : 0; }
std::uint64_t Device::free_memory() const {
  return driver::guarded([&] { return gpu_ ? gpu_->free_memory() : 0; });
}

void Device::synchronize() const {
  if (gpu_) driver::guarded([&] { gpu_->synchronize(); });
}

Stream Device::stream() const {
  return driver::guarded([&] { return Stream(gpu_of(*this, "streams").stream()); });
}
void Device::set_stream(const Stream& stream) const {
  driver::guarded([&] {
    cuda::Device& gpu = gpu_of(*this, "streams");
    if (&valid(stream.internal()).device() != &gpu)
      throw ArgumentError("the stream belongs to " + stream.device().name() + ", not to " + name());
    gpu.set_stream(stream.internal());
  });
}

Event::Event(const Device& device, bool timing)
    : impl_(driver::guarded([&] { return std::make_shared<cuda::Event>(gpu_of(device, "events"), timing); })) {}
bool Event::done() const {
  return driver::guarded([&] { return impl_->done(); });
}
void Event::synchronize() const {
  driver::guarded([&] { impl_->synchronize(); });
}
float Event::elapsed_since(const Event& start) const {
  return driver::guarded([&] { return impl_->elapsed_since(*start.impl_); });
}

Stream::Stream(const Device& device, int priority)
    : impl_(driver::guarded([&] { return gpu_of(device, "streams").make_stream(priority); })) {}
Device Stream::device() const { return Device(&valid(impl_).device()); }
bool Stream::done() const {
  return driver::guarded([&] { return valid(impl_).done(); });
}
void Stream::synchronize() const {
  driver::guarded([&] { valid(impl_).synchronize(); });
}
void Stream::record(const Event& event) const {
  driver::guarded([&] { valid(impl_).record(*event.internal()); });
}
void Stream::wait(const Event& event) const {
  driver::guarded([&] { valid(impl_).wait(*event.internal()); });
}
void Stream::wait(const Stream& other) const {
  driver::guarded([&] { valid(impl_).wait(valid(other.impl_)); });
}

}  // namespace weft
