// The form of a launch: all that decides, beyond the types of the arguments, which code of a kernel runs. Found out by
// looking at a launch, asked of the compiler, and part of the keys under which code is kept. A size of blocks that code is
// made for would be one more field.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "ir/ir.h"
#include "types/type.h"

namespace weft::driver {

struct LaunchForm {
  std::uint8_t rank = 1;  // of the grid

  // How the array arguments, fields of structs included, lie in memory.
  bool no_overlap = true;  // no two share memory
  bool strided = false;    // innermost elements of some lie apart
  bool large = false;      // extents or distances of some need more than 31 bits
  /// GPUs, kernels whose threads share memory: none of that, and all arrays and their rows begin at multiples of 16 bytes.
  bool aligned = false;

  // What is asked for.
  bool adjoint = false;  // the kernel's adjoint is to run
  bool taped = false;    // with a log of what the adjoint can't compute again (driver/taping.h)
  bool meet = false;     // adjoint: gradients may share memory, or elements of one array do
  /// Asked for tapes and adjoints: no write to an array argument reaches arrays of objects whose ids are arguments.
  bool objects_apart = false;

  // How the work is done.
  bool atomic_sums = false;  // CPU: arrays that are only added to get atomic operations: copies of them would cost more
  bool bucket_sums = false;  // CPU: additions to them are written down, to be sorted (runtime/sum_buckets.h)
  bool exact_sums = false;  // GPU: sums of floats that have no order (driver/exact_launch.h); follows from all the rest
  bool in_order = false;    // threads run one after another, an adjoint's from the last; follows from all the rest

  static constexpr std::size_t kCount = std::size_t(kMaxRank) << 8;
  /// A number for each form that a launch can ask for, less than kCount; those with bucket_sums follow behind, in the same order.
  std::size_t index() const {
    // Where inner elements lie apart, nobody asks how large arrays are.
    const std::size_t lies = aligned ? 3 : strided ? 1 : large ? 2 : 0;
    return std::size_t(no_overlap) + 2 * lies + 8 * std::size_t(adjoint) + 16 * std::size_t(taped) +
           32 * std::size_t(meet) + 64 * std::size_t(atomic_sums) + 128 * std::size_t(objects_apart) +
           256 * (std::size_t(rank) - 1) + kCount * std::size_t(bucket_sums);
  }

  /// The plain form of the same grid and layout: what is known of a kernel without its being compiled goes by that.
  LaunchForm plain() const {
    LaunchForm out;
    out.rank = rank, out.no_overlap = no_overlap, out.strided = strided, out.objects_apart = objects_apart;
    return out;
  }
  static constexpr std::size_t kPlainCount = std::size_t(kMaxRank) << 3;
  std::size_t plain_index() const {
    return std::size_t(no_overlap) + 2 * std::size_t(strided) + 4 * std::size_t(objects_apart) +
           8 * (std::size_t(rank) - 1);
  }

  /// What IR says of its form, and the other way round.
  ir::Form in_ir() const;
  static LaunchForm of(const ir::Form& form);
};

/// In which order the arrays of a kernel's last launch lay in memory. The next one's mostly lie in the same, which is seen by comparing neighbours
/// alone: kernels of sixty arrays have 1800 pairs. Any number of threads may ask; what others wrote is only a guess.
class ArrayOrder {
 public:
  static constexpr std::size_t kMost = 64;
  /// Whether arrays lie one behind the other in the order as known.
  bool apart(const std::uintptr_t* lows, const std::uintptr_t* highs, std::size_t count) const {
    std::uint64_t seen = 0;
    std::uintptr_t reached = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t at = order_[k].load(std::memory_order_relaxed);
      if (at >= count || lows[at] < reached) return false;
      seen |= std::uint64_t(1) << at;
      reached = highs[at];
    }
    return std::size_t(std::popcount(seen)) == count;
  }
  void note(const std::uintptr_t* lows, std::size_t count);

 private:
  std::atomic<std::uint8_t> order_[kMost] = {};
};

/// The form of a launch with a filled block; of the plain kernel, until somebody asks for more.
LaunchForm form_of(const ParamLayout& layout, const void* block, std::size_t rank, ArrayOrder* order = nullptr);
/// Whether gradients of a block's arrays share memory, or elements of one of its arrays do: LaunchForm::meet.
bool gradients_may_meet(const ParamLayout& layout, const void* block);

}  // namespace weft::driver
