// From faces and boxes to items: one pass in chunks, which hardly ever has to be tidied.
#include <vector>

#include "geometry/host/items.h"
#include "geometry/host/parallel.h"

namespace weft::geometry {
namespace {

constexpr std::uint64_t kChunk = 16384;
constexpr std::uint32_t kLeftOut = 0xffffffffu;

Item face_item(const TreeInput& input, const PointReader& point, std::uint32_t number) {
  const std::int32_t* corners = input.indices + 3 * std::uint64_t(number);
  if (!point.has(corners[0]) || !point.has(corners[1]) || !point.has(corners[2])) [[unlikely]]
    return make_item({}, kLeftOut, 0);
  const Float4 a = point(corners[0]), b = point(corners[1]), c = point(corners[2]);
  if (!all_zero3(zero_if_finite(a) + zero_if_finite(b) + zero_if_finite(c))) [[unlikely]]
    return make_item({}, number, 0);
  return make_item({least(least(a, b), c), greatest(greatest(a, b), c)}, number, 1);
}

Item box_item(const TreeInput& input, std::uint32_t number) {
  const float* low = input.lowers + 3 * std::uint64_t(number);
  const float* high = input.uppers + 3 * std::uint64_t(number);
  const Float4 lower{low[0], low[1], low[2], 0}, upper{high[0], high[1], high[2], 0};
  const bool ordered = low[0] <= high[0] && low[1] <= high[1] && low[2] <= high[2];
  if (!ordered || !all_zero3(zero_if_finite(lower) + zero_if_finite(upper))) [[unlikely]]
    return make_item({}, number, 0);
  return make_item({lower, upper}, number, 1);
}

}  // namespace

ItemCounts read_items(const TreeInput& input, Item* into) {
  const std::uint64_t count = input.count;
  std::vector<std::uint32_t> without_box((count + kChunk - 1) / kChunk);
  const PointReader point(input);
  in_chunks(count, kChunk, [&](std::size_t chunk, std::uint64_t first, std::uint64_t last) {
    std::uint32_t found = 0;
    for (std::uint64_t i = first; i < last; ++i) {
      into[i] = input.of_faces() ? face_item(input, point, std::uint32_t(i)) : box_item(input, std::uint32_t(i));
      found += into[i].weight == 0;
    }
    without_box[chunk] = found;
  });
  std::uint64_t missing = 0;
  for (std::uint32_t found : without_box) missing += found;
  if (missing == 0) return {std::uint32_t(count), 0};

  std::vector<std::uint32_t> apart;
  ItemCounts counts;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (into[i].weight != 0)
      into[counts.finite++] = into[i];
    else if (into[i].number != kLeftOut)
      apart.push_back(into[i].number);
  }
  counts.apart = std::uint32_t(apart.size());
  for (std::size_t k = 0; k < apart.size(); ++k) into[counts.finite + k] = make_item({}, apart[k], 1);
  return counts;
}

}  // namespace weft::geometry
