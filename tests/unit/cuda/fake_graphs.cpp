// The fake driver's captures and graphs: nodes and their order are noted, so that tests can look at what was captured. Where
// kernels of programs run, what is captured runs when its graph is launched, and not before: in the order of the capture, or
// with WEFT_FAKE_CUDA_SHUFFLE in one of the other orders that its edges allow, another one each time; bodies of conditions as
// often as their conditions say. And handles for other processes, which here are the same process.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
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

/// What a node does, and behind which it does.
struct Step {
  GraphNodeHandle node;
  std::vector<GraphNodeHandle> behind;
  std::function<Result()> run;
};
using Steps = std::vector<Step>;

/// What graphs do, where kernels of programs run.
struct Work {
  std::map<GraphHandle, Steps> captured;
  std::map<GraphExecHandle, Steps> ready;
  std::map<ConditionHandle, bool> conditions;
  std::set<StreamHandle> streams;  // that are captured
  std::set<EventHandle> events;    // recorded there: who waits for one is captured as well
};

Work& work() {
  static auto* one = new Work;
  return *one;
}

DriverTable plain;  // without captures

Result run(const Steps& steps) {
  static const char* shuffled = std::getenv("WEFT_FAKE_CUDA_SHUFFLE");
  static std::minstd_rand chance(shuffled ? unsigned(std::atoi(shuffled)) : 0);
  std::set<GraphNodeHandle> waiting;
  for (const Step& step : steps) waiting.insert(step.node);
  std::vector<const Step*> left;
  for (const Step& step : steps) left.push_back(&step);
  auto can = [&](const Step* step) {
    return std::none_of(step->behind.begin(), step->behind.end(), [&](auto node) { return waiting.contains(node); });
  };
  while (!left.empty()) {
    std::size_t next = 0;
    if (shuffled) {
      std::vector<std::size_t> free;
      for (std::size_t k = 0; k < left.size(); ++k)
        if (can(left[k])) free.push_back(k);
      if (free.empty()) return kErrorInvalidValue;  // behind each other
      next = free[chance() % free.size()];
    }
    const Step* step = left[next];
    left.erase(left.begin() + std::ptrdiff_t(next));
    if (const Result code = step->run(); code != kSuccess) return code;
    waiting.erase(step->node);
  }
  return kSuccess;
}

/// What the kernel that hands conditions to the driver does, whose function nobody has written down: its arguments are a
/// condition, the address of a number, and whether zero means yes.
void set_condition(const std::vector<unsigned char>& arguments) {
  ConditionHandle condition = 0;
  const std::uint32_t* value = nullptr;
  std::uint32_t negated = 0;
  std::memcpy(&condition, arguments.data(), sizeof condition);
  std::memcpy(&value, arguments.data() + 8, sizeof value);
  std::memcpy(&negated, arguments.data() + 16, sizeof negated);
  work().conditions[condition] = (*value != 0) != (negated != 0);
}

/// A node behind the others that were captured last.
void capture(std::string kind, std::function<Result()> step) {
  const std::vector<GraphNodeHandle> behind = state().leaves;
  const GraphNodeHandle node = add_node(std::move(kind), state().capture_graph, behind);
  state().leaves = {node};
  if (step) work().captured[state().capture_graph].push_back({node, behind, std::move(step)});
}

/// Keeps a step for the graph that is captured; false: the stream is not.
bool keeps(StreamHandle stream, const char* kind, std::function<Result()> step) {
  if (!runs_programs() || !state().capturing || !work().streams.contains(stream)) return false;
  capture(kind, std::move(step));
  return true;
}

/// Copies and fills.
void add_memory(DriverTable& t) {
  t.copy_async = [](DevicePtr to, DevicePtr from, std::size_t bytes, StreamHandle stream) -> Result {
    if (keeps(stream, "copy", [=] { return plain.copy_async(to, from, bytes, stream); })) return kSuccess;
    return plain.copy_async(to, from, bytes, stream);
  };
  t.set8_async = [](DevicePtr to, unsigned char value, std::size_t count, StreamHandle stream) -> Result {
    if (keeps(stream, "fill", [=] { return plain.set8_async(to, value, count, stream); })) return kSuccess;
    return plain.set8_async(to, value, count, stream);
  };
  t.set16_async = [](DevicePtr to, unsigned short value, std::size_t count, StreamHandle stream) -> Result {
    if (keeps(stream, "fill", [=] { return plain.set16_async(to, value, count, stream); })) return kSuccess;
    return plain.set16_async(to, value, count, stream);
  };
  t.set32_async = [](DevicePtr to, unsigned value, std::size_t count, StreamHandle stream) -> Result {
    if (keeps(stream, "fill", [=] { return plain.set32_async(to, value, count, stream); })) return kSuccess;
    return plain.set32_async(to, value, count, stream);
  };
  t.event_record = [](EventHandle event, StreamHandle stream, unsigned flags) -> Result {
    if (work().streams.contains(stream))
      work().events.insert(event);
    else
      work().events.erase(event);
    return plain.event_record(event, stream, flags);
  };
  t.stream_wait = [](StreamHandle stream, EventHandle event, unsigned flags) -> Result {
    if (work().events.contains(event)) work().streams.insert(stream);
    return plain.stream_wait(stream, event, flags);
  };
}

