// Splits by surface area. Bins gather boxes and contents of all three axes in one pass, four lanes at a time; a sweep over
// them prices every border. Up to eight items are sorted along each axis instead and every split is priced.
#include <algorithm>
#include <cmath>

#include "geometry/host/binary_tree.h"
#include "geometry/host/split.h"

namespace weft::geometry {
namespace {

constexpr std::uint32_t kMostBins = 16;
constexpr std::uint32_t kFew = 8;  // items that are sorted rather than binned

/// What so much content costs to be looked at.
inline float cost(std::uint32_t weight, bool blocks) { return float(blocks ? (weight + kBlock - 1) / kBlock : weight); }

struct Choice {
  float cost = kInfinity;
  int axis = -1;
  std::uint32_t border = 0;  // bins, or sorted items, that go left
};

/// How centres fall into bins.
struct BinMap {
  Float4 base, scale;
  Int4 operator()(const Item& item) const { return __builtin_convertvector((item.half_centre() - base) * scale, Int4); }
};

struct Bins {
  Bounds boxes[3][kMostBins];
  std::uint32_t weights[3][kMostBins];
};

BinMap map_bins(std::span<const Item> items, std::uint32_t bins) {
  Bounds centres;
  for (const Item& item : items) centres.add_point(item.half_centre());
  BinMap map{centres.lower, all4(0)};
  map.base[3] = 0;
  for (int d = 0; d < 3; ++d) {
    const float side = centres.upper[d] - centres.lower[d];
    // A little less than the number of bins, so that rounding never leads past the last. Sides that are too small to be
    // divided by stay in the first bin.
    if (side > 1e-36f) map.scale[d] = float(bins) * 0.999999f / side;
  }
  return map;
}

void fill_bins(std::span<const Item> items, const BinMap& map, std::uint32_t count, Bins& bins) {
  for (int axis = 0; axis < 3; ++axis)
    for (std::uint32_t k = 0; k < count; ++k) {
      bins.boxes[axis][k] = {};
      bins.weights[axis][k] = 0;
    }
  for (const Item& item : items) {
    const Int4 bin = map(item);
    const Bounds box = item.bounds();
    for (int axis = 0; axis < 3; ++axis) {
      bins.boxes[axis][bin[axis]].add(box);
      bins.weights[axis][bin[axis]] += item.weight;
    }
  }
}

Choice cheapest_border(const Bins& bins, std::uint32_t count, bool blocks) {
  Bounds whole;
  for (std::uint32_t k = 0; k < count; ++k) whole.add(bins.boxes[0][k]);
  const float scale = area_scale(whole);
  Choice best;
  for (int axis = 0; axis < 3; ++axis) {
    float right_cost[kMostBins];
    Bounds right;
    std::uint32_t weight = 0;
    for (std::uint32_t k = count - 1; k > 0; --k) {
      right.add(bins.boxes[axis][k]);
      weight += bins.weights[axis][k];
      right_cost[k] = weight == 0 ? kInfinity : scaled_area(right.lower, right.upper, scale) * cost(weight, blocks);
    }
    Bounds left;
    weight = 0;
    for (std::uint32_t k = 1; k < count; ++k) {
      left.add(bins.boxes[axis][k - 1]);
      weight += bins.weights[axis][k - 1];
      if (weight == 0) continue;
      const float sum = scaled_area(left.lower, left.upper, scale) * cost(weight, blocks) + right_cost[k];
      if (sum < best.cost) best = {sum, axis, k};
    }
  }
  return best;
}

/// Left ones first. Of a run that fits into the cache every item is written to both places, and the one that counts moves
/// on: a branch on who goes left would be mispredicted every other time.
std::uint32_t part(std::span<Item> items, const BinMap& map, const Choice& choice) {
  const int axis = choice.axis;
  const float base = map.base[axis], scale = map.scale[axis];
  const auto border = std::int32_t(choice.border);
  const auto goes_left = [&](const Item& item) {
    // As BinMap does, for one axis.
    return std::int32_t((item.lower[axis] * 0.25f + item.upper[axis] * 0.25f - base) * scale) < border;
  };
  constexpr std::size_t kRoom = 1024;
  Item right[kRoom];
  const std::size_t count = items.size();
  if (count > kRoom) return std::uint32_t(std::partition(items.begin(), items.end(), goes_left) - items.begin());
  std::size_t left_count = 0, right_count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Item item = items[i];
    const bool left = goes_left(item);
    items[left_count] = item;
    right[right_count] = item;
    left_count += left;
    right_count += !left;
  }
  std::copy_n(right, right_count, items.begin() + std::ptrdiff_t(left_count));
  return std::uint32_t(left_count);
}

std::uint32_t split_few(std::span<Item> items, const SplitRules& rules) {
  const auto count = std::uint32_t(items.size());
  Bounds boxes[kFew], whole;
  Float4 centres[kFew];
  for (std::uint32_t i = 0; i < count; ++i) {
    boxes[i] = items[i].bounds();
    centres[i] = items[i].half_centre();
    whole.add(boxes[i]);
  }
  const float scale = area_scale(whole);
  Choice best;
  std::uint8_t best_order[kFew];
  for (int axis = 0; axis < 3; ++axis) {
    std::uint8_t order[kFew];
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t k = i;
      for (; k > 0 && centres[order[k - 1]][axis] > centres[i][axis]; --k) order[k] = order[k - 1];
      order[k] = std::uint8_t(i);
    }
    float right_cost[kFew];
    Bounds right;
    std::uint32_t weight = 0;
    for (std::uint32_t k = count - 1; k > 0; --k) {
      right.add(boxes[order[k]]);
      weight += items[order[k]].weight;
      right_cost[k] = scaled_area(right.lower, right.upper, scale) * cost(weight, rules.blocks);
    }
    Bounds left;
    weight = 0;
    bool better = false;
    for (std::uint32_t k = 1; k < count; ++k) {
      left.add(boxes[order[k - 1]]);
      weight += items[order[k - 1]].weight;
      const float sum = scaled_area(left.lower, left.upper, scale) * cost(weight, rules.blocks) + right_cost[k];
      if (sum < best.cost) {
        best = {sum, axis, k};
        better = true;
      }
    }
    if (better) std::copy_n(order, count, best_order);
  }
  if (best.axis < 0) return split_at_median(items, rules);
  Item sorted[kFew];
  for (std::uint32_t i = 0; i < count; ++i) sorted[i] = items[best_order[i]];
  std::copy_n(sorted, count, items.begin());
  return best.border;
}

}  // namespace

std::uint32_t split_by_area(std::span<Item> items, const SplitRules& rules, std::uint32_t levels) {
  const auto count = std::uint32_t(items.size());
  // With a level to spare, no split can leave a side with too few.
  if (levels_needed(count, rules.leaf_items) >= levels) return split_at_median(items, rules);
  if (count <= kFew) return split_few(items, rules);
  const std::uint32_t bin_count = std::min(kMostBins, 4 + count / 16);
  const BinMap map = map_bins(items, bin_count);
  Bins bins;
  fill_bins(items, map, bin_count, bins);
  const Choice best = cheapest_border(bins, bin_count, rules.blocks);
  if (best.axis < 0) return split_at_median(items, rules);
  return part(items, map, best);
}

}  // namespace weft::geometry
