// Parsing is done again for each form: a module is used up by what is made of it.
#include "driver/kernel_from_ir.h"

#include "ir/text.h"
#include "ir/verify.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

[[noreturn]] void damaged(const std::string& name, const std::string& what) {
  throw runtime::ArgumentError("the code of kernel '" + name + "' " + what);
}

std::unique_ptr<ir::Module> parse(const std::string& name, const std::string& text) {
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>(name + " (portable)", text), sink);
  if (!module || sink.error_count() > 0) damaged(name, "can't be read:\n" + sink.render_all());
  if (const std::string broken = ir::verify(*module); !broken.empty()) damaged(name, "is broken:\n" + broken);
  if (module->functions.empty() || module->functions.back()->kind != ir::FunctionKind::kernel)
    damaged(name, "holds no kernel");
  const ir::Form& form = module->functions.back()->form;
  if (form.adjoint || form.taped) damaged(name, "is a derivative, not the kernel");
  for (const auto& function : module->functions)
    if (!function->native.empty()) damaged(name, "has C++ in it, which is compiled only where it was written");
  return module;
}

}  // namespace

std::string portable_ir(const Kernel& kernel, KernelSignature& signature, DiagnosticSink& sink) {
  const std::unique_ptr<ir::Module> module = kernel.lowered(signature, sink);
  if (!module) return {};
  for (const auto& function : module->functions)
    if (!function->native.empty())
      throw runtime::ArgumentError(
          "kernel '" + kernel.name() +
          "' calls a native function, whose C++ another machine may not be able to compile: it "
          "can't be portable");
  return ir::print(*module);  // with names, which messages tell
}

LoadedKernel kernel_from_ir(const std::string& name, const std::string& text, const CompileOptions& options) {
  const std::unique_ptr<ir::Module> module = parse(name, text);
  std::vector<std::string> names;
  std::vector<const Type*> types;
  for (const ir::Value* param : module->functions.back()->params()) {
    names.push_back("parameter " + std::to_string(names.size()));
    types.push_back(param->type);
  }
  for (int k = 0; k < options.doublings(); ++k) {
    types.reserve(2 * types.size());
    types.insert(types.end(), types.begin(), types.end());
  }
  LoadedKernel made;
  made.kernel = std::make_shared<Kernel>(name, std::move(names), [name, text] { return parse(name, text); }, options);
  made.signature = &made.kernel->signature(types);
  return made;
}

}  // namespace weft::driver
