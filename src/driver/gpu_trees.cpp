// Trees that a GPU builds and refits by itself: the order of the kernels in kernels/*.py, which are compiled like any
// program's when they are first needed. All of it is queued on the device's current stream and can be captured.
#include "driver/gpu_trees.h"

#include <algorithm>

#include "algorithms/arrays.h"
#include "driver/kernel_keys.h"
#include "driver/program_impl.h"
#include "driver/ready_kernels.h"
#include "driver/tape.h"
#include "geometry/device_trees.h"
#include "geometry/tree.h"

namespace weft::driver {
namespace {

using geometry::DeviceTree;
using geometry::TreeSource;

constexpr char kTreeKernels[] =
#include "driver/tree_kernels.inc"
    ;

constexpr int kMortonBits = 31;                   // ten an axis, and one for what counts for nothing
constexpr int kGroupBits = 32;                    // in front of those
constexpr std::int64_t kTotals = 37;              // numbers that a node's parent needs of it for moments
constexpr std::int64_t kExtentThreads = 1 << 16;  // that gather the bounds of all centres

const Program& tree_program() {
  static const Program& made = library_program(kTreeKernels, "tree.py");
  return made;
}

class GpuTrees final : public geometry::DeviceTrees {
 public:
  DeviceTree build(cuda::Device& device, const TreeSource& source, bool moments,
                   const runtime::Array& bad_face) override {
    const RecordingSuspended unrecorded;
    DeviceTree tree;
    tree.count = source.count;
    const std::int64_t n = source.count;
    if (n == 0) return tree;
    // An item that is alone in its group has a node for itself.
    const bool in_groups = source.groups.is_valid();
    const std::int64_t nodes = in_groups ? 2 * n - 1 : std::max<std::int64_t>(n - 1, 1);
    tree.nodes = runtime::Array::zeros(types::u32(), {nodes, 16}, false, &device);
    tree.leaves = runtime::Array::empty(types::u32(), {n, source.of_faces() ? 12 : 8}, false, &device);
    tree.arrived = runtime::Array::empty(types::i32(), {nodes}, false, &device);
    find_boxes(device, tree, source, bad_face);
    const runtime::Array lowers = tree.lowers, uppers = tree.uppers;

    // Bounds of centres as integers that compare like floats: the least begin above all, the most below.
    const runtime::Array bounds = runtime::Array::empty(types::i32(), {6}, false, &device);
    const std::int32_t above = INT32_MAX, below = INT32_MIN;
    bounds.slice(0, 0, 3).fill(&above);
    bounds.slice(0, 3, 6).fill(&below);
    const std::int64_t threads = std::min(n, kExtentThreads);
    launch("extent", threads, handle(lowers), handle(uppers), std::int32_t(threads), handle(bounds));

    const runtime::Array keys = runtime::Array::empty(in_groups ? types::u64() : types::u32(), {2 * n}, false, &device);
    const runtime::Array order =
        runtime::Array::empty(types::i32(), {2 * n}, false, &device);  // the half behind: scratch
    const runtime::Array own_keys = keys.slice(0, 0, n);
    tree.order = order.slice(0, 0, n);
    runtime::Array ranks;
    if (in_groups) {
      tree.groups = runtime::Array::empty(types::vec(types::i32(), 2), {n + 1}, false, &device);
      launch("group_keys", n, handle(lowers), handle(uppers), handle(bounds), handle(source.groups), handle(own_keys),
             handle(tree.order));
      algorithms::sort_array(keys, &order, {n, 0, kGroupBits + kMortonBits});
      ranks = rank_groups(device, own_keys);
    } else {
      launch("morton_keys", n, handle(lowers), handle(uppers), handle(bounds), handle(own_keys), handle(tree.order));
      algorithms::sort_array(keys, &order, {n, 0, kMortonBits});
    }
    if (n == 1) {
      launch("lone_item", 1, handle(lowers), handle(uppers), handle(rows(tree.nodes)));
      if (in_groups) launch("lone_group", 1, handle(source.groups), handle(tree.groups));
    } else {
      link(device, tree, source, own_keys, ranks);
    }
    if (source.of_faces()) make_tables(device, tree.nodes, tree.fours, tree.pairs);
    fill_leaves(tree, source);
    if (moments) {
      tree.moments = runtime::Array::empty(types::f32(), {nodes, 2 * geometry::kMomentRows}, false, &device);
      gather_moments(device, tree);
    }
    return tree;
  }

