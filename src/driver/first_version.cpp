// Choosing and making first versions.
#include "driver/first_version.h"

#include <algorithm>

#include "analysis/sum_order.h"
#include "codegen/cpu/lane_choice.h"
#include "driver/full_versions.h"
#include "driver/pipeline.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::driver {
namespace {

constexpr int kFirstLevel = 0;

/// Whether what a launch does, beside its results, depends on how many threads run a statement together.
bool shows_lanes(const ir::Module& module) {
  if (analysis::sum_order(*module.functions.back()) != analysis::SumOrder::free) return true;
  bool prints = false;
  for (const auto& function : module.functions)
    ir::walk(*function->body, [&](const ir::Op& op) {
      prints = prints || op.code == ir::OpCode::print || op.code == ir::OpCode::printf;
    });
  return prints;
}

/// How long LLVM will take for a full version, in milliseconds of a Neoverse V1, within a factor of two for most kernels. Found
/// by measuring the kernels of MuJoCo's humanoid and those of bench/python/fifty_kernels.py.
double full_cost(const ir::Module& module, const codegen::TargetSpec& target, int wished) {
  constexpr double kWeight = 0.06, kAccess = 0.1, kTileLoop = 3;                // with one lane
  constexpr double kLanesWeight = 0.02, kLanesAccess = 0.15, kLanesBranch = 4;  // in a register and a body
  const ir::Function& kernel = *module.functions.back();
  double weight = 0, accesses = 0, loops = 0, branches = 0;
  for (const auto& function : module.functions) {
    weight += double(codegen::kernel_weight(*function));
    ir::walk(*function->body, [&](const ir::Op& op) {
      double parts = 1;
      for (const ir::Value* result : op.results)
        if (result->type->is_numeric()) parts = std::max(parts, double(result->type->component_count()));
      if (ir::class_of(op.code) == ir::OpClass::memory) accesses += parts;
      if (op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_) ++loops;
      if (op.code == ir::OpCode::if_) ++branches;
    });
  }
  const int lanes = wished ? wished : codegen::choose_lanes(kernel, target);
  if (lanes == 1) return kWeight * weight + kAccess * accesses + (ir::find_tile_memory(module) ? kTileLoop * loops : 0);
  const double registers = std::max(double(lanes) / codegen::natural_lanes(target), 1.0);
  const double bodies = kernel.form.rank == 1 && codegen::is_light(kernel) ? 1 : 2;
  return registers * bodies * (kLanesWeight * weight + kLanesAccess * accesses) + kLanesBranch * (loops + branches);
}

}  // namespace

bool may_have_first_version(const ir::Module& module, const CompileOptions& options) {
  constexpr std::size_t kFewOps = 12;
  if (options.opt_level != 2 || options.fast_math || options.names_places()) return false;
  if (codegen::calls_native(*module.functions.back())) return false;
  return first_versions().least_cost == 0 || count_ops(module) >= kFewOps;
}

bool first_version_pays(const ir::Module& module, const codegen::TargetSpec& target, int lanes) {
  constexpr double kUsualLeast = 15;  // a program of many kernels that take less is not slow to start
  const double least = first_versions().least_cost;
  return full_cost(module, target, lanes) >= (least < 0 ? kUsualLeast : least);
}

float use_first_version(const ir::Module& module, const codegen::TargetSpec& target, codegen::EmitOptions& options) {
  constexpr float kSlower = 4;
  options.opt_level = kFirstLevel;
  const bool stay = options.lanes != 0 || shows_lanes(module);
  if (options.lanes == 0) options.lanes = stay ? codegen::choose_lanes(*module.functions.back(), target) : 1;
  return stay ? 1 : kSlower;
}

}  // namespace weft::driver
