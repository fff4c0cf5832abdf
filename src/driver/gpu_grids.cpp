// Grids that a GPU builds by itself: the order of the kernels in kernels/volume_*.py. All of it is queued on the device's current
// stream and can be captured, but for what says that it waits.
#include "driver/gpu_grids.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "algorithms/arrays.h"
#include "driver/kernel_keys.h"
#include "driver/program_impl.h"
#include "driver/ready_kernels.h"
#include "driver/tape.h"
#include "geometry/descriptors.h"
#include "volume/device_grids.h"
#include "volume/grid_format.h"
#include "volume/place_table.h"

namespace weft::driver {
namespace {

using runtime::Array;
using volume::DeviceGrid;
using volume::DevicePoints;
using volume::GridCounts;
using volume::SortedPoints;

constexpr char kGridKernels[] =
#include "driver/grid_kernels.inc"
    ;

constexpr std::int64_t kLoopThreads = 1 << 20;   // of kernels that go over more than they have threads
constexpr std::int64_t kFirstThreads = 1 << 16;  // that look for the first point that counts
constexpr std::int32_t kNobody = INT32_MAX;
constexpr std::int64_t kStateWords = 16;
constexpr int kLowBits = 64, kHighBits = 32, kVoxelBits = 9;  // of a key; whole tiles differ above the last

enum State : std::int32_t { kLeaves = 1, kLowers = 2, kUppers = 3, kVoxels = 4 };

const Program& grid_program() {
  static const Program& made = library_program(kGridKernels, "volume.py");
  return made;
}

template <class... Args>
void launch(std::string_view name, std::int64_t threads, Args&&... args) {
  if (threads > 0) grid_program().kernel(name).launch({threads}, std::forward<Args>(args)...);
}

/// Words or numbers of the host on a device.
template <class T>
Array placed(const Type* element, const std::vector<T>& values, cuda::Device& device) {
  const auto count = std::int64_t(values.size() * sizeof(T) / element->size());
  const Array here = Array::empty(element, {count}), out = Array::empty(element, {count}, false, &device);
  std::memcpy(here.data(), values.data(), std::size_t(here.bytes()));
  out.assign(here);
  return out;
}

const Type* row_type() { return types::vec(types::i32(), 4); }

/// A grid's bytes as words, or as rows of four.
Array as(const Array& bytes, const Type* element) {
  const std::int64_t count = bytes.size() / std::int64_t(element->size()), stride = std::int64_t(element->size());
  return bytes.reinterpret(element, std::span(&count, 1), std::span(&stride, 1));
}

/// Rows of four words that nodes begin with, and tables of background values, whose pattern comes again after some rows.
struct Patterns {
  static constexpr std::int32_t kInner = 0, kInnerRows = 2, kLeaf = 2, kLeafRows = 5, kTables = 7;
  std::vector<std::int32_t> words;
  std::int32_t node_period, leaf_table, leaf_period;

  Patterns(const volume::GridPlan& plan, const GridLayout& layout) {
    constexpr std::int32_t high = INT32_MAX, low = INT32_MIN;
    words = {high, high, high, low, low, low, 0, 0};  // the box of nothing
    words.resize(kTables * 4, 0);
    if (plan.whole_tiles) std::fill(words.begin() + kLeaf * 4 + 4, words.end(), -1);  // the mask of a leaf
    node_period = add(plan.background, layout.table_stride);
    leaf_table = kTables + node_period;
    leaf_period = add(plan.background, layout.value_bytes);
  }

