// The usual call of XLA's: a kernel forward, one sample, on the host. What its record says is sorted out once, when the target
// is made; a call then compares XLA's buffers with it and runs. Whatever is not as expected is left to the full way
// (xla_handlers.cpp), which says what is wrong.
#pragma once
#include <memory>
#include <vector>

#include "interop/xla_abi.h"
#include "types/type.h"

namespace weft::interop {

struct CallTarget;

struct QuickCall {
  struct Array {
    std::uint32_t offset;   // of its descriptor in the parameter block
    std::uint32_t element;  // bytes
    xla::DataType scalar;   // of its elements
    std::int16_t arg, ret;  // which buffers of the call; −1: none
    std::uint8_t rank;      // without components
    std::uint8_t inner;     // dimensions of components
    bool zeroed;            // begins with zeros
    std::int64_t sides[2];  // extents of components
  };
  std::vector<Array> arrays;
  std::int64_t args = 0, rets = 0;  // buffers of the call
  std::size_t form = 0;             // LaunchForm::index
  bool begins = false;              // some result begins with zeros or with an argument

  static constexpr std::size_t kMaxBlock = 1024;  // bytes of parameters

  /// Null where the target is not of this kind.
  static std::unique_ptr<const QuickCall> of(const CallTarget& target);
  /// Runs the call. False: nothing was done, for the call or what it needs is not as usual. Throws what kernels throw.
  bool run(const CallTarget& target, const xla::CallFrame& frame) const;
};

}  // namespace weft::interop
