// Native functions: for given argument types, the C++ text that code generation hands to clang. Arguments and the result
// pass by address in C layout; the snippet becomes the body of a function whose parameters have the Python names.
#include <algorithm>

#include "sema/cpp_types.h"
#include "sema/known_natives.h"
#include "sema/lowering.h"
#include "sema/native_builtins.h"
#include "types/tile_type.h"

namespace weft::sema {
void ModuleLowering::lower_native(const FunctionDecl& decl, std::span<const Entity> args, ir::Function& function,
                                  Instance& instance) {
  const syntax::FunctionDef& def = *decl.def;
  std::string name(def.name);
  CppTypes types;
  std::string params, addresses, values, updated, copies;
  std::vector<std::string> names;
  const std::vector<builtins::Pattern>* patterns = patterns_of(decl);
  if (!patterns) return;
  for (std::size_t i = 0; i < def.params.size(); ++i) {
    std::string param(def.params[i].name);
    names.push_back(param);
    if (args[i].is_value() && tile_type(args[i].type())) {
      sink_.report(
          DiagCode::bad_call, def.params[i].loc,
          "the native function '" + name + "' can't take a tile as '" + param +
              "': tiles can't be parameters of native functions yet",
          "read elements in the kernel, t[i], and pass numbers, or wp.tile_store(…) the tile and pass the array",
          std::uint32_t(param.size()));
      return;
    }
    std::string type = args[i].is_value() ? types.name(args[i].type()) : "";
    if (type.empty()) {
      sink_.report(DiagCode::bad_call, def.params[i].loc,
                   "the native function '" + name + "' can't take this argument as '" + param + "'",
                   "pass numbers, vectors, matrices, structs or arrays", std::uint32_t(param.size()));
      return;
    }
    function.add_argument(function.body, args[i].type(), function.arena.copy(std::string_view(param)));
    std::string number = std::to_string(i);
    const bool reference = (*patterns)[i].by_reference;
    params += (i ? ", " : "") + type + (reference ? "& " : " ") + param;
    addresses += (i ? ", " : "") + type + "* a" + number;
    values += std::string(i ? ", *" : "*") + (reference ? "r" : "a") + number;
    if (!reference) continue;
    instance.ref_params.push_back(i);  // the snippet changes a copy, which is a result of the call
    updated += ", " + type + "* r" + number;
    copies += "*r" + number + " = *a" + number + "; ";
  }
  std::string result;
  std::vector<ir::Value*> zeros;
  if (def.returns) {
    auto annotated = return_patterns(decl, sink_);
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
  instance.num_results = zeros.size();
  if (instance.ref_params.empty() && write_known(decl.native, names, function)) return;
  addresses += updated;
  NativeBuiltins called(*this, types);
  if (!called.find(decl.native)) return;
  function.native = types.definitions() + called.declarations() + "static inline __attribute__((always_inline)) " +
                    (result.empty() ? "void" : result) + " weft_body(" + params + ") {\n#line 1 \"" + name + "\"\n" +
                    decl.native + "\n}\nextern \"C\" void weft_native(" + called.parameters(addresses) + ") { " +
                    copies + (result.empty() ? "" : "*result = ") + "weft_body(" + values + "); }\n";
  ir::Builder builder(function, function.body);
  builder.set_loc(def.loc);
  called.write_calls(builder);
  for (std::size_t i : instance.ref_params) {
    function.result_types.push_back(args[i].type());
    zeros.push_back(function.zero(args[i].type()));
  }
  builder.ret(zeros);
}

namespace {

/// Statements that point the arrays of an adjoint struct to the gradients of the arrays of the struct itself.
std::string link_arrays(const Type* type, const std::string& adjoint, const std::string& value) {
  std::string out;
  if (!type->is_struct()) return out;
  for (const Field& field : type->fields()) {
    std::string name(field.name);
    if (field.type->is_array())
      out += adjoint + "." + name + " = wp::gradient_of(" + value + "." + name + "); ";
    else
      out += link_arrays(field.type, adjoint + "." + name, value + "." + name);
  }
  return out;
}

}  // namespace

void ModuleLowering::lower_native_gradient(const FunctionDecl& decl, std::span<const Entity> args, const Instance& of,
                                           ir::Function& gradient) {
  // The snippet sees x and adj_x for each parameter, and adj_ret. Adjoints of values are references to the results, which
  // begin at zero; that of a parameter by reference begins with the adjoint of what the function left in it.
  const syntax::FunctionDef& def = *decl.def;
  CppTypes types;
  std::string params, given, addresses, results, body;
  auto add = [](std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; };
  std::vector<ir::Value*> zeros;
  for (std::size_t i = 0; i < def.params.size(); ++i) {
    const Type* type = args[i].type();
    std::string name(def.params[i].name), number = std::to_string(i), text = types.name(type);
    gradient.add_argument(gradient.body, type, gradient.arena.copy(std::string_view(name)));
    add(addresses, text + "* a" + number);
    add(params, text + " " + name);
    add(given, "*a" + number);
    if (type->is_array()) {
      add(params, "wp::adjoint_t<" + types.name(type->element()) + "> adj_" + name);
      add(given, "wp::adjoint_t<" + types.name(type->element()) + ">(*a" + number + ")");
      continue;
    }
    add(params, text + "& adj_" + name);
    if (has_floats(type)) {
      add(results, text + "* r" + number);
      const bool updated = std::ranges::count(of.ref_params, i) != 0;
      body += "*r" + number + " = " + (updated ? "*u" + number : text + "{}") + "; " +
              link_arrays(type, "(*r" + number + ")", "(*a" + number + ")");
      add(given, "*r" + number);
      gradient.result_types.push_back(type);
      zeros.push_back(gradient.zero(type));
    } else {
      body += text + " d" + number + "{}; " + link_arrays(type, "d" + number, "(*a" + number + ")");
      add(given, "d" + number);
    }
  }
  if (of.num_results > 0) {
    const Type* type = of.function->result_types[0];
    std::string text = types.name(type);
    add(params, text + " adj_ret");
    if (has_floats(type)) {
      gradient.add_argument(gradient.body, type, gradient.arena.copy(std::string_view("adj_ret")));
      add(addresses, text + "* seed");
      add(given, "*seed");
    } else {
      add(given, text + "{}");
    }
  }
  for (std::size_t i : of.ref_params) {
    if (!has_floats(args[i].type())) continue;
    const std::string name = "adj_" + std::string(def.params[i].name);
    gradient.add_argument(gradient.body, args[i].type(), gradient.arena.copy(std::string_view(name)));
    add(addresses, types.name(args[i].type()) + "* u" + std::to_string(i));
  }
  if (!results.empty()) add(addresses, results);
  NativeBuiltins called(*this, types);
  if (!called.find(decl.native_gradient)) return;
  gradient.native = types.definitions() + called.declarations() +
                    "static inline __attribute__((always_inline)) void weft_body(" + params + ") {\n#line 1 \"adj_" +
                    std::string(def.name) + "\"\n" + decl.native_gradient + "\n}\nextern \"C\" void weft_native(" +
                    called.parameters(addresses) + ") { " + body + "weft_body(" + given + "); }\n";
  ir::Builder builder(gradient, gradient.body);
  builder.set_loc(def.loc);
  called.write_calls(builder);
  builder.ret(zeros);
}

}  // namespace weft::sema
