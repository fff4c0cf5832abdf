// Building by the host or by a GPU, and the way of a tree that the host built to a GPU.
#include "geometry/placed_tree.h"

#include <cmath>
#include <cstring>
#include <string>

#include "runtime/allocator.h"
#include "runtime/errors.h"

namespace weft::geometry {
namespace {

using runtime::Array;

/// The elements of an array, packed, where the host reads them: the array itself, or a copy of what a GPU has.
class HostCopy {
 public:
  /// An invalid array gives none.
  explicit HostCopy(const Array& array) {
    if (!array.is_valid()) return;
    if (array.on_host() && array.is_contiguous()) {
      array_ = array;
      return;
    }
    array_ = Array::empty(array.element(), array.shape());
    array_.assign(array);
  }
  template <class T>
  const T* as() const {
    return array_.is_valid() ? static_cast<const T*>(array_.data()) : nullptr;
  }

 private:
  Array array_;
};

/// What a tree is over, where the host reads it.
struct HostSource {
  explicit HostSource(const TreeSource& source)
      : points(source.points),
        indices(source.indices),
        lowers(source.lowers),
        uppers(source.uppers),
        groups(source.groups) {
    input.points = points.as<float>();
    input.point_count = source.points.is_valid() ? std::uint64_t(source.points.size()) : 0;
    input.indices = indices.as<std::int32_t>();
    input.lowers = lowers.as<float>();
    input.uppers = uppers.as<float>();
    input.groups = groups.as<std::int32_t>();
    input.count = source.count;
  }
  HostCopy points, indices, lowers, uppers, groups;
  TreeInput input;
};

/// What the host does can't be part of a GPU's graph.
void refuse_in_capture(const cuda::Device* device) {
  if (device && device->capture())
    throw runtime::ArgumentError(
        "this tree is built by the host, which can't be part of a graph of a GPU: do it before the capture, or use a "
        "constructor that the GPU has itself (None or \"lbvh\")");
}

ArrayDesc words(void* data, std::uint64_t bytes) {
  ArrayDesc desc;
  desc.data = data;
  desc.ndim = 1;
  desc.shape[0] = std::int64_t(bytes / 4);
  desc.strides[0] = 4;
  return desc;
}

/// Sends a part of a tree, to where it was before if there is room already.
void send_part(cuda::Device& device, const TreePart& part, std::shared_ptr<void>& to) {
  if (part.bytes == 0) return to.reset();
  if (!to) to = device.allocate(part.bytes, false);
  device.copy(words(to.get(), part.bytes), &device, to, words(part.memory.get(), part.bytes), nullptr, part.memory, 4);
}

std::uint64_t address(const std::shared_ptr<void>& memory) { return reinterpret_cast<std::uint64_t>(memory.get()); }
std::uint64_t address(const Array& array) {
  return array.is_valid() ? reinterpret_cast<std::uint64_t>(array.data()) : 0;
}

Array copied(const Array& array) { return array.is_valid() ? array.copy() : array; }

}  // namespace

bool PlacedTree::builds_there(const TreeOptions& options) const {
  const bool morton = options.constructor == Constructor::best || options.constructor == Constructor::lbvh;
  return device_ && device_trees() && morton;
}

void PlacedTree::build(const TreeSource& source, const TreeOptions& options, bool look) {
  PlacedTree next(device_);
  next.known_ = known_;
  if (builds_there(options)) {
    look = look && source.of_faces();
    if (look && device_->capture())
      throw runtime::ArgumentError(
          "to make a Mesh the GPU is waited for, which can't be part of a graph: make it before the capture; it can be "
          "rebuilt in the graph");
    next.built_there_ = true;
    next.there_ = device_trees()->build(*device_, source, options.moments, look ? &next.known_ : nullptr);
  } else {
    refuse_in_capture(device_);
    const HostSource here(source);
    next.host_ = build_tree(here.input, options, device_ == nullptr, &next.known_);
    next.send();
  }
  *this = std::move(next);
}

void PlacedTree::refit(const TreeSource& source) {
  if (built_there_) {
    device_trees()->refit(*device_, there_, source);
    return;
  }
  refuse_in_capture(device_);
  const HostSource here(source);
  known_ = refit_tree(host_, here.input);
  send();
}

PlacedTree PlacedTree::copy() const {
  PlacedTree other(device_);
  other.known_ = known_;
  other.built_there_ = built_there_;
  other.there_ = there_;
  other.there_.nodes = copied(there_.nodes);
  other.there_.leaves = copied(there_.leaves);
  other.there_.moments = copied(there_.moments);
  other.there_.fours = copied(there_.fours);
  other.there_.pairs = copied(there_.pairs);
  other.there_.edges = copied(there_.edges);
  other.host_ = host_;
  for (TreePart HostTree::* part : {&HostTree::nodes, &HostTree::leaves, &HostTree::moments, &HostTree::groups}) {
    const TreePart& from = host_.*part;
    if (!from.bytes) continue;
    TreePart& to = other.host_.*part;
    to.memory = runtime::host_buffer(from.bytes, false);
    std::memcpy(to.memory.get(), from.memory.get(), from.bytes);
  }
  if (!built_there_) other.send();
  return other;
}

void PlacedTree::send() {
  if (!device_) return;
  send_part(*device_, host_.nodes, sent_nodes_);
  send_part(*device_, host_.leaves, sent_leaves_);
  send_part(*device_, host_.moments, sent_moments_);
  send_part(*device_, host_.groups, sent_groups_);
  if (!host_.of_faces || host_.node_count == 0 || !device_trees()) return;
  Array::External sent;
  sent.data = sent_nodes_.get();
  sent.owner = sent_nodes_;
  sent.space = device_;
  const Array nodes = Array::wrap(types::u32(), {std::int64_t(host_.node_count), 16}, std::move(sent));
  device_trees()->make_tables(*device_, nodes, made_fours_, made_pairs_);
}

TreeDescriptor PlacedTree::describe(HandleKind kind, std::uint32_t generation) const {
  TreeDescriptor tree{};
  tree.header.kind = std::uint32_t(kind);
  tree.header.generation = generation;
  if (built_there_) {
    tree.nodes = address(there_.nodes);
    tree.leaves = address(there_.leaves);
    tree.moments = address(there_.moments);
    tree.groups = address(there_.groups);
    tree.fours = address(there_.fours);
    tree.pairs = address(there_.pairs);
    const bool of_faces = there_.leaves.is_valid() && there_.leaves.extent(1) == 12;
    tree.header.flags = (of_faces ? kOfFaces : 0u) | (there_.moments.is_valid() ? kMoments : 0u);
    // How many nodes there are is known to the GPU alone; the root says where they end.
    tree.node_count = there_.count ? std::uint32_t(there_.nodes.extent(0)) : 0;
    tree.entry_count = there_.count;
    return tree;
  }
  tree.header.flags = (host_.of_faces ? kOfFaces : 0u) | (host_.moments.bytes ? kMoments : 0u);
  tree.nodes = device_ ? address(sent_nodes_) : address(host_.nodes.memory);
  tree.leaves = device_ ? address(sent_leaves_) : address(host_.leaves.memory);
  tree.moments = device_ ? address(sent_moments_) : address(host_.moments.memory);
  tree.groups = device_ ? address(sent_groups_) : address(host_.groups.memory);
  tree.fours = address(made_fours_);
  tree.pairs = address(made_pairs_);
  tree.node_count = host_.node_count;
  tree.entry_count = host_.entry_count;
  return tree;
}

void PlacedTree::write_mean_edge(std::uint64_t to) const {
  if (built_there_ && there_.edges.is_valid()) device_trees()->set_mean_edge(*device_, there_, to);
}

std::uint64_t PlacedTree::bytes() const {
  if (built_there_) {
    std::uint64_t bytes = 0;
    for (const Array* part :
         {&there_.nodes, &there_.leaves, &there_.moments, &there_.groups, &there_.fours, &there_.pairs})
      if (part->is_valid()) bytes += std::uint64_t(part->bytes());
    return bytes;
  }
  std::uint64_t bytes = host_.nodes.bytes + host_.leaves.bytes + host_.moments.bytes + host_.groups.bytes;
  for (const Array* part : {&made_fours_, &made_pairs_})
    if (part->is_valid()) bytes += std::uint64_t(part->bytes());
  return bytes;
}

namespace {
DeviceTrees* trees_of_process = nullptr;
}

DeviceTrees* device_trees() { return trees_of_process; }
void set_device_trees(DeviceTrees* trees) { trees_of_process = trees; }

}  // namespace weft::geometry
