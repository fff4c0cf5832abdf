// The third part of the prelude: what a mesh's descriptor and its tree look like to C++, and the test of rays and triangles.
// Layouts are those of geometry/descriptors.h and geometry/tree.h; tests/python/test_native_geometry.py compares.
#include "codegen/native/prelude.h"

namespace weft::codegen {

const std::string_view kNativeGeometry = R"text(#line 1 "weft prelude, geometry"
namespace wp {

// A node as half of a binary tree's: a corner of its box, and the child on that side. b says that a node is not to be
// taken apart: a child is no node. On a CPU none is, for there nodes have eight children.
struct bvh_node_t {
  float x, y, z;
  unsigned i : 31, b : 1;
};
struct weft_tree_t {
  uint32_t header[4];
  const char* nodes;
  const void *leaves, *moments, *groups;
  uint32_t nobodys, node_count, reserved, entry_count;
};
struct weft_root_t {
  int number;
  int operator*() const { return number; }
};
struct weft_nodes_t {
  const char* nodes;
  bool upper;
};
struct BVH {
  weft_root_t root;
  weft_nodes_t node_lowers, node_uppers;
  int num_nodes;
};
inline bvh_node_t bvh_load_node(const weft_nodes_t& from, int number) {
#ifdef __NVPTX__
  const unsigned width = 2, bytes = 64;
#else
  const unsigned width = 8, bytes = 256;
#endif
  const char* node = from.nodes + (size_t)(unsigned)number * bytes;
  const float* planes = (const float*)node + (from.upper ? 3 * width : 0);
  const uint32_t* children = (const uint32_t*)((const float*)node + 6 * width);
  float corner[3];
  for (unsigned axis = 0; axis < 3; ++axis) {
    const float* row = planes + axis * width;
    corner[axis] = row[0];
    for (unsigned k = 1; k < width; ++k)
      corner[axis] = from.upper ? (row[k] > corner[axis] ? row[k] : corner[axis])
                                : (row[k] < corner[axis] ? row[k] : corner[axis]);
  }
  const uint32_t child = children[from.upper ? 1 : 0];
  // A leaf has the highest bit, and no child is the root.
  const bool whole = width != 2 || int32_t(children[0]) <= 0 || int32_t(children[1]) <= 0;
  return bvh_node_t{corner[0], corner[1], corner[2], child & 0x7fffffffu, whole};
}

struct Mesh {
  array_t<vec_t<3, float>> points, velocities;
  array_t<int32_t> indices;
  BVH bvh;
  int num_points, num_tris;
};
struct weft_mesh_t {
  uint32_t header[4];
  float mean_edge;
  uint32_t reserved[3];
  array_t<vec_t<3, float>> points, velocities;
  array_t<int32_t> indices;
  uint64_t padding[3];
  weft_tree_t tree;
};
static_assert(__builtin_offsetof(weft_mesh_t, points) == 32 && __builtin_offsetof(weft_mesh_t, tree) == 320, "");
inline Mesh mesh_get(uint64_t id) {
  Mesh out = {};
  out.bvh.root.number = -1;
  if (id == 0) return out;
  const weft_mesh_t& mesh = *(const weft_mesh_t*)id;
  out.points = mesh.points;
  out.velocities = mesh.velocities;
  out.indices = mesh.indices;
  out.bvh.root.number = mesh.tree.node_count ? 0 : -1;
  out.bvh.node_lowers = {mesh.tree.nodes, false};
  out.bvh.node_uppers = {mesh.tree.nodes, true};
  out.bvh.num_nodes = int(mesh.tree.node_count);
  out.num_points = int(mesh.points.shape[0]);
  out.num_tris = int(mesh.indices.shape[0] / 3);
  return out;
}

// Rays and triangles without gaps between neighbours: Woop, Benthin, Wald, "Watertight Ray/Triangle Intersection", 2013.
// u and v are the weights of the first two corners; sign is positive where the ray meets the front.
inline bool intersect_ray_tri_woop(const vec_t<3, float>& start, const vec_t<3, float>& dir, const vec_t<3, float>& a,
                                   const vec_t<3, float>& b, const vec_t<3, float>& c, float& t, float& u, float& v,
                                   float& sign, vec_t<3, float>* normal) {
  int z = 0;
  if (abs(dir[1]) > abs(dir[z])) z = 1;
  if (abs(dir[2]) > abs(dir[z])) z = 2;
  int x = (z + 1) % 3, y = (x + 1) % 3;
  if (dir[z] < 0.0f) {
    int other = x;
    x = y;
    y = other;
  }
  const float sx = dir[x] / dir[z], sy = dir[y] / dir[z], sz = 1.0f / dir[z];
  const vec_t<3, float> p = a - start, q = b - start, r = c - start;
  const float px = p[x] - sx * p[z], py = p[y] - sy * p[z];
  const float qx = q[x] - sx * q[z], qy = q[y] - sy * q[z];
  const float rx = r[x] - sx * r[z], ry = r[y] - sy * r[z];
  float wa = rx * qy - ry * qx, wb = px * ry - py * rx, wc = qx * py - qy * px;
  if (wa == 0.0f || wb == 0.0f || wc == 0.0f) {
    wa = float(double(rx) * double(qy) - double(ry) * double(qx));
    wb = float(double(px) * double(ry) - double(py) * double(rx));
    wc = float(double(qx) * double(py) - double(qy) * double(px));
  }
  if ((wa < 0.0f || wb < 0.0f || wc < 0.0f) && (wa > 0.0f || wb > 0.0f || wc > 0.0f)) return false;
  const float sum = wa + wb + wc;
  if (sum == 0.0f) return false;
  const float scaled = wa * (sz * p[z]) + wb * (sz * q[z]) + wc * (sz * r[z]);
  if ((sum < 0.0f && scaled > 0.0f) || (sum > 0.0f && scaled < 0.0f)) return false;
  t = scaled / sum;
  u = wa / sum;
  v = wb / sum;
  sign = sum;
  if (normal) *normal = cross(b - a, c - a);
  return true;
}

}  // namespace wp
)text";

}  // namespace weft::codegen
