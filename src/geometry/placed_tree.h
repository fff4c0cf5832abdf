// A tree where kernels of a device read it: the host's own memory, or a GPU's, to which the host sends what it built.
#pragma once
#include <memory>

#include "cuda/device.h"
#include "geometry/descriptors.h"
#include "geometry/host/build_tree.h"
#include "runtime/array.h"

namespace weft::geometry {

class PlacedTree {
 public:
  explicit PlacedTree(cuda::Device* device) : device_(device) {}

  /// Builds anew; what was there stays until all is ready. Throws OutOfMemory.
  void build(const TreeInput& input, const TreeOptions& options, TreeFacts* facts);
  /// Renews boxes and leaves for the same topology.
  TreeFacts refit(const TreeInput& input);
  /// The same tree in memory of its own, to be changed while somebody still reads this one.
  PlacedTree copy() const;
  /// Brings a copy to the device; refit does so by itself.
  void send();
  /// The descriptor of the tree as it is now.
  TreeDescriptor describe(HandleKind kind, std::uint32_t generation) const;
  /// Bytes that kernels can reach.
  std::uint64_t bytes() const;
  const HostTree& host() const { return host_; }

 private:
  cuda::Device* device_;
  HostTree host_;                                                                // the tree, or what the GPU was sent
  std::shared_ptr<void> sent_nodes_, sent_leaves_, sent_moments_, sent_groups_;  // a GPU's
};

/// The elements of an array, packed, where the host reads them: the array itself, or a copy of what a GPU has.
class HostCopy {
 public:
  /// An invalid array gives none.
  explicit HostCopy(const runtime::Array& array);
  const void* data() const { return array_.is_valid() ? array_.data() : nullptr; }

 private:
  runtime::Array array_;
};

/// Throws ArgumentError if the device captures a graph: what the host does can't be part of one.
void refuse_in_capture(cuda::Device* device, const char* what);

}  // namespace weft::geometry
