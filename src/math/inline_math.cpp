// As inlining of calls, but the callee is what the operation means.
#include "math/inline_math.h"

#include "analysis/uses.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/walk.h"
#include "math/library.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/fold.h"

namespace weft::math {
namespace {

using ir::Op;
using ir::OpClass;

class MathInliner {
 public:
  MathInliner(ir::Function& function, const MathLimits& limits)
      : function_(function), rewriter_(function), keep_(limits.keep), left_(limits.growth) {}

  bool run() {
    rewriter_.run(*function_.body, [&](Op& op) {
      // The IR bounds the depth of regions, and bodies bring branches of their own; deep down a call does.
      if (ir::class_of(op.code) != OpClass::math || is_rare_math(op.code) ||
          depth_of(op) + kBodyDepth > ir::kMaxRegionDepth)
        return;
      const Type* type = op.result()->type;
      ScalarKind kind = type->scalar_kind();
      if (keep_ && keep_(op.code, kind)) return;
      // 16-bit kinds inline the body for f32 between two casts: the body of the 16-bit function would only hold that
      // operation again.
      bool half = kind == ScalarKind::f16 || kind == ScalarKind::bf16;
      const ir::Function& body = math_function(op.code, half ? ScalarKind::f32 : kind);
      std::size_t size = analysis::count_ops(*body.body);
      if (size > left_) return;
      // First come, first served, in the order of the text: results don't depend on it, only speed does.
      left_ -= size;
      ir::Builder builder(function_, op.parent, &op);
      builder.set_loc(op.loc);
      ir::ValueMap map;
      for (std::size_t i = 0; i < op.operands.size(); ++i)
        map[body.params()[i]] = half ? builder.cast(op.operand(i), types::f32()) : op.operand(i);
      ir::clone_ops(*body.body, function_, op.parent, map, /*skip_terminator=*/true, nullptr, &op);
      ir::Value* result = ir::mapped(function_, map, body.body->last->operand(0));
      rewriter_.replace(op.result(), half ? builder.cast(result, type) : result);
      ir::remove_op(&op);
      changed_ = true;
    });
    return changed_;
  }

 private:
  static constexpr int kBodyDepth = 8;
  static int depth_of(const Op& op) {
    int depth = 0;
    for (const ir::Region* region = op.parent; region->parent_op; region = region->parent_op->parent) ++depth;
    return depth;
  }

  ir::Function& function_;
  ir::Rewriter rewriter_;
  const std::function<bool(ir::OpCode, ScalarKind)>& keep_;
  std::size_t left_;
  bool changed_ = false;
};

}  // namespace

bool inline_math(ir::Function& function, const MathLimits& limits) {
  if (!MathInliner(function, limits).run()) return false;
  // Constant arguments fold through the body; sin and cos of one angle share its reduction.
  passes::fold(function);
  passes::cse(function);
  passes::dce(function);
  return true;
}

}  // namespace weft::math