 private:
  /// Values `stride` bytes apart, until they come again at the beginning of a row.
  std::int32_t add(std::span<const std::byte> value, std::uint32_t stride) {
    const std::uint32_t bytes = std::lcm(std::max(stride, 4u), 16u);
    std::vector<std::int32_t> more(bytes / 4, 0);
    for (std::uint32_t at = 0; !value.empty() && at < bytes; at += stride)
      std::memcpy(reinterpret_cast<std::byte*>(more.data()) + at, value.data(), value.size());
    words.insert(words.end(), more.begin(), more.end());
    return std::int32_t(bytes / 16);
  }
};

class GpuGrids final : public volume::DeviceGrids {
 public:
  Array numbers_of(cuda::Device& device, const volume::GridMap& map) override {
    std::vector<double> numbers(map.inverse.begin(), map.inverse.end());
    numbers.insert(numbers.end(), map.translation.begin(), map.translation.end());
    numbers.insert(numbers.end(), map.matrix.begin(), map.matrix.end());
    return placed(types::f64(), numbers, device);
  }

  SortedPoints sort(cuda::Device& device, const Array& numbers, bool whole_tiles, const DevicePoints& points) override {
    const RecordingSuspended unrecorded;
    SortedPoints out;
    const std::int64_t n = out.count = points.count();
    const auto make = [&](const Type* element, std::int64_t count) {
      return Array::empty(element, {count}, false, &device);
    };
    out.found = make(types::i32(), 2);
    out.found.fill_zero();
    out.ranks = make(row_type(), n);
    if (n == 0) return out;

    const Type* byte = types::scalar(ScalarKind::u8);
    const bool in_world = points.rows.element() == types::f32();
    const bool choosy = in_world || points.mask.is_valid();
    const Array mask = points.mask.is_valid() ? points.mask : make(byte, 0);
    const Array counts = make(byte, choosy ? n : 0);
    Array voxels = points.rows;
    if (in_world) {
      voxels = make(types::i32(), 3 * n);
      launch("place_points", n, handle(points.rows), handle(numbers), handle(mask), std::int32_t(points.mask_width),
             handle(voxels), handle(counts), handle(out.found));
    } else if (choosy) {
      launch("choose_points", n, handle(mask), std::int32_t(points.mask_width), handle(counts));
    }
    if (choosy) {
      out.found.slice(0, 0, 1).fill(&kNobody);
      const std::int64_t threads = std::min(n, kFirstThreads);
      launch("find_first", threads, handle(counts), std::int32_t(threads), handle(out.found));
    }
    out.lows = make(types::u64(), n);
    out.highs = make(types::u32(), n);
    const Array order = make(types::i32(), 2 * n);  // the half behind: scratch, here and below
    out.order = order.slice(0, 0, n);
    launch("voxel_keys", n, handle(voxels), handle(counts), std::int32_t(whole_tiles), handle(out.found),
           handle(out.lows), handle(out.highs), handle(out.order));
    // The sort is stable: by the lower bits first, then by those above.
    {
      const Array keys = make(types::u64(), 2 * n);
      keys.slice(0, 0, n).assign(out.lows);
      algorithms::sort_array(keys, &order, {n, whole_tiles ? kVoxelBits : 0, kLowBits});
    }
    const Array keys = make(types::u32(), 2 * n);
    launch("next_keys", n, handle(out.order), handle(out.highs), handle(keys.slice(0, 0, n)));
    algorithms::sort_array(keys, &order, {n, 0, kHighBits});
    launch("node_borders", n, handle(out.order), handle(out.lows), handle(out.highs), handle(out.ranks));
    algorithms::scan_array(out.ranks, out.ranks, true);
    return out;
  }

  GridCounts count(const SortedPoints& points, bool whole_tiles) override {
    GridCounts out;
    if (points.count == 0) return out;
    const Array found = Array::empty(types::i32(), {2}), last = Array::empty(row_type(), {1});
    found.assign(points.found);
    last.assign(points.ranks.slice(0, points.count - 1, points.count));
    if (found.at<std::int32_t>(1) != 0) throw runtime::ArgumentError(volume::kBadPlaces);
    if (found.at<std::int32_t>(0) == kNobody) return out;
    const auto* ranks = static_cast<const std::int32_t*>(last.data());
    out.leaves = std::uint64_t(ranks[1]), out.lowers = std::uint64_t(ranks[2]), out.uppers = std::uint64_t(ranks[3]);
    out.voxels = whole_tiles ? out.leaves * volume::node::kVoxels : std::uint64_t(ranks[0]);
    return out;
  }

