// The constructor by Morton order (Lauterbach et al. 2009): items sorted along the curve, runs split where the highest bit
// changes, equal keys in halves.
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/host/host.h"
#include "geometry/host/cells.h"
#include "geometry/host/grow.h"

namespace weft::geometry {
namespace {

constexpr int kBits = 63;
constexpr std::uint64_t kChunk = 16384;

/// Sorts the items by key, then by the order they have; gives the sorted keys.
std::vector<std::uint64_t> sort_by_keys(Item* items, Item* spare, std::uint32_t count) {
  Bounds centres;
  for (std::uint32_t i = 0; i < count; ++i) centres.add_point(items[i].half_centre());
  const CellMap map(centres, kBits);
  std::vector<std::uint64_t> keys(count), spare_keys(count);
  std::vector<std::uint32_t> order(count), spare_order(count);
  in_chunks(count, kChunk, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
      keys[i] = map.key(map(items[i].half_centre()));
      order[i] = std::uint32_t(i);
    }
  });
  algorithms::SortRequest request;
  request.key = ScalarKind::u64;
  request.keys = algorithms::address_of(keys.data());
  request.values = algorithms::address_of(order.data());
  request.spare_keys = algorithms::address_of(spare_keys.data());
  request.spare_values = algorithms::address_of(spare_order.data());
  request.count = count;
  request.end_bit = 64;
  algorithms::host::sort(request);
  in_chunks(count, kChunk, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) spare[i] = items[order[i]];
  });
  in_chunks(count, kChunk, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    std::copy(spare + first, spare + last, items + first);
  });
  return keys;
}

}  // namespace

BinaryNode grow_by_order(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels) {
  const std::vector<std::uint64_t> keys = sort_by_keys(work.items + begin, work.spare + begin, end - begin);
  const auto split = [&](std::uint32_t first, std::uint32_t last, std::uint32_t below) {
    const std::uint64_t* low = keys.data() + (first - begin);
    const std::uint64_t* high = keys.data() + (last - begin);
    const std::uint64_t differing = low[0] ^ high[-1];
    if (differing == 0 || levels_needed(last - first, work.leaf_items) >= below)
      return middle(last - first, work.leaf_items);
    const std::uint64_t bit = std::bit_floor(differing);
    return std::uint32_t(std::partition_point(low, high, [bit](std::uint64_t key) { return (key & bit) == 0; }) - low);
  };
  return end - begin <= kShortRun ? grow(work, begin, end, levels, split)
                                  : grow_in_parallel(work, begin, end, levels, split);
}

}  // namespace weft::geometry
