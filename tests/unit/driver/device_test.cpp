// GPUs from C++: devices, copies, streams, events, launches, graphs, tapes. On a machine without one these run against the
// fake driver (tests/fake_cuda), which runs them in its machine if WEFT_FAKE_CUDA_RUNS asks for it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "weft/algorithms.h"
#include "weft/geometry.h"
#include "weft/weft.h"

namespace {

using weft::Array;
using weft::Device;
using Floats = std::vector<float>;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (Device::cuda_count() == 0) GTEST_SKIP() << Device::why_no_cuda();
    gpu = Device::cuda();
    const char* runs = std::getenv("WEFT_FAKE_CUDA_RUNS");
    computes = gpu.model().find("Fake") == std::string::npos || (runs && *runs == '1');
  }
  Device gpu;
  bool computes = false;
};

weft::Program program() {
  weft::Options options;
  options.cache = false;
  return weft::Program::compile(R"(
import warp as wp

@wp.kernel
def scale(x: wp.array(dtype=float), s: float):
    i = wp.tid()
    x[i] = x[i] * s

@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])
)",
                                "device.py", options);
}

template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(NoGpu, SaysWhy) {
  EXPECT_EQ(Device().name(), "cpu");
  EXPECT_FALSE(Device().is_cuda());
  Device().synchronize();
  EXPECT_THROW(Device().stream(), weft::ArgumentError);
  if (Device::cuda_count() > 0) GTEST_SKIP() << "there is one";
  EXPECT_FALSE(Device::why_no_cuda().empty());
  EXPECT_THROW(Device::cuda(), weft::DeviceError);
}

TEST_F(Gpu, Facts) {
  EXPECT_EQ(gpu.name(), "cuda:0");
  EXPECT_TRUE(gpu.is_cuda());
  EXPECT_FALSE(gpu.model().empty());
  EXPECT_GT(gpu.total_memory(), 0u);
  EXPECT_EQ(gpu, Device::cuda(0));
  EXPECT_NE(gpu, Device());
  EXPECT_THROW(Device::cuda(63), weft::Error);
}

TEST_F(Gpu, ArraysAndCopies) {
  const Array x = Array::from<float>({1, 2, 3, 4}, gpu);
  EXPECT_EQ(x.device(), gpu);
  EXPECT_EQ(x.read<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(x.slice(0, 0, 4, 2).read<float>(), (Floats{1, 3}));
  EXPECT_NE(message_of<weft::ArgumentError>([&] { x.as<float>(); }).find("read() gives a copy"), std::string::npos);
  const Array here = x.to(Device());
  EXPECT_EQ(here.device(), Device());
  here.fill(7);
  x.slice(0, 1, 3).assign(here.slice(0, 0, 2));
  EXPECT_EQ(x.read<float>(), (Floats{1, 7, 7, 4}));
  const Array pinned = Array::pinned("float32", {4});
  pinned.assign(x);
  gpu.synchronize();
  EXPECT_EQ(pinned.as<float>()[1], 7.0f);
  x.fill_zero();
  EXPECT_EQ(x.read<float>(), Floats(4));
  x.set_requires_grad(true);
  x.grad().fill(2);
  EXPECT_EQ(x.grad().device(), gpu);
  EXPECT_EQ(x.grad().read<float>(), Floats(4, 2.0f));
}

TEST_F(Gpu, Launches) {
  const weft::Program kernels = program();
  const Array x = Array::from<float>({1, 2, 3}, gpu);
  for (int n = 0; n < 2; ++n) kernels.kernel("scale").launch({3}, x, 2.0);
  if (computes) {
    EXPECT_EQ(x.read<float>(), (Floats{4, 8, 12}));
  }
  weft::Place place;
  place.stream = weft::Stream(gpu);
  place.block_dim = 64;
  kernels.kernel("scale").launch_at(place, {3}, x, 0.5);
  place.stream.synchronize();
  if (computes) {
    EXPECT_EQ(x.read<float>(), (Floats{2, 4, 6}));
  }
  const std::string text =
      message_of<weft::ArgumentError>([&] { kernels.kernel("total").launch({3}, x, Array::zeros("float32", {1})); });
  EXPECT_NE(text.find("the array 'loss' lies on cpu, the launch runs on cuda:0"), std::string::npos) << text;
  place.block_dim = 100000;
  EXPECT_THROW(kernels.kernel("scale").launch_at(place, {3}, x, 0.5), weft::LaunchError);
  kernels.build(gpu);
}

TEST_F(Gpu, TilesInBlocks) {
  weft::Options options;
  options.cache = false;
  const weft::Program kernels = weft::Program::compile(R"(
import warp as wp

@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=(1, 40), offset=(i, 0))
    own = float(0.0)
    for k in range(lane, 40, wp.block_dim()):
        own += 1.0
    y[i] = wp.tile_sum(t * t)[0] + wp.tile_sum(wp.tile(own))[0]
)",
                                                       "tiles.py", options);
  const Array x = Array::zeros("float32", {3, 40}, gpu), y = Array::zeros("float32", {3}, gpu);
  x.fill(2);
  kernels.build(gpu);
  weft::Place place;
  for (const int block : {32, 48, 0, 32}) {  // 0: as many as is usual
    place.block_dim = block;
    y.fill_zero();
    kernels.kernel("rows").launch_at(place, {3, block ? block : 256}, x, y);
    if (computes) EXPECT_EQ(y.read<float>(), Floats(3, 200.0f)) << block;
  }
  place.block_dim = 5000;
  EXPECT_THROW(kernels.kernel("rows").launch_at(place, {3, 5000}, x, y), weft::LaunchError);
  // On a tape: the adjoint is that of the same blocks.
  x.set_requires_grad(true);
  y.set_requires_grad(true);
  place.block_dim = 32;
  const weft::Tape tape;
  tape.record([&] { kernels.kernel("rows").launch_at(place, {3, 32}, x, y); });
  y.grad().fill(1);
  tape.backward();
  if (computes) EXPECT_EQ(x.grad().read<float>(), Floats(120, 4.0f));
}

