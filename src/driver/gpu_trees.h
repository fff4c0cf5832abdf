// Lets GPUs build the trees of geometry by kernels of our own language.
#pragma once
#include <vector>

#include "driver/kernel_binary.h"

namespace weft::driver {

/// From now on meshes and trees of boxes on GPUs are built there. Whoever makes one calls this before; more than once does
/// no harm.
void use_gpu_trees();

/// What the kernels of trees are asked for when they are launched, each in the form of its launches.
std::vector<BuildRequest> tree_kernel_requests();

}  // namespace weft::driver
