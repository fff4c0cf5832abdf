// Known by their names, which no program's struct has.
#include "sema/empty_vector.h"

#include <string>

#include "types/library_struct.h"

namespace weft::sema {

static constexpr std::string_view kName = "vec0_";

const Type* empty_vector(const Type* scalar) {
  return types::library_structure(std::string(kName) + std::string(scalar_user_name(scalar->scalar_kind())), {});
}

const Type* empty_vector_scalar(const Type* type) {
  if (!is_library_struct(type) || !type->fields().empty()) return nullptr;
  const std::string name = type->user_name();
  return name.starts_with(kName) ? scalar_from_user_name(name.substr(kName.size())) : nullptr;
}

}  // namespace weft::sema
