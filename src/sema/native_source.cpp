// Native functions: for given argument types, the C++ text that code generation hands to clang. Arguments and the result
// pass by address in C layout; the snippet becomes the body of a function whose parameters have the Python names.
#include <map>

#include "sema/lowering.h"

namespace weft::sema {
namespace {

/// Types as C++ writes them; struct definitions are gathered on the way.
class CppTypes {
 public:
  /// Empty if the type has no form in C++.
  std::string name(const Type* type) {
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
  const std::string& definitions() const { return definitions_; }

 private:
  static std::string scalar(ScalarKind kind) {
    switch (kind) {
      case ScalarKind::boolean: return "bool";
      case ScalarKind::f16: return "wp::half";
      case ScalarKind::f32: return "float";
      case ScalarKind::f64: return "double";
      default: return "wp::" + std::string(scalar_user_name(kind));
    }
  }
  static std::string sized(const char* form, std::initializer_list<std::uint32_t> extents, const Type* type) {
    std::string out = std::string("wp::") + form + "<";
    for (std::uint32_t n : extents) out += std::to_string(n) + ", ";
    return out + scalar(type->scalar_kind()) + ">";
  }
  std::string structure(const Type* type) {
    if (auto it = structures_.find(type); it != structures_.end()) return it->second;
    std::string wanted;
    for (char c : type->name().substr(type->name().rfind('.') + 1))
      wanted += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
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
    definitions_ += text + "};\n" + checks;
    return structures_[type] = wanted;
  }

  std::map<const Type*, std::string> structures_;
  std::string definitions_;
};

}  // namespace

void ModuleLowering::lower_native(const FunctionDecl& decl, std::span<const Entity> args, ir::Function& function,
                                  Instance& instance) {
  const syntax::FunctionDef& def = *decl.def;
  std::string name(def.name);
  CppTypes types;
  std::string params, addresses, values;
  for (std::size_t i = 0; i < def.params.size(); ++i) {
    std::string param(def.params[i].name);
    std::string type = args[i].is_value() ? types.name(args[i].type()) : "";
    if (type.empty()) {
      sink_.report(DiagCode::bad_call, def.params[i].loc,
                   "the native function '" + name + "' can't take this argument as '" + param + "'",
                   "pass numbers, vectors, matrices, structs or arrays", std::uint32_t(param.size()));
      return;
    }
    function.add_argument(function.body, args[i].type(), function.arena.copy(std::string_view(param)));
    std::string number = std::to_string(i);
    params += (i ? ", " : "") + type + " " + param;
    addresses += (i ? ", " : "") + type + "* a" + number;
    values += (i ? ", *a" : "*a") + number;
  }
  std::string result;
  std::vector<ir::Value*> zeros;
  if (def.returns) {
    auto annotated = return_patterns(*def.returns, *scope_of(decl), sink_);
    if (!annotated) return;
    if (annotated->size() > 1 || (annotated->size() == 1 && (*annotated)[0].kind != builtins::Pattern::Kind::exact)) {
      sink_.report(DiagCode::bad_annotation, def.returns->loc, "a native function returns one value of a known type",
                   def.returns->underline());
      return;
    }
    if (annotated->size() == 1) {
      const Type* type = (*annotated)[0].type;
      result = types.name(type);
      function.result_types.push_back(type);
      zeros.push_back(function.zero(type));
      addresses += (addresses.empty() ? "" : ", ") + result + "* result";
    }
  }
  function.native = types.definitions() + "static inline __attribute__((always_inline)) " +
                    (result.empty() ? "void" : result) + " weft_body(" + params + ") {\n#line 1 \"" + name + "\"\n" +
                    decl.native + "\n}\nextern \"C\" void weft_native(" + addresses + ") { " +
                    (result.empty() ? "" : "*result = ") + "weft_body(" + values + "); }\n";
  ir::Builder builder(function, function.body);
  builder.set_loc(def.loc);
  builder.ret(zeros);
  instance.num_results = zeros.size();
}

}  // namespace weft::sema
