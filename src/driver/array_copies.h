// Copies of the arrays of a parameter block, on a GPU: for launches that are run again.
#pragma once
#include <utility>
#include <vector>

#include "autodiff/accesses.h"
#include "cuda/device.h"
#include "runtime/array.h"

namespace weft::driver {

class ArrayCopies {
 public:
  ArrayCopies() = default;
  /// Copies what is in these arrays of a block, behind the work of the device's current stream.
  ArrayCopies(const void* block, const std::vector<autodiff::ArrayLeaf>& leaves, cuda::Device& device);
  /// Puts it back, likewise.
  void restore();

 private:
  std::vector<std::pair<runtime::Array, runtime::Array>> arrays_;  // live, copied
};

/// For a launch on a stream, null for the current one, with copies before and behind it.
class StreamJoin {
 public:
  StreamJoin(cuda::Device& device, const cuda::Stream* stream);
  /// The current stream waits for the launch's, and the other way round.
  void before_copies() const;
  void before_launch() const;

 private:
  std::shared_ptr<cuda::Stream> current_;
  const cuda::Stream* other_;  // null: the same
};

}  // namespace weft::driver
