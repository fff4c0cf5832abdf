// The pipeline, readable from top to bottom. Each stage works on every function, callees first; in builds with
// WEFT_IR_CHECKS the verifier runs after each.
#include "driver/pipeline.h"

#include <chrono>
#include <unordered_set>

#include "analysis/effects.h"
#include "autodiff/adjoint.h"
#include "autodiff/private_calls.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "math/inline_math.h"
#include "passes/block_barriers.h"
#include "passes/bounds_check.h"
#include "passes/check_together.h"
#include "passes/compared_values.h"
#include "passes/contract.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/find_parting.h"
#include "passes/fold.h"
#include "passes/group_products.h"
#include "passes/hoist_locals.h"
#include "passes/inline_calls.h"
#include "passes/join_branches.h"
#include "passes/late_memory.h"
#include "passes/licm.h"
#include "passes/load_ahead.h"
#include "passes/move_tests.h"
#include "passes/own_elements.h"
#include "passes/own_tiles.h"
#include "passes/place_fragments.h"
#include "passes/plain_places.h"
#include "passes/plain_roots.h"
#include "passes/positive_zeros.h"
#include "passes/promote_locals.h"
#include "passes/raw_locals.h"
#include "passes/report_not_finite.h"
#include "passes/round_tiles.h"
#include "passes/settle_target.h"
#include "passes/simplify.h"
#include "passes/split_signs.h"
#include "passes/unroll.h"
#include "passes/unroll_while.h"

namespace weft::driver {
namespace {

/// Drops functions that the kernel, or another root, no longer reaches.
void drop_unused(ir::Module& module, const ir::Function* root = nullptr) {
  std::unordered_set<const ir::Function*> used;
  std::vector<const ir::Function*> work;
  auto use = [&](const ir::Function* function) {
    if (function && used.insert(function).second) work.push_back(function);
  };
  use(root ? root : module.functions.back().get());
  while (!work.empty()) {
    const ir::Function* function = work.back();
    work.pop_back();
    ir::walk(*function->body, [&](const ir::Op& op) { use(op.callee); });
    for (const ir::Function* link : {function->gradient, function->replay, function->derives}) use(link);
  }
  std::erase_if(module.functions, [&](const auto& function) { return !used.contains(function.get()); });
}

/// For the last time before code generation: gradients and replays have served, and their functions are like any other.
void forget_custom(ir::Module& module) {
  bool any = false;
  for (const auto& function : module.functions) {
    any = any || function->gradient || function->replay;
    function->gradient = function->replay = nullptr;
  }
  if (any) drop_unused(module);
}

struct Stage {
  std::string_view name;
  std::function<void(ir::Module&, const CompileOptions&)> run;
};

using Each = std::function<void(ir::Function&)>;

// The body of a native function is a list of what its C++ calls: nothing in it is simplified, and nothing goes.

Stage on_each(std::string_view name, const Each& pass) {
  return {name, [pass](ir::Module& module, const CompileOptions&) {
            for (auto& function : module.functions)
              if (function->native.empty()) pass(*function);
          }};
}

Stage on_gpu(std::string_view name, const Each& pass) {
  return {name, [pass](ir::Module& module, const CompileOptions& options) {
            if (!options.gpu.target) return;
            for (auto& function : module.functions) pass(*function);
          }};
}

Stage with_effects(std::string_view name, bool (*pass)(ir::Function&, analysis::Effects*)) {
  return {name, [pass](ir::Module& module, const CompileOptions&) {
            analysis::Effects effects;
            for (auto& function : module.functions)
              if (function->native.empty()) pass(*function, &effects);
          }};
}

const std::vector<Stage>& stages() {
  static const std::vector<Stage> list = {
      // Debug checks first: they must see every access exactly as the program wrote it.
      {"bounds-check",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.debug && !options.verify_fp) return;
         const bool adjoint = module.functions.back()->form.adjoint;
         if (!options.debug) {
           for (auto& function : module.functions)
             if (!function->from_library) passes::report_not_finite(*function, adjoint);
           return;
         }
         passes::CheckOptions checks;
         checks.not_finite = options.verify_fp;
         for (auto& function : module.functions) passes::bounds_check(*function, checks);
       }},

      // Then only what this target takes is left: library code chooses by it.
      {"target",
       [](ir::Module& module, const CompileOptions& options) {
         const bool blocks = module.functions.back()->form.block != 0;
         for (auto& function : module.functions) passes::settle_target(*function, options.gpu.target, blocks);
       }},

      // Tidy each function, so that what gets inlined is small.
      on_each("fold", [](ir::Function& f) { passes::fold(f); }),
      on_each("simplify", [](ir::Function& f) { passes::simplify(f); }),
      with_effects("dce", passes::dce),

