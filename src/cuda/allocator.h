// A program's own memory for arrays on a device: hooks that take the pool's place. The hooks know nothing of streams, so
// what an array gives up goes back to them only when all work that was queued by then is done.
#pragma once
#include <cstdint>

#include "cuda/driver_types.h"

namespace weft::cuda {

class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Memory that the device can use at once; 0 if there is none. May throw.
  virtual DevicePtr allocate(std::uint64_t bytes) = 0;
  /// Takes back what allocate() gave; nothing uses it any more.
  virtual void deallocate(DevicePtr memory, std::uint64_t bytes) noexcept = 0;
};

}  // namespace weft::cuda