TEST_F(Gpu, BuildsVolumes) {
  // Byte for byte those of the host, and the same to kernels.
  std::vector<std::int32_t> voxels;
  for (int n = 0; n < 40; ++n) voxels.insert(voxels.end(), {n * 7 % 31 - 9, n * n % 23 * 200, -n});
  weft::Options options;
  options.cache = false;
  const weft::Program kernels = weft::Program::compile(R"(
import warp as wp

@wp.kernel
def voxels(volume: wp.uint64, indexed: wp.uint64, out: wp.array(dtype=float)):
    wp.volume_store_f(volume, -9, 0, 0, 5.0)
    out[0] = wp.volume_sample_f(volume, wp.vec3(-8.5, 0.0, 0.0), wp.Volume.LINEAR)
    out[1] = float(wp.volume_lookup_index(indexed, -9, 0, 0))
    out[2] = wp.volume_index_to_world(volume, wp.vec3(1.0, 2.0, 3.0))[2]
)",
                                                       "volumes.py", options);
  if (!computes) GTEST_SKIP() << "the driver runs no kernels";
  for (const std::size_t count : {voxels.size(), std::size_t(0)}) {
    const auto some = std::span<const std::int32_t>(voxels).first(count);
    std::vector<Floats> found;
    std::vector<std::vector<std::uint8_t>> tiles, indexed;
    for (const Device& device : {Device(), gpu}) {
      const weft::Volume volume = weft::Volume::of_tiles(some, 0.5, 1.0f, device);
      const weft::Volume sparse = weft::Volume::of_voxels(some, 0.5, device);
      EXPECT_EQ(volume.grid().device(), device);
      EXPECT_EQ(sparse.voxels(), std::int64_t(count / 3));
      EXPECT_EQ(volume.voxels(), volume.tiles() * 512);
      tiles.push_back(volume.grid().read<std::uint8_t>());
      indexed.push_back(sparse.grid().read<std::uint8_t>());
      const Array out = Array::zeros("float32", {3}, device);
      kernels.kernel("voxels").launch({1}, volume.id(), sparse.id(), out);
      found.push_back(out.read<float>());
    }
    EXPECT_EQ(tiles[0], tiles[1]);
    EXPECT_EQ(indexed[0], indexed[1]);
    EXPECT_EQ(found[0], found[1]);
    if (count > 0) {
      EXPECT_EQ(found[0][0], 3.0f);
    }
  }
}

