// The host's half of runs of equal values.
#include <algorithm>

#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"

namespace weft::algorithms::gpu {

void runs(cuda::Device& device, const RunsRequest& request) {
  cuda::ContextScope scope(device);
  if (request.count == 0) {
    WEFT_CUDA(device.api(), set8_async, request.run_count, 0, 4, device.stream()->handle());
    return;
  }
  if (request.count > INT32_MAX)
    throw runtime::ArgumentError("runs on " + device.name() + " are found of at most 2147483647 values, got " +
                                 std::to_string(request.count));
  const bool lengths = request.run_lengths != 0;
  const std::int64_t tiles = (request.count - 1) / kRunsTile + 1;
  const Scratch prefixes(device, tile_prefix_bytes(tiles, 4), true);
  const Scratch starts(device, lengths ? std::uint64_t(request.count + 1) * 4 : 4);
  const std::string name = "weft_runs_" + name_of(request.kind) + (lengths ? "_lengths" : "");
  const RunsArguments a{request.values,    request.run_values, starts.at(),
                        request.run_count, request.count,      tile_prefixes(prefixes.at(), tiles, 4)};
  queue(device, name, tiles, kRunsBlock, a, [&] { return runs_ptx(name, request.kind, lengths); });
  if (!lengths) return;
  // How many there are is known to the device alone: as many blocks as it runs at once, which go on as far as needed.
  const std::string last = "weft_run_lengths";
  const std::int64_t blocks =
      std::min<std::int64_t>((request.count - 1) / kRunsBlock + 1, std::int64_t(device.facts().sm_count) * 8);
  queue(device, last, blocks, kRunsBlock, RunLengthsArguments{starts.at(), request.run_lengths, request.run_count},
        [&] { return run_lengths_ptx(last); });
}

}  // namespace weft::algorithms::gpu
