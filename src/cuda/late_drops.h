// Things that a device's work may still use when the program has dropped them: what graphs keep, blocks of a program's own
// allocator. They go when all work that was queued by then is done, and nobody waits for that. Others (code, page-locked
// memory, graphs with conditions) the driver gives up only by waiting for whatever the device does: they go when it does
// nothing.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/stream.h"

namespace weft::cuda {

class LateDrops {
 public:
  explicit LateDrops(Device& device) : device_(device) {}
  /// Drops it when the work queued so far is done, at the earliest now: whoever comes by next looks whether it is.
  void add(std::shared_ptr<const void> thing) noexcept;
  /// Drops it when the device is idle. Waits for that if too much has gathered, of number or `bytes`.
  void add_for_idle(std::shared_ptr<const void> thing, std::uint64_t bytes) noexcept;
  /// Drops what can be. While a graph is captured that is nothing, for no stream can be asked then.
  void collect() noexcept {
    if (any_.load(std::memory_order_acquire)) [[unlikely]]
      drop_done();
  }
  /// For those who wait for the device in any case: does so if anything waits for that.
  void wait_for_idle() noexcept;
  /// Drops everything at once: the device does nothing any more.
  void drop_all() noexcept;

 private:
  using Thing = std::shared_ptr<const void>;
  struct Waiting {
    Thing thing;
    std::shared_ptr<Event> behind;  // null: no event was recorded yet
  };
  void drop_done() noexcept;
  void drop_idle() noexcept;

  Device& device_;
  std::atomic<bool> any_{false};
  std::mutex mutex_;  // guards the rest
  std::deque<Waiting> waiting_;
  std::vector<Thing> idle_;
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace weft::cuda
