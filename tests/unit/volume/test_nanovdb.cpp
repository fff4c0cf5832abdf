// Files made here, read by NanoVDB's own headers (Debian: libnanovdb-dev), where these are installed; and files they write,
// read here.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "volume/grid.h"
#include "volume/grid_build.h"
#include "volume/grid_file.h"

#if __has_include(<nanovdb/util/IO.h>)
#define NANOVDB_USE_ZIP 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <nanovdb/util/GridValidator.h>
#include <nanovdb/util/IO.h>
#include <nanovdb/util/Primitives.h>
#pragma GCC diagnostic pop
#endif

namespace weft::volume {
namespace {

constexpr std::int32_t kTiles[] = {0, 0, 0, 9, 0, 0, -1, -1, -1, 130, 5, 5, 5000, -5000, 70000};

#if __has_include(<nanovdb/util/IO.h>)

std::filesystem::path temporary_file(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()) + ".nvdb");
}

/// A grid whose voxels are numbered through, leaf by leaf.
template <class Value>
runtime::Array numbered(GridType type, Value background) {
  GridPlan plan;
  plan.type = type;
  plan.map = grid_map({0.5, 0.1, 0, 0, 0.5, 0, 0, 0.2, 2}, {1, 2, 3});
  plan.background = std::as_bytes(std::span(&background, 1));
  runtime::Array grid = build_grid(plan, kTiles);
  const GridLayout& layout = *grid_layout(type);
  const std::span bytes(static_cast<std::byte*>(grid.data()), std::size_t(grid.size()));
  const GridFacts facts = check_grid(GridBytes(bytes, "the grid"));
  for (std::uint32_t n = 0; n < facts.leaves * 512; ++n) {
    const Value value(static_cast<float>(n));
    std::memcpy(bytes.data() + facts.first_leaf + n / 512 * layout.leaf_bytes + layout.leaf_table +
                    n % 512 * layout.value_bytes,
                &value, sizeof value);
  }
  return grid;
}

template <class Value>
void agrees(GridType type, Value background, Codec codec) {
  const runtime::Array grid = numbered(type, background);
  const std::span bytes(static_cast<const std::byte*>(grid.data()), std::size_t(grid.size()));
  const GridFacts facts = check_grid(GridBytes(bytes, "the grid"));
  const std::string file = file_of_grid(bytes, codec, {});
  const std::filesystem::path path = temporary_file("weft_agrees");
  std::ofstream(path, std::ios::binary).write(file.data(), std::streamsize(file.size()));
  auto handle = nanovdb::io::readGrid(path.string());
  std::filesystem::remove(path);
  const nanovdb::NanoGrid<Value>* theirs = handle.template grid<Value>();
  ASSERT_NE(theirs, nullptr);
  EXPECT_TRUE(nanovdb::isValid(*theirs, true, true));
  EXPECT_EQ(theirs->activeVoxelCount(), facts.leaves * 512u);
  EXPECT_EQ(theirs->tree().nodeCount(0), facts.leaves);
  EXPECT_EQ(theirs->tree().background(), background);
  auto accessor = theirs->getAccessor();
  const std::vector<std::int32_t> voxels = voxel_places(bytes, facts);
  for (std::size_t n = 0; n < voxels.size() / 3; ++n)
    ASSERT_EQ(accessor.getValue(nanovdb::Coord(voxels[3 * n], voxels[3 * n + 1], voxels[3 * n + 2])),
              Value(static_cast<float>(n)));
  EXPECT_EQ(accessor.getValue(nanovdb::Coord(0, 100, 0)), background);
  EXPECT_EQ(accessor.getValue(nanovdb::Coord(40, 0, 3)), background);
  EXPECT_EQ(accessor.getValue(nanovdb::Coord(-20000, 0, 3)), background);
  const auto world = theirs->indexToWorld(nanovdb::Vec3d(1, 2, 3));
  EXPECT_DOUBLE_EQ(world[0], 1 + 0.5 + 0.2);
  EXPECT_DOUBLE_EQ(world[1], 2 + 1.0);
  EXPECT_DOUBLE_EQ(world[2], 3 + 0.4 + 6);
  const auto back = theirs->worldToIndex(world);
  EXPECT_NEAR(back[0], 1, 1e-12);
}

TEST(NanoVdb, ReadsWhatIsWritten) {
  for (const Codec codec : {Codec::none, Codec::zip}) {
    agrees<float>(GridType::float32, 2.5f, codec);
    agrees<double>(GridType::float64, 2.5, codec);
    agrees<std::int32_t>(GridType::int32, -7, codec);
    agrees<std::int64_t>(GridType::int64, -7, codec);
    agrees<std::uint32_t>(GridType::uint32, 7, codec);
    agrees<nanovdb::Vec3f>(GridType::vec3f, nanovdb::Vec3f(1, 2, 3), codec);
    agrees<nanovdb::Vec3d>(GridType::vec3d, nanovdb::Vec3d(1, 2, 3), codec);
    agrees<nanovdb::Vec4f>(GridType::vec4f, nanovdb::Vec4f(1, 2, 3, 4), codec);
    agrees<nanovdb::Vec4d>(GridType::vec4d, nanovdb::Vec4d(1, 2, 3, 4), codec);
  }
}

TEST(NanoVdb, WritesWhatIsRead) {
  auto handle =
      nanovdb::createLevelSetSphere<float>(20.0f, nanovdb::Vec3f(3, 4, 5), 0.5, 3.0, nanovdb::Vec3d(0), "ball");
  const std::filesystem::path path = temporary_file("weft_reads");
  for (const auto codec : {nanovdb::io::Codec::NONE, nanovdb::io::Codec::ZIP}) {
    nanovdb::io::writeGrid(path.string(), handle, codec);
    std::ifstream in(path, std::ios::binary);
    const std::string file((std::istreambuf_iterator<char>(in)), {});
    const GridBytes bytes(std::as_bytes(std::span(file)), "the file");
    const std::vector<StoredGrid> grids = stored_grids(bytes);
    ASSERT_EQ(grids.size(), 1u);
    EXPECT_EQ(grids[0].name, "ball");
    std::vector<std::byte> grid(grids[0].bytes);
    unpack_grid(bytes, grids[0], grid, {});
    const GridFacts facts = check_grid(GridBytes(grid, "the grid"));
    EXPECT_EQ(facts.leaves, handle.grid<float>()->tree().nodeCount(0));
    EXPECT_EQ(facts.active_voxels, handle.grid<float>()->activeVoxelCount());
    EXPECT_EQ(facts.name, "ball");
  }
  std::filesystem::remove(path);
}

#else

TEST(NanoVdb, ReadsWhatIsWritten) { GTEST_SKIP() << "NanoVDB's headers are not installed (libnanovdb-dev)"; }

#endif

TEST(Grid, TheSamePointsGiveTheSameBytes) {
  std::vector<std::int32_t> points(std::begin(kTiles), std::end(kTiles)), backwards;
  for (std::size_t n = points.size() / 3; n-- > 0;)
    backwards.insert(backwards.end(), &points[3 * n], &points[3 * n] + 3);
  backwards.insert(backwards.end(), points.begin(), points.end());
  GridPlan plan;
  plan.map = grid_map({1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0});
  const float background = 3;
  plan.background = std::as_bytes(std::span(&background, 1));
  const runtime::Array a = build_grid(plan, points), b = build_grid(plan, backwards);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), std::size_t(a.size())), 0);
}

}  // namespace
}  // namespace weft::volume
