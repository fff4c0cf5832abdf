// Matching of type patterns.
#include "builtins/pattern.h"

#include <algorithm>

#include "types/fabric_type.h"
#include "types/library_struct.h"
#include "types/tile_type.h"

namespace weft::builtins {
namespace {

bool match_extent(const Extent& extent, std::uint32_t value, Bindings& bindings) {
  if (extent.fixed) return extent.fixed == value;
  if (extent.variable.empty()) return true;
  auto [it, fresh] = bindings.extents.try_emplace(extent.variable, value);
  return fresh || it->second == value;
}

bool bind_type(const std::string& variable, const Type* type, Bindings& bindings) {
  if (variable.empty()) return true;
  auto [it, fresh] = bindings.types.try_emplace(variable, type);
  return fresh || it->second == type;
}

std::string text_of(const Extent& extent) {
  if (extent.fixed) return std::to_string(extent.fixed);
  return extent.variable.empty() ? "Any" : extent.variable;
}

std::string word_of(Pattern::Kind kind) {
  switch (kind) {
    case Pattern::Kind::scalar: return "Scalar";
    case Pattern::Kind::integer: return "Int";
    case Pattern::Kind::floating: return "Float";
    case Pattern::Kind::number_or_bool: return "Scalar or bool";
    case Pattern::Kind::vec: return "vec";
    case Pattern::Kind::mat: return "mat";
    case Pattern::Kind::quat: return "quat";
    case Pattern::Kind::transform: return "transform";
    case Pattern::Kind::array: return "array";
    case Pattern::Kind::indexed_array: return "indexedarray";
    case Pattern::Kind::fabric_array: return "fabricarray";
    case Pattern::Kind::indexed_fabric_array: return "indexedfabricarray";
    case Pattern::Kind::tile: return "tile";
    case Pattern::Kind::callable: return "Callable";
    case Pattern::Kind::tuple: return "tuple";
    case Pattern::Kind::library_struct:
    case Pattern::Kind::any:
    case Pattern::Kind::exact: return "Any";
  }
  return "Any";
}

bool covers_extent(const Extent& general, const Extent& special) {
  return !general.fixed || general.fixed == special.fixed;
}

}  // namespace

Pattern Pattern::exactly(const Type* type) {
  Pattern p;
  p.kind = Kind::exact;
  p.type = type;
  return p;
}

Pattern Pattern::tuple_of(std::vector<Pattern> elements) {
  std::vector<const Type*> types;
  for (const Pattern& element : elements)
    if (element.kind == Kind::exact) types.push_back(element.type);
  if (types.size() == elements.size()) return exactly(types::tuple(types));
  Pattern p = of(Kind::tuple);
  p.elements = std::move(elements);
  return p;
}

bool Pattern::is_generic() const { return kind != Kind::exact; }

/// Shape and element; how the tile lies in memory is free.
static bool match_tile(const Pattern& pattern, const Type* type, Bindings& bindings) {
  const TileType* tile = tile_type(type);
  if (!tile || (!pattern.shape.empty() && pattern.shape.size() != tile->rank())) return false;
  for (std::size_t d = 0; d < pattern.shape.size(); ++d)
    if (pattern.shape[d] && pattern.shape[d] != tile->shape[d]) return false;
  return !pattern.element || match(*pattern.element, tile->element, bindings);
}

static bool match_fabric(const Pattern& pattern, const Type* type, Bindings& bindings) {
  const FabricType* fabric = fabric_type(type);
  if (!fabric || fabric->indexed != (pattern.kind == Pattern::Kind::indexed_fabric_array)) return false;
  if (pattern.rows.fixed && pattern.rows.fixed != fabric->rank) return false;
  return !pattern.element || match(*pattern.element, fabric->element, bindings);
}

bool match(const Pattern& pattern, const Type* type, Bindings& bindings) {
  auto element_matches = [&] { return !pattern.element || match(*pattern.element, type->element(), bindings); };
  switch (pattern.kind) {
    case Pattern::Kind::exact: return pattern.type == type;
    case Pattern::Kind::any: return bind_type(pattern.variable, type, bindings);
    case Pattern::Kind::scalar:
      return (type->is_int() || type->is_float()) && bind_type(pattern.variable, type, bindings);
    case Pattern::Kind::number_or_bool: return type->is_scalar() && bind_type(pattern.variable, type, bindings);
    case Pattern::Kind::integer: return type->is_int() && bind_type(pattern.variable, type, bindings);
    case Pattern::Kind::floating: return type->is_float() && bind_type(pattern.variable, type, bindings);
    case Pattern::Kind::vec:
      return type->is_vec() && match_extent(pattern.rows, type->rows(), bindings) && element_matches();
    case Pattern::Kind::mat:
      return type->is_mat() && match_extent(pattern.rows, type->rows(), bindings) &&
             match_extent(pattern.cols, type->cols(), bindings) && element_matches();
    case Pattern::Kind::quat: return type->is_quat() && element_matches();
    case Pattern::Kind::transform: return type->is_transform() && element_matches();
    case Pattern::Kind::array:
      return type->is_array() && match_extent(pattern.rows, type->rank(), bindings) && element_matches();
    case Pattern::Kind::indexed_array:
      return type->is_indexed_array() && match_extent(pattern.rows, type->rank(), bindings) && element_matches();
    case Pattern::Kind::fabric_array:
    case Pattern::Kind::indexed_fabric_array: return match_fabric(pattern, type, bindings);
    case Pattern::Kind::tile: return match_tile(pattern, type, bindings);
    case Pattern::Kind::library_struct: return is_library_struct(type) && type->user_name() == pattern.variable;
    case Pattern::Kind::tuple: {
      if (!type->is_tuple()) return false;
      if (pattern.element)
        return std::all_of(type->fields().begin(), type->fields().end(),
                           [&](const Field& f) { return match(*pattern.element, f.type, bindings); });
      if (type->fields().size() != pattern.elements.size()) return false;
      for (std::size_t k = 0; k < pattern.elements.size(); ++k)
        if (!match(pattern.elements[k], type->fields()[k].type, bindings)) return false;
      return true;
    }
    case Pattern::Kind::callable: return type->kind() == TypeKind::function;
  }
  return false;
}

bool covers(const Pattern& general, const Pattern& special) {
  using Kind = Pattern::Kind;
  if (general.kind == Kind::any) return true;
  if (special.kind == Kind::exact) {
    Bindings bindings;
    return match(general, special.type, bindings);
  }
  const bool number = special.kind == Kind::integer || special.kind == Kind::floating;
  if (general.kind == Kind::scalar && number) return true;
  if (general.kind == Kind::number_or_bool && (number || special.kind == Kind::scalar)) return true;
  if (general.kind != special.kind || general.kind == Kind::exact) return false;
  if (general.kind == Kind::library_struct) return general.variable == special.variable;
  if (general.kind == Kind::tile && !general.shape.empty() && general.shape != special.shape) return false;
  if (general.kind == Kind::tuple && general.element && !special.element)
    return std::all_of(special.elements.begin(), special.elements.end(),
                       [&](const Pattern& one) { return covers(*general.element, one); });
  if (general.kind == Kind::tuple && special.element && !general.element) return false;
  if (general.elements.size() != special.elements.size()) return false;
  for (std::size_t k = 0; k < general.elements.size(); ++k)
    if (!covers(general.elements[k], special.elements[k])) return false;
  if (!covers_extent(general.rows, special.rows) || !covers_extent(general.cols, special.cols)) return false;
  const Pattern anything;
  return !general.element || covers(*general.element, special.element ? *special.element : anything);
}

std::string to_string(const Pattern& pattern) {
  std::string out = pattern.by_reference ? "ref[" : "";
  auto element = [&] { return pattern.element ? to_string(*pattern.element) : std::string("Any"); };
  switch (pattern.kind) {
    case Pattern::Kind::exact: out += pattern.type->user_name(); break;
    case Pattern::Kind::vec: out += "vec[" + text_of(pattern.rows) + "," + element() + "]"; break;
    case Pattern::Kind::mat:
      out += "mat[" + text_of(pattern.rows) + "," + text_of(pattern.cols) + "," + element() + "]";
      break;
    case Pattern::Kind::quat:
    case Pattern::Kind::transform: out += word_of(pattern.kind) + "[" + element() + "]"; break;
    case Pattern::Kind::array:
    case Pattern::Kind::indexed_array:
    case Pattern::Kind::fabric_array:
    case Pattern::Kind::indexed_fabric_array:
      out += word_of(pattern.kind) + "[" + element();
      if (pattern.rows.fixed) out += "," + std::to_string(pattern.rows.fixed);
      out += "]";
      break;
    case Pattern::Kind::tile:
      out += "tile[" + element();
      for (std::int64_t n : pattern.shape) out += ", " + (n ? std::to_string(n) : std::string("Any"));
      out += "]";
      break;
    case Pattern::Kind::library_struct: out += pattern.variable; break;
    case Pattern::Kind::tuple:
      out += "tuple[";
      if (pattern.element) out += element() + ", ...";
      for (const Pattern& one : pattern.elements) out += (&one == pattern.elements.data() ? "" : ", ") + to_string(one);
      out += "]";
      break;
    default: out += word_of(pattern.kind); break;
  }
  return out + (pattern.by_reference ? "]" : "");
}

}  // namespace weft::builtins
