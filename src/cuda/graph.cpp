// Capturing streams into graphs, and running them.
#include "cuda/graph.h"

#include "cuda/device.h"

namespace weft::cuda {

namespace {

/// A graph of the driver, destroyed with the object.
struct Handles {
  Handles(Device& device, GraphHandle graph, GraphExecHandle exec) : device(device), graph(graph), exec(exec) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    if (device.system().forked()) return;
    try {
      ContextScope scope(device);
      if (exec) device.api().graph_exec_destroy(exec);
      device.api().graph_destroy(graph);
    } catch (const runtime::Error&) {  // the device is gone, and the graph with it
    }
  }
  Device& device;
  GraphHandle graph;
  GraphExecHandle exec;
};

}  // namespace

Graph::Graph(Device& device, GraphHandle graph, bool conditional, std::vector<std::shared_ptr<const void>> kept)
    : device_(device), graph_(graph), conditional_(conditional), kept_(std::move(kept)) {}

Graph::~Graph() {
  if (device_.system().forked()) return;
  try {
    auto handles = std::make_shared<Handles>(device_, graph_, exec_);
    if (!exec_) return;
    // A run under way ends undisturbed; what it works on must last until then.
    if (!kept_.empty())
      device_.keep_until_done(std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(kept_)));
    if (conditional_) device_.keep_until_idle(std::move(handles));  // to destroy it waits for all work of the device
  } catch (const std::bad_alloc&) {                                 // no memory to remember it
  }
}

void Graph::instantiate() {
  ContextScope scope(device_);
  std::lock_guard lock(mutex_);
  if (!exec_) WEFT_CUDA(device_.api(), graph_instantiate, &exec_, graph_, 0);
}

void Graph::write_dot(const std::string& path, bool verbose) {
  ContextScope scope(device_);
  if (const Result code = device_.api().graph_dot(graph_, path.c_str(), verbose ? 1 : 0); code != kSuccess)
    throw_driver_error(device_.api(), code, "graph_dot", "can't write to " + path);
}

void Graph::launch(const Stream& stream) {
  instantiate();
  ContextScope scope(device_);
  std::lock_guard lock(mutex_);  // one graph can't be launched from two threads at once
  const TimedScope timed(device_, stream.handle(), kTimeGraph, "graph");
  stream.use();
  WEFT_CUDA(device_.api(), graph_launch, exec_, stream.handle());
}

Capture::Capture(std::shared_ptr<Stream> stream, bool external) : stream_(std::move(stream)), external_(external) {
  device().begin_capture(this);
  active_ = true;
  if (external_) return;
  try {
    ContextScope scope(device());
    WEFT_CUDA(device().api(), capture_begin, stream_->handle(), kCaptureRelaxed);
  } catch (...) {
    active_ = false;
    device().end_capture();
    throw;
  }
}

Capture::~Capture() {
  if (!active_) return;
  try {
    end();
  } catch (const runtime::Error&) {  // dropped in the middle of an error already
  }
}

std::shared_ptr<Graph> Capture::end() {
  if (!active_) throw runtime::ArgumentError("the graph capture was ended already");
  const bool inside = !branches_.empty();
  while (!branches_.empty()) {  // dropped in the middle of a branch
    try {
      end_branch();
    } catch (const runtime::Error&) {  // so is the graph
    }
  }
  active_ = false;
  struct Done {
    Device& device;
    ~Done() { device.end_capture(); }
  } done{device()};
  if (external_) return nullptr;
  GraphHandle graph = nullptr;
  const Result code = end_stream_capture(graph);
  if (code != kSuccess || !graph)
    throw_driver_error(
        device().api(), code == kSuccess ? kErrorInvalidValue : code, "capture_end",
        code == kErrorCaptureUnjoined
            ? "a stream that became part of the capture (wait_stream, wait_event) must be waited for by the "
              "stream that is captured, before it ends"
            : "something that a graph can't hold was done while it was captured");
  if (order_.broken()) {
    device().api().graph_destroy(graph);
    throw runtime::Error(
        "the graph capture on " + device().name() +
        " is broken: its pieces could not be put in order; wp.config.parallel_graphs = False does without");
  }
  if (inside) {
    device().api().graph_destroy(graph);
    throw runtime::ArgumentError("a graph capture can't end inside a branch of wp.capture_if or wp.capture_while");
  }
  std::lock_guard lock(mutex_);
  return std::make_shared<Graph>(device(), graph, conditional_, std::move(kept_));
}

Result Capture::end_stream_capture(GraphHandle& graph) const {
  // The stream is bound to its context. If it went on capturing, all later work of the program would vanish in the graph.
  const DriverTable& api = device().api();
  const Result code = api.capture_end(stream_->handle(), &graph);
  if (code == kSuccess) return code;
  int status = 0;
  if (api.stream_capturing(stream_->handle(), &status) == kSuccess && status == 0) return code;
  return api.capture_end(stream_->handle(), &graph);
}

void Capture::keep(std::shared_ptr<const void> thing) {
  std::lock_guard lock(mutex_);
  kept_.push_back(std::move(thing));
}

GraphHandle Capture::so_far(std::vector<GraphNodeHandle>& leaves) const {
  int status = 0;
  GraphHandle graph = nullptr;
  const GraphNodeHandle* behind = nullptr;
  std::size_t count = 0;
  WEFT_CUDA(device().api(), capture_info, stream_->handle(), &status, nullptr, &graph, &behind, &count);
  if (status != kCaptureActive || !graph)
    throw runtime::ArgumentError("the graph capture on " + device().name() +
                                 " is broken: something that a graph can't hold was done");
  leaves.assign(behind, behind + count);
  return graph;
}

bool Capture::waits_for_one(StreamHandle stream) const {
  int status = 0;
  GraphHandle graph = nullptr;
  const GraphNodeHandle* behind = nullptr;
  std::size_t count = 0;
  const Result code = device().api().capture_info(stream, &status, nullptr, &graph, &behind, &count);
  return code == kSuccess && status == kCaptureActive && count == 1;
}

void Capture::add(const std::shared_ptr<Graph>& graph) {
  if (&graph->device() != &device())
    throw runtime::ArgumentError("a graph on " + graph->device().name() + " can't be a part of one on " +
                                 device().name());
  ContextScope scope(device());
  std::vector<GraphNodeHandle> leaves;
  const GraphHandle into = so_far(leaves);
  GraphNodeHandle node = nullptr;
  if (const Result code = device().api().graph_add_child(&node, into, leaves.data(), leaves.size(), graph->handle());
      code != kSuccess)
    throw_driver_error(device().api(), code, "graph_add_child",
                       "a graph that holds conditions can't be a part of another one; give the function that it was "
                       "captured from");
  WEFT_CUDA(device().api(), capture_continue, stream_->handle(), &node, 1, kCaptureSetLeaves);
  keep(graph);
}

void Capture::refuse(const std::string& what) const {
  throw runtime::ArgumentError("can't " + what + " while a graph is captured on " + device().name() +
                               "; do it before wp.capture_begin or after wp.capture_end");
}

}  // namespace weft::cuda
