// Volumes: descriptors from facts, and copies for tapes.
#include "volume/volume.h"

#include "runtime/errors.h"
#include "volume/grid_format.h"

namespace weft::volume {

using geometry::Indexing;
using geometry::VolumeDescriptor;
using runtime::Array;

namespace {

Indexing indexing_of(const GridFacts& facts) {
  if (!facts.layout) return Indexing::none;
  if (is_on_index_grid(facts.type)) return Indexing::by_count;
  return is_index_grid(facts.type) ? Indexing::by_first : Indexing::by_leaf;
}

VolumeDescriptor descriptor_of(const GridFacts& facts, std::uint64_t at) {
  VolumeDescriptor out{};
  out.header.kind = std::uint32_t(HandleKind::volume);
  out.grid = at;
  out.type = facts.layout ? std::uint32_t(facts.type) : 0;
  out.indexing = std::uint32_t(indexing_of(facts));
  out.voxel_count = std::uint32_t(facts.voxels);
  if (const GridLayout* layout = facts.layout) {
    out.root = at + facts.root;
    out.tiles = out.root + layout->root_bytes;
    out.leaves = at + facts.first_leaf;
    out.tile_count = facts.tiles;
    out.leaf_bytes = layout->leaf_bytes;
    out.table_stride = layout->table_stride;
    out.upper_table = layout->upper_table;
    out.lower_table = layout->lower_table;
    out.tile_bytes = layout->tile_bytes;
    out.tile_value = layout->tile_value;
    out.background = layout->background;
  }
  for (std::size_t k = 0; k < 9; ++k) {
    out.matrix[k] = float(out.matrix_wide[k] = facts.map.matrix[k]);
    out.inverse[k] = float(out.inverse_wide[k] = facts.map.inverse[k]);
  }
  for (std::size_t k = 0; k < 3; ++k) out.translation[k] = float(out.translation_wide[k] = facts.map.translation[k]);
  return out;
}

cuda::Device* device_of(const Array& memory) {
  return memory.is_valid() && !memory.on_host() ? dynamic_cast<cuda::Device*>(memory.space()) : nullptr;
}

}  // namespace

std::shared_ptr<Volume> Volume::make(const Array& memory, const std::string& source) {
  if (!memory.is_valid() || memory.element() != types::scalar(ScalarKind::u8) || memory.rank() != 1 ||
      !memory.is_contiguous())
    throw runtime::ArgumentError("the memory of a Volume is a contiguous array of uint8");
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % kAlignment != 0)
    throw runtime::ArgumentError("a grid begins at an address that is a multiple of 32: let the Volume copy it");
  Array room;
  const std::span<const std::byte> grid = host_bytes(memory, room);
  GridFacts facts = check_grid(GridBytes(grid, source));
  PlaceTable places = place_table(grid, facts);
  return publish(std::make_shared<Volume>(memory, std::move(facts), std::move(places)));
}

Volume::Volume(const Array& memory, GridFacts facts, PlaceTable places)
    : Object(HandleKind::volume, device_of(memory)),
      memory_(memory),
      facts_(std::move(facts)),
      places_(std::move(places)) {
  describe();
}

void Volume::describe() {
  device_places_ = {};
  VolumeDescriptor out = descriptor_of(facts_, reinterpret_cast<std::uint64_t>(memory_.data()));
  if (!places_.entries.empty()) {
    const auto count = std::int64_t(places_.entries.size());
    const Array here = Array::wrap(types::u32(), {count}, {.data = places_.entries.data()});
    device_places_ = Array::empty(types::u32(), {count}, false, memory_.space());
    device_places_.assign(here);
    out.places = reinterpret_cast<std::uint64_t>(device_places_.data());
    for (std::size_t k = 0; k < 3; ++k) {
      out.places_low[k] = places_.low[k];
      out.places_extent[k] = places_.extent[k] ? places_.extent[k] - 1 : 0;
    }
    out.places_step[0] = places_.extent[1] * places_.extent[2];
    out.places_step[1] = places_.extent[2];
  }
  if (there_) out.places = reinterpret_cast<std::uint64_t>(there_->places.data());
  out.header.generation = next_generation();
  write(out);
}

void Volume::replace(const Array& grid) {
  Array room;
  const std::span<const std::byte> bytes = host_bytes(grid, room);
  GridFacts facts = check_grid(GridBytes(bytes, "the grid"));
  if (facts.bytes != facts_.bytes || facts.type != facts_.type)
    throw runtime::ArgumentError("a Volume is rebuilt by a grid of its own type and size");
  PlaceTable places = place_table(bytes, facts);
  std::unique_lock<std::shared_mutex> alone;
  if (!device()) alone = std::unique_lock(in_use());
  leave_to_pins();
  memory_.assign(grid);
  facts_ = std::move(facts);
  places_ = std::move(places);
  describe();
}

std::shared_ptr<geometry::Object> Volume::keep() {
  if (!there_) return std::make_shared<Volume>(memory_.copy(), facts_, places_);
  DeviceGrid kept = *there_;
  kept.memory = memory_.copy();
  kept.places = there_->places.copy();
  kept.state = there_->state.copy();
  return std::make_shared<Volume>(std::move(kept));
}

void Volume::before_write() {
  std::unique_lock<std::shared_mutex> alone;
  if (!device()) alone = std::unique_lock(in_use());
  leave_to_pins();
}

std::span<const std::byte> host_bytes(const Array& array, Array& room) {
  if (!array.on_host()) {
    room = Array::empty(types::scalar(ScalarKind::u8), {array.size()});
    room.assign(array);
  } else {
    room = array;
  }
  return {static_cast<const std::byte*>(room.data()), std::size_t(room.size())};
}

}  // namespace weft::volume
