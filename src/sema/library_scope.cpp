// The standard library's namespace. A function's text is parsed when it is first called, alone, never the whole file.
#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "builtins/embedded.h"
#include "builtins/row.h"
#include "sema/symbol.h"
#include "support/check.h"
#include "syntax/parser.h"

namespace weft::sema {
namespace {

class LibraryScope final : public Scope {
 public:
  std::optional<Symbol> lookup(std::string_view name) override {
    // A builtin's rows choose the overload; helpers that have no row are plain library functions.
    if (auto symbol = warp_scope()->lookup(name)) return symbol;
    if (auto decl = library_function(name)) return Symbol::of_functions({decl});
    return std::nullopt;
  }
};

/// The text of one function: from its `def` to the next line that begins in column 0.
std::string_view function_text(std::string_view file, std::size_t offset) {
  std::size_t end = offset;
  bool first = true;
  while (end < file.size()) {
    std::size_t line_end = std::min(file.find('\n', end), file.size());
    char c = file[end];
    bool continues = first || c == ' ' || c == '\n' || c == ')' || line_end == end;
    if (!continues) break;
    first = false;
    end = line_end + 1;
  }
  return file.substr(offset, std::min(end, file.size()) - offset);
}

}  // namespace

std::shared_ptr<Scope> library_scope() {
  static auto scope = std::make_shared<LibraryScope>();
  return scope;
}

std::shared_ptr<const FunctionDecl> library_function(std::string_view name) {
  static std::mutex mutex;
  static auto* parsed = new std::unordered_map<std::string, std::shared_ptr<const FunctionDecl>>;
  std::lock_guard lock(mutex);
  if (auto it = parsed->find(std::string(name)); it != parsed->end()) return it->second;
  auto names = builtins::embedded_functions();
  auto it = std::lower_bound(names.begin(), names.end(), name,
                             [](const builtins::EmbeddedName& e, std::string_view n) { return e.name < n; });
  if (it == names.end() || it->name != name) return nullptr;
  const builtins::EmbeddedFile& file = builtins::embedded_files()[it->file];
  auto source = std::make_shared<SourceFile>("stdlib/" + std::string(file.name),
                                             std::string(function_text(file.text, it->offset)), it->line);
  DiagnosticSink sink;
  auto tree = syntax::parse(source, sink);
  WEFT_CHECK(!sink.has_errors() && tree->body.size() == 1 && tree->body[0]->kind == syntax::StmtKind::function_def,
             "standard library: " + sink.render_all());
  auto decl = std::make_shared<FunctionDecl>();
  decl->def = &tree->body[0]->as<syntax::FunctionDef>();
  decl->tree = tree;
  decl->owned_scope = library_scope();
  decl->key = "stdlib." + std::string(name);
  decl->library = true;
  return parsed->emplace(std::string(name), std::move(decl)).first->second;
}

}  // namespace weft::sema
