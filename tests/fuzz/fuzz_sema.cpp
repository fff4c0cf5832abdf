// Any bytes as a kernel file: parse, read the module level, lower every kernel. Each ends with a verified module or with
// an error, never with both or neither; generic parameters are given plain types.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ir/verify.h"
#include "sema/file_scope.h"
#include "sema/sema.h"
#include "syntax/parser.h"

namespace {

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

const weft::Type* type_for(const weft::builtins::Pattern& pattern) {
  using Kind = weft::builtins::Pattern::Kind;
  using namespace weft::types;
  switch (pattern.kind) {
    case Kind::exact: return pattern.type;
    case Kind::integer: return i64();
    case Kind::vec: return vec(f32(), 3);
    case Kind::mat: return mat(f32(), 3, 3);
    case Kind::quat: return quat(f32());
    case Kind::transform: return transform(f32());
    case Kind::array: return array(f32(), pattern.rows.fixed ? pattern.rows.fixed : 1);
    default: return f64();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  auto source = std::make_shared<SourceFile>("fuzz.py", std::string(reinterpret_cast<const char*>(data), size));
  DiagnosticSink sink;
  std::shared_ptr<syntax::Tree> tree = syntax::parse(source, sink);
  std::shared_ptr<sema::FileScope> scope = sema::FileScope::make(tree, sink);
  for (const auto& kernel : scope->kernels()) {
    std::size_t errors = sink.error_count();
    std::vector<const Type*> types;
    for (const sema::KernelParam& param : sema::kernel_params(*kernel, sink)) types.push_back(type_for(param.pattern));
    if (types.size() != kernel->def->params.size() || sink.error_count() != errors) continue;
    sema::Options options;
    options.debug = size % 2 == 0;
    std::unique_ptr<ir::Module> module = sema::lower_kernel(*kernel, types, options, sink);
    require(!module == (sink.error_count() != errors), "a module and an error, or neither:\n" + sink.render_all());
    if (!module) continue;
    std::string problems = ir::verify(*module);
    require(problems.empty(), "the lowered module is malformed:\n" + problems);
  }
  sink.render_all();
  return 0;
}