TEST_F(Gpu, StreamsAndEvents) {
  const weft::Stream one(gpu), two(gpu);
  const weft::Stream before = gpu.stream();
  {
    const weft::ScopedStream scope(one);
    EXPECT_EQ(gpu.stream().internal(), one.internal());
    Array::zeros("float32", {1000}, gpu).fill(3);
  }
  EXPECT_EQ(gpu.stream().internal(), before.internal());
  weft::Event start(gpu, true), end(gpu, true);
  two.wait(one);
  two.record(start);
  two.record(end);
  one.wait(end);
  end.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.elapsed_since(start), 0.0f);
  one.synchronize();
  EXPECT_TRUE(one.done());
  EXPECT_THROW(weft::Stream().synchronize(), weft::ArgumentError);
}

TEST_F(Gpu, Graphs) {
  const weft::Program kernels = program();
  const Array x = Array::from<float>({1, 2, 3}, gpu), y = Array::zeros("float32", {3}, gpu);
  kernels.build(gpu);
  const weft::Graph graph = weft::Graph::capture(gpu, [&] {
    kernels.kernel("scale").launch({3}, x, 2.0);
    y.assign(x);
  });
  EXPECT_EQ(graph.device(), gpu);
  graph.launch();
  graph.launch();
  gpu.synchronize();
  if (computes) {
    EXPECT_EQ(y.read<float>(), (Floats{4, 8, 12}));
  }
  {
    weft::Graph::Capture dropped(gpu);
  }
  x.fill(1);
  EXPECT_EQ(x.read<float>(), Floats(3, 1.0f));
}

TEST_F(Gpu, Tapes) {
  const weft::Program kernels = program();
  const Array x = Array::from<float>({1, 2, 3}), there = Array::zeros("float32", {3}, gpu),
              loss = Array::zeros("float32", {1}, gpu);
  for (const Array& one : {x, there, loss}) one.set_requires_grad(true);
  const weft::Tape tape;
  tape.record([&] {
    there.assign(x);  // from one device to another
    kernels.kernel("scale").launch({3}, there, 3.0);
    kernels.kernel("total").launch({3}, there, loss);
    there.fill_zero();
  });
  EXPECT_EQ(tape.size(), 4u);
  tape.backward(loss);
  if (computes) {
    EXPECT_EQ(loss.read<float>(), Floats{9 * 14});
    EXPECT_EQ(x.grad().read<float>(), (Floats{18, 36, 54}));
  }
  tape.zero();
  EXPECT_EQ(x.grad().read<float>(), Floats(3));
  EXPECT_EQ(loss.grad().read<float>(), Floats(1));
}

// These kernels are the runtime's own, which the fake driver runs, too.
TEST_F(Gpu, Algorithms) {
  using Ints = std::vector<std::int32_t>;
  const Array values = Array::from<std::int32_t>({4, 4, 7, 7, 7, 9}, gpu);
  EXPECT_EQ(weft::sum(values), 38.0);
  EXPECT_EQ(weft::inner(values, values), 16 * 2 + 49 * 3 + 81.0);
  const Array counts = Array::zeros("int32", {3}, gpu);
  weft::histogram(values, counts, 4, 10);
  EXPECT_EQ(counts.read<std::int32_t>(), (Ints{2, 3, 1}));
  const Array found = Array::zeros("int32", {6}, gpu), lengths = Array::zeros("int32", {6}, gpu);
  EXPECT_EQ(weft::encode_runs(values, found, lengths), 3);
  EXPECT_EQ(found.read<std::int32_t>(), (Ints{4, 7, 9, 0, 0, 0}));
  EXPECT_EQ(lengths.read<std::int32_t>(), (Ints{2, 3, 1, 0, 0, 0}));
  EXPECT_EQ(weft::unique(values, values), 3);
  const Array keys = Array::from<float>({3, -1, 2}, gpu), points = Array::zeros("vec3", {3}, gpu);
  Floats numbers{3, 3, 3, -1, -1, -1, 2, 2, 2};
  points.assign(Array::wrap("vec3", {3}, numbers.data()));
  weft::sort_pairs(keys, points);
  EXPECT_EQ(keys.read<float>(), (Floats{-1, 2, 3}));
  Array::wrap("vec3", {3}, numbers.data()).assign(points);
  EXPECT_EQ(numbers, (Floats{-1, -1, -1, 2, 2, 2, 3, 3, 3}));
  weft::sort(keys);
  EXPECT_EQ(keys.read<float>(), (Floats{-1, 2, 3}));
}

}  // namespace
