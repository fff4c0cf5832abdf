// Streams and events.
#include "cuda/stream.h"

#include <algorithm>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "runtime/late_work.h"

namespace weft::cuda {

Stream::Stream(Device& device, StreamHandle handle, bool owned, std::optional<bool> blocking)
    : device_(device), handle_(handle), owned_(owned), blocking_(blocking) {
  std::lock_guard lock(device.mutex_);
  device.live_streams_.push_back(handle);
}

void Stream::leave() const noexcept {
  if (owned_) return;
  device_.leave_behind(handle_);
  used_.store(false, std::memory_order_relaxed);
}

Stream::~Stream() {
  if (owned_)
    device_.leave_behind(handle_);
  else if (reinterpret_cast<std::uintptr_t>(handle_) > 1 && used_.load(std::memory_order_relaxed))
    device_.lost_streams_.store(true, std::memory_order_release);
  {
    std::lock_guard lock(device_.mutex_);
    auto& live = device_.live_streams_;
    if (auto it = std::find(live.begin(), live.end(), handle_); it != live.end()) live.erase(it);
  }
  if (!owned_ || device_.system().forked()) return;
  try {
    ContextScope scope(device_);
    device_.api().stream_destroy(handle_);  // what is queued still runs
  } catch (const runtime::Error&) {         // the device is gone, and the stream with it
  }
}

StreamHandle Stream::tell_handle() const {
  if (!told_.exchange(true, std::memory_order_acq_rel) && runtime::LateWork::waiting()) runtime::LateWork::settle();
  return handle_;
}

bool Stream::done() const {
  // The driver would answer by an error that breaks the capture.
  if (Capture* running = device_.capture(); running && running->stream() == handle_)
    running->refuse("ask whether a stream is done");
  ContextScope scope(device_);
  const Result code = device_.api().stream_query(handle_);
  if (code != kSuccess && code != kErrorNotReady) throw_driver_error(device_.api(), code, "stream_query");
  return code == kSuccess;
}

void Stream::synchronize() const {
  if (Capture* running = device_.capture(); running && running->stream() == handle_)
    running->refuse("wait for a stream");
  ContextScope scope(device_);
  const PrintBoard::Shown shown(device_.prints());
  device_.system().wait([&] { return done(); });
  WEFT_CUDA(device_.api(), stream_synchronize, handle_);
  device_.checks().report_done(handle_, false);
}

bool Stream::capturing() const {
  ContextScope scope(device_);
  int status = 0;
  WEFT_CUDA(device_.api(), stream_capturing, handle_, &status);
  return status == kCaptureActive;
}

int Stream::priority() const {
  ContextScope scope(device_);
  int priority = 0;
  WEFT_CUDA(device_.api(), stream_priority, handle_, &priority);
  return priority;
}

bool Stream::blocking() const {
  if (blocking_) return *blocking_;
  ContextScope scope(device_);
  unsigned flags = 0;
  WEFT_CUDA(device_.api(), stream_flags, handle_, &flags);
  return (flags & kStreamNonBlocking) == 0;
}

void Stream::record(const Event& event, bool external) const {
  ContextScope scope(device_);
  WEFT_CUDA(device_.api(), event_record, event.handle(), handle_, external ? kEventExternal : 0);
}

void Stream::wait(const Event& event, bool external) const {
  ContextScope scope(device_);
  WEFT_CUDA(device_.api(), stream_wait, handle_, event.handle(), external ? kEventExternal : 0);
}

void Stream::wait(const Stream& other) const {
  Event event(other.device(), false);
  other.record(event);
  wait(event);
}

Event::Event(Device& device, bool timing, bool interprocess) : device_(device) {
  ContextScope scope(device);
  const unsigned flags = (timing ? 0 : kEventDisableTiming) | (interprocess ? kEventInterprocess : 0);
  WEFT_CUDA(device.api(), event_create, &handle_, flags);
}

Event::~Event() {
  if (!owned_ || device_.system().forked()) return;
  try {
    ContextScope scope(device_);
    device_.api().event_destroy(handle_);
  } catch (const runtime::Error&) {  // the device is gone, and the event with it
  }
}

bool Event::done() const {
  ContextScope scope(device_);
  const Result code = device_.api().event_query(handle_);
  if (code == kErrorCapturedEvent)
    throw_driver_error(
        device_.api(), code, "event_query",
        "it is a mark inside of the graph that is or was captured; record it outside of the capture, or with "
        "external=True, to wait for it or ask for it");
  if (code != kSuccess && code != kErrorNotReady) throw_driver_error(device_.api(), code, "event_query");
  return code == kSuccess;
}

void Event::synchronize() const {
  ContextScope scope(device_);
  const PrintBoard::Shown shown(device_.prints());
  device_.system().wait([&] { return done(); });
  device_.checks().report();
}

float Event::elapsed_since(const Event& start) const {
  ContextScope scope(device_);
  float milliseconds = 0;
  if (const Result code = device_.api().event_elapsed(&milliseconds, start.handle(), handle_); code != kSuccess)
    throw_driver_error(device_.api(), code, "event_elapsed", "both events must measure time, and have been recorded");
  return milliseconds;
}

}  // namespace weft::cuda
