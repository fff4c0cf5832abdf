// Graphs: launches, copies and fills recorded once and run many times as one piece.
#pragma once
#include <functional>
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

/// Runs one of two functions, either of which may be empty, by the value of an array of one int32. While work is captured
/// where the array lies both become part of the graph, which decides when it runs (GPU: with a driver of CUDA 12.4 or
/// newer, else DeviceError); otherwise this waits for the value.
void run_if(const Array& condition, const std::function<void()>& on_true, const std::function<void()>& on_false = {});
/// Runs a function while the value is not zero; captured likewise.
void run_while(const Array& condition, const std::function<void()>& body);

}  // namespace weft
