// Which stream a launch on foreign tensors goes to.
#include "bind/foreign_streams.h"

namespace weft::bind {
namespace {

/// By ordinal: the stream that a device had before a program chose one, once it has; and whether the current one is another.
struct Chosen {
  std::atomic<const cuda::Stream*> first{nullptr};
  std::atomic<bool> now{false};
};
Chosen chosen[driver::kMaxCudaDevices];

}  // namespace

bool stream_was_chosen(const cuda::Device& device) {
  return device.thread_stream() || chosen[device.ordinal()].now;  // a thread has its own from a scope alone
}

void note_chosen_stream(cuda::Device& device, const cuda::Stream& stream) {
  if (device.thread_stream()) return;  // that one changes
  Chosen& slot = chosen[device.ordinal()];
  if (!slot.first.load()) {
    // The device's own first stream lives as long as it does: this holds it for good.
    static auto* kept = new std::vector<std::shared_ptr<cuda::Stream>>;
    kept->push_back(device.stream());
    slot.first = kept->back().get();
  }
  slot.now = slot.first.load()->handle() != stream.handle();
}

StreamOfProvider::StreamOfProvider(const LaunchNotes& notes, LaunchPlace& place) {
  // A graph that we capture is captured on our stream: what belongs to it goes there.
  if (!notes.provider->current_stream || stream_was_chosen(*place.device) || place.device->capture()) return;
  void* handle = nullptr;
  if (notes.provider->current_stream(interop::kDlCuda, notes.provider_device, &handle) != 0) throw nb::python_error();
  if (reinterpret_cast<std::uintptr_t>(handle) <= 1) return;
  theirs_ = place.device->adopt_stream(static_cast<cuda::StreamHandle>(handle));
  if (notes.own_arrays && !theirs_->capturing()) {
    ours_ = place.device->stream();
    put_in_order(*ours_, *theirs_);
  }
  theirs_->use();
  place.gpu.stream = theirs_.get();
}

StreamOfProvider::~StreamOfProvider() {
  if (!theirs_) return;
  try {
    if (ours_) put_in_order(*theirs_, *ours_);
    theirs_->leave();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next call to the device says it again
  }
}

}  // namespace weft::bind
