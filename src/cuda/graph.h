// Graphs: work recorded from a stream, to be run again as one piece. A graph keeps what it works on: the memory of
// arrays that launches and copies used while it was captured, arrays that were made meanwhile, the code of kernels.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/stream.h"

namespace weft::cuda {

/// What was captured, ready to run.
class Graph {
 public:
  Graph(Device& device, GraphHandle graph, std::vector<std::shared_ptr<const void>> kept);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Device& device() const { return device_; }
  /// Runs the graph behind the work of a stream; made ready for that on the first call.
  void launch(const Stream& stream);
  /// Makes it ready without running it.
  void instantiate();

 private:
  Device& device_;
  GraphHandle graph_;
  std::mutex mutex_;
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
  Device& device() const { return stream_->device(); }
  void keep(std::shared_ptr<const void> thing);
  /// Throws for something that can't be done while capturing.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::shared_ptr<Stream> stream_;
  bool external_, active_ = false;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace weft::cuda
