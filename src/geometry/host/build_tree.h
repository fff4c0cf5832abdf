// Trees built and refitted by the host, with all its cores. The same input gives the same bytes on any number of threads.
// Nothing is read outside of the input, whatever it holds: faces with bad indices, boxes that are inverted or not numbers
// are left out.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "geometry/tree.h"

namespace weft::geometry {

/// How a tree's topology is chosen. None of them changes an answer.
enum class Constructor : std::uint8_t {
  best,    // what this device walks fastest: binned surface areas behind a sort by cells
  sah,     // binned surface areas alone
  median,  // halves along the longest axis
  lbvh,    // by Morton order
};

/// What a tree is built over: the faces of a mesh (points, indices) or boxes (lowers, uppers). All arrays are plain host
/// memory, packed: three floats a point, three indices a face.
struct TreeInput {
  const float* points = nullptr;
  std::uint64_t point_count = 0;
  const std::int32_t* indices = nullptr;
  const float* lowers = nullptr;
  const float* uppers = nullptr;
  std::uint32_t count = 0;               // faces or boxes
  const std::int32_t* groups = nullptr;  // one for each, or none
  bool of_faces() const { return indices != nullptr || lowers == nullptr; }
};

struct TreeOptions {
  Constructor constructor = Constructor::best;
  std::uint32_t leaf_size = 0;  // a hint; 0: what is best
  bool moments = false;         // for winding numbers; faces only
};

/// Memory of a part of a tree: 64-byte aligned.
struct TreePart {
  std::shared_ptr<void> memory;
  std::uint64_t bytes = 0;
  template <class T>
  T* as() const {
    return static_cast<T*>(memory.get());
  }
};

/// A tree in memory. `wide` says which structs of tree.h it is made of.
struct HostTree {
  bool wide = true;
  bool of_faces = true;
  TreePart nodes, leaves, moments, groups;
  std::uint32_t node_count = 0;
  std::uint32_t item_count = 0;
  std::uint32_t entry_count = 0;
  std::uint32_t group_count = 0;
};

/// What a pass over the input found beside.
struct TreeFacts {
  std::int64_t bad_face = -1;  // the first face with an index outside of the points; −1: none
  float mean_edge = 0;         // mean length of the edges of the faces that are in the tree; 0 without
};

/// Builds a tree; throws runtime::OutOfMemory, and ArgumentError beyond kMaxItems. `facts` may be null.
HostTree build_tree(const TreeInput& input, const TreeOptions& options, bool wide, TreeFacts* facts);

/// Renews boxes, copies in leaves and moments from the input's present values, in the memory of the tree; the topology,
/// and what the build left out for its indices, stays. What has become not a number is left out, what has become finite
/// is back. `input` has the count, groups and indices of the build.
TreeFacts refit_tree(HostTree& tree, const TreeInput& input);

}  // namespace weft::geometry
