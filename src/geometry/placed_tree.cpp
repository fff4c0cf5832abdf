// Building by the host for either device, and the way of a tree to a GPU.
#include "geometry/placed_tree.h"

#include <cstring>
#include <string>

#include "runtime/allocator.h"
#include "runtime/errors.h"

namespace weft::geometry {
namespace {

ArrayDesc words(void* data, std::uint64_t bytes) {
  ArrayDesc desc;
  desc.data = data;
  desc.ndim = 1;
  desc.shape[0] = std::int64_t(bytes / 4);
  desc.strides[0] = 4;
  return desc;
}

/// Sends a part of a tree, to where it was before if that is large enough for it.
void send_part(cuda::Device& device, const TreePart& part, std::shared_ptr<void>& to, bool same_size) {
  if (part.bytes == 0) return to.reset();
  if (!same_size || !to) to = device.allocate(part.bytes, false);
  device.copy(words(to.get(), part.bytes), &device, to, words(part.memory.get(), part.bytes), nullptr, part.memory, 4);
}

std::uint64_t address(const std::shared_ptr<void>& memory) { return reinterpret_cast<std::uint64_t>(memory.get()); }

}  // namespace

void PlacedTree::build(const TreeInput& input, const TreeOptions& options, TreeFacts* facts) {
  HostTree fresh = build_tree(input, options, device_ == nullptr, facts);
  if (!device_) return void(host_ = std::move(fresh));
  PlacedTree next(device_);
  next.host_ = std::move(fresh);
  next.send();
  *this = std::move(next);
}

TreeFacts PlacedTree::refit(const TreeInput& input) {
  TreeFacts facts = refit_tree(host_, input);
  if (device_) send();
  return facts;
}

PlacedTree PlacedTree::copy() const {
  PlacedTree other(device_);
  other.host_ = host_;
  for (TreePart HostTree::* part : {&HostTree::nodes, &HostTree::leaves, &HostTree::moments, &HostTree::groups}) {
    const TreePart& from = host_.*part;
    if (!from.bytes) continue;
    TreePart& to = other.host_.*part;
    to.memory = runtime::host_buffer(from.bytes, false);
    std::memcpy(to.memory.get(), from.memory.get(), from.bytes);
  }
  return other;  // sent when it has changed
}

void PlacedTree::send() {
  if (!device_) return;
  const bool again = sent_nodes_ != nullptr;
  send_part(*device_, host_.nodes, sent_nodes_, again);
  send_part(*device_, host_.leaves, sent_leaves_, again);
  send_part(*device_, host_.moments, sent_moments_, again);
  send_part(*device_, host_.groups, sent_groups_, again);
}

TreeDescriptor PlacedTree::describe(HandleKind kind, std::uint32_t generation) const {
  TreeDescriptor tree{};
  tree.header.kind = std::uint32_t(kind);
  tree.header.generation = generation;
  tree.header.flags = (host_.of_faces ? kOfFaces : 0u) | (host_.moments.bytes ? kMoments : 0u);
  tree.nodes = device_ ? address(sent_nodes_) : address(host_.nodes.memory);
  tree.leaves = device_ ? address(sent_leaves_) : address(host_.leaves.memory);
  tree.moments = device_ ? address(sent_moments_) : address(host_.moments.memory);
  tree.groups = device_ ? address(sent_groups_) : address(host_.groups.memory);
  tree.node_count = host_.node_count;
  tree.item_count = host_.item_count;
  tree.group_count = host_.group_count;
  tree.entry_count = host_.entry_count;
  return tree;
}

std::uint64_t PlacedTree::bytes() const {
  return host_.nodes.bytes + host_.leaves.bytes + host_.moments.bytes + host_.groups.bytes;
}

HostCopy::HostCopy(const runtime::Array& array) {
  if (!array.is_valid()) return;
  if (array.on_host() && array.is_contiguous()) {
    array_ = array;
    return;
  }
  array_ = runtime::Array::empty(array.element(), array.shape());
  array_.assign(array);
}

void refuse_in_capture(cuda::Device* device, const char* what) {
  if (device && device->capture())
    throw runtime::ArgumentError(std::string(what) +
                                 " on a GPU is the host's work and can't be part of a graph: do it before the capture");
}

}  // namespace weft::geometry
