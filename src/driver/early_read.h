// One or two numbers that a GPU has written, read while what is queued behind them still runs. It waits for an event, not for the stream: a
// stream that is waited for makes the driver give free memory back to the system, and the next launch would have to ask for
// it again.
#pragma once
#include <array>

#include "cuda/device.h"
#include "cuda/stream.h"
#include "runtime/array.h"

namespace weft::driver {

class EarlyRead {
 public:
  /// Queues a copy of `from`, one or two int64 of the device, on its current stream.
  EarlyRead(cuda::Device& device, const runtime::Array& from);
  ~EarlyRead();
  EarlyRead(const EarlyRead&) = delete;
  EarlyRead& operator=(const EarlyRead&) = delete;

  /// Waits for the copy. Whatever lock the language has (Python's) must be free meanwhile.
  std::array<std::int64_t, 2> wait();

 private:
  runtime::Array here_;
  cuda::Event copied_;
  bool done_ = false;
};

}  // namespace weft::driver
