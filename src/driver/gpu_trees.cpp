// Trees that a GPU builds and refits by itself: the order of the kernels in kernels/*.py, which are compiled like any
// program's when they are first needed. All of it is queued on the device's current stream and can be captured.
#include "driver/gpu_trees.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "algorithms/arrays.h"
#include "driver/early_read.h"
#include "driver/kernel_keys.h"
#include "driver/program_impl.h"
#include "driver/ready_kernels.h"
#include "driver/tape.h"
#include "geometry/device_trees.h"
#include "geometry/tree.h"

namespace weft::driver {
namespace {

using geometry::DeviceTree;
using geometry::TreeFacts;
using geometry::TreeSource;

constexpr char kTreeKernels[] =
#include "driver/tree_kernels.inc"
    ;

constexpr int kMortonBits = 31;                   // ten an axis, and one for what counts for nothing
constexpr int kGroupBits = 32;                    // in front of those
constexpr std::int64_t kTotals = 37;              // numbers that a node's parent needs of it for moments
constexpr std::int64_t kExtentThreads = 1 << 16;  // that gather the bounds of all centres
constexpr std::int64_t kWorthWaiting = 1 << 17;   // faces of a rebuild that waits for its number of nodes

const Program& tree_program() {
  static const Program& made = library_program(kTreeKernels, "tree.py");
  return made;
}

template <class... Args>
void launch(std::string_view name, std::int64_t threads, Args&&... args) {
  tree_program().kernel(name).launch({threads}, std::forward<Args>(args)...);
}

/// The same memory as rows of four floats.
runtime::Array rows(const runtime::Array& words) {
  const std::int64_t count = words.extent(0) * words.extent(1) / 4, stride = 16;
  return words.reinterpret(types::vec(types::f32(), 4), std::span(&count, 1), std::span(&stride, 1));
}

/// The same memory as floats.
runtime::Array floats(const runtime::Array& words) {
  return words.reinterpret(types::f32(), words.shape(), words.strides());
}

/// Two int32 as one int64, the first one below.
runtime::Array as_one_number(const runtime::Array& two) {
  const std::int64_t one = 1, stride = 8;
  return two.reinterpret(types::i64(), std::span(&one, 1), std::span(&stride, 1));
}

/// Zeros, in a graph for each of its runs.
runtime::Array counters(cuda::Device& device, std::int64_t count) {
  runtime::Array out = runtime::Array::empty(types::i32(), {count}, false, &device);
  out.fill_zero();
  return out;
}

/// Of an item in leaves: three corners, or two.
std::int64_t rows_of_item(const TreeSource& source) { return source.of_faces() ? 3 : 2; }

/// A build on its way: the tree, and memory that it needs no longer than that.
struct Build {
  cuda::Device& device;
  const TreeSource& source;
  DeviceTree tree{};
  runtime::Array said{};  // the lowest face with an index outside of the points; how many nodes there are
  runtime::Array lowers{}, uppers{}, keys{}, order{}, ranks{}, slots{}, counts{}, parent{}, placed{};

  bool in_groups() const { return source.groups.is_valid(); }
  runtime::Array ints(std::int64_t size) const { return runtime::Array::empty(types::i32(), {size}, false, &device); }

  /// The boxes of what the tree is over: those that were given, or those of faces.
  void find_boxes() {
    if (!source.of_faces()) {
      lowers = source.lowers;
      uppers = source.uppers;
      return;
    }
    const Type* vec3 = types::vec(types::f32(), 3);
    lowers = runtime::Array::empty(vec3, {source.count}, false, &device);
    uppers = runtime::Array::empty(vec3, {source.count}, false, &device);
    launch("face_boxes", source.count, handle(source.points), handle(source.indices), handle(lowers), handle(uppers),
           handle(said.slice(0, 0, 1)));
  }

  /// By Morton keys, in groups by those first.
  void sort() {
    const std::int64_t n = source.count;
    // Bounds of centres as integers that compare like floats: the least begin above all, the most below.
    const runtime::Array bounds = ints(6);
    const std::int32_t above = INT32_MAX, below = INT32_MIN;
    bounds.slice(0, 0, 3).fill(&above);
    bounds.slice(0, 3, 6).fill(&below);
    const std::int64_t threads = std::min(n, kExtentThreads);
    launch("extent", threads, handle(lowers), handle(uppers), std::int32_t(threads), handle(bounds));

    // The halves behind are scratch.
    const runtime::Array all =
        runtime::Array::empty(in_groups() ? types::u64() : types::u32(), {2 * n}, false, &device);
    const runtime::Array numbers = ints(2 * n);
    keys = all.slice(0, 0, n);
    order = numbers.slice(0, 0, n);
    if (in_groups()) {
      launch("group_keys", n, handle(lowers), handle(uppers), handle(bounds), handle(source.groups), handle(keys),
             handle(order));
      algorithms::sort_array(all, &numbers, {n, 0, kGroupBits + kMortonBits});
      rank_groups();
    } else {
      launch("morton_keys", n, handle(lowers), handle(uppers), handle(bounds), handle(keys), handle(order));
      algorithms::sort_array(all, &numbers, {n, 0, kMortonBits});
    }
  }

