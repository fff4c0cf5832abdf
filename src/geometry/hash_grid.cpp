// Builds of hash grids: memory, groups, cells, the descriptor.
#include "geometry/hash_grid.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "runtime/allocator.h"
#include "runtime/errors.h"

namespace weft::geometry {

using runtime::ArgumentError;
using runtime::Array;

namespace {

constexpr std::int64_t kMostCells = INT32_MAX;

std::array<std::int32_t, 3> checked_dims(const std::array<std::int64_t, 3>& dims) {
  std::int64_t cells = 1;
  for (std::int64_t extent : dims) {
    if (extent < 1)
      throw ArgumentError("a HashGrid has at least one cell along each axis, not " + std::to_string(extent));
    cells = extent > kMostCells / cells ? kMostCells + 1 : cells * extent;
    if (cells > kMostCells) throw ArgumentError("a HashGrid has fewer than 2147483648 cells");
  }
  return {std::int32_t(dims[0]), std::int32_t(dims[1]), std::int32_t(dims[2])};
}

std::int64_t checked_count(std::int64_t points) {
  if (points < 0 || points > INT32_MAX)
    throw ArgumentError("a HashGrid holds 0 to 2147483647 points, not " + std::to_string(points));
  return points;
}

}  // namespace

std::shared_ptr<HashGrid> HashGrid::make(const std::array<std::int64_t, 3>& dims, ScalarKind kind,
                                         cuda::Device* device) {
  checked_dims(dims);
  return publish(std::make_shared<HashGrid>(dims, kind, device));
}

HashGrid::HashGrid(const std::array<std::int64_t, 3>& dims, ScalarKind kind, cuda::Device* device)
    : Object(HandleKind::hash_grid, device), dims_(checked_dims(dims)), kind_of_points_(kind) {
  grid_.header.kind = std::uint32_t(HandleKind::hash_grid);
  grid_.header.flags = kind == ScalarKind::f64 ? kInDoubles : 0u;
  std::copy(dims_.begin(), dims_.end(), grid_.dims);
  write(grid_);
}

std::shared_ptr<Object> HashGrid::keep() {
  auto kept =
      std::make_shared<HashGrid>(std::array<std::int64_t, 3>{dims_[0], dims_[1], dims_[2]}, kind_of_points_, device());
  kept->built_ = built_;
  kept->grid_ = grid_;
  kept->next_generation();
  kept->write(kept->grid_);
  return kept;
}

HashGrid::Rooms HashGrid::grown(std::int64_t points, bool groups) const {
  Rooms rooms = rooms_;
  const auto grow = [&](Room& room, std::uint64_t bytes) {
    if (bytes <= room.bytes) return;
    room.memory = device() ? device()->allocate(bytes, false) : runtime::host_buffer(bytes, false);
    room.bytes = bytes;
  };
  const std::uint64_t count = std::uint64_t(points);
  if (count == 0) return rooms;
  const std::int64_t cells = std::int64_t(dims_[0]) * dims_[1] * dims_[2];
  grow(rooms.starts, std::uint64_t(CellsRequest::starts_room(cells, points)) * 4);
  grow(rooms.numbers, count * 4);
  if (groups) grow(rooms.groups, count * 4);
  grow(rooms.cells, count * 4);
  grow(rooms.pairs, count * 8);
  return rooms;
}

void HashGrid::reserve(std::int64_t points, bool groups) {
  checked_count(points);
  std::unique_lock<std::shared_mutex> alone;
  if (!device()) alone = std::unique_lock(in_use());
  rooms_ = grown(points, groups);
}

std::uint64_t HashGrid::bytes() const {
  std::uint64_t all = 0;
  for (const Room* room : {&rooms_.starts, &rooms_.numbers, &rooms_.groups, &rooms_.cells, &rooms_.pairs})
    all += room->bytes;
  return all;
}

void HashGrid::check(const Array& points, double width, const Array* groups) const {
  const Type* element = types::vec(types::scalar(kind_of_points_), 3);
  const auto here = [&](const Array& array) {
    return device() ? !array.on_host() && array.space() == device() : array.on_host();
  };
  if (!points.is_valid() || points.element() != element)
    throw ArgumentError("the points of this HashGrid are an array of " + element->user_name());
  if (!here(points)) throw ArgumentError("the points must lie on the HashGrid's device, " + place());
  checked_count(points.size());
  if (!(width > 0)) throw ArgumentError("the cells of a HashGrid have a width above 0");
  if (!groups) return;
  if (!groups->is_valid() || groups->element() != types::i32() || groups->size() != points.size())
    throw ArgumentError("the groups of a HashGrid are an array of int32, one for each point");
  if (!here(*groups)) throw ArgumentError("the groups must lie on the HashGrid's device, " + place());
}

void HashGrid::build(const Array& points, double width, const Array* groups, const runtime::LaunchOptions& options) {
  check(points, width, groups);
  const Array source = points.is_contiguous() ? points : points.copy();
  const Array group_source = !groups ? Array() : groups->is_contiguous() ? *groups : groups->copy();
  const std::int64_t count = source.size();

  std::unique_lock<std::shared_mutex> alone;
  if (!device()) alone = std::unique_lock(in_use());
  if (leave_to_pins()) rooms_.starts = rooms_.numbers = rooms_.groups = {};  // somebody else's now
  rooms_ = grown(count, groups != nullptr);
  if (device())
    for (const Room* room : {&rooms_.starts, &rooms_.numbers, &rooms_.groups, &rooms_.cells, &rooms_.pairs})
      if (room->memory) device()->keep_for_capture(room->memory);
  grid_.cell_width = width;
  grid_.inverse_width = 1 / width;
  grid_.point_count = std::uint32_t(count);
  grid_.starts = count ? rooms_.starts.at() : 0;
  grid_.points = count ? rooms_.numbers.at() : 0;
  grid_.groups = count && groups ? rooms_.groups.at() : 0;
  grid_.header.generation = next_generation();
  if (count) sort(source, group_source, options);
  write(grid_);
  built_ = rooms_;
}

void HashGrid::sort(const Array& points, const Array& groups, const runtime::LaunchOptions& options) {
  const auto at = [](const Array& array) { return algorithms::address_of(array.data()); };
  const std::int64_t count = points.size();
  CellsRequest request{kind_of_points_, at(points), count};
  std::copy(dims_.begin(), dims_.end(), request.dims);
  request.inverse_width = grid_.inverse_width;
  request.starts = grid_.starts;
  request.numbers = grid_.points;
  request.cells = rooms_.cells.at();
  request.pairs = rooms_.pairs.at();
  request.order = grid_.groups;  // the room of the sorted groups holds the order by groups meanwhile
  const GroupsRequest by_group{grid_.groups ? at(groups) : 0,
                               request.order,
                               request.cells,
                               request.pairs,
                               request.pairs + std::uint64_t(count) * 4,
                               count};
  if (cuda::Device* there = device()) {
    if (grid_.groups) order_by_group(*there, by_group);
    sort_into_cells(*there, request);
    if (grid_.groups) gather_groups(*there, by_group.groups, request.numbers, grid_.groups, count);
    return;
  }
  if (grid_.groups) order_by_group(by_group, options);
  sort_into_cells(request, options);
  if (grid_.groups) gather_groups(by_group.groups, request.numbers, grid_.groups, count, options);
}

}  // namespace weft::geometry
