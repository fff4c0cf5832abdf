// Names of the kinds of objects that kernels reach by ids.
#include "types/handle.h"

#include "support/check.h"

namespace weft {

std::string_view handle_text(HandleKind kind) {
  switch (kind) {
    case HandleKind::mesh: return "mesh";
    case HandleKind::bvh: return "bvh";
    case HandleKind::hash_grid: return "hash_grid";
    case HandleKind::volume: return "volume";
    case HandleKind::texture: return "texture";
  }
  WEFT_UNREACHABLE("handle kind");
}

std::optional<HandleKind> handle_from_text(std::string_view text) {
  for (HandleKind kind : kHandleKinds)
    if (handle_text(kind) == text) return kind;
  return std::nullopt;
}

std::string_view handle_user_name(HandleKind kind) {
  switch (kind) {
    case HandleKind::mesh: return "Mesh";
    case HandleKind::bvh: return "Bvh";
    case HandleKind::hash_grid: return "HashGrid";
    case HandleKind::volume: return "Volume";
    case HandleKind::texture: return "Texture";
  }
  WEFT_UNREACHABLE("handle kind");
}

}  // namespace weft
