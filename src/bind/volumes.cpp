// Volumes for Python: files and new grids as bytes in arrays, and the class behind warp.Volume, which checks what users give.
#include <nanobind/stl/tuple.h>

#include "bind/bind.h"
#include "bind/gil.h"
#include "cuda/system.h"
#include "driver/gpu_grids.h"
#include "runtime/errors.h"
#include "volume/grid_build.h"
#include "volume/grid_file.h"
#include "volume/volume.h"

namespace weft::bind {
namespace {

using runtime::Array;
using volume::GridBytes;
using volume::GridFacts;
using volume::Volume;

struct VolumeObject {
  std::shared_ptr<Volume> volume;
};

/// The bytes of a Python object with a contiguous buffer, as long as this lives.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), std::size_t(view_.len)};
  }

 private:
  Py_buffer view_;
};

std::span<std::byte> room_in(const ArrayObject& array, std::uint64_t at, std::uint64_t bytes) {
  const Array& a = array.array;
  if (!a.is_valid() || !a.on_host() || !a.is_contiguous() || at > a.bytes() || bytes > a.bytes() - at)
    throw runtime::ArgumentError("the room is too small");
  return {static_cast<std::byte*>(a.data()) + at, std::size_t(bytes)};
}

/// Whether grids lie in a file as they shall lie in memory: not compressed, one behind the other, from a multiple of 32 on.
bool lie_as_they_shall(std::span<const std::byte> file, const std::vector<volume::StoredGrid>& grids) {
  std::uint64_t at = grids[0].at;
  for (const volume::StoredGrid& grid : grids) {
    if (grid.codec != volume::Codec::none || grid.at != at) return false;
    at += grid.bytes;
  }
  return (reinterpret_cast<std::uintptr_t>(file.data()) + grids[0].at) % 32 == 0;
}

/// The grids of a file, one behind the other in a new array on the host, their sizes, and where in the file the first one is.
/// in_place: there is no array if they lie in the file as they shall lie in memory.
std::tuple<std::optional<ArrayObject>, std::vector<std::uint64_t>, std::uint64_t> read_file(nb::handle source,
                                                                                            const std::string& name,
                                                                                            nb::object blosc,
                                                                                            bool in_place) {
  const Buffer buffer(source);
  const GridBytes file(buffer.bytes(), name);
  volume::BloscUnpack unpack;
  if (!blosc.is_none())
    unpack = [&](std::span<const std::byte> packed, std::span<std::byte> room) -> std::uint64_t {
      const GilAcquire locked;
      nb::object made = blosc(nb::bytes(reinterpret_cast<const char*>(packed.data()), packed.size()), room.size());
      const Buffer bytes(made);
      if (bytes.bytes().size() > room.size()) return 0;
      std::memcpy(room.data(), bytes.bytes().data(), bytes.bytes().size());
      return bytes.bytes().size();
    };
  const GilRelease open;
  const std::vector<volume::StoredGrid> grids = volume::stored_grids(file);
  std::uint64_t total = 0;
  std::vector<std::uint64_t> sizes;
  for (const volume::StoredGrid& grid : grids) {
    if (grid.bytes > std::uint64_t(INT64_MAX) - total)
      throw runtime::OutOfMemory(UINT64_MAX, name + ": the grids are larger than any memory");
    total += grid.bytes;
    sizes.push_back(grid.bytes);
  }
  std::optional<ArrayObject> out;
  if (!in_place || !lie_as_they_shall(buffer.bytes(), grids))
    out.emplace(ArrayObject{Array::empty(types::scalar(ScalarKind::u8), {std::int64_t(total)})});
  auto* made = out ? static_cast<std::byte*>(out->array.data()) : nullptr;
  for (const volume::StoredGrid& grid : grids) {
    std::span<const std::byte> bytes = buffer.bytes().subspan(grid.at, std::size_t(out ? 0 : grid.bytes));
    if (out) {
      const std::span room(made, std::size_t(grid.bytes));
      volume::unpack_grid(file, grid, room, unpack);
      bytes = room;
      made += grid.bytes;
    }
    const GridBytes unpacked(bytes, name + ", grid '" + grid.name + "'");
    if (const std::uint64_t stated = volume::stated_bytes(unpacked); stated != grid.bytes)
      unpacked.fail(32, "the grid says that it has " + std::to_string(stated) + " bytes, expected " +
                            std::to_string(grid.bytes) + ", as the file says");
    // Behind it the next one would not begin where grids may.
    if (grid.bytes % 32 != 0)
      unpacked.fail(
          32, "Invalid NanoVDB grid structure: " + std::to_string(grid.bytes) + " bytes, expected a multiple of 32");
    if (&grid != &grids[0]) volume::check_grid(unpacked);  // the first one is checked when the volume is made
  }
  return {std::move(out), std::move(sizes), grids[0].at};
}

