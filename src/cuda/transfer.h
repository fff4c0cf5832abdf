// Copies and fills of strided arrays on a device: one small kernel over up to five dimensions, the innermost of which
// are the words of an element, so that one piece of code serves every element type.
#pragma once
#include <array>
#include <memory>

#include "cuda/module.h"
#include "types/type.h"

namespace weft::cuda {

inline constexpr int kTransferRank = kMaxRank + 1;

/// A strided copy, simplified: words of `word` bytes, neighbouring dimensions merged, outermost first.
struct TransferShape {
  int rank = 0;
  int word = 1;  // 1, 2, 4, 8
  std::int64_t count = 0;
  std::array<std::int64_t, kTransferRank> extent{}, to_stride{}, from_stride{};
  /// Whether words lie one after the other on both sides.
  bool packed() const { return rank == 0 || (rank == 1 && to_stride[0] == word && from_stride[0] == word); }
};

/// Simplifies a copy between two layouts. For fills `from` is null: the source is one element, read again and again.
TransferShape transfer_shape(const ArrayDesc& to, const ArrayDesc* from, std::size_t element_size);

/// The largest value that a fill takes along in its arguments.
inline constexpr std::size_t kMaxFillBytes = 1024;

/// The kernels, each loaded on first use.
class TransferKernels {
 public:
  explicit TransferKernels(Device& device) : device_(device) {}
  void copy(const TransferShape& shape, DevicePtr to, DevicePtr from, StreamHandle stream);
  void fill(const TransferShape& shape, DevicePtr to, const void* value, std::size_t size, StreamHandle stream);

 private:
  void run(const TransferShape& shape, bool fill, const void* arguments, std::size_t size, StreamHandle stream);

  Device& device_;
  std::mutex mutex_;
  std::unique_ptr<KernelCode> code_[2][4];  // copy and fill, by the logarithm of the word size
};

/// The text of a kernel for words of 1, 2, 4 or 8 bytes; it is called weft_copy_4 or weft_fill_4.
std::string transfer_ptx(int word, bool fill);

}  // namespace weft::cuda
