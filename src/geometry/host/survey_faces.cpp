// What a mesh is told about its faces beside the tree. Sums go by chunks of fixed size in the order of faces, so that build
// and refit agree on every bit whatever the tree looks like.
#include <cmath>
#include <vector>

#include "geometry/host/items.h"
#include "geometry/host/parallel.h"

namespace weft::geometry {
namespace {

constexpr std::uint64_t kChunk = 4096;
constexpr std::uint64_t kRun = 16;  // faces whose edges are added up as floats

struct Part {
  double length = 0;  // of all edges
  std::uint64_t faces = 0;
  std::int64_t bad_face = -1;
};

/// Lengths of the three edges; the last lane repeats the third.
Float4 edge_lengths(Float4 a, Float4 b, Float4 c) {
  const Float4 u = b - a, v = c - b, w = a - c;
  const Float4 u2 = u * u, v2 = v * v, w2 = w * w;
  const Float4 xy = __builtin_shufflevector(u2, v2, 0, 4, 1, 5), z = __builtin_shufflevector(u2, v2, 2, 6, 2, 6);
  const Float4 sum = __builtin_shufflevector(xy, w2, 0, 1, 4, 4) + __builtin_shufflevector(xy, w2, 2, 3, 5, 5) +
                     __builtin_shufflevector(z, w2, 0, 1, 6, 6);
#if defined(__aarch64__)
  return Float4(vsqrtq_f32(float32x4_t(sum)));
#elif defined(__SSE__)
  return Float4(_mm_sqrt_ps(__m128(sum)));
#else
  return Float4{std::sqrt(sum[0]), std::sqrt(sum[1]), std::sqrt(sum[2]), std::sqrt(sum[3])};
#endif
}

/// The plain case: every face is fine and squares of lengths are neither too large nor too small. False otherwise.
bool survey_plain(const TreeInput& input, std::uint64_t first, std::uint64_t last, Part& part) {
  const PointReader point(input);
  double sums[3] = {};
  for (std::uint64_t run = first; run < last; run += kRun) {
    Float4 lengths = all4(0);
    for (std::uint64_t i = run; i < std::min(run + kRun, last); ++i) {
      const std::int32_t* corners = input.indices + 3 * i;
      const std::uint32_t largest =
          std::max({std::uint32_t(corners[0]), std::uint32_t(corners[1]), std::uint32_t(corners[2])});
      if (point.before_last(largest)) [[likely]] {
        lengths += edge_lengths(point.inner(corners[0]), point.inner(corners[1]), point.inner(corners[2]));
      } else {
        if (!point.has(std::int32_t(largest))) return false;
        lengths += edge_lengths(point(corners[0]), point(corners[1]), point(corners[2]));
      }
    }
    for (int k = 0; k < 3; ++k) sums[k] += double(lengths[k]);
  }
  part.length = sums[0] + sums[1] + sums[2];
  part.faces = last - first;
  return part.length > 1e-18 * double(part.faces) && part.length < double(kInfinity);
}

void survey_carefully(const TreeInput& input, std::uint64_t first, std::uint64_t last, Part& part) {
  const PointReader point(input);
  part = {};
  for (std::uint64_t i = first; i < last; ++i) {
    const std::int32_t* corners = input.indices + 3 * i;
    double x[3][3];
    bool fine = true, finite = true;
    for (int k = 0; k < 3 && fine; ++k) {
      fine = point.has(corners[k]);
      for (int d = 0; d < 3 && fine; ++d) {
        x[k][d] = double(input.points[3 * std::int64_t(corners[k]) + d]);
        finite &= std::isfinite(x[k][d]);
      }
    }
    if (!fine && part.bad_face < 0) part.bad_face = std::int64_t(i);
    if (!fine || !finite) continue;
    for (int k = 0; k < 3; ++k) {
      const double* p = x[k];
      const double* q = x[(k + 1) % 3];
      const double d[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
      part.length += std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    ++part.faces;
  }
}

}  // namespace

TreeFacts survey_faces(const TreeInput& input) {
  TreeFacts facts;
  if (!input.of_faces() || input.count == 0) return facts;
  std::vector<Part> parts((input.count + kChunk - 1) / kChunk);
  in_chunks(input.count, kChunk, [&](std::size_t chunk, std::uint64_t first, std::uint64_t last) {
    if (!survey_plain(input, first, last, parts[chunk])) survey_carefully(input, first, last, parts[chunk]);
  });
  double length = 0;
  std::uint64_t faces = 0;
  for (const Part& part : parts) {
    length += part.length;
    faces += part.faces;
    if (facts.bad_face < 0) facts.bad_face = part.bad_face;
  }
  if (faces > 0) facts.mean_edge = float(length / (3 * double(faces)));
  return facts;
}

}  // namespace weft::geometry