      // Bring the bodies together.
      {"inline",
       [](ir::Module& module, const CompileOptions& options) {
         passes::InlineLimits limits;
         // Barriers are set in the kernel itself.
         limits.memory = module.functions.back()->form.block != 0;
         limits.block = !options.gpu.target;
         limits.draws = !options.gpu.target;
         limits.lanewise = options.gpu.target;  // what is read there then counts as the kernel's own arrays
         passes::inline_calls(module, limits);
         drop_unused(module);
       }},
      on_each("fold-2", [](ir::Function& f) { passes::fold(f); }),
      on_each("simplify-2", [](ir::Function& f) { passes::simplify(f); }),
      on_each("plain-places", [](ir::Function& f) { passes::plain_places(f); }),
      on_each("round-tiles", [](ir::Function& f) { passes::round_tiles(f); }),
      with_effects("cse", passes::cse),
      // Debug mode: threads of a block compare what nobody can tell they have alike.
      {"check-together",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.debug || !module.functions.back()->form.block) return;
         for (auto& function : module.functions) passes::check_together(*function);
       }},
      // Memory shows itself once calls that ask for no gradients have arrays alone.
      {"own-elements",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.gpu.target && !module.functions.back()->form.block) return;
         passes::late_memory(module);
         for (auto& function : module.functions) passes::own_elements(*function);
       }},
      {"group-products",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.gpu.target || !options.gpu.own) return;
         for (auto& function : module.functions) passes::group_products(*function);
       }},
      on_gpu("place-fragments", [](ir::Function& f) { passes::place_fragments(f); }),
      on_gpu("own-tiles", [](ir::Function& f) { passes::own_tiles(f); }),
      {"load-ahead",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.gpu.target) return;
         for (auto& function : module.functions) passes::load_ahead(*function, options.gpu.sm);
       }},

      // Loops: small constant ones vanish, the rest loses what does not change in it.
      {"unroll",
       [](ir::Module& module, const CompileOptions& options) {
         passes::UnrollLimits limits;
         limits.max_trips = std::uint64_t(options.max_unroll < 0 ? 0 : options.max_unroll);
         // Four steps of a product in registers: their loads go together.
         if (module.functions.back()->form.block) limits.max_ops_of_few = 640;
         for (auto& function : module.functions) passes::unroll(*function, limits);
       }},
      on_each("fold-3", [](ir::Function& f) { passes::fold(f); }),
      on_each("simplify-3", [](ir::Function& f) { passes::simplify(f); }),
      with_effects("licm", passes::licm),
      with_effects("cse-2", passes::cse),
      with_effects("dce-2", passes::dce),

      // Last, so that every executor runs the same fused arithmetic.
      {"contract",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.fuse_fp) return;
         const auto unfused = passes::compared_values(module);
         for (auto& function : module.functions) passes::contract(*function, unfused);
       }},
      // Behind differentiation, which wants the guard.
      on_each("plain-roots", [](ir::Function& f) { passes::plain_roots(f); }),
      on_gpu("split-signs", [](ir::Function& f) { passes::split_signs(f); }),
      {"unroll-while",
       [](ir::Module& module, const CompileOptions& options) {
         passes::WhileLimits limits;
         limits.private_arrays = options.gpu.target;
         for (auto& function : module.functions) {
           if (!passes::unroll_while(*function, limits)) continue;
           passes::join_branches(*function);
           passes::fold(*function);
           passes::dce(*function, nullptr);
           passes::sink_stores(*function);
         }
       }},
      // Behind contraction, which would fuse the sum. Fast arithmetic has no zeros to tell apart, and leaves it out again.
      {"deterministic",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.deterministic || options.fast_math) return;
         for (auto& function : module.functions) passes::positive_zeros(*function);
       }},
      with_effects("dce-3", passes::dce),
      on_each("raw-locals", [](ir::Function& f) { passes::raw_locals(f); }),

      // Behind contraction, which must leave the library's own arithmetic alone.
      {"inline-math",
       [](ir::Module& module, const CompileOptions& options) {
         math::MathLimits limits;
         if (options.gpu.target)
           limits.keep = [&](ir::OpCode code, ScalarKind kind) {
             return codegen::gpu_computes(code, kind, options.fast_math, !options.gpu.libdevice.empty());
           };
         for (auto& function : module.functions) math::inline_math(*function, limits);
       }},

      {"late-memory",
       [](ir::Module& module, const CompileOptions& options) {
         if (options.gpu.target || module.functions.back()->form.block) passes::late_memory(module);
       }},

      // Last of all: nothing moves any more.
      {"block-barriers",
       [](ir::Module& module, const CompileOptions& options) {
         if (!options.gpu.target && !module.functions.back()->form.block) return;
         for (auto& function : module.functions) {
           const auto parting = options.debug ? std::nullopt : passes::find_parting(*function);
           if (parting) throw codegen::Error(parting->text, parting->loc);
           passes::block_barriers(*function);
         }
       }},
  };
  return list;
}

