// Captures on the CPU are a matter of one thread, those on a GPU of one device.
#include "driver/graph_writes.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "driver/graph_repeats.h"
#include "driver/tape_repeat.h"
#include "driver/taping.h"
#include "runtime/command_list.h"

namespace weft::driver {
namespace {

thread_local std::shared_ptr<GraphWrites> on_cpu;
std::mutex mutex;  // guards the map
std::atomic<int> captures{0};

std::map<int, std::shared_ptr<GraphWrites>>& on_devices() {
  static auto* list = new std::map<int, std::shared_ptr<GraphWrites>>;  // outlives module teardown
  return *list;
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

template <class Visit>
void visit_arrays(const Type* type, const char* at, const Visit& visit) {
  if (type->is_array()) visit(*reinterpret_cast<const ArrayDesc*>(at), type->element());
  if (type->is_struct() || type->is_indexed_array())
    for (const Field& f : type->fields()) visit_arrays(f.type, at + f.offset, visit);
}

}  // namespace

GraphWrites::GraphWrites() : number_(next_number()) {}

void GraphWrites::add(runtime::ByteRange range, std::string by) {
  Work& work = work_.emplace_back();
  work.ranges.push_back({range, std::move(by)});
  work.sure = !runtime::in_branch();
}

void GraphWrites::add(const LaunchWork& launch) {
  Work& work = work_.emplace_back();
  work.launch = std::make_unique<Launch>();
  *work.launch = {launch.kernel, &launch.signature, {}, {launch.dims.begin(), launch.dims.end()}, launch.place};
  work.launch->block.resize((launch.signature.layout.size + 7) / 8);
  std::memcpy(work.launch->block.data(), launch.block, launch.signature.layout.size);
  work.sure = is_unconditional(launch.place.device);
}

void GraphWrites::include(std::shared_ptr<GraphWrites> graph) { work_.emplace_back().part = std::move(graph); }

void GraphWrites::add_gradients(const KernelSignature& signature, const char* block, const std::string& by) {
  for (const ParamLayout::Param& p : signature.layout.params)
    visit_arrays(p.type, block + p.offset, [&](const ArrayDesc& desc, const Type* element) {
      if (desc.grad) add(runtime::grad_range(desc, element->size()), by);
    });
}

void GraphWrites::settle(Work& work) {
  const Launch& launch = *work.launch;
  const LaunchForm form =
      form_of(launch.signature->layout, launch.bytes(), launch.dims.size(), &launch.signature->order);
  const TapeFacts* facts = &launch.kernel->facts_for(*launch.signature, form);
  const std::string by = "a graph with kernel '" + launch.kernel->name() + "'";
  if (facts->written_elsewhere) work.ranges.push_back({runtime::kAnywhere, by});
  for (std::size_t k = 0; k < facts->leaves.size(); ++k) {
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(launch.bytes() + facts->leaves[k].offset);
    if (facts->written[k])
      work.ranges.push_back({runtime::data_range(desc, facts->leaves[k].type->element()->size()), by});
  }
  work.settled = true;
}

void GraphWrites::announce() {
  if (!runtime::writes_are_watched()) return;
  GraphRepeats repeats;
  announce_for(number_, &repeats);
  Repeats::graph_runs(number_);
}

void GraphWrites::announce_for(std::uint64_t number, GraphRepeats* repeats) {
  for (Work& work : work_) {
    // Whether a part is a branch is not known here.
    if (work.part) work.part->announce_for(number, nullptr);
    if (work.launch && !work.settled) settle(work);
    std::vector<runtime::ByteRange> written;
    for (const Range& one : work.ranges) {
      runtime::announce_graph_write(one.range, number, one.by);
      written.push_back(one.range);
    }
    if (!repeats) continue;
    if (work.launch && work.sure)
      repeats->note(*work.launch, written);
    else
      repeats->note(work.part   ? "a graph"
                    : work.sure ? work.ranges.front().by
                                : "a branch",
                    work.part ? std::vector{runtime::kAnywhere} : written);
  }
}

GraphWrites* captured_writes(const cuda::Device* device) {
  if (captures.load(std::memory_order_relaxed) == 0) return nullptr;
  if (!device) return on_cpu.get();
  std::lock_guard lock(mutex);
  auto it = on_devices().find(device->ordinal());
  return it == on_devices().end() ? nullptr : it->second.get();
}

GraphWrites* captured_writes(const runtime::Array& array) {
  if (captures.load(std::memory_order_relaxed) == 0) return nullptr;
  if (array.on_host()) return on_cpu.get();
  std::lock_guard lock(mutex);
  auto it = on_devices().find(array.space()->ordinal());
  return it == on_devices().end() ? nullptr : it->second.get();
}

void note_graph_launch(const LaunchWork& launch) {
  GraphWrites* writes = captured_writes(launch.place.device);
  if (!writes) return;
  const std::string& name = launch.kernel->name();
  if (launch.adjoint || launch.variant.adjoint)
    writes->add_gradients(launch.signature, launch.block, "a graph with the adjoint of kernel '" + name + "'");
  else
    writes->add(launch);
}

void begin_graph_writes(const cuda::Device* device) {
  auto made = std::make_shared<GraphWrites>();
  runtime::set_capture(made->number());
  ++captures;
  if (!device) {
    on_cpu = std::move(made);
    return;
  }
  std::lock_guard lock(mutex);
  on_devices()[device->ordinal()] = std::move(made);
}

std::shared_ptr<GraphWrites> end_graph_writes(const cuda::Device* device) {
  std::shared_ptr<GraphWrites> ended;
  if (!device) {
    ended = std::move(on_cpu);
  } else {
    std::lock_guard lock(mutex);
    if (auto node = on_devices().extract(device->ordinal())) ended = std::move(node.mapped());
  }
  if (ended) --captures, runtime::set_capture(0);
  return ended;
}

std::shared_ptr<GraphWrites> graph_writes_of(std::uint64_t number) {
  if (on_cpu && on_cpu->number() == number) return on_cpu;
  std::lock_guard lock(mutex);
  for (const auto& [device, writes] : on_devices())
    if (writes->number() == number) return writes;
  return nullptr;
}

std::shared_ptr<GraphWrites> graph_writes_now(const cuda::Device* device) {
  if (!device) return on_cpu;
  std::lock_guard lock(mutex);
  auto it = on_devices().find(device->ordinal());
  return it == on_devices().end() ? nullptr : it->second;
}

}  // namespace weft::driver
