// Volumes of the public API: files in and out, grids in arrays.
#include <filesystem>
#include <fstream>

#include "driver/api_errors.h"
#include "driver/gpu_grids.h"
#include "driver/program_impl.h"
#include "driver/ready_kernels.h"
#include "volume/grid_build.h"
#include "volume/grid_file.h"
#include "volume/volume.h"
#include "weft/geometry.h"

namespace weft {
namespace {

using driver::guarded;

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw runtime::Error(path + ": this file can't be read");
  std::string out(std::size_t(in.tellg()), '\0');
  in.seekg(0);
  if (!in.read(out.data(), std::streamsize(out.size())))
    throw runtime::Error(path + ": this file can't be read to its end");
  return out;
}

/// Bytes on the host as an array where the volume shall live.
Array placed(const runtime::Array& bytes, const Device& device) {
  const Array out = Array::empty("uint8", {bytes.size()}, device);
  out.internal()->array.assign(bytes);
  return out;
}

Volume read(std::span<const std::byte> bytes, const std::string& source, const Device& device, std::size_t number) {
  const volume::GridBytes file(bytes, source);
  const std::vector<volume::StoredGrid> grids = volume::stored_grids(file);
  if (number >= grids.size())
    throw runtime::ArgumentError(source + " holds " + std::to_string(grids.size()) + " grids, none of number " +
                                 std::to_string(number));
  const runtime::Array room = runtime::Array::empty(types::scalar(ScalarKind::u8), {std::int64_t(grids[number].bytes)});
  volume::unpack_grid(file, grids[number], {static_cast<std::byte*>(room.data()), std::size_t(room.size())}, {});
  return Volume(placed(room, device));
}

volume::GridPlan plan_of(GridType type, double size, std::span<const std::byte> background) {
  volume::GridPlan plan;
  plan.type = type;
  plan.whole_tiles = type != GridType::on_index;
  plan.map = volume::grid_map({size, 0, 0, 0, size, 0, 0, 0, size}, {0, 0, 0});
  plan.background = background;
  return plan;
}

/// The volume of a grid that a GPU builds by itself; null: that is the host's work.
std::shared_ptr<volume::Volume> build_there(const volume::GridPlan& plan, std::span<const std::int32_t> voxels,
                                            const Device& device) {
  driver::use_gpu_grids();
  const auto count = std::int64_t(voxels.size() / 3);
  if (!volume::Volume::builds_there(device.internal(), plan, count)) return nullptr;
  const Array rows = Array::from<std::int32_t>(voxels.first(std::size_t(count) * 3), device);
  std::uint32_t status = volume::kGridBuilt;
  return volume::Volume::build_there(*device.internal(), plan, {rows.internal()->array, {}, 0}, status);
}

}  // namespace

Volume::Volume(Array grid) : grid_(std::move(grid)) {
  impl_ = guarded(
      [&] { return volume::Volume::make(grid_.is_valid() ? grid_.internal()->array : runtime::Array(), "the array"); });
}

Volume Volume::load(const std::string& path, const Device& device, std::size_t number) {
  return guarded([&] {
    const std::string file = bytes_of_file(path);
    return read(std::as_bytes(std::span(file)), path, device, number);
  });
}

Volume Volume::from_file(std::span<const std::byte> file, const Device& device, std::size_t number) {
  return guarded([&] { return read(file, "the file", device, number); });
}

Volume::Volume(Array grid, std::shared_ptr<volume::Volume> impl) : grid_(std::move(grid)), impl_(std::move(impl)) {}

Volume Volume::of_plan(const volume::GridPlan& plan, std::span<const std::int32_t> voxels, const Device& device) {
  if (auto made = build_there(plan, voxels, device)) return Volume(driver::handle(made->memory()), made);
  return Volume(placed(volume::build_grid(plan, voxels), device));
}

Volume Volume::of_tiles(std::span<const std::int32_t> voxels, double voxel_size, float background,
                        const Device& device) {
  return guarded([&] {
    return of_plan(plan_of(GridType::float32, voxel_size, std::as_bytes(std::span(&background, 1))), voxels, device);
  });
}

Volume Volume::of_voxels(std::span<const std::int32_t> voxels, double voxel_size, const Device& device) {
  return guarded([&] { return of_plan(plan_of(GridType::on_index, voxel_size, {}), voxels, device); });
}

std::uint64_t Volume::id() const { return impl_->id(); }
std::string Volume::name() const { return impl_->facts().name; }
std::int64_t Volume::tiles() const { return impl_->facts_now().leaves; }
std::int64_t Volume::voxels() const { return std::int64_t(impl_->facts_now().voxels); }

void Volume::save(const std::string& path, bool zip) const {
  guarded([&] {
    runtime::Array room;
    const std::string file = volume::file_of_grid(volume::host_bytes(impl_->memory(), room),
                                                  zip ? volume::Codec::zip : volume::Codec::none, {});
    std::ofstream out(path, std::ios::binary);
    if (!out.write(file.data(), std::streamsize(file.size())))
      throw runtime::Error(path + ": this file can't be written");
  });
}

}  // namespace weft
