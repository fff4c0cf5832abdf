// Things that a device's work may still use when the program has dropped them: code, memory of graphs, blocks of a
// program's own allocator. They go when all work that was queued by then is done, and nobody waits for that.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "cuda/stream.h"

namespace weft::cuda {

class LateDrops {
 public:
  explicit LateDrops(Device& device) : device_(device) {}
  /// Drops it when the work queued so far is done, at the earliest now: whoever comes by next looks whether it is.
  void add(std::shared_ptr<const void> thing) noexcept;
  /// Drops what can be. While a graph is captured that is nothing, for no stream can be asked then.
  void collect() noexcept {
    if (any_.load(std::memory_order_acquire)) [[unlikely]]
      drop_done();
  }
  /// Drops everything at once: the device does nothing any more.
  void drop_all() noexcept;

 private:
  struct Waiting {
    std::shared_ptr<const void> thing;
    std::shared_ptr<Event> behind;  // null: no event was recorded yet
  };
  void drop_done() noexcept;

  Device& device_;
  std::atomic<bool> any_{false};
  std::mutex mutex_;  // guards the rest
  std::deque<Waiting> waiting_;
};

}  // namespace weft::cuda
