// Graphs: work recorded from a stream, to be run again as one piece. A graph keeps what it works on: the memory of
// arrays that launches and copies used while it was captured, arrays that were made meanwhile, the code of kernels.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/graph_order.h"
#include "cuda/stream.h"

namespace weft::cuda {

/// What was captured, ready to run.
class Graph {
 public:
  Graph(Device& device, GraphHandle graph, bool conditional, std::vector<std::shared_ptr<const void>> kept);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Device& device() const { return device_; }
  /// Runs the graph behind the work of a stream; made ready for that on the first call.
  void launch(const Stream& stream);
  /// Makes it ready without running it.
  void instantiate();
  GraphHandle handle() const { return graph_; }
  /// Writes it as a file in GraphViz' language.
  void write_dot(const std::string& path, bool verbose);

 private:
  Device& device_;
  GraphHandle graph_;
  std::mutex mutex_;
  bool conditional_;
  GraphExecHandle exec_ = nullptr;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// A capture under way on one stream; ended by end(), or dropped with the object.
class Capture {
 public:
  /// Throws ArgumentError if the device captures already. `external`: somebody else began the capture of this stream.
  Capture(std::shared_ptr<Stream> stream, bool external);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Ends it and gives the graph; null for an external capture.
  std::shared_ptr<Graph> end();
  StreamHandle stream() const { return stream_->handle(); }
  bool is_external() const { return external_; }
  Device& device() const { return stream_->device(); }
  void keep(std::shared_ptr<const void> thing);
  /// What goes behind what.
  GraphOrder& order() { return order_; }
  /// The graph that the stream is captured into, and its nodes behind which the next one comes.
  GraphHandle so_far(std::vector<GraphNodeHandle>& leaves) const;
  /// Whether what is captured next on a stream, this or one that became part of it, waits for a single node.
  bool waits_for_one(StreamHandle stream) const;
  /// Makes another graph a part of this one. Throws if it holds conditions, which the driver does not allow.
  void add(const std::shared_ptr<Graph>& graph);

  // Conditions (graph_condition.cpp), for drivers of CUDA 12.4 and newer; older ones throw Unavailable.
  /// A condition that the graph decides, when it comes to that, by the int32 at an address: not zero, or `negated`.
  ConditionHandle condition(DevicePtr value, bool negated);
  /// What follows is done if the condition holds (in a loop, while the value is not zero), until end_branch.
  void begin_branch(ConditionHandle condition, DevicePtr value, bool loop);
  void end_branch();
  bool in_branch() const { return !branches_.empty(); }
  /// Throws for something that can't be done while capturing.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  struct Branch {
    GraphHandle outer = nullptr;  // captured so far
    GraphNodeHandle node = nullptr;
    ConditionHandle condition = 0;
    DevicePtr value = 0;
    bool loop = false;
  };
  void need_conditions() const;
  /// Ends the driver's capture of the stream, also if the driver has to be told twice.
  Result end_stream_capture(GraphHandle& graph) const;
  void set_condition(ConditionHandle condition, DevicePtr value, bool negated) const;

  std::shared_ptr<Stream> stream_;
  std::vector<Branch> branches_;  // that are open
  bool external_, active_ = false, conditional_ = false;
  GraphOrder order_{*this};
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace weft::cuda
