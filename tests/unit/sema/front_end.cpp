// What the front end's tests share.
#include "front_end.h"

#include "ir/verify.h"
#include "ir/walk.h"
#include "syntax/parser.h"

namespace weft::testing {

File::File(const std::string& text) {
  auto source = std::make_shared<SourceFile>("test.py", "import warp as wp\n" + text);
  scope = sema::FileScope::make(syntax::parse(source, sink), sink);
}

std::unique_ptr<ir::Module> File::lower(std::string_view kernel, std::vector<const Type*> types,
                                        sema::Options options) {
  auto decl = scope->find_kernel(kernel);
  if (!decl) {
    ADD_FAILURE() << "no kernel " << kernel << "\n" << sink.render_all();
    return nullptr;
  }
  auto module = sema::lower_kernel(*decl, types, options, sink);
  if (module) {
    EXPECT_EQ(ir::verify(*module), "");
  }
  return module;
}

std::unique_ptr<ir::Module> File::must_lower(std::string_view kernel, std::vector<const Type*> types,
                                             sema::Options options) {
  auto module = lower(kernel, std::move(types), options);
  if (module) return module;
  ADD_FAILURE() << sink.render_all();
  module = std::make_unique<ir::Module>();
  module->functions.push_back(std::make_unique<ir::Function>("none", ir::FunctionKind::function));
  return module;
}

std::string messages(const DiagnosticSink& sink) {
  std::string out;
  for (const Diagnostic& d : sink.all()) {
    if (!out.empty()) out += ", ";
    out += std::to_string(d.loc.line) + ":" + std::to_string(d.loc.col) + " " + std::string(name_of(d.code));
  }
  return out;
}

std::string errors_of(const std::string& text) {
  File file(text);
  EXPECT_EQ(file.lower(), nullptr) << text;
  return messages(file.sink);
}

const ir::Function& function(const ir::Module& module, std::string_view name) {
  for (const auto& f : module.functions)
    if (f->name == name) return *f;
  ADD_FAILURE() << "no function " << name;
  return *module.functions.back();
}

std::size_t count(const ir::Function& function, ir::OpCode code) {
  std::size_t n = 0;
  ir::walk(*function.body, [&](const ir::Op& op) { n += op.code == code; });
  return n;
}

std::size_t size_of(const ir::Module& module) {
  std::size_t n = 0;
  for (const auto& f : module.functions) ir::walk(*f->body, [&](const ir::Op&) { ++n; });
  return n;
}

std::shared_ptr<sema::FunctionDecl> declare(const std::string& text, std::shared_ptr<sema::Scope> scope) {
  DiagnosticSink sink;
  auto tree = syntax::parse(std::make_shared<SourceFile>("declared.py", text), sink);
  EXPECT_FALSE(sink.has_errors()) << sink.render_all();
  auto decl = std::make_shared<sema::FunctionDecl>();
  decl->def = &tree->body[0]->as<syntax::FunctionDef>();
  decl->tree = tree;
  decl->owned_scope = std::move(scope);
  decl->key = text;
  return decl;
}

std::vector<interp::Datum> call(const std::string& text, std::vector<interp::Datum> args) {
  File file(text);
  auto module = file.must_lower();
  if (function(*module, "f").name != "f") return std::vector<interp::Datum>(1, datum(0));
  return interp::call(function(*module, "f"), args, {.max_steps = 1000000});
}

}  // namespace weft::testing