void add_launches(DriverTable& t) {
  t.launch = [](FunctionHandle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                unsigned shared, StreamHandle stream, void** params, void** extra) -> Result {
    const auto* bytes = static_cast<const unsigned char*>(extra[1]);
    std::vector<unsigned char> arguments(bytes, bytes + *static_cast<std::size_t*>(extra[3]));
    const auto step = [=, says_memory = extra[0], says_size = extra[2], says_end = extra[4]] {
      std::size_t size = arguments.size();
      void* own[] = {says_memory, const_cast<unsigned char*>(arguments.data()), says_size, &size, says_end};
      const Result code = plain.launch(f, gx, gy, gz, bx, by, bz, shared, stream, nullptr, own);
      if (code == kSuccess && state().launches.back().kernel == "set_graph_condition") set_condition(arguments);
      return code;
    };
    if (keeps(stream, "kernel", step)) return note("launch");
    const Result code = plain.launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
    if (code == kSuccess && state().capturing) capture(state().launches.back().kernel, nullptr);
    return code;
  };
  t.graph_instantiate = [](GraphExecHandle* exec, GraphHandle graph, unsigned long long) -> Result {
    FAKE("graph_instantiate");
    *exec = reinterpret_cast<GraphExecHandle>(new_handle());
    return work().ready[*exec] = work().captured[graph], kSuccess;
  };
  t.graph_launch = [](GraphExecHandle exec, StreamHandle) -> Result {
    FAKE("graph_launch");
    return run(work().ready[exec]);
  };
  t.graph_destroy = [](GraphHandle graph) -> Result {
    work().captured.erase(graph);
    return state().graphs.erase(graph), kSuccess;
  };
  t.graph_exec_destroy = [](GraphExecHandle exec) -> Result { return work().ready.erase(exec), kSuccess; };
}

void add_captures(DriverTable& t) {
  t.stream_capturing = [](StreamHandle, int* s) -> Result {
    return *s = state().capturing || state().foreign_capture, kSuccess;
  };
  t.capture_begin = [](StreamHandle stream, int) -> Result {
    FAKE("capture_begin");
    work().streams.insert(stream);
    if (state().capturing) state().around.emplace_back(state().capture_graph, state().leaves);
    state().capture_graph = add_graph();
    state().leaves.clear();
    return state().capturing = true, kSuccess;
  };
  t.capture_begin_into = [](StreamHandle stream, GraphHandle graph, const GraphNodeHandle* leaves, const void*,
                            std::size_t count, int) -> Result {
    FAKE("capture_begin_into");
    if (state().capturing) return kErrorInvalidValue;
    work().streams.insert(stream);
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
  t.capture_end = [](StreamHandle stream, GraphHandle* graph) -> Result {
    if (!state().capturing) return kErrorInvalidValue;
    work().streams.erase(stream);
    if (state().around.empty()) work().streams.clear(), work().events.clear();
    const GraphHandle ended = state().capture_graph;
    state().capturing = !state().around.empty();
    if (state().capturing) {
      std::tie(state().capture_graph, state().leaves) = state().around.back();
      state().around.pop_back();
    }
    FAKE("capture_end");
    return *graph = ended, kSuccess;
  };
}

void add_nodes(DriverTable& t) {
  t.graph_add_child = [](GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* behind, std::size_t count,
                         GraphHandle child) -> Result {
    FAKE("graph_add_child");
    for (const State::Node& one : state().nodes)
      if (one.graph == child && one.condition) return kErrorInvalidValue;
    *node = add_node("child", graph, {behind, behind + count});
    const auto step = [steps = work().captured[child]] { return run(steps); };
    work().captured[graph].push_back({*node, {behind, behind + count}, step});
    return kSuccess;
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
    const auto step = [condition = params->condition, body = bodies[*node], loop = params->kind == kConditionWhile] {
      Result code = kSuccess;
      while (code == kSuccess && work().conditions[condition]) {
        code = run(work().captured[body]);
        if (!loop) break;
      }
      return code;
    };
    if (runs_programs()) work().captured[graph].push_back({*node, {behind, behind + count}, step});
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
  plain = table;
  add_memory(table);
  add_launches(table);
  add_captures(table);
  add_nodes(table);
  add_handles(table);
}

}  // namespace weft::cuda::fake
