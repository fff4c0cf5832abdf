// Types in Python: handles with what Python code wants to know of a type.
#include "bind/bind.h"
#include "runtime/errors.h"
#include "sema/empty_vector.h"
#include "sema/symbol.h"
#include "types/fabric_type.h"
#include "types/library_struct.h"

namespace weft::bind {
namespace {

const char* kind_name(const Type* t) {
  switch (t->kind()) {
    case TypeKind::scalar: return "scalar";
    case TypeKind::vec: return "vec";
    case TypeKind::mat: return "mat";
    case TypeKind::quat: return "quat";
    case TypeKind::transform: return "transform";
    case TypeKind::structure: {
      const FabricType* fabric = fabric_type(t);
      if (fabric) return fabric->indexed ? "indexedfabricarray" : "fabricarray";
      return t->is_indexed_array() ? "indexedarray" : "struct";
    }
    case TypeKind::array: return "array";
    case TypeKind::tuple: return "tuple";
    case TypeKind::function: return "function";
    case TypeKind::string: return "string";
  }
  return "";
}

TypeHandle checked_composite(const TypeHandle& scalar, std::uint64_t components, auto make) {
  if (!scalar.type->is_scalar()) throw nb::type_error("the component type must be a scalar type");
  if (components < 1 || components > 65536) throw nb::value_error("a vector or matrix has 1 to 65536 components");
  return {make()};
}

void check_element(const TypeHandle& element, int rank) {
  if (rank < 1 || rank > kMaxRank) throw nb::value_error("an array has 1 to 4 dimensions");
  if (sema::empty_vector_scalar(element.type)) throw nb::type_error("vectors of length 0 can't lie in an array");
  if (holds_private(element.type))
    throw nb::type_error(("a " + element.type->user_name() + " can't lie in an array").c_str());
}

}  // namespace

void register_types(nb::module_& m) {
  nb::class_<TypeHandle>(m, "Type", "A type of the kernel language; equal types are one object in C++.")
      .def_prop_ro("kind", [](const TypeHandle& t) { return kind_name(t.type); })
      .def_prop_ro("scalar",
                   [](const TypeHandle& t) {
                     const Type* empty = sema::empty_vector_scalar(t.type);
                     return std::string(scalar_user_name((empty ? empty : t.type)->scalar_kind()));
                   })
      .def_prop_ro("rows", [](const TypeHandle& t) { return t.type->rows(); })
      .def_prop_ro("cols", [](const TypeHandle& t) { return t.type->cols(); })
      .def_prop_ro("rank",
                   [](const TypeHandle& t) {
                     if (const FabricType* fabric = fabric_type(t.type)) return fabric->rank;
                     return t.type->is_array() || t.type->is_indexed_array() ? t.type->rank() : 0;
                   })
      .def_prop_ro("components",
                   [](const TypeHandle& t) { return t.type->is_numeric() ? t.type->component_count() : 0; })
      .def_prop_ro("element",
                   [](const TypeHandle& t) -> std::optional<TypeHandle> {
                     if (const FabricType* fabric = fabric_type(t.type)) return TypeHandle{fabric->element};
                     if (!t.type->element()) return std::nullopt;
                     return TypeHandle{t.type->element()};
                   })
      .def_prop_ro("size", [](const TypeHandle& t) { return t.type->size(); })
      .def_prop_ro("has_floats", [](const TypeHandle& t) { return has_floats(t.type); })
      .def_prop_ro("align", [](const TypeHandle& t) { return t.type->align(); })
      .def_prop_ro("name", [](const TypeHandle& t) { return t.type->user_name(); })
      .def_prop_ro(
          "text", [](const TypeHandle& t) { return std::string(t.type->text()); }, "As IR writes it.")
      .def_prop_ro("is_library", [](const TypeHandle& t) { return is_library_struct(t.type); })
      .def_prop_ro("holds_private", [](const TypeHandle& t) { return holds_private(t.type); })
      .def_prop_ro("fields",
                   [](const TypeHandle& t) {
                     nb::list out;
                     for (const Field& f : t.type->fields())
                       out.append(nb::make_tuple(std::string(f.name), TypeHandle{f.type}, f.offset));
                     return out;
                   })
      .def("__eq__",
           [](const TypeHandle& a, nb::handle b) {
             return nb::isinstance<TypeHandle>(b) && nb::cast<const TypeHandle&>(b).type == a.type;
           })
      .def("__hash__", [](const TypeHandle& t) { return std::hash<const void*>()(t.type); })
      .def("__repr__", [](const TypeHandle& t) { return "<weft type " + t.type->user_name() + ">"; });

  m.def("type_scalar", [](const std::string& name) {
    const Type* type = scalar_from_user_name(name);
    if (!type) throw nb::value_error(("unknown scalar type '" + name + "'").c_str());
    return TypeHandle{type};
  });
  m.def("type_vec", [](const TypeHandle& s, std::uint32_t n) {
    if (n == 0 && s.type->is_scalar()) return TypeHandle{sema::empty_vector(s.type)};
    return checked_composite(s, n, [&] { return types::vec(s.type, n); });
  });
  m.def("type_mat", [](const TypeHandle& s, std::uint32_t r, std::uint32_t c) {
    return checked_composite(s, std::uint64_t(r) * c, [&] { return types::mat(s.type, r, c); });
  });
  m.def("type_quat", [](const TypeHandle& s) { return checked_composite(s, 4, [&] { return types::quat(s.type); }); });
  m.def("type_transform",
        [](const TypeHandle& s) { return checked_composite(s, 7, [&] { return types::transform(s.type); }); });
  m.def("type_array", [](const TypeHandle& element, int rank) {
    check_element(element, rank);
    return TypeHandle{types::array(element.type, std::uint32_t(rank))};
  });
  m.def("type_indexed_array", [](const TypeHandle& element, int rank) {
    check_element(element, rank);
    return TypeHandle{types::indexed_array(element.type, std::uint32_t(rank))};
  });
  m.def("type_fabric_array", [](const TypeHandle& element, int rank, bool indexed) {
    check_element(element, rank);
    if (rank > 2) throw nb::value_error("a fabricarray has one dimension, or two as an array of arrays");
    return TypeHandle{types::fabric_array(element.type, std::uint32_t(rank), indexed).type};
  });
  m.def("type_struct", [](const std::string& name, const std::vector<std::pair<std::string, TypeHandle>>& fields) {
    std::vector<Field> list;
    for (const auto& [field, type] : fields) list.push_back({field, type.type, 0});
    return TypeHandle{types::structure(name, list)};
  });
  m.def(
      "library_struct_names",
      [] {
        nb::list out;
        for (std::string_view name : sema::library_struct_names()) out.append(std::string(name));
        return out;
      },
      "The structs of the standard library that programs know.");
  m.def(
      "library_struct",
      [](const std::string& name) -> nb::object {
        const sema::LibraryStruct* known = sema::library_struct(name);
        if (!known) return nb::none();
        return nb::make_tuple(TypeHandle{known->type}, known->doc);
      },
      "Type and documentation of a struct of the standard library, or None.");
}

}  // namespace weft::bind
