// Lets GPUs build the trees of geometry by kernels of our own language.
#pragma once

namespace weft::driver {

/// From now on meshes and trees of boxes on GPUs are built there. Whoever makes one calls this before; more than once does
/// no harm.
void use_gpu_trees();

}  // namespace weft::driver
