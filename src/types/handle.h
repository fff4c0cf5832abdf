// Kinds of objects that kernels reach by an id: geometry's meshes, trees, grids, volumes and textures. The id is a number of 64 bits; the
// kind stands in the operation that takes it (`handle`), in descriptors and in messages.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// The numbers stand in descriptors and in cached kernels; 0 is a dead or empty slot.
enum class HandleKind : std::uint8_t { mesh = 1, bvh = 2, hash_grid = 3, volume = 4, texture = 5 };
inline constexpr HandleKind kHandleKinds[] = {HandleKind::mesh, HandleKind::bvh, HandleKind::hash_grid,
                                              HandleKind::volume, HandleKind::texture};

constexpr bool is_handle_kind(std::int64_t number) { return number >= 1 && number <= 5; }

/// What `handle` has as a number: a kind, whether its query is one that wants a mesh with moments for winding numbers, and
/// whether the kernel writes to what it finds there (voxels of volumes).
struct HandleUse {
  HandleKind kind = HandleKind::mesh;
  bool winding = false;
  bool written = false;

  static constexpr bool is_valid(std::int64_t number) {
    if (number < 0 || number >= 4 * kWinding || !is_handle_kind(number % kWinding)) return false;
    const HandleUse use(number);
    return (!use.winding || use.kind == HandleKind::mesh) && (!use.written || use.kind == HandleKind::volume);
  }
  constexpr explicit HandleUse(HandleKind k, bool wants_winding = false, bool writes = false)
      : kind(k), winding(wants_winding), written(writes) {}
  constexpr explicit HandleUse(std::int64_t number)
      : kind(HandleKind(number % kWinding)), winding((number & kWinding) != 0), written((number & kWritten) != 0) {}
  constexpr std::int64_t number() const {
    return std::int64_t(kind) | (winding ? kWinding : 0) | (written ? kWritten : 0);
  }

 private:
  static constexpr std::int64_t kWinding = 256, kWritten = 512;
};

/// The name in IR text: mesh, bvh, hash_grid, volume, texture.
std::string_view handle_text(HandleKind kind);
std::optional<HandleKind> handle_from_text(std::string_view text);
/// The name that users know: Mesh, Bvh, HashGrid, Volume, Texture.
std::string_view handle_user_name(HandleKind kind);

}  // namespace weft
