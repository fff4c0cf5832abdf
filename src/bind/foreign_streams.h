// Streams follow the data: a launch on tensors of a library whose work goes to a stream of its own is queued there.
#pragma once
#include "bind/exchange.h"
#include "bind/python_kernel.h"

namespace weft::bind {

/// Whether a program has chosen a device's current stream, by ScopedStream or set_stream.
bool stream_was_chosen(const cuda::Device& device);
/// Tells that it chooses one, the device's first one included.
void note_chosen_stream(cuda::Device& device, const cuda::Stream& chosen);

/// While it lives, `place` names the stream that the provider of a launch's tensors works on, unless the program has chosen a
/// stream itself, or that is the legacy default stream, which CUDA orders with ours. Where arrays of ours take part, work of
/// our stream that was queued before comes first, and later work comes behind the launch. A stream that is being captured
/// waits for nothing outside of its graph.
class __attribute__((visibility("hidden"))) StreamOfProvider {
 public:
  StreamOfProvider(const LaunchNotes& notes, LaunchPlace& place);
  ~StreamOfProvider();
  StreamOfProvider(const StreamOfProvider&) = delete;
  StreamOfProvider& operator=(const StreamOfProvider&) = delete;

 private:
  std::shared_ptr<cuda::Stream> theirs_, ours_;
};

}  // namespace weft::bind