/// Passes that stand inside of other stages or in prepare_gradients, so that tests can run them alone as well.
const std::vector<Stage>& inner_passes() {
  static const std::vector<Stage> list = {
      on_each("hoist-locals", [](ir::Function& f) { passes::hoist_locals(f); }),
      on_each("promote-locals", [](ir::Function& f) { passes::promote_locals(f); }),
      on_each("move-tests", [](ir::Function& f) { passes::move_tests(f); }),
      on_each("join-branches", [](ir::Function& f) { passes::join_branches(f); }),
      on_each("sink-stores", [](ir::Function& f) { passes::sink_stores(f); }),
      on_each("positive-zeros", [](ir::Function& f) { passes::positive_zeros(f); }),
  };
  return list;
}

void verify_after(std::string_view stage, const ir::Module& module) {
#ifdef WEFT_IR_CHECKS
  std::string problems = ir::verify(module);
  WEFT_CHECK(problems.empty(), "after " + std::string(stage) + ":\n" + problems + "\n" + ir::print(module));
#else
  (void)stage;
  (void)module;
#endif
}

}  // namespace

void optimize(ir::Module& module, const CompileOptions& options, const StageObserver& observer) {
  using Clock = std::chrono::steady_clock;
  forget_custom(module);
  for (const Stage& stage : stages()) {
    Clock::time_point start = Clock::now();
    stage.run(module, options);
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    verify_after(stage.name, module);
    if (observer) observer(stage.name, module, seconds);
  }
}

void prepare_gradients(ir::Module& module, const ir::Function& root, passes::InlineLimits limits,
                       const CompileOptions& options) {
  // Small, inlined and unrolled first: what is left of loops and calls is what the reverse has to pay for. Elementary
  // functions are expanded and arithmetic is fused after; checks are those of the adjoint's own accesses.
  limits.keep_custom = true;
  limits.memory = true;
  for (const Stage& stage : stages()) {
    if (stage.name == "bounds-check") continue;
    if (stage.name == "target") continue;  // derivatives are of the kernel, for whatever target
    if (stage.name == "check-together") continue;
    if (stage.name == "own-elements" || stage.name == "own-tiles") continue;  // which are those of the derivative
    if (stage.name == "contract") break;
    if (stage.name == "inline") {
      passes::inline_calls(module, limits);
      drop_unused(module, &root);
    } else {
      stage.run(module, options);
    }
    // Behind unrolling, which turns many of their indices into constants.
    if (stage.name == "simplify-3")
      for (auto& function : module.functions) {
        bool changed = passes::hoist_locals(*function);
        changed |= passes::promote_locals(*function);
        changed |= passes::move_tests(*function);
        if (changed) passes::fold(*function), passes::simplify(*function);
      }
    verify_after(stage.name, module);
  }
  for (auto& function : module.functions)
    if (function->native.empty() && autodiff::settle_private_calls(*function, root.form))
      passes::fold(*function), passes::simplify(*function);
  verify_after("settle-calls", module);
}

void finish_gradients(ir::Module& module, const ir::Function& root, const CompileOptions& options,
                      DiagnosticSink& sink) {
  drop_dead_gradients(module, root, options);
  autodiff::check_recalls(module, sink);
}

void drop_dead_gradients(ir::Module& module, const ir::Function& root, const CompileOptions& options) {
  verify_after("adjoint", module);
  run_stage(module, "dce", options);
  drop_unused(module, &root);
}

bool run_stage(ir::Module& module, std::string_view name, const CompileOptions& options) {
  for (const std::vector<Stage>* list : {&stages(), &inner_passes()})
    for (const Stage& stage : *list) {
      if (stage.name != name) continue;
      stage.run(module, options);
      verify_after(name, module);
      return true;
    }
  return false;
}

std::vector<std::string_view> stage_names() {
  std::vector<std::string_view> names;
  for (const Stage& stage : stages()) names.push_back(stage.name);
  return names;
}

std::size_t count_ops(const ir::Function& function) {
  std::size_t count = 0;
  std::vector<const ir::Region*> work = {function.body};
  while (!work.empty()) {
    const ir::Region* region = work.back();
    work.pop_back();
    for (ir::Op& op : *region) {
      ++count;
      for (const ir::Region* nested : op.regions) work.push_back(nested);
    }
  }
  return count;
}

std::size_t count_ops(const ir::Module& module) {
  std::size_t count = 0;
  for (const auto& function : module.functions) count += count_ops(*function);
  return count;
}

}  // namespace weft::driver
