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

}  // namespace weft
