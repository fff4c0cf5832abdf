// The fake driver's captures and graphs: nodes and their order are noted, so that tests can look at what was captured;
// conditions never run. And handles for other processes, which here are the same process.
#include <cstring>
#include <tuple>

#include "fake_driver.h"

namespace weft::cuda::fake {
namespace {

#define FAKE(name) \
  if (const Result told = note(name); told != kSuccess) return told

GraphNodeHandle add_node(std::string kind, GraphHandle graph, std::vector<GraphNodeHandle> behind,
                         ConditionHandle condition = 0) {
  const auto node = reinterpret_cast<GraphNodeHandle>(new_handle());
  state().nodes.push_back({node, graph, std::move(kind), std::move(behind), condition});
  return node;
}

GraphHandle add_graph() {
  const auto graph = reinterpret_cast<GraphHandle>(new_handle());
  state().graphs.insert(graph);
  return graph;
}

decltype(DriverTable::launch) plain_launch = nullptr;

void add_captures(DriverTable& t) {
  t.stream_capturing = [](StreamHandle, int* s) -> Result {
    return *s = state().capturing || state().foreign_capture, kSuccess;
  };
  t.capture_begin = [](StreamHandle, int) -> Result {
    FAKE("capture_begin");
    if (state().capturing) state().around.emplace_back(state().capture_graph, state().leaves);
    state().capture_graph = add_graph();
    state().leaves.clear();
    return state().capturing = true, kSuccess;
  };
  t.capture_begin_into = [](StreamHandle, GraphHandle graph, const GraphNodeHandle* leaves, const void*,
                            std::size_t count, int) -> Result {
    FAKE("capture_begin_into");
    if (state().capturing) return kErrorInvalidValue;
    state().capture_graph = graph;
    state().leaves.assign(leaves, leaves + count);
    return state().capturing = true, kSuccess;
  };
  t.capture_info = [](StreamHandle, int* status, std::uint64_t*, GraphHandle* graph, const GraphNodeHandle** leaves,
                      std::size_t* count) -> Result {
    FAKE("capture_info");
    *status = state().capturing ? kCaptureActive : 0;
    *graph = state().capture_graph;
    *leaves = state().leaves.data();
    return *count = state().leaves.size(), kSuccess;
  };
  t.capture_continue = [](StreamHandle, GraphNodeHandle* leaves, std::size_t count, unsigned flags) -> Result {
    FAKE("capture_continue");
    if (flags != kCaptureSetLeaves) return kErrorInvalidValue;
    return state().leaves.assign(leaves, leaves + count), kSuccess;
  };
  t.capture_end = [](StreamHandle, GraphHandle* graph) -> Result {
    if (!state().capturing) return kErrorInvalidValue;
    const GraphHandle ended = state().capture_graph;
    state().capturing = !state().around.empty();
    if (state().capturing) {
      std::tie(state().capture_graph, state().leaves) = state().around.back();
      state().around.pop_back();
    }
    FAKE("capture_end");
    return *graph = ended, kSuccess;
  };
  plain_launch = t.launch;
  t.launch = [](FunctionHandle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                unsigned shared, StreamHandle stream, void** params, void** extra) -> Result {
    const Result code = plain_launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
    if (code == kSuccess && state().capturing)
      state().leaves = {add_node(state().launches.back().kernel, state().capture_graph, state().leaves)};
    return code;
  };
}

void add_nodes(DriverTable& t) {
  t.graph_add_child = [](GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* behind, std::size_t count,
                         GraphHandle child) -> Result {
    FAKE("graph_add_child");
    for (const State::Node& one : state().nodes)
      if (one.graph == child && one.condition) return kErrorInvalidValue;
    return *node = add_node("child", graph, {behind, behind + count}), kSuccess;
  };
  t.graph_add_node = [](GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* behind, const void*,
                        std::size_t count, GraphNodeParams* params) -> Result {
    FAKE("graph_add_node");
    if (params->type != kNodeCondition || params->size != 1 || !params->condition) return kErrorInvalidValue;
    *node =
        add_node(params->kind == kConditionWhile ? "while" : "if", graph, {behind, behind + count}, params->condition);
    static std::map<GraphNodeHandle, GraphHandle> bodies;
    bodies[*node] = reinterpret_cast<GraphHandle>(new_handle());
    state().nodes.back().body = bodies[*node];
    return params->bodies = &bodies[*node], kSuccess;
  };
  t.graph_dot = [](GraphHandle, const char*, unsigned) -> Result {
    FAKE("graph_dot");
    return kSuccess;
  };
  t.graph_condition = [](ConditionHandle* made, GraphHandle, ContextHandle, unsigned, unsigned) -> Result {
    FAKE("graph_condition");
    return *made = ConditionHandle(new_handle()), kSuccess;
  };
}

void add_handles(DriverTable& t) {
  auto pack = [](IpcHandle* handle, std::uint64_t value) {
    *handle = {};
    std::memcpy(handle->bytes, &value, sizeof value);
  };
  static const auto packed = +pack;
  static const auto unpacked = +[](const IpcHandle& handle) {
    std::uint64_t value = 0;
    std::memcpy(&value, handle.bytes, sizeof value);
    return value;
  };
  t.event_to_ipc = [](IpcHandle* handle, EventHandle event) -> Result {
    FAKE("event_to_ipc");
    return packed(handle, reinterpret_cast<std::uint64_t>(event)), kSuccess;
  };
  t.event_from_ipc = [](EventHandle* event, IpcHandle handle) -> Result {
    FAKE("event_from_ipc");
    return *event = reinterpret_cast<EventHandle>(unpacked(handle)), kSuccess;
  };
  t.memory_to_ipc = [](IpcHandle* handle, DevicePtr memory) -> Result {
    FAKE("memory_to_ipc");
    for (auto [begin, size] : state().blocks)
      if (begin <= memory && memory < begin + size) return packed(handle, begin), kSuccess;
    return kErrorInvalidValue;
  };
  t.memory_from_ipc = [](DevicePtr* memory, IpcHandle handle, unsigned) -> Result {
    FAKE("memory_from_ipc");
    return *memory = unpacked(handle), kSuccess;
  };
  t.memory_close_ipc = [](DevicePtr) -> Result {
    FAKE("memory_close_ipc");
    return kSuccess;
  };
}

}  // namespace

void add_graphs(DriverTable& table) {
  add_captures(table);
  add_nodes(table);
  add_handles(table);
}

}  // namespace weft::cuda::fake
