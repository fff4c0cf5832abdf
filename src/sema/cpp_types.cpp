// Names and definitions; the prelude (codegen/native/prelude.cpp) has the templates that are named here.
#include "sema/cpp_types.h"

#include <cctype>
#include <initializer_list>

#include "types/library_struct.h"

namespace weft::sema {
namespace {

std::string scalar(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean: return "bool";
    case ScalarKind::f16: return "wp::half";
    case ScalarKind::f32: return "float";
    case ScalarKind::f64: return "double";
    default: return "wp::" + std::string(scalar_user_name(kind));
  }
}

std::string sized(const char* form, std::initializer_list<std::uint32_t> extents, const Type* type) {
  std::string out = std::string("wp::") + form + "<";
  for (std::uint32_t n : extents) out += std::to_string(n) + ", ";
  return out + scalar(type->scalar_kind()) + ">";
}

bool is_capital(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

/// MeshQueryAABB: mesh_query_aabb_t.
std::string in_small_letters(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins = i > 0 && is_capital(name[i]) && !is_capital(name[i - 1]);
    if (begins) out += '_';
    out += char(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return out + "_t";
}

}  // namespace

std::string CppTypes::name(const Type* type) {
  switch (type->kind()) {
    case TypeKind::scalar: return scalar(type->scalar_kind());
    case TypeKind::vec: return sized("vec_t", {type->rows()}, type);
    case TypeKind::mat: return sized("mat_t", {type->rows(), type->cols()}, type);
    case TypeKind::quat: return "wp::quat_t<" + scalar(type->scalar_kind()) + ">";
    case TypeKind::transform: return "wp::transform_t<" + scalar(type->scalar_kind()) + ">";
    case TypeKind::structure: return structure(type);
    case TypeKind::array: {
      std::string element = name(type->element());
      return element.empty() ? "" : "wp::array_t<" + element + ">";
    }
    case TypeKind::tuple:
    case TypeKind::function:
    case TypeKind::string: break;
  }
  return {};
}

std::string CppTypes::structure(const Type* type) {
  if (auto it = structures_.find(type); it != structures_.end()) return it->second;
  const bool library = is_library_struct(type);
  const std::string given = library ? type->user_name() : std::string(type->name());
  std::string wanted;
  for (char c : given.substr(given.rfind('.') + 1)) wanted += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (wanted.empty() || std::isdigit(static_cast<unsigned char>(wanted[0]))) wanted = "S" + wanted;
  for (const auto& [other, taken] : structures_)
    if (taken == wanted) wanted += "_" + std::to_string(structures_.size());
  std::string text = "struct " + wanted + " {\n", checks;
  for (const Field& field : type->fields()) {
    std::string member = name(field.type);
    if (member.empty()) return {};
    text += "  " + member + " " + std::string(field.name) + ";\n";
    checks += "static_assert(__builtin_offsetof(" + wanted + ", " + std::string(field.name) +
              ") == " + std::to_string(field.offset) + ", \"\");\n";
  }
  text += "};\n" + checks;
  if (library) text = "namespace wp {\n" + text + "typedef " + wanted + " " + in_small_letters(wanted) + ";\n}\n";
  definitions_ += text;
  return structures_[type] = (library ? "wp::" : "") + wanted;
}

}  // namespace weft::sema
