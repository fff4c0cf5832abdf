// Trees that a GPU builds and refits by itself: the order of the kernels in kernels/*.py, which are compiled like any
// program's when they are first needed. All of it is queued on the device's current stream and can be captured.
#include "driver/gpu_trees.h"

#include <algorithm>

#include "algorithms/arrays.h"
#include "driver/program_impl.h"
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
constexpr std::int64_t kExtentThreads = 1 << 16;  // that gather the bounds of all centres

weft::Array handle(const runtime::Array& array) {
  auto impl = std::make_shared<weft::Array::Impl>();
  impl->array = array;
  return weft::Array(std::move(impl));
}

class GpuTrees final : public geometry::DeviceTrees {
 public:
  DeviceTree build(cuda::Device& device, const TreeSource& source, const runtime::Array& bad_face) override {
    const RecordingSuspended unrecorded;
    DeviceTree tree;
    tree.count = source.count;
    const std::int64_t n = source.count;
    if (n == 0) return tree;
    const std::int64_t nodes = std::max<std::int64_t>(n - 1, 1);
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

    const runtime::Array keys = runtime::Array::empty(types::u32(), {2 * n}, false, &device);
    const runtime::Array order =
        runtime::Array::empty(types::i32(), {2 * n}, false, &device);  // the half behind: scratch
    const runtime::Array own_keys = keys.slice(0, 0, n);
    tree.order = order.slice(0, 0, n);
    launch("morton_keys", n, handle(lowers), handle(uppers), handle(bounds), handle(own_keys), handle(tree.order));
    algorithms::sort_array(keys, &order, {n, 0, kMortonBits});
    if (n == 1) {
      launch("lone_item", 1, handle(tree.order), handle(lowers), handle(uppers), handle(floats(tree.nodes)),
             handle(tree.nodes));
    } else {
      link(device, tree, own_keys);
    }
    fill_leaves(tree, source);
    return tree;
  }

  void refit(cuda::Device& device, DeviceTree& tree, const TreeSource& source) override {
    const RecordingSuspended unrecorded;
    if (tree.count == 0) return;
    find_boxes(device, tree, source, {});
    tree.arrived.fill_zero();
    launch("refit_nodes", tree.nodes.extent(0), handle(tree.order), handle(tree.lowers), handle(tree.uppers),
           handle(tree.nodes), handle(tree.arrived), handle(floats(tree.nodes)));
    fill_leaves(tree, source);
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

  void link(cuda::Device& device, DeviceTree& tree, const runtime::Array& keys) {
    const std::int64_t n = tree.count, inner = n - 1;
    const auto ints = [&](std::int64_t size) { return runtime::Array::empty(types::i32(), {size}, false, &device); };
    const runtime::Array slots = runtime::Array::empty(types::vec(types::f32(), 4), {4 * inner}, false, &device);
    const runtime::Array counts = runtime::Array::empty(types::vec(types::i32(), 2), {2 * inner}, false, &device);
    const runtime::Array parent = ints(inner), sorted = tree.order;
    const std::int32_t nobody = -1;
    tree.arrived.fill(&nobody);
    launch("climb", n, handle(keys), handle(sorted), handle(tree.lowers), handle(tree.uppers), handle(tree.arrived),
           handle(slots), handle(counts), handle(parent));
    tree.order = ints(n);
    launch("lay_out", inner, handle(slots), handle(counts), handle(parent), handle(sorted), handle(tree.order),
           handle(rows(tree.nodes)));
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
    program().kernel(name).launch({threads}, std::forward<Args>(args)...);
  }

  const Program& program() {
    static const Program* made = [] {
      Options options;
      options.backward = false;
      return new Program(Program::compile(kTreeKernels, "tree.py", options));
    }();
    return *made;
  }
};

}  // namespace

void use_gpu_trees() {
  static GpuTrees trees;
  geometry::set_device_trees(&trees);
}

}  // namespace weft::driver
