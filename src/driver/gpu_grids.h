// Lets GPUs build the grids of volumes by kernels of our own language.
#pragma once
#include <vector>

#include "driver/kernel_binary.h"

namespace weft::driver {

/// From now on volumes on GPUs are built there. Whoever makes one calls this before; more than once does no harm.
void use_gpu_grids();

/// What the kernels of grids are asked for when they are launched, each in the form of its launches.
std::vector<BuildRequest> grid_kernel_requests();

}  // namespace weft::driver
