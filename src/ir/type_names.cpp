// Types as the text form writes them.
#include "ir/type_names.h"

#include "ir/literal.h"
#include "ir/text.h"

namespace weft::ir {
namespace {

/// Writes a type; `struct_name(type)` gives the name of a struct without the percent sign.
template <class StructName>
void append_type(std::string& out, const Type* type, const StructName& struct_name) {
  switch (type->kind()) {
    case TypeKind::structure: out += "%" + struct_name(type); return;
    case TypeKind::array:
      out += "array<";
      append_type(out, type->element(), struct_name);
      out += "," + std::to_string(type->rank()) + ">";
      return;
    case TypeKind::tuple: {
      out += "tuple<";
      bool first = true;
      for (const Field& field : type->fields()) {
        if (!first) out += ",";
        first = false;
        append_type(out, field.type, struct_name);
      }
      out += ">";
      return;
    }
    default: out += type->text();
  }
}

}  // namespace

std::string TypeNames::text(const Type* type) {
  std::string out;
  append_type(out, type, [&](const Type* t) -> const std::string& { return struct_name(t); });
  return out;
}

const std::string& TypeNames::struct_name(const Type* type) {
  if (auto it = names_.find(type); it != names_.end()) return it->second;
  std::string fields;
  for (const Field& field : type->fields()) {
    fields += fields.empty() ? " " : ", ";
    if (!field.name.empty())
      fields += (is_identifier(field.name) ? std::string(field.name) : quoted(field.name)) + ": ";
    fields += text(field.type);
  }
  std::string base = is_identifier(type->user_name()) ? type->user_name() : "struct";
  int suffix = next_suffix_[base]++;
  std::string name = suffix == 0 ? base : base + "." + std::to_string(suffix);
  declarations_ += "struct %" + name;
  if (name != type->name()) declarations_ += " as " + quoted(type->name());
  declarations_ += " {" + fields + (fields.empty() ? "}\n" : " }\n");
  return names_.emplace(type, std::move(name)).first->second;
}

std::string short_text(const Type* type) {
  std::string out;
  append_type(out, type, [](const Type* t) -> const std::string& { return t->name(); });
  return out;
}

}  // namespace weft::ir
