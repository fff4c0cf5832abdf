// The constructor that is used unless another is asked for. Items are first sorted into cells of a coarse grid, stable, by
// all threads; runs of neighbouring cells then become treelets by surface areas, each in a core's cache, and a tree over the
// treelets joins them. Compared with splits of the whole, the upper third of all passes over memory is one sort. Which
// thread does what never shows.
#include <cstring>
#include <vector>

#include "geometry/host/cells.h"
#include "geometry/host/grow.h"

namespace weft::geometry {
namespace {

constexpr int kBits = 15;  // 32 768 cells
constexpr std::uint32_t kCells = 1u << kBits;
constexpr std::uint32_t kTreelet = 512;     // items that cells are put together for
constexpr std::uint32_t kCrowded = 16384;   // items of one cell that are worth a grid of their own
constexpr std::uint32_t kSpareLevels = 12;  // for the tree over treelets to be of use for areas
constexpr std::uint64_t kChunk = 32768;     // of items, when they are looked at for their centres

Bounds bounds_of_centres(const Item* items, std::uint32_t count) {
  std::vector<Bounds> parts((count + kChunk - 1) / kChunk);
  in_chunks(count, kChunk, [&](std::size_t chunk, std::uint64_t first, std::uint64_t last) {
    Bounds box;
    for (std::uint64_t i = first; i < last; ++i) box.add_point(items[i].half_centre());
    parts[chunk] = box;
  });
  Bounds all;
  for (const Bounds& part : parts) all.add(part);
  return all;
}

/// Keys of cells by tables, one for each axis: the bits of a coordinate, spread to where they stand in the key.
class CellKeys {
 public:
  explicit CellKeys(const CellMap& map) : map_(map) {
    for (int axis = 0; axis < 3; ++axis) {
      spread_[axis].resize(std::size_t(1) << map.bits(axis));
      for (std::size_t k = 0; k < spread_[axis].size(); ++k) {
        Int4 cell{};
        cell[axis] = std::int32_t(k);
        spread_[axis][k] = std::uint16_t(map.key(cell));
      }
    }
  }
  std::uint16_t operator()(const Item& item) const {
    const Int4 cell = map_(item.half_centre());
    return std::uint16_t(spread_[0][std::size_t(cell[0])] | spread_[1][std::size_t(cell[1])] |
                         spread_[2][std::size_t(cell[2])]);
  }

 private:
  CellMap map_;
  std::vector<std::uint16_t> spread_[3];
};

/// Sorts items from one place to another by cells; says where each cell begins. The order is the same for every cut into
/// chunks.
std::vector<std::uint32_t> sort_by_cells(const Item* from, Item* to, std::uint32_t count) {
  const CellKeys key_of(CellMap(bounds_of_centres(from, count), kBits));
  const std::uint64_t chunks = std::clamp<std::uint64_t>(count / kChunk, 1, std::uint64_t(runtime::thread_count()) * 4);
  const std::uint64_t size = (count + chunks - 1) / chunks;
  std::vector<std::uint16_t> keys(count);
  std::vector<std::uint32_t> places(std::size_t(chunks) * kCells);
  in_chunks(count, size, [&](std::size_t chunk, std::uint64_t first, std::uint64_t last) {
    std::uint32_t* counts = &places[chunk * kCells];
    for (std::uint64_t i = first; i < last; ++i) ++counts[keys[i] = key_of(from[i])];
  });
  std::vector<std::uint32_t> begins(kCells + 1);
  std::uint32_t place = 0;
  for (std::uint32_t cell = 0; cell < kCells; ++cell) {
    begins[cell] = place;
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      std::uint32_t& entry = places[std::size_t(chunk) * kCells + cell];
      const std::uint32_t found = entry;
      entry = place;
      place += found;
    }
  }
  begins[kCells] = place;
  in_chunks(count, size, [&](std::size_t chunk, std::uint64_t first, std::uint64_t last) {
    std::uint32_t* next = &places[chunk * kCells];
    for (std::uint64_t i = first; i < last; ++i) to[next[keys[i]]++] = from[i];
  });
  return begins;
}

/// Cells from first to last as treelets: the largest halves, quarters … of the curve that hold no more than kTreelet items,
/// or a single cell.
void cut(const std::vector<std::uint32_t>& cells, std::uint32_t first, std::uint32_t last,
         std::vector<std::uint32_t>& begins) {
  const std::uint32_t count = cells[last] - cells[first];
  if (count == 0) return;
  if (count <= kTreelet || last - first == 1) return begins.push_back(cells[first]);
  const std::uint32_t middle = (first + last) / 2;
  cut(cells, first, middle, begins);
  cut(cells, middle, last, begins);
}

}  // namespace

BinaryNode grow_best(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels) {
  if (end - begin <= kShortRun) return grow_by_area(work, begin, end, levels);
  in_chunks(end - begin, kChunk, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    std::memcpy(work.spare + begin + first, work.items + begin + first, (last - first) * sizeof(Item));
  });
  return grow_best_from_spare(work, begin, end, levels);
}

BinaryNode grow_best_from_spare(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels) {
  const std::uint32_t count = end - begin;
  const std::vector<std::uint32_t> cells = sort_by_cells(work.spare + begin, work.items + begin, count);
  std::vector<std::uint32_t> begins;
  cut(cells, 0, kCells, begins);
  for (std::uint32_t& first : begins) first += begin;
  const std::size_t treelets = begins.size();
  begins.push_back(end);

  std::uint32_t most = 0;
  std::vector<std::uint32_t> crowded;
  for (std::size_t t = 0; t < treelets; ++t) {
    const std::uint32_t size = begins[t + 1] - begins[t];
    most = std::max(most, size);
    if (size > kCrowded) crowded.push_back(std::uint32_t(t));
  }
  const std::uint32_t above = levels_needed(std::uint32_t(treelets), 1), below = levels_needed(most, work.leaf_items);
  // Cells that all items share say nothing; and where levels are short, splits of the whole are easier to keep in bounds.
  if (treelets < 2 || above + below > levels) return grow_by_area(work, begin, end, levels);
  const std::uint32_t above_levels = std::min(above + kSpareLevels, levels - below),
                      below_levels = levels - above_levels;

  std::vector<BinaryNode> roots(treelets);
  in_parallel(std::int64_t(treelets), [&](std::int64_t t) {
    const std::uint32_t first = begins[std::size_t(t)], last = begins[std::size_t(t) + 1];
    if (last - first <= kCrowded) roots[std::size_t(t)] = grow_by_area(work, first, last, below_levels);
  });
  for (const std::uint32_t t : crowded) roots[t] = grow_best(work, begins[t], begins[t + 1], below_levels);
  return grow_over_roots(work, roots, begins, above_levels);
}

}  // namespace weft::geometry
