// Which names a snippet calls, for which types a row is offered, and the texts on both sides.
#include "sema/native_builtins.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "syntax/parser.h"

namespace weft::sema {

using builtins::Bindings;
using builtins::Pattern;
using builtins::Row;

namespace {

/// Builtins that the prelude itself has (codegen/native): C++ computes them in place. tests/python/test_native_builtins.py
/// compiles a call of every builtin, which finds a name that is in both.
constexpr std::string_view kInPrelude[] = {
    "abs",        "acos",      "add",         "address",  "asin",   "assert",       "atan",        "atan2",
    "atomic_add", "cbrt",      "copysign",    "ceil",     "clamp",  "cos",          "cosh",        "cross",
    "cw_mul",     "degrees",   "determinant", "div",      "dot",    "erf",          "erfc",        "exp",
    "floor",      "fmod",      "index",       "isfinite", "isinf",  "isnan",        "length",      "length_sq",
    "lerp",       "load",      "log",         "log10",    "log2",   "max",          "mesh_get",    "min",
    "mod",        "mul",       "normalize",   "pow",      "printf", "quat_inverse", "quat_rotate", "quat_rotate_inv",
    "radians",    "rand_init", "randf",       "randi",    "randu",  "rint",         "round",       "sign",
    "sin",        "sinh",      "sqrt",        "step",     "sub",    "tan",          "tanh",        "trace",
    "transpose",  "trunc",     "where"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Names in front of an opening bracket, each once. A member's name is none.
std::set<std::string, std::less<>> called_names(std::string_view text) {
  std::set<std::string, std::less<>> out;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    std::size_t next = end;
    while (next < text.size() && std::isspace(static_cast<unsigned char>(text[next]))) ++next;
    const bool member = i > 0 && (text[i - 1] == '.' || (i > 1 && text[i - 1] == '>' && text[i - 2] == '-'));
    if (next < text.size() && text[next] == '(' && !member) out.emplace(text.substr(i, end - i));
    i = end;
  }
  return out;
}

/// What the variables of a pattern can be; false where that has no end.
struct Variables {
  std::map<std::string, Pattern::Kind> scalars;
  std::set<std::string> extents;

