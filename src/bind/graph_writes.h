// What a graph writes when it runs. Tapes hear of every write before it happens; those of a graph are gathered while it is
// captured, and announced before each run.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bind/kernel_object.h"
#include "runtime/versions.h"

namespace weft::bind {

class __attribute__((visibility("hidden"))) GraphWrites {
 public:
  GraphWrites();

  /// The writes to one range, and their author.
  void add(runtime::ByteRange range, std::string by) { ranges_.push_back({range, std::move(by)}); }
  /// A launch; which of its arrays it writes is found out when somebody wants to know.
  void add_launch(KernelObject& kernel, driver::KernelSignature& signature, const char* block, std::size_t rank);
  /// Gradients, which an adjoint writes.
  void add_gradients(const driver::KernelSignature& signature, const char* block, const std::string& by);
  /// Another graph that becomes part of this one.
  void include(std::shared_ptr<GraphWrites> graph) { parts_.push_back(std::move(graph)); }
  /// To be called before the graph runs. What tapes need of values that the graph itself makes stays as it is.
  void announce();
  std::uint64_t number() const { return number_; }

 private:
  struct Range {
    runtime::ByteRange range;
    std::string by;
  };
  struct Launch {
    std::shared_ptr<KernelObject> kernel;
    driver::KernelSignature* signature;
    std::vector<std::uint64_t> block;
    std::size_t rank;
  };
  void settle(const Launch& launch);
  void announce_for(std::uint64_t number);

  std::vector<Range> ranges_;
  std::vector<Launch> launches_;  // that nobody has asked about so far
  std::vector<std::shared_ptr<GraphWrites>> parts_;
  std::uint64_t number_;
};

/// What is captured on a device, or by the calling thread on the CPU (null device); null: nothing.
GraphWrites* captured_writes(const cuda::Device* device);
/// The same for the memory of an array.
GraphWrites* captured_writes(const runtime::Array& array);

}  // namespace weft::bind
