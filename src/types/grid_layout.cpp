// NanoVDB's layouts, for ABI 32. Nodes are padded to 32 bytes; between the masks of a node and its table lie minimum,
// maximum, average and deviation of its values, which nobody here reads.
#include "types/grid_layout.h"

namespace weft {
namespace {

constexpr GridLayout kFourBytes = {4, 28, 64, 20, 32, 8, 8256, 270400, 1088, 33856, 96, 2144};
constexpr GridLayout kEightBytes = {8, 32, 96, 24, 32, 8, 8256, 270400, 1088, 33856, 128, 4224};
constexpr GridLayout kVec3f = {12, 28, 96, 20, 32, 16, 8256, 532544, 1088, 66624, 128, 6272};
constexpr GridLayout kVec3d = {24, 32, 128, 24, 64, 24, 8288, 794720, 1120, 99424, 160, 12448};
constexpr GridLayout kVec4f = {16, 28, 96, 20, 64, 16, 8288, 532576, 1120, 66656, 128, 8320};
constexpr GridLayout kVec4d = {32, 32, 160, 24, 64, 32, 8320, 1056896, 1152, 132224, 160, 16544};
constexpr GridLayout kIndex = {0, 32, 96, 24, 32, 8, 8256, 270400, 1088, 33856, 80, 96};
constexpr GridLayout kIndexMask = {0, 32, 96, 24, 32, 8, 8256, 270400, 1088, 33856, 80, 160};

constexpr std::string_view kNames[kGridTypes] = {
    "?",     "float",  "double",  "int16",     "int32",       "int64",      "Vec3f",   "Vec3d",   "Mask",
    "Half",  "uint32", "bool",    "RGBA8",     "Float4",      "Float8",     "Float16", "FloatN",  "Vec4f",
    "Vec4d", "Index",  "OnIndex", "IndexMask", "OnIndexMask", "PointIndex", "Vec3u8",  "Vec3u16", "uint8"};

}  // namespace

const GridLayout* grid_layout(GridType type) {
  switch (type) {
    case GridType::float32:
    case GridType::int32:
    case GridType::uint32: return &kFourBytes;
    case GridType::float64:
    case GridType::int64: return &kEightBytes;
    case GridType::vec3f: return &kVec3f;
    case GridType::vec3d: return &kVec3d;
    case GridType::vec4f: return &kVec4f;
    case GridType::vec4d: return &kVec4d;
    case GridType::index:
    case GridType::on_index: return &kIndex;
    case GridType::index_mask:
    case GridType::on_index_mask: return &kIndexMask;
    case GridType::unknown:
    case GridType::int16:
    case GridType::mask:
    case GridType::half:
    case GridType::boolean:
    case GridType::rgba8:
    case GridType::fp4:
    case GridType::fp8:
    case GridType::fp16:
    case GridType::fpn:
    case GridType::point_index:
    case GridType::vec3u8:
    case GridType::vec3u16:
    case GridType::uint8: return nullptr;
  }
  return nullptr;  // files hold any number
}

std::optional<std::uint32_t> grid_layout_part(const GridLayout& layout, std::string_view name) {
  struct Part {
    std::string_view name;
    std::uint32_t GridLayout::* part;
  };
  static constexpr Part parts[] = {
      {"value_bytes", &GridLayout::value_bytes},   {"background", &GridLayout::background},
      {"tile_value", &GridLayout::tile_value},     {"tile_bytes", &GridLayout::tile_bytes},
      {"table_stride", &GridLayout::table_stride}, {"upper_table", &GridLayout::upper_table},
      {"lower_table", &GridLayout::lower_table},   {"leaf_table", &GridLayout::leaf_table},
      {"leaf_bytes", &GridLayout::leaf_bytes},
  };
  for (const Part& part : parts)
    if (part.name == name) return layout.*part.part;
  return std::nullopt;
}

GridType grid_type_of(const Type* value) {
  for (std::uint32_t number = 1; number < kGridTypes; ++number)
    if (value && grid_value_type(GridType(number)) == value) return GridType(number);
  return GridType::unknown;
}

const Type* grid_value_type(GridType type) {
  switch (type) {
    case GridType::float32: return types::f32();
    case GridType::float64: return types::f64();
    case GridType::int32: return types::i32();
    case GridType::int64: return types::i64();
    case GridType::uint32: return types::u32();
    case GridType::vec3f: return types::vec(types::f32(), 3);
    case GridType::vec3d: return types::vec(types::f64(), 3);
    case GridType::vec4f: return types::vec(types::f32(), 4);
    case GridType::vec4d: return types::vec(types::f64(), 4);
    default: return nullptr;  // safe: indices, and what kernels don't read
  }
}

std::string_view grid_type_name(GridType type) {
  return std::uint32_t(type) < kGridTypes ? kNames[std::uint32_t(type)] : kNames[0];
}

}  // namespace weft
