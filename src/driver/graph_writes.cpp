// Captures on the CPU are a matter of one thread, those on a GPU of one device.
#include "driver/graph_writes.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "driver/taping.h"

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

void GraphWrites::add_launch(std::shared_ptr<Kernel> kernel, KernelSignature& signature, const char* block,
                             std::size_t rank) {
  Launch launch{std::move(kernel), &signature, {}, rank};
  launch.block.resize((signature.layout.size + 7) / 8);
  std::memcpy(launch.block.data(), block, signature.layout.size);
  launches_.push_back(std::move(launch));
}

void GraphWrites::add_gradients(const KernelSignature& signature, const char* block, const std::string& by) {
  for (const ParamLayout::Param& p : signature.layout.params)
    visit_arrays(p.type, block + p.offset, [&](const ArrayDesc& desc, const Type* element) {
      if (desc.grad) add(runtime::grad_range(desc, element->size()), by);
    });
}

void GraphWrites::settle(const Launch& launch) {
  const char* block = reinterpret_cast<const char*>(launch.block.data());
  const LaunchForm form = form_of(launch.signature->layout, block, launch.rank);
  const TapeFacts* facts = &launch.kernel->facts_for(*launch.signature, form);
  const std::string by = "a graph with kernel '" + launch.kernel->name() + "'";
  if (facts->written_elsewhere) add(runtime::kAnywhere, by);
  for (std::size_t k = 0; k < facts->leaves.size(); ++k) {
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(block + facts->leaves[k].offset);
    if (facts->written[k]) add(runtime::data_range(desc, facts->leaves[k].type->element()->size()), by);
  }
}

void GraphWrites::announce() {
  if (runtime::writes_are_watched()) announce_for(number_);
}

void GraphWrites::announce_for(std::uint64_t number) {
  for (const Launch& launch : std::exchange(launches_, {})) settle(launch);
  for (const Range& one : ranges_) runtime::announce_graph_write(one.range, number, one.by);
  for (const std::shared_ptr<GraphWrites>& part : parts_) part->announce_for(number);
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
    writes->add_launch(launch.kernel, launch.signature, launch.block, launch.dims.size());
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

std::shared_ptr<GraphWrites> graph_writes_now(const cuda::Device* device) {
  if (!device) return on_cpu;
  std::lock_guard lock(mutex);
  auto it = on_devices().find(device->ordinal());
  return it == on_devices().end() ? nullptr : it->second;
}

}  // namespace weft::driver
