// Hash grids for Python: the class behind warp.HashGrid, which checks what users give.
#include "bind/gil.h"
#include "bind/graph_journal.h"
#include "cuda/system.h"
#include "geometry/hash_grid.h"

namespace weft::bind {
namespace {

using geometry::HashGrid;
using runtime::Array;

struct HashGridObject {
  std::shared_ptr<HashGrid> grid;
};

/// While a graph is captured on the grid's device, it keeps the arrays that a build reads.
void keep_for_capture(const HashGrid& grid, const Array& points, const Array& groups) {
  if (!grid.device() || !grid.device()->capture()) return;
  note_other("the build of a HashGrid");
  grid.device()->keep_for_capture(std::make_shared<const std::pair<Array, Array>>(points, groups));
  grid.device()->keep_for_capture(grid.shared_from_this());
}

void build(HashGrid& grid, const ArrayObject& points, double width, const ArrayObject* groups) {
  const Array source = points.array, group_source = groups ? groups->array : Array();
  keep_for_capture(grid, source, group_source);
  // Whoever launches meanwhile may wait for the build with the lock of the interpreter, so nothing here asks for that.
  const GilRelease open;
  runtime::LaunchOptions options;
  options.max_threads = launch_settings().max_threads;
  options.serial = options.max_threads == 1;
  grid.build(source, width, groups ? &group_source : nullptr, options);
}

}  // namespace

void register_hash_grids(nb::module_& m) {
  nb::class_<HashGridObject>(m, "HashGrid", "Points sorted into the cells of a table, which kernels reach by an id.")
      .def(
          "__init__",
          [](HashGridObject* self, std::int64_t x, std::int64_t y, std::int64_t z, const TypeHandle& scalar,
             int place) {
            cuda::Device* device = place < 0 ? nullptr : &cuda::System::shared().device(place);
            new (self) HashGridObject{HashGrid::make({x, y, z}, scalar.type->scalar_kind(), device)};
          },
          nb::arg("x"), nb::arg("y"), nb::arg("z"), nb::arg("scalar"), nb::arg("place"))
      .def_prop_ro("id", [](const HashGridObject& self) { return self.grid->id(); })
      .def_prop_ro(
          "bytes", [](const HashGridObject& self) { return self.grid->bytes(); }, "Bytes of memory it holds.")
      .def(
          "build",
          [](HashGridObject& self, const ArrayObject& points, double width, const ArrayObject* groups) {
            build(*self.grid, points, width, groups);
          },
          nb::arg("points"), nb::arg("width"), nb::arg("groups").none())
      .def(
          "reserve", [](HashGridObject& self, std::int64_t points, bool groups) { self.grid->reserve(points, groups); },
          nb::arg("points"), nb::arg("groups"));
}

}  // namespace weft::bind
