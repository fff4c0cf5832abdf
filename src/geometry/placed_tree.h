// A tree where kernels of a device read it: in the host's memory, or in a GPU's, which builds it itself or gets it sent.
#pragma once
#include <memory>

#include "cuda/device.h"
#include "geometry/descriptors.h"
#include "geometry/device_trees.h"
#include "geometry/host/build_tree.h"
#include "runtime/array.h"

namespace weft::geometry {

class PlacedTree {
 public:
  explicit PlacedTree(cuda::Device* device) : device_(device) {}

  /// Builds anew; what was there stays until all is ready. `look`: what is wrong with the input must be known at once, for
  /// which a GPU is waited for.
  /// Throws OutOfMemory, and Error where a GPU's graph is captured and the host would have to help.
  void build(const TreeSource& source, const TreeOptions& options, bool look);
  /// Renews boxes and leaves for the same topology.
  void refit(const TreeSource& source);
  /// The same tree in memory of its own, to be changed while somebody still reads this one.
  PlacedTree copy() const;
  /// The descriptor of the tree as it is now.
  TreeDescriptor describe(HandleKind kind, std::uint32_t generation) const;
  /// What the last build or refit found beside the tree, as far as the host was told.
  const TreeFacts& facts() const { return known_; }
  /// Queues what puts the mean edge of the last build or refit there, if only a GPU knows it: asking would mean waiting.
  void write_mean_edge(std::uint64_t to) const;
  /// Bytes that kernels can reach.
  std::uint64_t bytes() const;

 private:
  bool builds_there(const TreeOptions& options) const;
  void send();

  cuda::Device* device_;
  HostTree host_;                                                                // the tree, or what the GPU was sent
  std::shared_ptr<void> sent_nodes_, sent_leaves_, sent_moments_, sent_groups_;  // a GPU's
  runtime::Array made_fours_, made_pairs_;                                       // of those, there
  DeviceTree there_;                                                             // or what the GPU built
  bool built_there_ = false;
  TreeFacts known_;  // of the last time that the host looked
};

}  // namespace weft::geometry
