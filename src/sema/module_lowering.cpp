// Instances of functions: each combination of a definition and argument types is lowered once; recursion is refused.
#include "sema/lowering.h"

#include <algorithm>

#include "syntax/parser.h"

namespace weft::sema {

ModuleLowering::ModuleLowering(const Options& options, DiagnosticSink& sink)
    : options_(options), sink_(sink), module_(std::make_unique<ir::Module>()) {}

void ModuleLowering::keep_source(const FunctionDecl& decl) {
  if (!kept_sources_.insert(decl.tree->source.get()).second) return;
  module_->sources.push_back(decl.tree->source);
  sink_.keep(decl.tree->source);
}

bool ModuleLowering::count_unrolled(std::int64_t trips) {
  constexpr std::int64_t kMost = 1 << 16;  // far beyond use, and still compiled in seconds
  unrolled_ += trips;
  return unrolled_ <= kMost;
}

namespace {

/// What distinguishes one instance from another: types of values, identity of functions and other compile-time things.
std::string instance_key(const FunctionDecl& decl, std::span<const Entity> args) {
  std::string key = decl.key + "(";
  for (const Entity& e : args) {
    switch (e.kind) {
      case Entity::Kind::value: key += e.type()->text() + (e.by_thread ? " by thread" : ""); break;
      case Entity::Kind::functions:
        for (const auto& f : e.symbol->functions) key += "fn " + f->key + " ";
        break;
      case Entity::Kind::builtin: key += "builtin " + e.symbol->text; break;
      case Entity::Kind::type: key += "type " + builtins::to_string(e.symbol->pattern); break;
      case Entity::Kind::string: key += "str " + e.symbol->constant.text; break;
      default: key += "?"; break;
    }
    key += ";";
  }
  return key + ")";
}

/// Whether a function is to run for one thread at a time: `@lanewise` in the library, `@wp.func(lanewise=True)` elsewhere.
/// `@lanewise_values` are those of the library that only compute what a walk's result means: so in plain code, where that saves
/// most of it, but not where they are differentiated or checked, which is done in the kernel's own body.
bool is_lanewise(const syntax::FunctionDef& def, const Options& options) {
  for (const syntax::Expr* decorator : def.decorators) {
    const auto* name = decorator->as_if<syntax::NameExpr>();
    if (name && name->name == "lanewise") return true;
    if (name && name->name == "lanewise_values") return !options.debug && !options.gradients;
    const auto* call = decorator->as_if<syntax::CallExpr>();
    if (!call) continue;
    for (const syntax::Keyword& keyword : call->keywords) {
      const auto* value = keyword.value->as_if<syntax::BoolLiteral>();
      if (keyword.name == "lanewise" && value && value->value) return true;
    }
  }
  return false;
}

}  // namespace

const std::vector<builtins::Pattern>* ModuleLowering::patterns_of(const FunctionDecl& decl) {
  auto it = patterns_.find(decl.key);
  if (it == patterns_.end()) {
    keep_source(decl);
    it = patterns_.emplace(decl.key, param_patterns(decl, sink_)).first;
  }
  return it->second ? &*it->second : nullptr;
}

bool ModuleLowering::check_returns(const FunctionDecl& decl, const Instance& instance, const ir::Function& function) {
  const syntax::Expr& annotation = *decl.def->returns;
  auto annotated = return_patterns(decl, sink_);
  if (!annotated) return false;
  const bool anything = annotated->size() == 1 && annotated->front().kind == builtins::Pattern::Kind::any &&
                        annotated->front().variable.empty();
  if (anything) return true;  // Any is also several values, or none
  bool fits = annotated->size() == instance.num_results;
  std::string given;
  for (std::size_t k = 0; k < instance.num_results; ++k) {
    builtins::Bindings bindings;
    fits = fits && builtins::match((*annotated)[k], function.result_types[k], bindings);
    given += (k ? ", " : "") + function.result_types[k]->user_name();
  }
  if (fits) return true;
  std::string wanted;
  for (const builtins::Pattern& p : *annotated) wanted += (wanted.empty() ? "" : ", ") + builtins::to_string(p);
  sink_.report(DiagCode::result_annotation, annotation.loc,
               "'" + std::string(decl.def->name) + "' returns " + (given.empty() ? "nothing" : given) +
                   ", its annotation says " + (wanted.empty() ? "nothing" : wanted),
               "change the annotation or what the function returns", annotation.underline());
  return false;
}

const Instance* ModuleLowering::instantiate(const FunctionDecl& decl, std::span<const Entity> args,
                                            SourceLoc call_loc) {
  std::string key = instance_key(decl, args);
  auto [it, fresh] = instances_.try_emplace(key);
  Instance& instance = it->second;
  if (!fresh) {
    if (instance.in_progress) {
      sink_.report(DiagCode::recursion, call_loc,
                   "'" + std::string(decl.def->name) + "' calls itself, directly or through others",
                   "recursion is not supported in kernels; use a loop");
      return nullptr;
    }
    return &instance;
  }
  constexpr int kDeepest = 200;
  if (depth_ >= kDeepest) {
    sink_.report(DiagCode::nesting_too_deep, call_loc,
                 "functions call each other more than " + std::to_string(kDeepest) + " levels deep");
    return nullptr;
  }
  const std::vector<builtins::Pattern>* patterns = patterns_of(decl);
  if (!patterns) return nullptr;
  instance.in_progress = true;
  ++depth_;
  std::size_t errors = sink_.error_count();
  auto function = std::make_unique<ir::Function>(fresh_name(decl.def->name), ir::FunctionKind::function);
  function->loc = decl.def->name_loc;
  function->from_library = decl.library;
  function->lanewise = is_lanewise(*decl.def, options_);
  if (decl.native.empty())
    FunctionLowering(*this, decl, *function).run(args, *patterns, instance);
  else
    lower_native(decl, args, *function, instance);
  --depth_;
  instance.in_progress = false;
  if (sink_.error_count() != errors) return nullptr;
  if (decl.def->returns && !decl.library && decl.native.empty() && !check_returns(decl, instance, *function))
    return nullptr;
  instance.function = function.get();
  module_->functions.push_back(std::move(function));
  note_custom(decl, args, instance);
  return &instance;
}

ir::Function* ModuleLowering::lower_entry(const FunctionDecl& kernel, std::span<const Type* const> arg_types) {
  const std::vector<builtins::Pattern>* patterns = patterns_of(kernel);
  if (!patterns) return nullptr;
  const auto& params = kernel.def->params;
  std::vector<const Type*> types(arg_types.begin(), arg_types.end());
  if (types.empty())
    for (const builtins::Pattern& p : *patterns)
      types.push_back(p.kind == builtins::Pattern::Kind::exact ? p.type : nullptr);
  if (types.size() != params.size()) {
    sink_.report(DiagCode::bad_call, kernel.def->name_loc,
                 "the kernel takes " + std::to_string(params.size()) + " arguments, " + std::to_string(types.size()) +
                     " types were given");
    return nullptr;
  }
  std::vector<std::unique_ptr<ir::Value>> stand_ins;
  std::vector<Entity> args;
  bool ok = true;
  for (std::size_t i = 0; i < params.size(); ++i) {
    builtins::Bindings bindings;
    if (params[i].default_value && !default_value(params[i], (*patterns)[i], *scope_of(kernel), sink_)) ok = false;
    if (!types[i] && (*patterns)[i].kind == builtins::Pattern::Kind::tile) {
      sink_.report(DiagCode::bad_annotation, params[i].loc,
                   "the kernel's parameter '" + std::string(params[i].name) + "' is a tile; kernels take arrays",
                   "annotate it as one, wp.array(dtype=…), and load a part of it in the kernel: wp.tile_load(…)",
                   std::uint32_t(params[i].name.size()));
      ok = false;
      continue;
    }
    if (!types[i]) {
      sink_.report(DiagCode::bad_annotation, params[i].loc,
                   "the kernel is generic in '" + std::string(params[i].name) + "': its type must be given",
                   "give argument types, or launch it with arguments", std::uint32_t(params[i].name.size()));
      ok = false;
      continue;
    }
    if (!builtins::match((*patterns)[i], types[i], bindings)) {
      sink_.report(DiagCode::type_mismatch, params[i].loc,
                   "'" + std::string(params[i].name) + "' takes " + builtins::to_string((*patterns)[i]) + ", not " +
                       types[i]->user_name(),
                   std::uint32_t(params[i].name.size()));
      ok = false;
      continue;
    }
    stand_ins.push_back(std::make_unique<ir::Value>());
    stand_ins.back()->type = types[i];
    args.push_back(Entity::of(stand_ins.back().get()));
  }
  if (!ok) return nullptr;
  std::size_t errors = sink_.error_count();
  ++name_counts_[std::string(kernel.def->name)];
  auto function = std::make_unique<ir::Function>(std::string(kernel.def->name), ir::FunctionKind::kernel);
  function->loc = kernel.def->name_loc;
  Instance instance;
  FunctionLowering(*this, kernel, *function).run(args, *patterns, instance);
  if (sink_.error_count() == errors && (options_.gradients || !derivatives_.empty())) lower_custom();
  if (sink_.error_count() != errors) return nullptr;
  settle_voxels(*function);
  ir::Function* result = function.get();
  module_->functions.push_back(std::move(function));
  return result;
}

FunctionLowering::FunctionLowering(ModuleLowering& module, const FunctionDecl& decl, ir::Function& function)
    : module_(module),
      decl_(decl),
      scope_(scope_of(decl)),
      function_(function),
      builder_(function, function.body),
      scan_(scan(*decl.def)),
      sink_(module.sink()) {}

std::unique_ptr<ir::Module> lower_kernel(const FunctionDecl& kernel, std::span<const Type* const> arg_types,
                                         const Options& options, DiagnosticSink& sink) {
  std::size_t errors = sink.error_count();
  ModuleLowering lowering(options, sink);
  ir::Function* function = lowering.lower_entry(kernel, arg_types);
  if (!function || sink.error_count() != errors) return nullptr;
  return lowering.take();
}

namespace {

/// Arguments that are nothing but their types.
struct StandIns {
  explicit StandIns(std::span<const Type* const> types) {
    for (const Type* type : types) {
      values.push_back(std::make_unique<ir::Value>());
      values.back()->type = type;
      entities.push_back(Entity::of(values.back().get()));
    }
  }
  std::vector<std::unique_ptr<ir::Value>> values;
  std::vector<Entity> entities;
};

}  // namespace

std::unique_ptr<ir::Module> lower_builtin(std::string_view name, std::span<const Type* const> arg_types,
                                          const Options& options, DiagnosticSink& sink) {
  // A one-line function that calls it, lowered like any other.
  std::size_t errors = sink.error_count();
  std::string params, args;
  for (std::size_t i = 0; i < arg_types.size(); ++i) {
    std::string arg = "a" + std::to_string(i);
    params += (i ? ", " : "") + arg + ": Any";
    args += (i ? ", " : "") + arg;
  }
  bool gives_nothing = false;
  for (const builtins::Row& row : builtins::rows(name)) {
    auto has_default = [](const builtins::RowParam& p) { return !p.default_text.empty(); };
    std::size_t least =
        row.params.size() - std::size_t(std::count_if(row.params.begin(), row.params.end(), has_default));
    bool takes = arg_types.size() >= least && arg_types.size() <= row.params.size();
    gives_nothing = gives_nothing || (takes && row.result == "None");
  }
  std::string text =
      "def call(" + params + "):\n    " + (gives_nothing ? "" : "return ") + std::string(name) + "(" + args + ")\n";
  auto tree = syntax::parse(std::make_shared<SourceFile>("<builtin call>", text), sink);
  if (sink.error_count() != errors || tree->body.size() != 1) return nullptr;
  FunctionDecl decl;
  decl.def = &tree->body[0]->as<syntax::FunctionDef>();
  decl.tree = tree;
  decl.owned_scope = warp_scope();
  decl.key = "<builtin call>";
  ModuleLowering lowering(options, sink);
  StandIns given(arg_types);
  const Instance* instance = lowering.instantiate(decl, given.entities, decl.def->loc);
  if (!instance || !instance->function) return nullptr;
  return lowering.take();
}

std::unique_ptr<ir::Module> lower_library(std::string_view name, std::span<const Type* const> arg_types,
                                          DiagnosticSink& sink) {
  auto decl = library_function(name);
  if (!decl) return nullptr;
  ModuleLowering lowering({}, sink);
  StandIns given(arg_types);
  const Instance* instance = lowering.instantiate(*decl, given.entities, decl->def->loc);
  if (!instance || !instance->function) return nullptr;
  return lowering.take();
}

std::optional<std::vector<const Type*>> function_results(const FunctionDecl& function,
                                                         std::span<const Type* const> arg_types, DiagnosticSink& sink) {
  if (arg_types.size() != function.def->params.size()) {
    sink.report(DiagCode::bad_call, function.def->name_loc,
                "'" + std::string(function.def->name) + "' takes " + std::to_string(function.def->params.size()) +
                    " arguments, " + std::to_string(arg_types.size()) + " types were given");
    return std::nullopt;
  }
  ModuleLowering lowering({}, sink);
  StandIns args(arg_types);
  const Instance* instance = lowering.instantiate(function, args.entities, function.def->loc);
  if (!instance || !instance->function) return std::nullopt;
  const auto& all = instance->function->result_types;
  return std::vector<const Type*>(all.begin(), all.begin() + std::ptrdiff_t(instance->num_results));
}

}  // namespace weft::sema
