// wp.config.verify_tiles: a kernel with tiles that is compiled for blocks of one thread, as on a CPU, is taken through the passes
// for blocks of several as well, so that programs for GPUs hear of threads that part where there is none.
#pragma once
#include "driver/kernel_binary.h"

namespace weft::driver {

/// Whether a kernel that was made for one thread works on tiles.
bool has_tiles(const BuildRequest& request, const ir::Module& module);

/// False with errors in the sink.
bool verify_tiles(const BuildRequest& request, const ir::Module& module, DiagnosticSink& sink);

}  // namespace weft::driver
