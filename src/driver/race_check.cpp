// For every number in the arrays of floats: who stored it, and two threads each that read it and that changed it
// atomically. Two are enough to know another one than the thread at hand.
#include "driver/race_check.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "interp/interpreter.h"
#include "ir/walk.h"
#include "runtime/array.h"
#include "runtime/kernel_abi.h"
#include "runtime/launch.h"
#include "runtime/print_buffer.h"
#include "runtime/stopping.h"

namespace weft::driver {
namespace {

using ir::Op;
using ir::OpCode;

/// A thread and the place in the kernel where it was.
struct Visit {
  std::int64_t thread = -1;
  const Op* op = nullptr;
};

/// Visits of a kind: the first one, and the first one by another thread.
struct Visits {
  Visit first, second;

  void add(const Visit& visit) {
    if (first.thread < 0)
      first = visit;
    else if (first.thread != visit.thread && second.thread < 0)
      second = visit;
  }
  const Visit* other_than(std::int64_t thread) const {
    if (first.thread >= 0 && first.thread != thread) return &first;
    return second.thread >= 0 && second.thread != thread ? &second : nullptr;
  }
};

struct Cell {
  Visits stores, reads, atomics;
};

class Races final : public interp::Watcher {
 public:
  struct Found {
    Visit one, other;
    std::uintptr_t at = 0;
  };

  void access(const Op& op, std::int64_t thread, const std::byte* at, const Type* type) override {
    if (found_.one.op) return;
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (type->is_numeric()) {
      if (type->is_float() || (type->is_composite() && type->element()->is_float())) numbers(op, thread, address, type);
    } else if (type->is_struct() || type->is_tuple()) {
      for (const Field& field : type->fields()) access(op, thread, at + field.offset, field.type);
    }
  }
  const Found& found() const { return found_; }
  void watch(const runtime::ByteRange& range) { ranges_.push_back(range); }

 private:
  void numbers(const Op& op, std::int64_t thread, std::uintptr_t at, const Type* type) {
    const bool known = std::any_of(ranges_.begin(), ranges_.end(),
                                   [&](const runtime::ByteRange& range) { return at >= range.lo && at < range.hi; });
    if (!known) return;  // the thread's own memory
    const std::size_t size = types::scalar(type->scalar_kind())->size();
    const std::size_t count = type->is_composite() ? type->component_count() : 1;
    for (std::size_t k = 0; k < count; ++k) number(op, thread, at + k * size);
  }
  void number(const Op& op, std::int64_t thread, std::uintptr_t at) {
    Cell& cell = cells_[at];
    const Visit here{thread, &op};
    Visits& own = op.code == OpCode::load ? cell.reads : op.code == OpCode::store ? cell.stores : cell.atomics;
    for (Visits* others : {&cell.stores, &cell.reads, &cell.atomics}) {
      if (others == &own && op.code != OpCode::store) continue;  // reads and atomics get along with themselves
      const Visit* other = others->other_than(thread);
      if (!other || found_.one.op) continue;
      found_ = {here, *other, at};
    }
    own.add(here);
  }

  std::vector<runtime::ByteRange> ranges_;
  std::unordered_map<std::uintptr_t, Cell> cells_;
  Found found_;
};

std::string thread_text(std::int64_t thread, const runtime::LaunchContext& context) {
  std::int64_t at[kMaxRank];
  runtime::unravel(thread, context.dims, context.rank, at);
  if (context.rank == 1) return std::to_string(thread);
  std::string text = "(";
  for (int k = 0; k < context.rank; ++k) text += (k ? ", " : "") + std::to_string(at[k]);
  return text + ")";
}

/// `x[3]`: the parameter and the indices of an element, by its address.
std::string element_text(const ParamLayout& layout, std::span<const autodiff::ArrayLeaf> leaves, const char* block,
                         std::uintptr_t at) {
  for (const autodiff::ArrayLeaf& leaf : leaves) {
    const ArrayDesc& desc = *reinterpret_cast<const ArrayDesc*>(block + leaf.offset);
    const runtime::ByteRange range = runtime::data_range(desc, leaf.type->element()->size());
    if (!desc.data || at < range.lo || at >= range.hi) continue;
    std::vector<int> order;
    for (int k = 0; k < desc.ndim; ++k) order.push_back(k);
    auto step = [&](int k) { return std::abs(desc.strides[k]); };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return step(a) > step(b); });
    std::int64_t rest = std::int64_t(at) - std::int64_t(range.lo);
    std::vector<std::int64_t> index(std::size_t(desc.ndim));
    for (int k : order) {
      if (!step(k)) continue;
      const std::int64_t steps = std::min(rest / step(k), desc.shape[k] - 1);
      rest -= steps * step(k);
      index[std::size_t(k)] = desc.strides[k] > 0 ? steps : desc.shape[k] - 1 - steps;
    }
    std::string text = "'" + std::string(layout.params[leaf.param].name) + "[";
    for (std::size_t k = 0; k < index.size(); ++k) text += (k ? ", " : "") + std::to_string(index[k]);
    return text + "]'";
  }
  return "an element";
}

const char* verb(const Op& op) {
  return op.code == OpCode::load ? "reads" : op.code == OpCode::store ? "stores to" : "changes";
}

}  // namespace

std::string find_race(const ir::Module& module, const ParamLayout& layout, std::span<const autodiff::ArrayLeaf> leaves,
                      const void* block, std::span<const std::int64_t> dims, const runtime::LaunchOptions& options) {
  bool native = false;
  for (const auto& function : module.functions)
    ir::walk(*function->body, [&](const Op& op) { native = native || (op.callee && !op.callee->native.empty()); });
  if (native) return {};  // nobody knows what it touches
  const ir::Function& kernel = *module.functions.back();
  const char* bytes = static_cast<const char*>(block);
  Races races;
  for (const autodiff::ArrayLeaf& leaf : leaves) {
    const ArrayDesc& desc = *reinterpret_cast<const ArrayDesc*>(bytes + leaf.offset);
    if (desc.data) races.watch(runtime::data_range(desc, leaf.type->element()->size()));
  }
  runtime::LaunchContext context;
  runtime::ErrorRecord error;
  const runtime::PrintSink nowhere = [](std::string_view) {};
  runtime::PrintBuffer print(1, &nowhere);
  context.error = &error;
  context.print = &print;
  context.serial = 1;
  context.rank = std::int32_t(dims.size());
  std::int64_t total = 1;
  for (std::size_t k = 0; k < dims.size(); ++k) total *= context.dims[k] = dims[k];
  const runtime::Questions questions(options, context);
  interp::Limits limits;
  limits.watcher = &races;
  try {
    interp::run_kernel(module, kernel, block, context, 0, total, limits);
  } catch (const interp::Error& e) {  // out of bounds, where nothing is defined either
    return "kernel '" + kernel.name + "', " + to_string(e.loc()) + ": " + e.what();
  }
  const Races::Found& found = races.found();
  if (!found.one.op) return {};
  auto who = [&](const Visit& visit) {
    return "thread " + thread_text(visit.thread, context) + " " + verb(*visit.op) + " it at " +
           to_string(visit.op->loc);
  };
  return "kernel '" + kernel.name + "': two threads meet in " + element_text(layout, leaves, bytes, found.at) + ": " +
         who(found.other) + ", " + who(found.one) +
         "; which comes first is not defined, so neither is the gradient. Give each thread elements of its own, add "
         "atomically, or run the launch and its backward pass with wp.config.cpu_threads = 1";
}

}  // namespace weft::driver
