// What a graph writes when it runs. Tapes hear of every write before it happens; those of a graph are gathered while it is
// captured, and announced before each run.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "driver/kernel.h"
#include "runtime/versions.h"

namespace weft::driver {

class GraphRepeats;

class GraphWrites {
 public:
  /// A launch that the graph holds.
  struct Launch {
    std::shared_ptr<Kernel> kernel;
    KernelSignature* signature;
    std::vector<std::uint64_t> block;
    std::vector<std::int64_t> dims;
    LaunchPlace place;

    const char* bytes() const { return reinterpret_cast<const char*>(block.data()); }
  };

  GraphWrites();
  GraphWrites(const GraphWrites&) = delete;

  /// The writes to one range, and their author.
  void add(runtime::ByteRange range, std::string by);
  /// A launch; which of its arrays it writes is found out when somebody wants to know.
  void add(const LaunchWork& launch);
  /// Gradients, which an adjoint writes.
  void add_gradients(const KernelSignature& signature, const char* block, const std::string& by);
  /// Another graph that becomes part of this one.
  void include(std::shared_ptr<GraphWrites> graph);
  /// To be called before the graph runs. What tapes need of values that the graph itself makes stays as it is.
  void announce();
  std::uint64_t number() const { return number_; }

 private:
  struct Range {
    runtime::ByteRange range;
    std::string by;
  };
  /// One piece of work, in the order of the graph.
  struct Work {
    std::unique_ptr<Launch> launch;     // its ranges are known once it is settled; or
    std::shared_ptr<GraphWrites> part;  // another graph; or nothing but
    std::vector<Range> ranges;
    bool settled = false;
    bool sure = true;  // not in a branch
  };
  static void settle(Work& work);
  void announce_for(std::uint64_t number, GraphRepeats* repeats);

  std::vector<Work> work_;
  std::uint64_t number_;
};

/// What is captured on a device, or by the calling thread on the CPU (null device); null: nothing.
GraphWrites* captured_writes(const cuda::Device* device);
/// The same for the memory of an array.
GraphWrites* captured_writes(const runtime::Array& array);
/// Tells what is captured where it runs, if something is, of a launch.
void note_graph_launch(const LaunchWork& launch);

/// Gathers what is written by work that becomes part of a graph: on a device, or by the calling thread on the CPU (null).
void begin_graph_writes(const cuda::Device* device);
/// Ends that and gives it; null if it had not begun.
std::shared_ptr<GraphWrites> end_graph_writes(const cuda::Device* device);
/// What is gathered now for the graph of this number; null: it is not captured any more.
std::shared_ptr<GraphWrites> graph_writes_of(std::uint64_t number);
/// What is gathered now; null: nothing.
std::shared_ptr<GraphWrites> graph_writes_now(const cuda::Device* device);

}  // namespace weft::driver
