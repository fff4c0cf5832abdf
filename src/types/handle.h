// Kinds of objects that kernels reach by an id: geometry's meshes, trees, grids and volumes. The id is a number of 64 bits; the
// kind stands in the operation that takes it (`handle`), in descriptors and in messages.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// The numbers stand in descriptors and in cached kernels; 0 is a dead or empty slot.
enum class HandleKind : std::uint8_t { mesh = 1, bvh = 2, hash_grid = 3, volume = 4 };
inline constexpr HandleKind kHandleKinds[] = {HandleKind::mesh, HandleKind::bvh, HandleKind::hash_grid,
                                              HandleKind::volume};

/// What `handle` operations hold: the kind, and whether the kernel writes to what it finds there (voxels of volumes).
constexpr std::int64_t handle_word(HandleKind kind, bool written) { return std::int64_t(kind) | (written ? 256 : 0); }
constexpr HandleKind handle_kind(std::int64_t word) { return HandleKind(word & 255); }
constexpr bool handle_written(std::int64_t word) { return (word & 256) != 0; }
constexpr bool is_handle_word(std::int64_t word) { return (word & ~256) >= 1 && (word & ~256) <= 4; }

/// The name in IR text: mesh, bvh, hash_grid, volume.
std::string_view handle_text(HandleKind kind);
std::optional<HandleKind> handle_from_text(std::string_view text);
/// The name that users know: Mesh, Bvh, HashGrid, Volume.
std::string_view handle_user_name(HandleKind kind);

}  // namespace weft