/// A file of the grids that lie one behind the other in an array.
nb::bytes write_file(const ArrayObject& memory, const std::vector<std::uint64_t>& sizes, int codec, nb::object blosc) {
  Array room;
  const std::span<const std::byte> bytes = volume::host_bytes(memory.array, room);
  const auto pack = [&](std::span<const std::byte> block) {
    const Buffer packed(blosc(nb::bytes(reinterpret_cast<const char*>(block.data()), block.size())));
    return std::string(reinterpret_cast<const char*>(packed.bytes().data()), packed.bytes().size());
  };
  std::vector<std::span<const std::byte>> grids;
  std::uint64_t at = 0;
  for (const std::uint64_t size : sizes) {
    if (size > bytes.size() - at) throw runtime::ArgumentError("the grids are not there");
    grids.push_back(bytes.subspan(std::size_t(at), std::size_t(size)));
    at += size;
  }
  if (grids.empty() || grids.size() > UINT16_MAX) throw runtime::ArgumentError("a file holds 1 to 65535 grids");
  const std::string file = volume::file_of_grids(grids, volume::Codec(codec), pack);
  return nb::bytes(file.data(), file.size());
}

/// A plan of a grid as Python has it.
struct Plan {
  Plan(int type, const nb::bytes& background, const std::vector<double>& matrix, const std::vector<double>& translation,
       bool whole_tiles, const std::vector<std::uint64_t>& room)
      : value(background.c_str(), background.size()) {
    plan.type = GridType(type);
    plan.whole_tiles = whole_tiles;
    plan.background = std::as_bytes(std::span(value));
    const GridLayout* layout = grid_layout(plan.type);
    if (!layout || layout->value_bytes != value.size() || matrix.size() != 9 || translation.size() != 3)
      throw runtime::ArgumentError("this is no plan of a grid");
    std::array<double, 9> m;
    std::copy(matrix.begin(), matrix.end(), m.begin());
    plan.map = volume::grid_map(m, {translation[0], translation[1], translation[2]});
    if (room.size() == 4) plan.room = volume::GridCounts{room[0], room[1], room[2], room[3]};
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::string value;
  volume::GridPlan plan;
};

bool in_world(const Array& points) {
  if (points.element() != types::f32() && points.element() != types::i32())
    throw runtime::ArgumentError("points are int32 or float32");
  return points.element() == types::f32();
}

/// The grid (none where the room is too small), and the status.
/// Places of the world that lie in no voxel are an error, or if `tell` is true a status.
std::pair<ArrayObject, std::uint32_t> build(const ArrayObject& points, const Plan& plan, bool tell) {
  const Array source = points.array;
  const auto at = room_in(points, 0, source.bytes());
  const GilRelease open;
  std::uint32_t status = 0;
  std::vector<std::int32_t> found;
  std::span voxels(reinterpret_cast<const std::int32_t*>(at.data()), at.size() / 4);
  if (in_world(source)) try {
      found =
          volume::voxels_of_places(plan.plan.map, std::span(reinterpret_cast<const float*>(at.data()), at.size() / 4));
      voxels = found;
    } catch (const runtime::ArgumentError&) {
      if (!tell) throw;
      return {ArrayObject{}, volume::kBadPoints};
    }
  ArrayObject made{volume::build_grid_within(plan.plan, voxels, status)};
  return {std::move(made), status};
}

cuda::Device& device_of(int place) { return cuda::System::shared().device(place); }

volume::DevicePoints points_there(const cuda::Device& device, const ArrayObject& points, const ArrayObject* mask,
                                  int mask_width) {
  const auto there = [&](const Array& array) { return array.is_valid() && array.space() == &device; };
  volume::DevicePoints out;
  out.rows = points.array;
  in_world(out.rows);
  if (mask) out.mask = mask->array, out.mask_width = mask_width;
  if (!there(out.rows) || !out.rows.is_contiguous() || out.rows.rank() != 1 ||
      (mask && (!there(out.mask) || out.mask.size() < out.count() * mask_width)))
    throw runtime::ArgumentError("the points must lie on the Volume's device, one behind the other");
  return out;
}

/// A volume that a GPU builds, its memory, and the status; none if that is more than it can do.
std::optional<std::tuple<VolumeObject, ArrayObject, std::uint32_t>> build_there(int place, const ArrayObject& points,
                                                                                const ArrayObject* mask, int mask_width,
                                                                                const Plan& plan) {
  cuda::Device& device = device_of(place);
  const volume::DevicePoints source = points_there(device, points, mask, mask_width);
  const GilRelease open;
  if (!Volume::builds_there(&device, plan.plan, source.count())) return std::nullopt;
  std::uint32_t status = 0;
  std::shared_ptr<Volume> made = Volume::build_there(device, plan.plan, source, status);
  if (!made) return std::nullopt;
  ArrayObject memory{made->memory()};
  return std::tuple{VolumeObject{std::move(made)}, std::move(memory), status};
}

/// Fills an array of int32 on the host with what was found of the grid.
template <class Find>
void fill(const VolumeObject& self, const ArrayObject& out, const Find& find) {
  Array room;
  const GridFacts facts = self.volume->facts_now();
  if (!facts.layout) throw runtime::ArgumentError("a Volume of this type of grid has no voxels that can be read");
  const std::vector<std::int32_t> found = find(volume::host_bytes(self.volume->memory(), room), facts);
  std::memcpy(room_in(out, 0, found.size() * 4).data(), found.data(), found.size() * 4);
}

template <std::size_t N>
nb::tuple tuple_of(const std::array<double, N>& numbers) {
  nb::list out;
  for (double one : numbers) out.append(one);
  return nb::tuple(out);
}

nb::list features_of(const GridFacts& facts) {
  nb::list out;
  for (const volume::GridFeature& one : facts.features)
    out.append(nb::make_tuple(one.name, one.at, one.values, one.value_bytes, std::uint32_t(one.type),
                              std::string(grid_type_name(one.type))));
  return out;
}

}  // namespace

