// Structs of the standard library: types of their own, whatever structs of the same name and fields a program has. Those
// of their fields whose names begin with an underscore are the library's alone.
#pragma once
#include "types/type.h"

namespace weft {

/// Begins the names of these types: no class statement can give such a name.
inline constexpr std::string_view kLibraryPrefix = "wp.";

namespace types {
const Type* library_structure(std::string_view name, std::span<const Field> fields);
}

/// A struct that types::library_structure made; is_struct() holds as well.
bool is_library_struct(const Type* type);
/// Whether the field of this struct is one that programs can't name.
bool is_private(const Type* type, const Field& field);
/// Whether a struct with private fields is in it: such values are state, they don't lie in arrays.
bool holds_private(const Type* type);

}  // namespace weft
