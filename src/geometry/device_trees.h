// Trees that a GPU builds and refits by itself. Its kernels are written in the kernel language, so the layer that compiles
// kernels brings them (driver/gpu_trees.cpp); without it, and for what they don't do, the host builds and sends.
#pragma once
#include <cstdint>

#include "cuda/device.h"
#include "geometry/host/build_tree.h"
#include "runtime/array.h"

namespace weft::geometry {

/// What a tree is over: the faces of a mesh (points, indices) or boxes (lowers, uppers), wherever they lie.
struct TreeSource {
  runtime::Array points, indices;
  runtime::Array lowers, uppers;
  runtime::Array groups;  // or none
  std::uint32_t count = 0;
  bool of_faces() const { return indices.is_valid(); }
};

/// A tree that a GPU built: memory of narrow nodes and leaves, and nothing else that is kept.
struct DeviceTree {
  runtime::Array nodes, leaves;  // 64 bytes a node, 48 a face or 32 a box; bytes
  runtime::Array moments;        // NarrowMoments, or none
  runtime::Array fours, pairs;   // of faces: what rays and closest points read (geometry/tree.h); or none
  runtime::Array edges;          // of faces that the host has not looked at: lengths together, how many; else none
  runtime::Array groups;         // a table of GroupRoot with room for as many groups as items, or none
  std::uint32_t count = 0;
};

class DeviceTrees {
 public:
  /// Queues a build on the device's current stream, with moments for winding numbers if they are asked for. Where `facts` are
  /// asked for (of faces), and of large meshes outside of captures, the GPU is waited for: it alone knows how many nodes there
  /// are, and they get no more memory than that. Else there is room for as many as there could be.
  virtual DeviceTree build(cuda::Device& device, const TreeSource& source, bool moments, TreeFacts* facts) = 0;
  /// Queues a refit, in place.
  virtual void refit(cuda::Device& device, DeviceTree& tree, const TreeSource& source) = 0;
  /// Queues what makes FourNodes and GridPairs from narrow nodes of faces (u32, 16 a node), in arrays that have room for
  /// them or are none yet.
  virtual void make_tables(cuda::Device& device, const runtime::Array& nodes, runtime::Array& fours,
                           runtime::Array& pairs) = 0;
  /// Queues what writes the mean edge of a tree with `edges` to where kernels find it.
  virtual void set_mean_edge(cuda::Device& device, const DeviceTree& tree, std::uint64_t to) = 0;

 protected:
  ~DeviceTrees() = default;
};

/// Those of the process; null: there are none.
DeviceTrees* device_trees();
void set_device_trees(DeviceTrees* trees);

}  // namespace weft::geometry