void register_volumes(nb::module_& m) {
  driver::use_gpu_grids();
  m.def("volume_read", &read_file, nb::arg("source"), nb::arg("name"), nb::arg("blosc").none(),
        nb::arg("in_place") = false);
  m.def("volume_write", &write_file, nb::arg("memory"), nb::arg("sizes"), nb::arg("codec"), nb::arg("blosc").none());
  nb::class_<Plan>(m, "VolumePlan", "What a new grid is to be like.")
      .def(nb::init<int, const nb::bytes&, const std::vector<double>&, const std::vector<double>&, bool,
                    const std::vector<std::uint64_t>&>(),
           nb::arg("type"), nb::arg("background"), nb::arg("matrix"), nb::arg("translation"), nb::arg("whole_tiles"),
           nb::arg("room"));
  m.def("volume_build", &build, nb::arg("points"), nb::arg("plan"), nb::arg("tell"));
  m.def("volume_build_there", &build_there, nb::arg("place"), nb::arg("points"), nb::arg("mask").none(),
        nb::arg("mask_width"), nb::arg("plan"));
  m.def(
      "volume_box_there",
      [](int place, const std::tuple<int, int, int>& low, const std::tuple<int, int, int>& extent) {
        const auto [i, j, k] = low;
        const auto [x, y, z] = extent;
        return ArrayObject{volume::device_grids()->tiles_of_box(device_of(place), {i, j, k}, {x, y, z})};
      },
      nb::arg("place"), nb::arg("low"), nb::arg("extent"), "The tiles of a box, as points on a GPU.");
  m.def(
      "volume_stated_bytes",
      [](const ArrayObject& header) {
        Array room;
        return volume::stated_bytes(GridBytes(volume::host_bytes(header.array, room), "the grid"));
      },
      nb::arg("header"), "How many bytes the grid says it has whose beginning this is.");
  m.def(
      "volume_type", [](const TypeHandle& value) { return std::uint32_t(grid_type_of(value.type)); }, nb::arg("value"),
      "The number of the type of grids with such voxels; 0 if there is none.");
  m.attr("VOLUME_INDEX") = std::uint32_t(GridType::index);
  m.attr("VOLUME_ON_INDEX") = std::uint32_t(GridType::on_index);
  m.def(
      "volume_value",
      [](std::uint32_t type) -> std::optional<TypeHandle> {
        const Type* value = grid_value_type(GridType(type));
        return value ? std::optional(TypeHandle{value}) : std::nullopt;
      },
      nb::arg("type"), "The type of the voxels of grids of this type; None if they have no values that are read.");

  nb::class_<VolumeObject>(m, "Volume", "A grid of NanoVDB, which kernels reach by an id.")
      .def(
          "__init__",
          [](VolumeObject* self, const ArrayObject& memory, const std::string& name) {
            const Array grid = memory.array;
            std::shared_ptr<Volume> made;
            {
              const GilRelease open;
              made = Volume::make(grid, name);
            }
            new (self) VolumeObject{std::move(made)};
          },
          nb::arg("memory"), nb::arg("name"))
      .def_prop_ro("id", [](const VolumeObject& self) { return self.volume->id(); })
      .def_prop_ro("name", [](const VolumeObject& self) { return self.volume->facts().name; })
      .def_prop_ro("bytes", [](const VolumeObject& self) { return self.volume->facts().bytes; })
      .def_prop_ro("number", [](const VolumeObject& self) { return self.volume->facts().number; })
      .def_prop_ro("count", [](const VolumeObject& self) { return self.volume->facts().count; })
      .def_prop_ro("type", [](const VolumeObject& self) { return std::uint32_t(self.volume->facts().type); })
      .def_prop_ro("type_name",
                   [](const VolumeObject& self) { return std::string(grid_type_name(self.volume->facts().type)); })
      .def_prop_ro("is_index", [](const VolumeObject& self) { return is_index_grid(self.volume->facts().type); })
      .def_prop_ro("matrix", [](const VolumeObject& self) { return tuple_of(self.volume->facts().map.matrix); })
      .def_prop_ro("translation",
                   [](const VolumeObject& self) { return tuple_of(self.volume->facts().map.translation); })
      .def_prop_ro("voxel_size", [](const VolumeObject& self) { return tuple_of(self.volume->facts().voxel_size); })
      .def_prop_ro("tiles", [](const VolumeObject& self) { return self.volume->facts_now().leaves; })
      .def_prop_ro("lowers", [](const VolumeObject& self) { return self.volume->facts_now().lowers; })
      .def_prop_ro("uppers", [](const VolumeObject& self) { return self.volume->facts_now().uppers; })
      .def_prop_ro("voxels", [](const VolumeObject& self) { return self.volume->facts_now().voxels; })
      .def_prop_ro("active_voxels", [](const VolumeObject& self) { return self.volume->facts_now().active_voxels; })
      .def_prop_ro(
          "leaf_values",
          [](const VolumeObject& self) {
            const GridFacts& facts = self.volume->facts();
            if (!facts.layout)
              throw runtime::ArgumentError("a Volume of this type of grid has no values that can be read");
            return nb::make_tuple(facts.first_leaf + facts.layout->leaf_table, facts.layout->leaf_bytes,
                                  facts.layout->value_bytes);
          },
          "Where the values of the first leaf begin, how far it is to those of the next, and how large one is.")
      .def_prop_ro("features", [](const VolumeObject& self) { return features_of(self.volume->facts()); })
      .def(
          "replace",
          [](VolumeObject& self, const ArrayObject& grid) {
            const Array source = grid.array;
            const GilRelease open;
            self.volume->replace(source);
          },
          nb::arg("grid"), "Another grid of the same type and size in its place.")
      .def_prop_ro("is_built_there", [](const VolumeObject& self) { return self.volume->is_built_there(); })
      .def(
          "rebuild",
          [](VolumeObject& self, const ArrayObject& points, const ArrayObject* mask, int mask_width) {
            const volume::DevicePoints source = points_there(*self.volume->device(), points, mask, mask_width);
            const GilRelease open;
            self.volume->rebuild(source);
          },
          nb::arg("points"), nb::arg("mask").none(), nb::arg("mask_width"),
          "The grid of other points, by the device that it lives on.")
      .def_prop_ro(
          "status_there", [](const VolumeObject& self) { return ArrayObject{self.volume->status_there()}; },
          "The status of the last build, on the device: an int32.")
      .def(
          "write_tiles",
          [](const VolumeObject& self, const ArrayObject& out) { fill(self, out, &volume::tile_corners); },
          nb::arg("out"))
      .def(
          "write_voxels",
          [](const VolumeObject& self, const ArrayObject& out) { fill(self, out, &volume::voxel_places); },
          nb::arg("out"));
}

}  // namespace weft::bind