  bool note(const Pattern& pattern) {
    switch (pattern.kind) {
      case Pattern::Kind::exact: return true;
      case Pattern::Kind::scalar:
      case Pattern::Kind::integer:
      case Pattern::Kind::floating:
      case Pattern::Kind::number_or_bool:
        if (pattern.variable.empty()) return false;
        scalars.emplace(pattern.variable, pattern.kind);
        return true;
      case Pattern::Kind::vec: return note(pattern.rows) && pattern.element && note(*pattern.element);
      case Pattern::Kind::mat:
        return note(pattern.rows) && note(pattern.cols) && pattern.element && note(*pattern.element);
      case Pattern::Kind::quat:
      case Pattern::Kind::transform: return pattern.element && note(*pattern.element);
      case Pattern::Kind::array: return pattern.rows.fixed && pattern.element && note(*pattern.element);
      case Pattern::Kind::library_struct: return library_struct(pattern.variable) != nullptr;
      case Pattern::Kind::any:
      case Pattern::Kind::indexed_array:
      case Pattern::Kind::fabric_array:
      case Pattern::Kind::indexed_fabric_array:
      case Pattern::Kind::tile:
      case Pattern::Kind::tuple:
      case Pattern::Kind::callable: return false;
    }
    return false;
  }
  bool note(const builtins::Extent& extent) {
    if (!extent.fixed && extent.variable.empty()) return false;
    if (!extent.fixed) extents.insert(extent.variable);
    return true;
  }
};

std::vector<const Type*> scalars_of(Pattern::Kind kind) {
  if (kind == Pattern::Kind::floating) return {types::f32(), types::f64()};
  if (kind == Pattern::Kind::integer) return {types::i32(), types::u32(), types::i64(), types::u64()};
  return {types::f32(), types::f64(), types::i32()};
}

/// Calls `each` with every choice of types and of extents from 2 to 4.
void each_choice(const Variables& variables, const std::function<void(const Bindings&)>& each) {
  std::vector<Bindings> all = {{}};
  for (const auto& [name, kind] : variables.scalars) {
    std::vector<Bindings> next;
    for (const Bindings& one : all)
      for (const Type* type : scalars_of(kind)) (next.push_back(one), next.back().types[name] = type);
    all = std::move(next);
  }
  for (const std::string& name : variables.extents) {
    std::vector<Bindings> next;
    for (const Bindings& one : all)
      for (std::uint32_t n : {2u, 3u, 4u}) (next.push_back(one), next.back().extents[name] = n);
    all = std::move(next);
  }
  for (const Bindings& one : all) each(one);
}

const Type* chosen(const Pattern& pattern, const Bindings& choice) {
  auto extent = [&](const builtins::Extent& e) { return e.fixed ? e.fixed : choice.extents.at(e.variable); };
  auto element = [&] { return chosen(*pattern.element, choice); };
  switch (pattern.kind) {
    case Pattern::Kind::exact: return pattern.type;
    case Pattern::Kind::vec: return types::vec(element(), extent(pattern.rows));
    case Pattern::Kind::mat: return types::mat(element(), extent(pattern.rows), extent(pattern.cols));
    case Pattern::Kind::quat: return types::quat(element());
    case Pattern::Kind::transform: return types::transform(element());
    case Pattern::Kind::array: return types::array(element(), pattern.rows.fixed);
    case Pattern::Kind::library_struct: return library_struct(pattern.variable)->type;
    default: return choice.types.at(pattern.variable);
  }
}

/// A row's default value in C++; empty if there is none.
std::string in_cpp(const std::string& value) {
  if (value == "True") return "true";
  if (value == "False") return "false";
  if (value == "inf") return "INFINITY";
  return value;
}

bool takes_rotation(const Row& row) {
  return std::any_of(row.params.begin(), row.params.end(), [](const builtins::RowParam& p) {
    return p.pattern.kind == Pattern::Kind::quat || p.pattern.kind == Pattern::Kind::transform;
  });
}

}  // namespace

bool NativeBuiltins::find(std::string_view snippet) {
  for (const std::string& name : called_names(snippet)) {
    if (name[0] == '_' || !builtins::is_builtin(name)) continue;
    const bool in_prelude = std::find(std::begin(kInPrelude), std::end(kInPrelude), name) != std::end(kInPrelude);
    for (const Row& row : builtins::rows(name))
      if (!add(row, in_prelude)) return false;
  }
  return true;
}

bool NativeBuiltins::add(const Row& row, bool only_rotations) {
  // The prelude's own functions take numbers, vectors and matrices.
  if (row.definition == Row::Definition::special || (only_rotations && !takes_rotation(row))) return true;
  Variables variables;
  for (const builtins::RowParam& param : row.params)
    if (!variables.note(param.pattern)) return true;
  bool ok = true;
  each_choice(variables, [&](const Bindings& choice) {
    std::vector<const Type*> args;
    for (const builtins::RowParam& param : row.params) args.push_back(chosen(param.pattern, choice));
    ok = ok && add(row, args);
  });
  return ok;
}

bool NativeBuiltins::add(const Row& row, const std::vector<const Type*>& args) {
  std::string signature = row.name, params, given, updated;
  for (const Type* type : args) {
    const std::string name = types_.name(type);
    if (name.empty()) return true;
    signature += " " + name;
  }
  if (!signatures_.insert(signature).second) return true;  // the first row has it, as in kernels
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string number = std::to_string(i);
    params += (i ? ", a" : "a") + number + ": Any";
    given += (i ? ", a" : "a") + number;
    if (row.params[i].pattern.by_reference) updated += (updated.empty() ? "a" : ", a") + number;
  }
  const std::string call = row.name + "(" + given + ")";
  std::string text = "def native_" + row.name + "(" + params + "):\n    ";
  if (row.result == "None")
    text += call + (updated.empty() ? "" : "\n    return " + updated) + "\n";
  else
    text += updated.empty() ? "return " + call + "\n" : "result = " + call + "\n    return result, " + updated + "\n";
  auto decl = std::make_shared<FunctionDecl>();
  auto tree = syntax::parse(std::make_shared<SourceFile>("<builtin call>", text), module_.sink());
  if (tree->body.size() != 1) return false;
  decl->def = &tree->body[0]->as<syntax::FunctionDef>();
  decl->tree = tree;
  decl->owned_scope = warp_scope();
  decl->key = "<native call> " + signature;
  module_.keep(decl);
  std::vector<ir::Value> stand_ins(args.size());
  std::vector<Entity> entities;
  for (std::size_t i = 0; i < args.size(); ++i) {
    stand_ins[i].type = args[i];
    entities.push_back(Entity::of(&stand_ins[i]));
  }
  const Instance* instance = module_.instantiate(*decl, entities, decl->def->loc);
  if (!instance || !instance->function) return false;
  declare(row, args, *instance);
  return true;
}