  /// Of sorted keys: the rank of each one's group among all groups. The keys become what the tree is made by.
  void rank_groups() {
    const std::int64_t n = source.count;
    ranks = ints(n);
    launch("group_borders", n, handle(keys), handle(ranks));
    algorithms::scan_array(ranks, ranks, true);
    launch("group_codes", n, handle(keys), handle(ranks));
  }

  void climb() {
    const std::int64_t n = source.count, inner = n - 1;
    slots = runtime::Array::empty(types::vec(types::f32(), 4), {4 * inner}, false, &device);
    counts = runtime::Array::empty(types::vec(types::i32(), 2), {2 * inner}, false, &device);
    parent = ints(inner);
    const runtime::Array arrived = ints(inner), total = said.slice(0, 1, 2);
    const std::int32_t nobody = -1;
    arrived.fill(&nobody);
    if (in_groups())
      launch("climb_in_groups", n, handle(keys), handle(ranks), handle(order), handle(lowers), handle(uppers),
             handle(arrived), handle(slots), handle(counts), handle(parent), handle(total));
    else
      launch("climb", n, handle(keys), handle(order), handle(lowers), handle(uppers), handle(arrived), handle(slots),
             handle(counts), handle(parent), handle(total));
  }

  /// Nodes in depth-first order, and the items in the order of leaves.
  void lay_out() {
    const std::int64_t n = source.count, inner = n - 1;
    if (in_groups()) tree.groups = runtime::Array::empty(types::vec(types::i32(), 2), {n + 1}, false, &device);
    if (n == 1) {
      placed = order;
      launch("lone_item", 1, handle(lowers), handle(uppers), handle(rows(tree.nodes)));
      if (in_groups()) launch("lone_group", 1, handle(source.groups), handle(tree.groups));
      return;
    }
    placed = ints(n);
    if (in_groups())
      launch("lay_out_groups", inner, handle(slots), handle(counts), handle(parent), handle(order), handle(placed),
             handle(rows(tree.nodes)), handle(ranks), handle(source.groups), handle(tree.groups));
    else
      launch("lay_out", inner, handle(slots), handle(counts), handle(parent), handle(order), handle(placed),
             handle(rows(tree.nodes)));
  }

  void fill_leaves() {
    if (source.of_faces() && tree.edges.is_valid())
      launch("fill_and_measure_faces", source.count, handle(source.points), handle(source.indices), handle(placed),
             handle(rows(tree.leaves)), handle(tree.edges));
    else if (source.of_faces())
      launch("fill_faces", source.count, handle(source.points), handle(source.indices), handle(placed),
             handle(rows(tree.leaves)));
    else
      launch("fill_boxes", source.count, handle(lowers), handle(uppers), handle(placed), handle(rows(tree.leaves)));
  }
};

class GpuTrees final : public geometry::DeviceTrees {
 public:
  DeviceTree build(cuda::Device& device, const TreeSource& source, bool moments, TreeFacts* facts) override {
    const RecordingSuspended unrecorded;
    Build b{device, source};
    DeviceTree& tree = b.tree;
    tree.count = source.count;
    const std::int64_t n = source.count;
    if (n == 0) return std::move(tree);
    const std::int32_t unknown = INT32_MAX;
    b.said = runtime::Array::empty(types::i32(), {2}, false, &device);
    b.said.fill(&unknown);
    b.find_boxes();
    b.sort();
    if (n > 1) b.climb();

    // What the host has to know is read as soon as it is there, and work that needs no nodes goes on meanwhile.
    const bool waits = facts || (source.of_faces() && n >= kWorthWaiting && !device.capture());
    std::optional<EarlyRead> said, edges;
    if (waits) said.emplace(device, as_one_number(b.said));
    if (facts) edges.emplace(device, edge_sum(device, source));
    // An item that is alone in its group has a node for itself.
    std::int64_t nodes = source.groups.is_valid() ? 2 * n - 1 : std::max<std::int64_t>(n - 1, 1);
    if (waits) {
      const std::int64_t both = said->wait()[0];
      const auto bad_face = std::int32_t(both), counted = std::int32_t(both >> 32);
      if (facts) facts->bad_face = bad_face == unknown ? -1 : bad_face;
      if (n > 1 && counted > 0) nodes = std::min<std::int64_t>(nodes, counted);
    }
    tree.nodes = runtime::Array::empty(types::u32(), {nodes, 16}, false, &device);
    tree.leaves = runtime::Array::empty(types::u32(), {n, rows_of_item(source) * 4}, false, &device);
    b.lay_out();
    if (source.of_faces()) make_tables(device, tree.nodes, tree.fours, tree.pairs);
    if (source.of_faces() && !facts) tree.edges = no_edges(device);
    b.fill_leaves();
    if (moments) {
      tree.moments = runtime::Array::empty(types::f32(), {nodes, 2 * geometry::kMomentRows}, false, &device);
      gather_moments(device, tree);
    }
    if (facts) {
      const auto [sum, count] = edges->wait();
      const double all = std::bit_cast<double>(count);
      facts->mean_edge = all > 0 ? float(std::bit_cast<double>(sum) / all) : 0.0f;
    }
    return std::move(tree);
  }

