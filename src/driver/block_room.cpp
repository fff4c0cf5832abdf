// The pieces that live when most memory is taken are told by the lines that make them, the largest first.
#include "driver/block_room.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_set>

#include "analysis/block_memory.h"
#include "codegen/codegen.h"
#include "codegen/cpu/lane_choice.h"
#include "codegen/emit/limits.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

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

constexpr const char* kOfGradients = "; a tile that is differentiated has a second one of its size for its gradient";

std::string what_of(const ir::Function& kernel, bool adjoint) {
  return (adjoint ? "the adjoint of kernel '" : "kernel '") + kernel.name + "'";
}

using Pieces = std::vector<std::pair<const ir::Op*, std::uint32_t>>;

/// Lines by what they make, the largest first.
std::vector<Made> by_lines(const Pieces& pieces) {
  std::map<std::pair<const SourceFile*, std::uint32_t>, Made> lines;
  for (const auto& [local, bytes] : pieces) {
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
  return order;
}

void report(const ir::Function& kernel, const std::vector<Made>& lines, std::string text, std::string cure,
            DiagnosticSink& sink) {
  const SourceLoc at = lines.empty() || !lines[0].loc.known() ? kernel.loc : lines[0].loc;
  Diagnostic& error = sink.report(DiagCode::codegen_failed, at, std::move(text), std::move(cure));
  for (std::size_t k = 0; k < std::min(lines.size(), kTold); ++k) {
    const Made& line = lines[k];
    error.notes.push_back(
        {line.loc, std::to_string(line.bytes) + " bytes are made here" +
                       (line.count > 1 ? ", for " + std::to_string(line.count) + " tiles, the largest " : ", for ") +
                       line.what});
  }
}

/// A thread's own tiles, in functions that are called, too.
void for_each_tile(const ir::Function& kernel, const std::function<void(const ir::Op&, std::uint64_t)>& visit) {
  std::unordered_set<const ir::Function*> seen = {&kernel};
  std::vector<const ir::Function*> work = {&kernel};
  while (!work.empty()) {
    const ir::Function& next = *work.back();
    work.pop_back();
    ir::walk(*next.body, [&](const ir::Op& op) {
      if (op.code == ir::OpCode::call && seen.insert(op.callee).second) work.push_back(op.callee);
      if (!ir::is_tile_memory(op) || ir::is_block_memory(op)) return;
      std::uint64_t bytes = op.result()->type->element()->size();
      for (std::int64_t n : op.ints) bytes *= std::uint64_t(n);
      visit(op, bytes);
    });
  }
}

}  // namespace

bool fits_shared_memory(const ir::Function& kernel, const cuda::Device& device, bool adjoint, DiagnosticSink& sink) {
  if (!kernel.form.block) return true;
  const analysis::BlockMemory memory(kernel);
  const std::uint64_t room =
      std::max<std::uint64_t>(std::uint64_t(std::max(device.facts().max_shared_memory, 0)), codegen::kPlainBlockBytes);
  if (memory.bytes() <= room) return true;
  const std::vector<Made> lines = by_lines(memory.at_most());
  report(
      kernel, lines,
      what_of(kernel, adjoint) + " takes " + kilobytes(memory.bytes()) + " of shared memory for a block of " +
          std::to_string(kernel.form.block) + " threads; " + device.name() + " has " + kilobytes(room),
      std::string("use smaller tiles or fewer of them at a time: memory is taken from where a tile is made until it is "
                  "last used, and K loops over parts take little") +
          (adjoint ? kOfGradients : ""),
      sink);
  return false;
}

bool fits_private_memory(const ir::Function& kernel, bool adjoint, DiagnosticSink& sink) {
  Pieces tiles;
  std::uint64_t bytes = 0;
  for_each_tile(kernel, [&](const ir::Op& local, std::uint64_t size) {
    tiles.emplace_back(&local, std::uint32_t(size));
    bytes += size;
  });
  // What else there is in a thread's memory is code generation's to speak of.
  const std::uint64_t all = codegen::private_memory(kernel).bytes;
  if (all <= codegen::kMaxPrivateBytes || 2 * bytes < all) return true;
  const std::vector<Made> lines = by_lines(tiles);
  report(
      kernel, lines,
      what_of(kernel, adjoint) + " takes " + kilobytes(all) + " of memory for its tiles; on the CPU a block has " +
          kilobytes(codegen::kMaxPrivateBytes),
      std::string("use smaller tiles or fewer of them, or arrays where a block works on so much; several launches, or "
                  "loops over parts, take little") +
          (adjoint ? kOfGradients : ""),
      sink);
  return false;
}

}  // namespace weft::driver