  DeviceGrid reserve(cuda::Device& device, const volume::GridPlan& plan, const GridCounts& room, bool exact) override {
    const GridLayout& layout = *grid_layout(plan.type);
    DeviceGrid out;
    out.type = plan.type;
    out.whole_tiles = plan.whole_tiles;
    out.map = plan.map;
    out.room = room;
    out.offsets = volume::grid_offsets(layout, room);
    const Type* byte = types::scalar(ScalarKind::u8);
    const std::int64_t bytes = std::int64_t(out.offsets.bytes);
    out.memory = exact ? Array::empty(byte, {bytes}, false, &device) : Array::zeros(byte, {bytes}, false, &device);
    const std::uint64_t places = std::min(volume::most_places(out.offsets.bytes), std::uint64_t(INT32_MAX));
    out.places = Array::empty(types::u32(), {std::int64_t(places)}, false, &device);
    out.state = Array::zeros(types::i32(), {kStateWords}, false, &device);
    out.numbers = numbers_of(device, plan.map);
    out.head = placed(types::i32(), volume::grid_head(plan, out.offsets), device);
    out.patterns = placed(row_type(), Patterns(plan, layout).words, device);

    const auto word = [](std::uint64_t at) { return std::int32_t(at / 4); };
    const auto most = [](std::uint64_t count, std::uint64_t limit) { return std::int32_t(std::min(count, limit)); };
    const volume::GridOffsets& at = out.offsets;
    const std::int32_t indexed = is_on_index_grid(plan.type) ? 2 : is_index_grid(plan.type) ? 1 : 0;
    const std::vector<std::int32_t> numbers = {
        word(at.root),
        word(at.tiles),
        word(at.uppers),
        word(at.lowers),
        word(at.leaves),
        word(layout.tile_bytes),
        word(layout.upper_bytes),
        word(layout.lower_bytes),
        word(layout.leaf_bytes),
        word(layout.table_stride),
        word(layout.upper_table),
        word(layout.lower_table),
        most(room.leaves, INT32_MAX / volume::node::kVoxels),
        most(room.lowers, INT32_MAX),
        most(room.uppers, INT32_MAX),
        most(room.voxels, INT32_MAX),
        std::int32_t(plan.whole_tiles),
        indexed,
        std::int32_t(places),
        std::int32_t(volume::kOneValue | std::uint32_t((at.root + layout.background) / 4)),
    };
    out.plan = placed(types::i32(), numbers, device);
    return out;
  }

  void build(cuda::Device& device, DeviceGrid& grid, const SortedPoints& points) override {
    const RecordingSuspended unrecorded;
    const GridLayout& layout = *grid_layout(grid.type);
    const std::int64_t n = points.count;
    // Each point brings at most one node of each kind. All memory comes first: where there is none, nothing has changed.
    const auto most = [&](std::uint64_t room) { return std::int64_t(std::min(room, std::uint64_t(n))); };
    const std::int64_t leaves = most(grid.room.leaves), lowers = most(grid.room.lowers),
                       uppers = most(grid.room.uppers);
    const Array leaf_parents = Array::empty(types::i32(), {leaves}, false, &device);
    const Array lower_parents = Array::empty(types::i32(), {lowers}, false, &device);
    const auto plan = handle(grid.plan), state = handle(grid.state), words = handle(as(grid.memory, types::i32()));
    launch("settle_counts", 1, handle(points.ranks), handle(points.found), plan, state);
    launch("write_head", grid.head.size(), handle(grid.head), state, words);
    clear(grid, layout);
    launch("link_nodes", n, handle(points.order), handle(points.lows), handle(points.highs), handle(points.ranks), plan,
           state, handle(leaf_parents), handle(lower_parents), words);
    launch("finish_leaves", leaves, plan, state, handle(leaf_parents), words);
    launch("finish_lowers", lowers, plan, state, handle(lower_parents), words);
    launch("finish_uppers", uppers, plan, state, words);
    launch("finish_head", 1, plan, handle(grid.numbers), state, words);
    const std::int64_t threads = std::min(grid.places.size(), kLoopThreads);
    launch("clear_places", threads, plan, state, std::int32_t(threads), handle(grid.places));
    launch("place_leaves", leaves, plan, state, words, handle(grid.places));
  }

