// Hash grids: points sorted by the cells of a table, for neighbour queries of kernels. The table is made anew by each
// build; memory is kept from one to the next and only grows.
#pragma once
#include <array>

#include "geometry/grid_cells.h"
#include "geometry/object.h"
#include "runtime/array.h"

namespace weft::geometry {

class HashGrid final : public Object {
 public:
  /// A table of so many cells along each axis, for points of three numbers of this kind. Null is the CPU. Throws
  /// ArgumentError for extents below 1 and for 2^31 cells or more.
  static std::shared_ptr<HashGrid> make(const std::array<std::int64_t, 3>& dims, ScalarKind kind, cuda::Device* device);
  HashGrid(const std::array<std::int64_t, 3>& dims, ScalarKind kind, cuda::Device* device);

  /// Sorts points (of any rank, vectors of three numbers of this grid's kind) into cells of this width, with int32 groups,
  /// one a point, if there is an array for them. Nothing of either is kept. On a device it is queued, and can be captured.
  void build(const runtime::Array& points, double width, const runtime::Array* groups,
             const runtime::LaunchOptions& options = {});
  /// Throws the ArgumentError that build would throw.
  void check(const runtime::Array& points, double width, const runtime::Array* groups) const;
  /// Takes memory for builds of so many points.
  void reserve(std::int64_t points, bool groups);
  /// Bytes of memory that it holds, for tests.
  std::uint64_t bytes() const;
  std::shared_ptr<Object> with_arrays(std::span<const runtime::Array>) override { return publish(keep()); }

 private:
  /// Memory that only grows, and forgets what it held then.
  struct Room {
    std::shared_ptr<void> memory;
    std::uint64_t bytes = 0;
    Address at() const { return reinterpret_cast<Address>(memory.get()); }
  };
  struct Rooms {
    Room starts, numbers, groups, cells, pairs;
  };
  /// All of them with room for so many points; the old ones stay as they are.
  Rooms grown(std::int64_t points, bool groups) const;
  void sort(const runtime::Array& points, const runtime::Array& groups, const runtime::LaunchOptions& options);
  std::shared_ptr<Object> keep() override;

  std::array<std::int32_t, 3> dims_;
  ScalarKind kind_of_points_;
  Rooms rooms_;  // of the next build
  Rooms built_;  // of the last one: kernels read them
  GridDescriptor grid_{};
};

}  // namespace weft::geometry
