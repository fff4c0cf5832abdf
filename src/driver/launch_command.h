// A launch on the CPU as a command of a recorded list (runtime/command_list.h).
#pragma once
#include <memory>

#include "driver/kernel.h"
#include "runtime/command_list.h"

namespace weft::driver {

/// A launch of this form (`adjoint`: it is one of an adjoint) with a copy of the parameter block. `owner` keeps the kernel and all that the block points to
/// alive. The form must be one for the CPU. Throws LaunchError for grids that can't be.
std::unique_ptr<const runtime::Command> launch_command(const Kernel& kernel, const KernelVariant& variant,
                                                       const void* block, std::span<const std::int64_t> dims,
                                                       bool adjoint, std::shared_ptr<const void> owner);

/// Says that a launch with such a block may write to the memory of its arrays.
void touch_arrays(runtime::CommandList& list, const ParamLayout& layout, const void* block);

}  // namespace weft::driver