  void refit(cuda::Device& device, DeviceTree& tree, const TreeSource& source) override {
    const RecordingSuspended unrecorded;
    if (tree.count == 0) return;
    if (source.of_faces()) {
      tree.edges = no_edges(device);
      launch("refill_faces", tree.count, handle(source.points), handle(source.indices), handle(rows(tree.leaves)),
             handle(tree.edges));
    } else {
      launch("refill_boxes", tree.count, handle(source.lowers), handle(source.uppers), handle(rows(tree.leaves)));
    }
    const std::int64_t nodes = tree.nodes.extent(0);
    const runtime::Array arrived = counters(device, nodes);
    launch("refit_nodes", nodes, handle(rows(tree.leaves)), std::int32_t(rows_of_item(source)), handle(tree.nodes),
           handle(arrived), handle(floats(tree.nodes)));
    if (source.of_faces()) make_tables(device, tree.nodes, tree.fours, tree.pairs);
    if (tree.moments.is_valid()) gather_moments(device, tree);
  }

  void make_tables(cuda::Device& device, const runtime::Array& nodes, runtime::Array& fours,
                   runtime::Array& pairs) override {
    const RecordingSuspended unrecorded;
    const std::int64_t count = nodes.extent(0);
    if (!fours.is_valid()) fours = runtime::Array::empty(types::vec(types::f32(), 4), {8 * count}, false, &device);
    if (!pairs.is_valid()) pairs = runtime::Array::empty(types::vec(types::u32(), 4), {2 + 2 * count}, false, &device);
    launch("make_tables", count, handle(rows(nodes)), handle(fours), handle(pairs));
  }

  void set_mean_edge(cuda::Device& device, const DeviceTree& tree, std::uint64_t to) override {
    const RecordingSuspended unrecorded;
    runtime::Array::External slot;
    slot.data = reinterpret_cast<void*>(to);
    slot.space = &device;
    const runtime::Array mean = runtime::Array::wrap(types::f32(), {1}, std::move(slot));
    launch("set_mean_edge", 1, handle(tree.edges), handle(mean));
  }

 private:
  static runtime::Array no_edges(cuda::Device& device) {
    runtime::Array out = runtime::Array::empty(types::f64(), {2}, false, &device);
    out.fill_zero();
    return out;
  }

  /// The sum of the lengths of all edges of faces that are numbers, and how many there are, as two float64 seen as int64: for
  /// their mean.
  static runtime::Array edge_sum(cuda::Device& device, const TreeSource& source) {
    const std::int64_t n = source.count, two = 2, stride = 8;
    const runtime::Array out = runtime::Array::zeros(types::f64(), {2}, false, &device);
    const runtime::Array lengths = runtime::Array::empty(types::f64(), {2, n}, false, &device);
    launch("edge_lengths", n, handle(source.points), handle(source.indices), handle(lengths));
    algorithms::sum_array(lengths, nullptr, out, 2, n, 1);
    return out.reinterpret(types::i64(), std::span(&two, 1), std::span(&stride, 1));
  }

  /// Moments of all nodes, from the leaves as they are now.
  static void gather_moments(cuda::Device& device, DeviceTree& tree) {
    const std::int64_t nodes = tree.nodes.extent(0);
    const runtime::Array totals = runtime::Array::empty(types::f64(), {nodes, kTotals}, false, &device);
    const runtime::Array arrived = counters(device, nodes);
    launch("gather_moments", nodes, handle(tree.nodes), handle(floats(tree.nodes)), handle(rows(tree.leaves)),
           handle(arrived), handle(totals), handle(tree.moments));
  }
};

}  // namespace

std::vector<BuildRequest> tree_kernel_requests() {
  std::vector<BuildRequest> out = requests_of(tree_program());
  const std::vector<std::string> names = tree_program().kernel_names();
  for (std::size_t k = 0; k < out.size(); ++k)  // two of them see nodes as words and as floats
    out[k].form.no_overlap = names[k] != "refit_nodes" && names[k] != "gather_moments";
  return out;
}

void use_gpu_trees() {
  static GpuTrees trees;
  geometry::set_device_trees(&trees);
}

}  // namespace weft::driver
