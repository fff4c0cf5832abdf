// Lowering of library bodies on first use. 16-bit kinds are a cast around the f32 operation: one rounding at the end.
#include "math/library.h"

#include <limits>
#include <map>
#include <mutex>

#include "ir/builder.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/fold.h"
#include "passes/inline_calls.h"
#include "passes/simplify.h"
#include "sema/sema.h"

namespace weft::math {
namespace {

using ir::OpCode;

std::unique_ptr<ir::Module> half_body(OpCode code, ScalarKind kind, std::size_t arity) {
  auto module = std::make_unique<ir::Module>();
  ir::Function* function = module->add("_" + std::string(ir::name_of(code)) + "_16", ir::FunctionKind::function);
  const Type* type = types::scalar(kind);
  function->result_types = {type};
  ir::Builder builder(*function, function->body);
  std::vector<ir::Value*> wide;
  for (std::size_t i = 0; i < arity; ++i)
    wide.push_back(builder.cast(function->add_argument(function->body, type), types::f32()));
  ir::Value* result[] = {builder.cast(builder.op(code, wide)->result(), type)};
  builder.ret(result);
  return module;
}

std::unique_ptr<ir::Module> library_body(const std::string& name, ScalarKind kind, std::size_t arity) {
  DiagnosticSink sink;
  auto module = sema::lower_library(name, std::vector<const Type*>(arity, types::scalar(kind)), sink);
  // The library is part of the build: a body that is missing or wrong is a bug of ours, found by the first test.
  WEFT_CHECK(module, "no library definition of " + name + ":\n" + sink.render_all());
  passes::InlineLimits all;
  // One function without calls, whatever its size: who inlines it counts its operations, and the interpreter and
  // generated code call one thing.
  all.small = all.once = all.growth = std::numeric_limits<std::size_t>::max() / 2;
  passes::inline_calls(*module, all);
  while (module->functions.size() > 1) module->functions.erase(module->functions.begin());
  // No contraction: the library says itself where products are fused.
  ir::Function& function = *module->functions.back();
  // Exact rewritings only: what the body rounds, and when, is what its error bound was proven for.
  passes::fold(function);
  passes::simplify(function);
  passes::cse(function);
  passes::dce(function);
  return module;
}

}  // namespace

const ir::Function& math_function(OpCode code, ScalarKind kind) {
  static std::mutex mutex;
  // Never destroyed: threads that compile ahead may still be here when the process ends.
  static auto* known = new std::map<std::pair<OpCode, ScalarKind>, std::unique_ptr<ir::Module>>;
  WEFT_CHECK(ir::class_of(code) == ir::OpClass::math || code == OpCode::rem,
             "not an elementary function: " + std::string(ir::name_of(code)));
  // Held while a body is lowered, which never asks for another one: bodies are made of plain operations. References
  // stay good, as a map never moves what it holds.
  std::lock_guard lock(mutex);
  std::unique_ptr<ir::Module>& module = (*known)[{code, kind}];
  if (!module) {
    std::size_t arity = code == OpCode::atan2 || code == OpCode::pow || code == OpCode::rem ? 2 : 1;
    bool half = kind == ScalarKind::f16 || kind == ScalarKind::bf16;
    std::string name = "_" + std::string(ir::name_of(code)) + (kind == ScalarKind::f64 ? "_f64" : "_f32");
    module = half ? half_body(code, kind, arity) : library_body(name, kind, arity);
  }
  return *module->functions.back();
}

const ir::Function* math_core(OpCode code) {
  static const std::unique_ptr<ir::Module> exp = library_body("_exp_core_f32", ScalarKind::f32, 1);
  static const std::unique_ptr<ir::Module> log = library_body("_log_core_f32", ScalarKind::f32, 1);
  return code == OpCode::exp   ? exp->functions.back().get()
         : code == OpCode::log ? log->functions.back().get()
                               : nullptr;
}

}  // namespace weft::math
