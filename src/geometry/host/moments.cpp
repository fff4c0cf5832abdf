// Moments from the leaves up: sums over faces in leaves, sums over children above, moved to their common centre (Barill et
// al. 2018, fast winding numbers, order two). In double: what is summed cancels on closed meshes.
#include "geometry/host/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "geometry/host/entries.h"
#include "geometry/host/subtrees.h"

namespace weft::geometry {
namespace {

/// The pairs of second moments: xx yy zz xy xz yz.
constexpr int kPairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

struct Moments {
  double centre[3] = {};
  double area = 0, weighted[3] = {};  // area, and its product with where it lies: centres follow from these
  double normal[3] = {}, first[9] = {}, second[18] = {};

  /// Adds another one's, moved from its centre to this one.
  void add(const Moments& other) {
    const double s[3] = {other.centre[0] - centre[0], other.centre[1] - centre[1], other.centre[2] - centre[2]};
    for (int i = 0; i < 3; ++i) {
      const double n = other.normal[i];
      const double* m = other.first + 3 * i;
      normal[i] += n;
      for (int j = 0; j < 3; ++j) first[3 * i + j] += m[j] + n * s[j];
      for (int p = 0; p < 6; ++p) {
        const auto [j, k] = kPairs[p];
        second[6 * i + p] += other.second[6 * i + p] + m[j] * s[k] + m[k] * s[j] + n * s[j] * s[k];
      }
    }
    area += other.area;
    for (int d = 0; d < 3; ++d) weighted[d] += other.weighted[d];
  }
};

struct Face {
  double corners[3][3];
};

/// Half the cross product of two edges.
void area_vector(const Face& face, double out[3]) {
  double u[3], v[3];
  for (int d = 0; d < 3; ++d) {
    u[d] = face.corners[1][d] - face.corners[0][d];
    v[d] = face.corners[2][d] - face.corners[0][d];
  }
  out[0] = 0.5 * (u[1] * v[2] - u[2] * v[1]);
  out[1] = 0.5 * (u[2] * v[0] - u[0] * v[2]);
  out[2] = 0.5 * (u[0] * v[1] - u[1] * v[0]);
}

/// Area and where it lies.
void weigh(const Face& face, Moments& sum) {
  double n[3];
  area_vector(face, n);
  const double area = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  sum.area += area;
  for (int d = 0; d < 3; ++d)
    sum.weighted[d] += area * ((face.corners[0][d] + face.corners[1][d] + face.corners[2][d]) / 3);
}

/// Adds a face's moments around the centre. The mean of a product over a triangle is a twelfth of the sum over its corners
/// plus the product of the sums.
void integrate(const Face& face, Moments& sum) {
  double n[3], x[3][3], total[3];
  area_vector(face, n);
  for (int d = 0; d < 3; ++d) {
    for (int c = 0; c < 3; ++c) x[c][d] = face.corners[c][d] - sum.centre[d];
    total[d] = x[0][d] + x[1][d] + x[2][d];
  }
  for (int i = 0; i < 3; ++i) {
    sum.normal[i] += n[i];
    for (int j = 0; j < 3; ++j) sum.first[3 * i + j] += n[i] * (total[j] / 3);
    for (int p = 0; p < 6; ++p) {
      const auto [j, k] = kPairs[p];
      const double corners = x[0][j] * x[0][k] + x[1][j] * x[1][k] + x[2][j] * x[2][k];
      sum.second[6 * i + p] += n[i] * ((corners + total[j] * total[k]) / 12);
    }
  }
}

/// Calls f for each finite face of an entry.
template <class F>
void each_face(const FaceBlock& block, const F& f) {
  for (std::uint32_t k = 0; k < kBlock; ++k) {
    if (std::isnan(block.corners[0][k])) continue;
    Face face;
    for (int r = 0; r < 9; ++r) face.corners[r / 3][r % 3] = double(block.corners[r][k]);
    f(face);
  }
}
template <class F>
void each_face(const NarrowFace& entry, const F& f) {
  if (std::isnan(entry.x0[0])) return;
  Face face;
  for (int d = 0; d < 3; ++d) {
    face.corners[0][d] = double(entry.x0[d]);
    face.corners[1][d] = double(entry.x1[d]);
    face.corners[2][d] = double(entry.x2[d]);
  }
  f(face);
}

/// Where a child's moments are taken around: a float in any case, as kernels know it as one.
template <class Node>
void place_centre(const Node& node, std::uint32_t slot, Moments& sum) {
  for (int d = 0; d < 3; ++d) {
    const double low = double(node.planes[kLowerX + d][slot]), high = double(node.planes[kUpperX + d][slot]);
    const double centre = sum.area > 0 ? std::clamp(sum.weighted[d] / sum.area, low, high) : 0.5 * (low + high);
    sum.centre[d] = double(float(centre));
  }
}

/// No smaller than the distance from the centre to any corner of the child's box.
template <class Node>
float radius(const Node& node, std::uint32_t slot, const Moments& sum) {
  double squares = 0;
  for (int d = 0; d < 3; ++d) {
    const double far = std::max(double(node.planes[kUpperX + d][slot]) - sum.centre[d],
                                sum.centre[d] - double(node.planes[kLowerX + d][slot]));
    squares += far * far;
  }
  const double exact = std::sqrt(squares) * (1 + 1e-12);
  const auto rounded = float(std::min(exact, double(std::numeric_limits<float>::max())));
  return double(rounded) < exact ? std::nextafter(rounded, std::numeric_limits<float>::infinity()) : rounded;
}

/// As a float; beyond their range the largest, since an infinite moment times a zero would be no number.
float stored(double value) {
  constexpr double most = double(std::numeric_limits<float>::max());
  return float(std::clamp(value, -most, most));
}

template <class Node, class Rows>
void store_column(const Node& node, std::uint32_t slot, const Moments& sum, Rows& rows) {
  std::uint32_t row = 0;
  for (int d = 0; d < 3; ++d) rows.rows[row++][slot] = float(sum.centre[d]);
  rows.rows[row++][slot] = radius(node, slot, sum);
  for (double n : sum.normal) rows.rows[row++][slot] = stored(n);
  for (double m : sum.first) rows.rows[row++][slot] = stored(m);
  for (double m : sum.second) rows.rows[row++][slot] = stored(m);
}

template <class Node, class Entry, class Rows>
void compute(const HostTree& tree) {
  const auto* nodes = tree.nodes.as<Node>();
  const auto* entries = tree.leaves.as<Entry>();
  auto* out = tree.moments.as<Rows>();
  // Of all that is below a node: what its parent needs.
  std::vector<Moments> totals(tree.node_count);
  from_leaves_up(nodes, tree.node_count, [&](std::uint32_t n) {
    const Node& node = nodes[n];
    Rows rows{};
    Moments parts[kWidth<Node>], total;
    std::uint32_t used = 0;
    for (; used < kWidth<Node> && node.children[used] != 0; ++used) {
      const std::uint32_t child = node.children[used];
      Moments& sum = parts[used];
      if (!(node.planes[kLowerX][used] <= node.planes[kUpperX][used])) continue;  // nothing in it
      if (is_leaf(child)) {
        const Entry* first = entries + leaf_first(child);
        const Entry* last = first + leaf_entries(child);
        for (const Entry* e = first; e < last; ++e) each_face(*e, [&](const Face& face) { weigh(face, sum); });
        place_centre(node, used, sum);
        for (const Entry* e = first; e < last; ++e) each_face(*e, [&](const Face& face) { integrate(face, sum); });
      } else {
        // Its own total lies around a centre of the same area, which may differ in the clamp alone.
        sum.area = totals[child].area;
        std::copy_n(totals[child].weighted, 3, sum.weighted);
        place_centre(node, used, sum);
        sum.area = 0;
        std::fill_n(sum.weighted, 3, 0.0);
        sum.add(totals[child]);
      }
      store_column(node, used, sum, rows);
      total.area += sum.area;
      for (int d = 0; d < 3; ++d) total.weighted[d] += sum.weighted[d];
    }
    if (total.area > 0)
      for (int d = 0; d < 3; ++d) total.centre[d] = total.weighted[d] / total.area;
    total.area = 0;
    std::fill_n(total.weighted, 3, 0.0);
    for (std::uint32_t k = 0; k < used; ++k) total.add(parts[k]);
    totals[n] = total;
    out[n] = rows;
  });
}

}  // namespace

std::uint64_t moment_bytes(const HostTree& tree) {
  return std::uint64_t(tree.node_count) * (tree.wide ? sizeof(WideMoments) : sizeof(NarrowMoments));
}

void compute_moments(const HostTree& tree) {
  if (tree.wide)
    compute<WideNode, FaceBlock, WideMoments>(tree);
  else
    compute<NarrowNode, NarrowFace, NarrowMoments>(tree);
}

}  // namespace weft::geometry
