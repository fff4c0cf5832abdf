// Streams (queues of work on a device) and events (marks in them). Made by Device; handles of other libraries can be
// taken in, and stay theirs.
#pragma once
#include <atomic>
#include <memory>
#include <optional>

#include "cuda/driver_types.h"

namespace weft::cuda {

class Device;
class Event;

class Stream {
 public:
  /// Takes a handle; destroys it at the end if it is owned. `blocking`, if that is known.
  Stream(Device& device, StreamHandle handle, bool owned, std::optional<bool> blocking = std::nullopt);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() const { return device_; }
  StreamHandle handle() const { return handle_; }
  /// Whether all queued work is done.
  bool done() const;
  /// Waits for the queued work, then reports failed checks of kernels.
  void synchronize() const;
  bool capturing() const;
  int priority() const;
  /// Whether it waits for the legacy default stream. Of a foreign stream the driver does not tell while it is captured.
  bool blocking() const;
  /// Puts an event behind the work queued so far; `external`: as a node of its own while a graph is captured.
  void record(const Event& event, bool external = false) const;
  /// Lets further work wait for an event.
  void wait(const Event& event, bool external = false) const;
  /// Lets further work wait for all that another stream has queued.
  void wait(const Stream& other) const;
  /// The handle for others, who may queue work there from now on, or capture what is queued.
  StreamHandle tell_handle() const;
  /// Whether nobody else knows of it.
  bool is_private() const { return owned_ && !told_.load(std::memory_order_acquire); }
  /// Notes that work of ours goes there.
  void use() const { used_.store(true, std::memory_order_relaxed); }
  /// Of another library's stream, as long as there surely is one: memory that is dropped later waits for what was queued.
  /// Streams of our own see to that when they go.
  void leave() const noexcept;

 private:
  Device& device_;
  StreamHandle handle_;
  bool owned_;
  std::optional<bool> blocking_;
  mutable std::atomic<bool> used_{false};  // since it was left
  mutable std::atomic<bool> told_{false};
};

class Event {
 public:
  Event(Device& device, bool timing, bool interprocess = false);
  /// Over an event that exists; one of another library is not owned.
  Event(Device& device, EventHandle handle, bool owned = false) : device_(device), handle_(handle), owned_(owned) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Device& device() const { return device_; }
  EventHandle handle() const { return handle_; }
  bool done() const;
  void synchronize() const;
  /// Milliseconds from `start` to this event; both must have been made with timing and be done.
  float elapsed_since(const Event& start) const;

 private:
  Device& device_;
  EventHandle handle_ = nullptr;
  bool owned_ = true;
};

}  // namespace weft::cuda
