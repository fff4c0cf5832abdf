// Kinds of objects that kernels reach by an id: geometry's meshes, trees and grids. The id is a number of 64 bits; the
// kind stands in the operation that takes it (`handle`), in descriptors and in messages.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// The numbers stand in descriptors and in cached kernels; 0 is a dead or empty slot.
enum class HandleKind : std::uint8_t { mesh = 1, bvh = 2, hash_grid = 3 };
inline constexpr HandleKind kHandleKinds[] = {HandleKind::mesh, HandleKind::bvh, HandleKind::hash_grid};

constexpr bool is_handle_kind(std::int64_t number) { return number >= 1 && number <= 3; }

/// What `handle` has as a number: a kind, and whether its query is one that wants a mesh with moments for winding numbers.
struct HandleUse {
  HandleKind kind = HandleKind::mesh;
  bool winding = false;

  static constexpr bool is_valid(std::int64_t number) {
    return is_handle_kind(number) || number == kWinding + std::int64_t(HandleKind::mesh);
  }
  constexpr HandleUse(HandleKind k, bool wants_winding) : kind(k), winding(wants_winding) {}
  constexpr explicit HandleUse(std::int64_t number)
      : kind(HandleKind(number % kWinding)), winding(number >= kWinding) {}
  constexpr std::int64_t number() const { return std::int64_t(kind) + (winding ? kWinding : 0); }

 private:
  static constexpr std::int64_t kWinding = 256;
};

/// The name in IR text: mesh, bvh, hash_grid.
std::string_view handle_text(HandleKind kind);
std::optional<HandleKind> handle_from_text(std::string_view text);
/// The name that users know: Mesh, Bvh, HashGrid.
std::string_view handle_user_name(HandleKind kind);

}  // namespace weft
