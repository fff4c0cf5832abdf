// The standard library's namespace. A definition's text (a function, struct or constant) is parsed when it is first
// needed, alone, never the whole file.
#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "builtins/embedded.h"
#include "builtins/row.h"
#include "sema/lowering.h"
#include "support/check.h"
#include "syntax/parser.h"

namespace weft::sema {
namespace {

using builtins::EmbeddedName;

class LibraryScope final : public Scope {
 public:
  std::optional<Symbol> lookup(std::string_view name) override {
    // A builtin's rows choose the overload; helpers that have no row are plain library functions.
    if (auto symbol = warp_scope()->lookup(name)) return symbol;
    if (auto decl = library_function(name)) return Symbol::of_functions({decl});
    if (const LibraryStruct* known = library_struct(name)) return Symbol::of_type(known->type);
    return library_constant(name);
  }
};

/// The text of one definition: from its first line (decorators) to the next that begins in column 0.
std::string_view definition_text(std::string_view file, std::size_t offset) {
  std::size_t end = offset;
  bool first = true;
  while (end < file.size()) {
    std::size_t line_end = std::min(file.find('\n', end), file.size());
    char c = file[end];
    bool continues = first || c == ' ' || c == '\n' || c == ')' || line_end == end;
    if (!continues) break;
    first = first && c == '@';
    end = line_end + 1;
  }
  return file.substr(offset, std::min(end, file.size()) - offset);
}

/// The tree of one definition, a single statement.
std::shared_ptr<const syntax::Tree> parse_definition(const EmbeddedName& entry) {
  const builtins::EmbeddedFile& file = builtins::embedded_files()[entry.file];
  auto source = std::make_shared<SourceFile>("stdlib/" + std::string(file.name),
                                             std::string(definition_text(file.text, entry.offset)), entry.line);
  DiagnosticSink sink;
  auto tree = syntax::parse(source, sink);
  WEFT_CHECK(!sink.has_errors() && tree->body.size() == 1, "standard library: " + sink.render_all());
  return tree;
}

/// Definitions by name, each made once from its text and kept; thread-safe. `make` may ask for others, so it runs without
/// the lock; of two that are made at once the first stays.
template <class Made>
class Definitions {
 public:
  template <class Make>
  const Made* find(std::span<const EmbeddedName> names, std::string_view name, Make make) {
    const EmbeddedName* entry = builtins::find_embedded(names, name);
    if (!entry) return nullptr;
    {
      std::lock_guard lock(mutex_);
      if (auto it = made_.find(entry->name); it != made_.end()) return &it->second;
    }
    Made fresh = make(*entry);
    std::lock_guard lock(mutex_);
    return &made_.try_emplace(entry->name, std::move(fresh)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string_view, Made> made_;
};

std::string docstring_of(const syntax::ClassDef& def) {
  const auto* first = def.body.empty() ? nullptr : def.body[0]->as_if<syntax::ExprStmt>();
  const auto* text = first ? first->value->as_if<syntax::StringLiteral>() : nullptr;
  return text ? std::string(text->value) : "";
}

/// What a constant is: numbers and vectors as anywhere at compile time, and tuples of those.
std::optional<Symbol> constant_of(const syntax::Expr& value) {
  const auto* tuple = value.as_if<syntax::TupleExpr>();
  if (!tuple) return eval_constant(value, *library_scope());
  std::vector<Symbol> elements;
  for (const syntax::Expr* element : tuple->elements) {
    auto one = constant_of(*element);
    if (!one) return std::nullopt;
    elements.push_back(*std::move(one));
  }
  return Symbol::of_tuple(std::move(elements));
}

}  // namespace

std::shared_ptr<Scope> library_scope() {
  static auto scope = std::make_shared<LibraryScope>();
  return scope;
}

std::shared_ptr<const FunctionDecl> library_function(std::string_view name) {
  static auto* known = new Definitions<std::shared_ptr<const FunctionDecl>>;
  auto* found = known->find(builtins::embedded_functions(), name, [](const EmbeddedName& entry) {
    auto tree = parse_definition(entry);
    auto decl = std::make_shared<FunctionDecl>();
    decl->def = &tree->body[0]->as<syntax::FunctionDef>();
    decl->tree = tree;
    decl->owned_scope = library_scope();
    decl->key = "stdlib." + std::string(entry.name);
    decl->library = true;
    return decl;
  });
  return found ? *found : nullptr;
}

const LibraryStruct* library_struct(std::string_view name) {
  // Version 1.19 has a name for queries of boxes and spheres alike, which are one type here; older ones have other names.
  constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
      {"MeshQuery", "MeshQueryAABB"},         {"mesh_query_aabb_t", "MeshQueryAABB"},
      {"mesh_query_ray_t", "MeshQueryRay"},   {"mesh_query_point_t", "MeshQueryPoint"},
      {"hash_grid_query_t", "HashGridQuery"}, {"bvh_query_t", "BvhQuery"}};
  for (const auto& [other, own] : kOtherNames)
    if (name == other) name = own;
  static auto* known = new Definitions<LibraryStruct>;
  return known->find(builtins::embedded_structs(), name, [](const EmbeddedName& entry) {
    auto tree = parse_definition(entry);
    const auto& def = tree->body[0]->as<syntax::ClassDef>();
    DiagnosticSink sink;
    const Type* type = struct_type(def, *library_scope(), sink, true);
    WEFT_CHECK(type, "standard library: " + sink.render_all());
    return LibraryStruct{type, docstring_of(def), std::string(loop_function(def, "__next__"))};
  });
}

const LibraryStruct* library_struct(const Type* type) {
  if (!is_library_struct(type)) return nullptr;
  const LibraryStruct* known = library_struct(type->user_name());
  return known && known->type == type ? known : nullptr;
}

const QueryRuns* query_runs(const Type* type) {
  static auto* known = new Definitions<QueryRuns>;
  if (!is_library_struct(type)) return nullptr;
  const QueryRuns* found = known->find(builtins::embedded_structs(), type->user_name(), [](const EmbeddedName& entry) {
    auto tree = parse_definition(entry);
    const auto function = [&](const char* word) {
      return std::string(loop_function(tree->body[0]->as<syntax::ClassDef>(), word));
    };
    return QueryRuns{function("__runs__"), function("__run__"), function("__item__"), function("__rest__")};
  });
  return found && !found->runs.empty() ? found : nullptr;
}

std::vector<std::string_view> library_struct_names() {
  std::vector<std::string_view> out;
  for (const EmbeddedName& entry : builtins::embedded_structs())
    if (!entry.name.starts_with('_')) out.push_back(entry.name);
  return out;
}

std::optional<Symbol> library_constant(std::string_view name) {
  static auto* known = new Definitions<Symbol>;
  const Symbol* found = known->find(builtins::embedded_constants(), name, [](const EmbeddedName& entry) {
    auto tree = parse_definition(entry);
    auto value = constant_of(*tree->body[0]->as<syntax::AssignStmt>().value);
    WEFT_CHECK(value, "standard library: the value of '" + std::string(entry.name) + "' is no constant");
    return *std::move(value);
  });
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace weft::sema
