// Graphs of the public API.
#include "cuda/graph.h"

#include "driver/graph_writes.h"
#include "driver/program_impl.h"
#include "driver/tape.h"
#include "runtime/command_list.h"

namespace weft {

struct Graph::Impl {
  Device device;
  std::shared_ptr<const runtime::CommandList> on_cpu;
  std::shared_ptr<cuda::Graph> on_gpu;
  std::shared_ptr<driver::GraphWrites> writes;
};

struct Graph::Capture::State {
  Device device;
  std::unique_ptr<cuda::Capture> on_gpu;
};

namespace {

using driver::guarded;

/// The graph becomes part of the one that is captured.
void include(const std::shared_ptr<driver::GraphWrites>& writes, const Device& device) {
  if (const auto around = driver::graph_writes_now(device.internal())) around->include(writes);
}

const runtime::Array& checked(const Array& condition) {
  if (condition.is_valid() && condition.size() == 1 && condition.type() == DataType("int32"))
    return condition.internal()->array;
  throw ArgumentError("a condition is an array of one int32");
}

bool holds(const Array& condition) { return condition.read<std::int32_t>()[0] != 0; }

/// Calls a function, and `end` behind it whatever happens.
template <class End>
auto run_branch(const std::function<void()>& work, End end) {
  try {
    work();
  } catch (...) {
    end();
    throw;
  }
  return end();
}

/// A branch of the graph that this thread captures on the CPU.
std::shared_ptr<runtime::CommandList> branch_on_cpu(const std::function<void()>& work) {
  if (!work) return nullptr;
  runtime::begin_branch();
  return run_branch(work, [] { return runtime::end_branch(); });
}

/// The same on a GPU.
void branch_on_gpu(cuda::Capture& capture, cuda::ConditionHandle decided, const runtime::Array& value, bool loop,
                   const std::function<void()>& work) {
  capture.begin_branch(decided, reinterpret_cast<cuda::DevicePtr>(value.data()), loop);
  run_branch(work, [&] { capture.end_branch(); });
}

/// The capture under way where a condition lies, which keeps it; null: none.
cuda::Capture* capture_for(const runtime::Array& value) {
  cuda::Device* gpu = driver::gpu_of(value);
  if (!gpu || !gpu->capture()) return nullptr;
  gpu->capture()->keep(std::make_shared<const runtime::Array>(value));
  return gpu->capture();
}

/// The list that this thread records into if the condition is the CPU's; it keeps the condition.
runtime::CommandList* list_for(const runtime::Array& value) {
  runtime::CommandList* list = value.on_host() ? runtime::recording() : nullptr;
  if (list) list->keep(std::make_shared<const runtime::Array>(value));
  return list;
}

}  // namespace

Graph::Capture::Capture(const Device& device) {
  guarded([&] {
    auto state = std::make_unique<State>();
    state->device = device;
    if (device.is_cuda())
      state->on_gpu = std::make_unique<cuda::Capture>(device.internal()->stream(), false);
    else
      runtime::begin_recording();
    driver::begin_graph_writes(device.internal());
    state_ = std::move(state);
  });
}

Graph::Capture::~Capture() {
  if (!state_) return;
  driver::end_graph_writes(state_->device.internal());
  if (!state_->device.is_cuda()) runtime::end_recording();
}

Graph Graph::Capture::end() {
  if (!state_) throw Error("this capture has ended");
  return guarded([&] {
    const std::unique_ptr<State> state = std::move(state_);
    auto made = std::make_shared<Impl>();
    made->device = state->device;
    made->writes = driver::end_graph_writes(state->device.internal());
    if (state->on_gpu)
      made->on_gpu = state->on_gpu->end();
    else
      made->on_cpu = runtime::end_recording();
    return Graph(std::move(made));
  });
}

Device Graph::device() const { return impl_ ? impl_->device : Device(); }

void Graph::launch() const { launch(Stream()); }

void Graph::launch(const Stream& stream) const {
  if (!impl_) throw ArgumentError("this is no graph: it was default-constructed");
  if (driver::recording_tape())
    throw Error(
        "the work of a graph is not recorded by a tape, so gradients would stop there: launch the kernels themselves, "
        "capture the recording together with its backward pass, or run the graph outside of the recording");
  guarded([&] {
    const Device& device = impl_->device;
    if (stream.is_valid() && stream.device() != device)
      throw ArgumentError("the graph was captured on " + device.name() + ", the stream belongs to " +
                          stream.device().name());
    if (!device.is_cuda()) {
      if (runtime::CommandList* list = runtime::recording()) {
        include(impl_->writes, device);
        return list->add_list(impl_->on_cpu);
      }
      impl_->writes->announce();
      impl_->on_cpu->run({});
      return;
    }
    const std::shared_ptr<cuda::Stream> queue = stream.is_valid() ? stream.internal() : device.internal()->stream();
    cuda::Capture* capture = device.internal()->capture();
    if (capture && capture->stream() == queue->handle()) {
      include(impl_->writes, device);
      return capture->add(impl_->on_gpu);
    }
    impl_->writes->announce();
    impl_->on_gpu->launch(*queue);
  });
}

void run_if(const Array& condition, const std::function<void()>& on_true, const std::function<void()>& on_false) {
  guarded([&] {
    const runtime::Array& value = checked(condition);
    if (runtime::CommandList* list = list_for(value)) {
      const auto yes = branch_on_cpu(on_true), no = branch_on_cpu(on_false);
      return list->add_if(value, yes, no);
    }
    if (cuda::Capture* capture = capture_for(value)) {
      const auto at = reinterpret_cast<cuda::DevicePtr>(value.data());
      // Both are decided first: one branch may change the condition.
      const cuda::ConditionHandle yes = on_true ? capture->condition(at, false) : cuda::ConditionHandle(),
                                  no = on_false ? capture->condition(at, true) : cuda::ConditionHandle();
      if (on_true) branch_on_gpu(*capture, yes, value, false, on_true);
      if (on_false) branch_on_gpu(*capture, no, value, false, on_false);
      return;
    }
    if (const auto& chosen = holds(condition) ? on_true : on_false) chosen();
  });
}

void run_while(const Array& condition, const std::function<void()>& body) {
  if (!body) throw ArgumentError("the body of a loop is a function");
  guarded([&] {
    const runtime::Array& value = checked(condition);
    if (runtime::CommandList* list = list_for(value)) return list->add_while(value, branch_on_cpu(body));
    if (cuda::Capture* capture = capture_for(value)) {
      const auto decided = capture->condition(reinterpret_cast<cuda::DevicePtr>(value.data()), false);
      return branch_on_gpu(*capture, decided, value, true, body);
    }
    while (holds(condition)) body();
  });
}

}  // namespace weft
