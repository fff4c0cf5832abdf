// Structs of the standard library, told by their names.
#include "types/library_struct.h"

#include <algorithm>

namespace weft {

const Type* types::library_structure(std::string_view name, std::span<const Field> fields) {
  return structure(std::string(kLibraryPrefix) + std::string(name), fields);
}

bool is_library_struct(const Type* type) { return type->is_struct() && type->name().starts_with(kLibraryPrefix); }

bool is_private(const Type* type, const Field& field) { return is_library_struct(type) && field.name.starts_with('_'); }

bool holds_private(const Type* type) {
  return std::any_of(type->fields().begin(), type->fields().end(),
                     [&](const Field& f) { return is_private(type, f) || holds_private(f.type); });
}

}  // namespace weft
