// The pieces that live when most memory is taken are told by the lines that make them, the largest first.
#include "driver/block_room.h"

#include <algorithm>
#include <map>

#include "analysis/block_memory.h"
#include "codegen/codegen.h"

namespace weft::driver {

namespace {

constexpr std::size_t kTold = 5;  // lines

/// What a line makes.
struct Made {
  SourceLoc loc;
  std::string what;  // of the largest
  std::uint64_t bytes = 0, largest = 0;
  int count = 0;
};

std::string kilobytes(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes (" + std::to_string((bytes + 1023) / 1024) + " KB)";
}

}  // namespace

bool fits_shared_memory(const ir::Function& kernel, const cuda::Device& device, bool adjoint, DiagnosticSink& sink) {
  if (!kernel.form.block) return true;
  const analysis::BlockMemory memory(kernel);
  const std::uint64_t room =
      std::max<std::uint64_t>(std::uint64_t(std::max(device.facts().max_shared_memory, 0)), codegen::kPlainBlockBytes);
  if (memory.bytes() <= room) return true;
  std::map<std::pair<const SourceFile*, std::uint32_t>, Made> lines;
  for (const auto& [local, bytes] : memory.at_most()) {
    Made& line = lines[{local->loc.file, local->loc.line}];
    line.bytes += bytes;
    ++line.count;
    if (bytes <= line.largest) continue;
    std::int64_t elements = 1;
    for (std::int64_t n : local->ints) elements *= n;
    line.loc = local->loc;
    line.largest = bytes;
    line.what = std::to_string(elements) + " elements of " + local->result()->type->element()->user_name();
  }
  std::vector<Made> order;
  for (const auto& [place, made] : lines) order.push_back(made);
  std::stable_sort(order.begin(), order.end(), [](const Made& a, const Made& b) { return a.bytes > b.bytes; });
  const SourceLoc at = order.empty() || !order[0].loc.known() ? kernel.loc : order[0].loc;
  Diagnostic& error = sink.report(
      DiagCode::codegen_failed, at,
      (adjoint ? "the adjoint of kernel '" : "kernel '") + kernel.name + "' takes " + kilobytes(memory.bytes()) +
          " of shared memory for a block of " + std::to_string(kernel.form.block) + " threads; " + device.name() +
          " has " + kilobytes(room),
      std::string("use smaller tiles or fewer of them at a time: memory is taken from where a tile is made until it is "
                  "last used, and K loops over parts take little") +
          (adjoint ? "; a tile that is differentiated has a second one of its size for its gradient" : ""));
  for (std::size_t k = 0; k < std::min(order.size(), kTold); ++k) {
    const Made& line = order[k];
    error.notes.push_back(
        {line.loc, std::to_string(line.bytes) + " bytes are made here" +
                       (line.count > 1 ? ", for " + std::to_string(line.count) + " tiles, the largest " : ", for ") +
                       line.what});
  }
  return false;
}

}  // namespace weft::driver