  void refit(cuda::Device& device, DeviceTree& tree, const TreeSource& source) override {
    const RecordingSuspended unrecorded;
    if (tree.count == 0) return;
    find_boxes(device, tree, source, {});
    tree.arrived.fill_zero();
    launch("refit_nodes", tree.nodes.extent(0), handle(tree.order), handle(tree.lowers), handle(tree.uppers),
           handle(tree.nodes), handle(tree.arrived), handle(floats(tree.nodes)));
    if (source.of_faces()) make_tables(device, tree.nodes, tree.fours, tree.pairs);
    fill_leaves(tree, source);
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

  runtime::Array edge_sum(cuda::Device& device, const TreeSource& source) override {
    const RecordingSuspended unrecorded;
    const std::int64_t n = source.count;
    const runtime::Array out = runtime::Array::zeros(types::f64(), {2}, false, &device);
    if (n == 0) return out;
    const runtime::Array lengths = runtime::Array::empty(types::f64(), {2, n}, false, &device);
    launch("edge_lengths", n, handle(source.points), handle(source.indices), handle(lengths));
    algorithms::sum_array(lengths, nullptr, out, 2, n, 1);
    return out;
  }

 private:
  /// The boxes of what the tree is over: those that were given, or those of faces, found anew.
  void find_boxes(cuda::Device& device, DeviceTree& tree, const TreeSource& source, runtime::Array bad_face) {
    if (!source.of_faces()) {
      tree.lowers = source.lowers;
      tree.uppers = source.uppers;
      return;
    }
    const Type* vec3 = types::vec(types::f32(), 3);
    const std::int64_t n = source.count;
    if (!tree.lowers.is_valid()) tree.lowers = runtime::Array::empty(vec3, {n}, false, &device);
    if (!tree.uppers.is_valid()) tree.uppers = runtime::Array::empty(vec3, {n}, false, &device);
    if (!bad_face.is_valid()) bad_face = runtime::Array::empty(types::i32(), {1}, false, &device);
    launch("face_boxes", n, handle(source.points), handle(source.indices), handle(tree.lowers), handle(tree.uppers),
           handle(bad_face));
  }

  /// Of sorted keys: the rank of each one's group among all groups. The keys become what the tree is made by.
  runtime::Array rank_groups(cuda::Device& device, const runtime::Array& keys) {
    const std::int64_t n = keys.extent(0);
    const runtime::Array ranks = runtime::Array::empty(types::i32(), {n}, false, &device);
    launch("group_borders", n, handle(keys), handle(ranks));
    algorithms::scan_array(ranks, ranks, true);
    launch("group_codes", n, handle(keys), handle(ranks));
    return ranks;
  }

  /// `ranks`: of the items' groups, or none.
  void link(cuda::Device& device, DeviceTree& tree, const TreeSource& source, const runtime::Array& keys,
            const runtime::Array& ranks) {
    const std::int64_t n = tree.count, inner = n - 1;
    const auto ints = [&](std::int64_t size) { return runtime::Array::empty(types::i32(), {size}, false, &device); };
    const runtime::Array slots = runtime::Array::empty(types::vec(types::f32(), 4), {4 * inner}, false, &device);
    const runtime::Array counts = runtime::Array::empty(types::vec(types::i32(), 2), {2 * inner}, false, &device);
    const runtime::Array parent = ints(inner), sorted = tree.order;
    const std::int32_t nobody = -1;
    tree.arrived.fill(&nobody);
    tree.order = ints(n);
    if (ranks.is_valid()) {
      launch("climb_in_groups", n, handle(keys), handle(ranks), handle(sorted), handle(tree.lowers),
             handle(tree.uppers), handle(tree.arrived), handle(slots), handle(counts), handle(parent));
      launch("lay_out_groups", inner, handle(slots), handle(counts), handle(parent), handle(sorted), handle(tree.order),
             handle(rows(tree.nodes)), handle(ranks), handle(source.groups), handle(tree.groups));
      return;
    }
    launch("climb", n, handle(keys), handle(sorted), handle(tree.lowers), handle(tree.uppers), handle(tree.arrived),
           handle(slots), handle(counts), handle(parent));
    launch("lay_out", inner, handle(slots), handle(counts), handle(parent), handle(sorted), handle(tree.order),
           handle(rows(tree.nodes)));
  }

  /// Moments of all nodes, from the leaves as they are now.
  void gather_moments(cuda::Device& device, DeviceTree& tree) {
    const std::int64_t nodes = tree.nodes.extent(0);
    const runtime::Array totals = runtime::Array::empty(types::f64(), {nodes, kTotals}, false, &device);
    tree.arrived.fill_zero();
    launch("gather_moments", nodes, handle(tree.nodes), handle(floats(tree.nodes)), handle(rows(tree.leaves)),
           handle(tree.arrived), handle(totals), handle(tree.moments));
  }

  void fill_leaves(DeviceTree& tree, const TreeSource& source) {
    if (source.of_faces())
      launch("fill_faces", tree.count, handle(source.points), handle(source.indices), handle(tree.order),
             handle(rows(tree.leaves)));
    else
      launch("fill_boxes", tree.count, handle(tree.lowers), handle(tree.uppers), handle(tree.order),
             handle(rows(tree.leaves)));
  }

  /// The same memory as rows of four floats.
  static runtime::Array rows(const runtime::Array& words) {
    const std::int64_t count = words.extent(0) * words.extent(1) / 4, stride = 16;
    return words.reinterpret(types::vec(types::f32(), 4), std::span(&count, 1), std::span(&stride, 1));
  }

  /// The same memory as floats.
  static runtime::Array floats(const runtime::Array& words) {
    return words.reinterpret(types::f32(), words.shape(), words.strides());
  }

  template <class... Args>
  void launch(std::string_view name, std::int64_t threads, Args&&... args) {
    tree_program().kernel(name).launch({threads}, std::forward<Args>(args)...);
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