  void describe(cuda::Device& device, const DeviceGrid& grid, std::uint64_t slot) override {
    const RecordingSuspended unrecorded;
    const Array words = Array::wrap(types::i32(), {geometry::kSlotBytes / 4},
                                    {.data = reinterpret_cast<void*>(slot), .space = &device});
    launch("describe_grid", 1, handle(grid.plan), handle(grid.state), handle(words));
  }

  Array tiles_of_box(cuda::Device& device, const std::array<std::int32_t, 3>& low,
                     const std::array<std::int64_t, 3>& extent) override {
    const RecordingSuspended unrecorded;
    const std::int64_t tiles = extent[0] * extent[1] * extent[2];
    const Array out = Array::empty(types::i32(), {3 * tiles}, false, &device);
    launch("box_tiles", tiles, handle(out), low[0], low[1], low[2], std::int32_t(extent[1]), std::int32_t(extent[2]));
    return out;
  }

  GridCounts counts_there(const DeviceGrid& grid) override {
    const Array here = Array::empty(types::i32(), {kStateWords});
    here.assign(grid.state);
    const auto word = [&](std::int64_t at) { return std::uint64_t(here.at<std::int32_t>(at)); };
    return {word(kVoxels), word(kLeaves), word(kLowers), word(kUppers)};
  }

 private:
  /// All nodes as they are without children, zeros where there are none any more.
  void clear(const DeviceGrid& grid, const GridLayout& layout) {
    struct Kind {
      std::int32_t count;  // its place in the state
      std::uint64_t first, bytes, room;
      std::int32_t lead, lead_rows;
      std::uint64_t table;
      std::int32_t pattern, period;
    };
    volume::GridPlan plan;
    plan.whole_tiles = grid.whole_tiles;
    const Patterns patterns(plan, layout);  // for its numbers of rows
    const volume::GridOffsets& at = grid.offsets;
    const std::int32_t inner = Patterns::kInner, tables = Patterns::kTables;
    const std::uint64_t leaf_table = layout.value_bytes ? layout.leaf_table : layout.leaf_bytes;
    const Kind kinds[] = {
        {kUppers, at.tiles, layout.tile_bytes, grid.room.uppers, 0, 0, layout.tile_bytes, tables, 1},
        {kUppers, at.uppers, layout.upper_bytes, grid.room.uppers, inner, Patterns::kInnerRows, layout.upper_table,
         tables, patterns.node_period},
        {kLowers, at.lowers, layout.lower_bytes, grid.room.lowers, inner, Patterns::kInnerRows, layout.lower_table,
         tables, patterns.node_period},
        {kLeaves, at.leaves, layout.leaf_bytes, grid.room.leaves, Patterns::kLeaf, Patterns::kLeafRows, leaf_table,
         patterns.leaf_table, patterns.leaf_period},
    };
    for (const Kind& kind : kinds) {
      const std::int64_t rows = std::int64_t(kind.bytes / 16);
      const std::int64_t threads = std::min(std::int64_t(kind.room) * rows, kLoopThreads);
      launch("clear_nodes", threads, handle(grid.state), kind.count, std::int32_t(kind.first / 16), std::int32_t(rows),
             handle(grid.patterns), kind.lead, kind.lead_rows, std::int32_t(kind.table / 16), kind.pattern, kind.period,
             std::int32_t(threads), handle(as(grid.memory, row_type())));
    }
  }
};

}  // namespace

std::vector<BuildRequest> grid_kernel_requests() { return requests_of(grid_program()); }

void use_gpu_grids() {
  static GpuGrids grids;
  volume::set_device_grids(&grids);
}

}  // namespace weft::driver
