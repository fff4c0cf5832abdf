// Reading off a kernel's module what its launches must know.
#include "driver/kernel_metadata.h"

#include "codegen/cpu/lane_choice.h"
#include "codegen/emit/loop_turns.h"
#include "driver/kernel_binary.h"
#include "driver/late_code.h"

namespace weft::driver {

void describe_code(const ir::Module& module, const codegen::Emitted& emitted, KernelMetadata& meta) {
  const ir::Function& kernel = *module.functions.back();
  meta.name = kernel.name;
  meta.entry = emitted.entry;
  meta.lanes = emitted.lanes;
  meta.steps = emitted.steps;
  meta.block = emitted.block;
  meta.block_bytes = emitted.block_bytes;
  meta.waits_first = emitted.waits_first;
  meta.tid_dims = tid_dims_read(module);
  meta.ns_per_thread = estimate_ns(kernel, emitted.lanes);
  meta.opaque = codegen::calls_native(kernel);
  meta.loops = codegen::LoopTurns(module).counts(kernel);
  meta.sum_order = std::uint8_t(analysis::sum_order(kernel));
  meta.sites = describe_sites(module);
  meta.handles = handle_places(kernel);
  meta.addresses = uses_addresses(module);
}

}  // namespace weft::driver
