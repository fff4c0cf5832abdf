// Volumes: grids of NanoVDB that kernels reach by an id. The grid lies in an array of bytes as a file has it; links were
// checked before (volume/grid.h). Kernels may write voxels, nothing else changes.
#pragma once
#include <optional>

#include "geometry/object.h"
#include "volume/device_grids.h"
#include "volume/grid.h"
#include "volume/place_table.h"

namespace weft::volume {

class Volume final : public geometry::Object {
 public:
  /// `memory` is a contiguous array of bytes (uint8) that holds a grid and nothing else, at an address that is a multiple
  /// of 32. It is shared, not copied. Throws ArgumentError, and FormatError with `source` for what is no grid.
  static std::shared_ptr<Volume> make(const runtime::Array& memory, const std::string& source);
  Volume(const runtime::Array& memory, GridFacts facts, PlaceTable places);

  /// Whether a device builds such a grid of so many points by itself.
  static bool builds_there(const cuda::Device* device, const GridPlan& plan, std::int64_t points);
  /// The volume of a grid that a device builds. If the plan's room is too small `status` says so, and there are no voxels.
  static std::shared_ptr<Volume> build_there(cuda::Device& device, const GridPlan& plan, const DevicePoints& points,
                                             std::uint32_t& status);
  explicit Volume(DeviceGrid grid);

  /// Another grid of the same type and size, as bytes on the host, in its memory. On a GPU it is queued.
  void replace(const runtime::Array& grid);
  /// Whether it was built by its device, which can build it again.
  bool is_built_there() const { return there_.has_value(); }
  /// The grid of other points in its memory, by its device, unless there is not room for them. Queued; can be captured.
  void rebuild(const DevicePoints& points);
  /// On its device, one word: the status of the last build there.
  runtime::Array status_there() const { return there_->state.slice(0, 0, 1); }

  /// What is known of the grid. Of one that its device has rebuilt, counts are those of the moment: asking waits for the device.
  GridFacts facts_now() const;
  /// The same, but counts of nodes and voxels may be those of before a rebuild.
  const GridFacts& facts() const { return facts_; }
  const runtime::Array& memory() const { return memory_; }
  void before_write() override;
  std::shared_ptr<Object> with_arrays(std::span<const runtime::Array>) override { return publish(keep()); }

 private:
  std::shared_ptr<Object> keep() override;
  void describe();
  void describe_there();

  runtime::Array memory_;
  GridFacts facts_;
  PlaceTable places_;
  runtime::Array device_places_;  // its entries on the device
  std::optional<DeviceGrid> there_;
  bool rebuilt_ = false;  // counts are those of the device alone
};

/// The bytes of an array on any device, as the host reads them: its own where it can, else a copy that `room` keeps.
std::span<const std::byte> host_bytes(const runtime::Array& array, runtime::Array& room);

}  // namespace weft::volume