void NativeBuiltins::declare(const Row& row, const std::vector<const Type*>& args, const Instance& instance) {
  const std::vector<const Type*>& results = instance.function->result_types;
  std::vector<std::string> names;
  for (const Type* type : results) names.push_back(types_.name(type));
  if (std::find(names.begin(), names.end(), "") != names.end()) return;
  std::size_t plain = row.params.size();  // behind these all have defaults
  while (plain > 0 && !row.params[plain - 1].default_text.empty()) --plain;
  std::string passed, params, before, addresses, after;
  auto list = [](std::string& to, const std::string& item) { to += (to.empty() ? "" : ", ") + item; };
  std::size_t next = results.size();
  for (const builtins::RowParam& param : row.params) next -= param.pattern.by_reference;
  const std::size_t own = next;  // results of the builtin itself; what it updated follows
  std::string signature = row.name;
  for (const Type* type : args) signature += " " + types_.name(type);
  for (std::size_t r = 0; own > 1 && r < own; ++r) signature += " " + names[r];
  if (own > 1 && !signatures_.insert(signature).second) return;  // to C++ the same as a row before
  const std::string symbol = "weft_use_" + std::to_string(functions_.size());
  functions_.push_back(instance.function);
  std::string outs;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string type = types_.name(args[i]), number = std::to_string(i);
    const bool reference = row.params[i].pattern.by_reference;
    list(passed, type + "*");
    list(params, type + (reference ? "& a" : " a") + number +
                     (i >= plain && !reference ? " = " + in_cpp(row.params[i].default_text) : ""));
    list(addresses, "&a" + number);
    if (!reference) continue;
    before += type + " u" + number + " = a" + number + "; ";
    list(outs, "&u" + number);
    after += "a" + number + " = u" + number + "; ";
  }
  for (std::size_t r = 0; r < own; ++r) {
    const std::string number = std::to_string(r);
    if (own > 1)
      list(params, names[r] + "& r" + number);  // several results: C++ has them by reference
    else
      before += names[r] + " r0{}; ";
    list(addresses, "&r" + number);
  }
  for (const std::string& name : names) list(passed, name + "*");
  if (!outs.empty()) list(addresses, outs);
  text_ += "namespace wp {\nextern \"C\" __attribute__((convergent)) void " + symbol + "(" + passed + ");\ninline " +
           (own == 1 ? names[0] : "void") + " " + row.name + "(" + params + ") { " + before + symbol + "(" + addresses +
           "); " + after + (own == 1 ? "return r0; " : "") + "}\n}\n";
}

std::string NativeBuiltins::parameters(const std::string& own) const {
  if (functions_.empty()) return own;
  return "void* weft_context, long long weft_thread" + (own.empty() ? "" : ", " + own);
}

void NativeBuiltins::write_calls(ir::Builder& builder) const {
  for (ir::Function* function : functions_) {
    std::vector<ir::Value*> zeros;
    for (const ir::Value* param : function->params()) zeros.push_back(builder.function().zero(param->type));
    builder.call(function, zeros);
  }
}

}  // namespace weft::sema
