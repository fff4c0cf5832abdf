// The code itself is not made.
#include "driver/verify_tiles.h"

#include <algorithm>

#include "driver/pipeline.h"
#include "ir/tile_memory.h"

namespace weft::driver {

bool has_tiles(const BuildRequest& request, const ir::Module& module) {
  if (ir::find_tile_memory(module)) return true;
  // Tangents are made of values where the tiles of one thread are small: the kernel itself tells.
  if (request.options.tangent == 0 || request.make_module) return false;
  DiagnosticSink heard_already;
  const auto plain = lower(request, heard_already, false);
  return plain && ir::find_tile_memory(*plain);
}

bool verify_tiles(const BuildRequest& request, const ir::Module& module, DiagnosticSink& sink) {
  constexpr int kThreads = 64;
  const bool from_text = !request.make_module && !request.lowered;
  if (request.device || request.options.gpu.block || !from_text || !ir::find_tile_memory(module)) return true;
  BuildRequest of_several = request;
  of_several.options.gpu.block = kThreads;
  of_several.options.gpu.rows = true;
  of_several.options.debug = false;
  // Launches of tiles leave out the threads' own extent where a block is one thread.
  int read = 0;
  for (const auto& function : module.functions)
    ir::walk(*function->body, [&](const ir::Op& op) {
      if (op.code == ir::OpCode::tid) read = std::max(read, int(op.imm) + 1);
    });
  const int rank = read > request.form.rank ? read : request.form.rank + 1;
  if (rank > kMaxRank) return true;
  of_several.form.rank = decltype(of_several.form.rank)(rank);
  const auto made = front_end(of_several, sink);
  if (!made) return false;
  try {
    optimize(*made, of_several.options);
  } catch (const codegen::Error& error) {
    sink.report(DiagCode::codegen_failed, error.loc(), error.what());
    return false;
  }
  return true;
}

}  // namespace weft::driver
