// Volumes: grids of NanoVDB that kernels reach by an id. The grid lies in an array of bytes as a file has it; links were
// checked before (volume/grid.h). Kernels may write voxels, nothing else changes.
#pragma once
#include "geometry/object.h"
#include "volume/grid.h"
#include "volume/place_table.h"

namespace weft::volume {

class Volume final : public geometry::Object {
 public:
  /// `memory` is a contiguous array of bytes (uint8) that holds a grid and nothing else, at an address that is a multiple
  /// of 32. It is shared, not copied. Throws ArgumentError, and FormatError with `source` for what is no grid.
  static std::shared_ptr<Volume> make(const runtime::Array& memory, const std::string& source);
  Volume(const runtime::Array& memory, GridFacts facts, PlaceTable places);

  /// Another grid of the same type and size, as bytes on the host, in its memory. On a GPU it is queued.
  void replace(const runtime::Array& grid);

  const GridFacts& facts() const { return facts_; }
  const runtime::Array& memory() const { return memory_; }
  void before_write() override;
  std::shared_ptr<Object> with_arrays(std::span<const runtime::Array>) override { return publish(keep()); }

 private:
  std::shared_ptr<Object> keep() override;
  void describe();

  runtime::Array memory_;
  GridFacts facts_;
  PlaceTable places_;
  runtime::Array device_places_;  // its entries on the device
};

/// The bytes of an array on any device, as the host reads them: its own where it can, else a copy that `room` keeps.
std::span<const std::byte> host_bytes(const runtime::Array& array, runtime::Array& room);

}  // namespace weft::volume
