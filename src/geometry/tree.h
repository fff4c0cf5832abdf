// Trees over faces and boxes as they lie in memory: nodes, leaves, moments. One logical layout of width N: six rows of N
// planes, N child words, a tail; a core walks nodes of eight children, a GPU of two. Builders write these, kernels of
// src/stdlib/bvh*.py read them by offset, so every struct here is part of a contract. docs/design/geometry.md says why.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::geometry {

inline constexpr std::uint32_t kWide = 8;       // children of a node on a CPU
inline constexpr std::uint32_t kNarrow = 2;     // and on a GPU
inline constexpr std::uint32_t kBlock = 4;      // faces or boxes in a block of a CPU's leaf
inline constexpr std::uint32_t kMaxDepth = 60;  // of any tree: stacks of kernels rely on it
inline constexpr std::uint32_t kMaxItems = 1u << 28;

/// A child: the number of a node, or, with the highest bit, a leaf: how many entries less one (bits 28 to 30) and the
/// first of them (bits 0 to 27). Entries are blocks of four (wide) or single faces or boxes (narrow). An empty child is 0,
/// its planes are +inf (lower) and −inf (upper).
inline constexpr std::uint32_t kLeafBit = 0x80000000u;
inline constexpr std::uint32_t kMaxLeafEntries = 8;
constexpr std::uint32_t leaf_word(std::uint32_t first, std::uint32_t entries) {
  return kLeafBit | (entries - 1) << 28 | first;
}
constexpr bool is_leaf(std::uint32_t word) { return (word & kLeafBit) != 0; }
constexpr std::uint32_t leaf_first(std::uint32_t word) { return word & 0x0fffffffu; }
constexpr std::uint32_t leaf_entries(std::uint32_t word) { return ((word >> 28) & 7u) + 1; }

/// Rows of planes: the lower x, y, z of the children, then the upper.
enum PlaneRow : std::uint32_t { kLowerX, kLowerY, kLowerZ, kUpperX, kUpperY, kUpperZ };

/// Nodes lie in depth-first order: a node's subtree is the nodes from it up to its escape. `parent` is the parent's number
/// times N plus the slot there; the root's is kNoParent. Used children come first, `count` of them.
inline constexpr std::uint32_t kNoParent = 0xffffffffu;

struct alignas(64) WideNode {
  float planes[6][kWide];
  std::uint32_t children[kWide];
  std::uint32_t parent, count, escape;
  std::uint32_t reserved[5];
};
static_assert(sizeof(WideNode) == 256 && offsetof(WideNode, children) == 192 && offsetof(WideNode, parent) == 224);

struct alignas(64) NarrowNode {
  float planes[6][kNarrow];
  std::uint32_t children[kNarrow];
  std::uint32_t parent, escape;
};
static_assert(sizeof(NarrowNode) == 64 && offsetof(NarrowNode, children) == 48 && offsetof(NarrowNode, parent) == 56);

/// Beside its narrow nodes a GPU's tree of faces has two tables more, by the same numbers. Rays read nodes of four: the
/// children's children, or in the first of a child's two places the child itself if it is a leaf. Rows of planes as elsewhere,
/// each four floats. Where there is no child, all bits of its word are set.
struct alignas(128) FourNode {
  float planes[6][4];
  std::uint32_t children[4];
  std::uint32_t reserved[4];
};
static_assert(sizeof(FourNode) == 128 && offsetof(FourNode, children) == 96);

/// Closest points read boxes on a grid over all of the tree, rounded outwards. The table begins with its head: a place x is
/// x · inverse + offset steps from the grid's corner, and a step is a power of two.
struct alignas(32) GridHead {
  float offset[3];
  float inverse;  // of a step
  float step;     // 2^63 at most: distances beyond its square are infinite
  std::uint32_t reserved[3];
};
static_assert(sizeof(GridHead) == 32);

/// A node's two children: planes along x, y, z, the lower in the lower half of a word (65535 and 0 of a box around nothing),
/// and words as in the node. Instead of an empty child there is the other one again.
struct alignas(32) GridPair {
  std::uint32_t planes[2][3];
  std::uint32_t children[2];
};
static_assert(sizeof(GridPair) == 32);

/// Four faces of a wide leaf: rows are x0 y0 z0 x1 … z2. Unused places hold NaN corners and number −1, and come last.
struct alignas(16) FaceBlock {
  float corners[9][kBlock];
  std::int32_t numbers[kBlock];
};
static_assert(sizeof(FaceBlock) == 160);

/// Four boxes of a wide leaf, rows as in nodes. Unused places hold +inf, −inf and number −1, and come last.
struct alignas(16) BoxBlock {
  float planes[6][kBlock];
  std::int32_t numbers[kBlock];
};
static_assert(sizeof(BoxBlock) == 112);

/// A face of a narrow leaf: three corners of four words, the number in the first one's fourth. The other two are zero, and
/// kernels count on it: they read corners as a whole.
struct alignas(16) NarrowFace {
  float x0[3];
  std::int32_t number;
  float x1[3];
  std::uint32_t reserved1;
  float x2[3];
  std::uint32_t reserved2;
};
static_assert(sizeof(NarrowFace) == 48);

/// A box of a narrow leaf.
struct alignas(16) NarrowBox {
  float lower[3];
  std::int32_t number;
  float upper[3];
  std::uint32_t reserved;
};
static_assert(sizeof(NarrowBox) == 32);

/// For winding numbers, beside each node, a column for each child: centre (3), radius around it, sum of the faces' area
/// vectors n (3), first moments n_i·d_j (9, row by row) and second ones n_i·d_j·d_k (18: for each i the pairs xx yy zz xy
/// xz yz), d being offsets from the centre, integrated over the faces.
inline constexpr std::uint32_t kMomentRows = 34;
struct alignas(64) WideMoments {
  float rows[kMomentRows][kWide];
};
struct alignas(16) NarrowMoments {
  float rows[kMomentRows][kNarrow];
};

/// Where a group's subtree begins; a table of them, by rising group, behind an entry whose `group` says how many there are:
/// when a GPU builds, the host does not know.
struct GroupRoot {
  std::int32_t group;
  std::int32_t root;
};

}  // namespace weft::geometry
