// Launches of kernels that only add to some of their arrays: workers add to copies of their own, without atomic
// operations, and the copies are added up when all are done. One worker uses the arrays themselves.
#pragma once
#include <span>

#include "runtime/array.h"
#include "runtime/launch.h"

namespace weft::runtime {

/// An array of a parameter block that the kernel only adds to.
struct SumSlot {
  std::uint32_t offset = 0;  // of its descriptor
  bool gradient = false;     // its gradient
  ScalarKind scalar = ScalarKind::f32;
  std::uint32_t element_size = 4;
};

/// Whether such a launch is worth its copies; otherwise one worker is better.
bool copies_pay(const KernelCode& code, const void* params, std::span<const SumSlot> sums,
                std::span<const std::int64_t> dims, const LaunchOptions& options);

/// Runs the kernel; `param_bytes` is the size of the block. As runtime::launch otherwise.
bool launch_with_sums(const KernelCode& code, const void* params, std::size_t param_bytes,
                      std::span<const SumSlot> sums, std::span<const std::int64_t> dims, const LaunchOptions& options);

/// The same with sums that come out alike in every run, whatever the number of workers: the grid falls into a fixed number
/// of parts, each adds in the order of its threads, and parts are added up in their order. False, and nothing was done, if
/// the copies would cost more than they save, or can't be made.
bool launch_in_parts(const KernelCode& code, const void* params, std::size_t param_bytes, std::span<const SumSlot> sums,
                     std::span<const std::int64_t> dims, const LaunchOptions& options);

}  // namespace weft::runtime
