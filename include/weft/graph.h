// Graphs: launches, copies and fills recorded once and run many times as one piece.
#pragma once
#include <utility>

#include <weft/array.h>

namespace weft {

/// What was captured, with the memory that it works on. A handle.
class Graph {
 public:
  /// No graph.
  Graph() = default;
  bool is_valid() const { return impl_ != nullptr; }
  Device device() const;
  /// Runs it: on the CPU it is done when this returns, on a GPU queued on the current stream.
  void launch() const;
  /// On another stream of the GPU that it was captured on.
  void launch(const Stream& stream) const;

  /// While it lives, work of the calling thread on the CPU, or work on a GPU's current stream, becomes part of a graph and
  /// is not done. Whatever can't be part of one throws.
  class Capture {
   public:
    explicit Capture(const Device& device = {});
    /// Drops what was captured unless end() was called.
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    Graph end();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };
  /// Captures what a function does.
  template <class Work>
  static Graph capture(const Device& device, Work&& work) {
    Capture capture(device);
    std::forward<Work>(work)();
    return capture.end();
  }

  struct Impl;

 private:
  explicit Graph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
