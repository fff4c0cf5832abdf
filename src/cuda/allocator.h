// A program's own memory for arrays on a device: hooks that take the pool's place. The hooks know nothing of streams, so
// what an array gives up goes back to them only when all work that was queued by then is done.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/stream.h"

namespace weft::cuda {

class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Memory that the device can use at once; 0 if there is none. May throw.
  virtual DevicePtr allocate(std::uint64_t bytes) = 0;
  /// Takes back what allocate() gave; nothing uses it any more.
  virtual void deallocate(DevicePtr memory, std::uint64_t bytes) noexcept = 0;
};

/// Blocks on their way back to their allocators.
class LateReturns {
 public:
  struct Block {
    std::shared_ptr<Allocator> allocator;
    DevicePtr memory = 0;
    std::uint64_t bytes = 0;
  };
  /// To be returned when the event is over; null: now.
  void add(Block block, std::unique_ptr<Event> behind);
  /// Returns what can be.
  void collect();

 private:
  struct Waiting {
    Block block;
    std::unique_ptr<Event> behind;
  };
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
};

}  // namespace weft::cuda
