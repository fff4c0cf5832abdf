// From a kernel's text to IR in the form that was asked for, and what the IR says of itself.
#include <algorithm>

#include "analysis/check_sites.h"
#include "analysis/private_sums.h"
#include "driver/kernel_binary.h"
#include "driver/pipeline.h"
#include "driver/taping.h"
#include "ir/tile_memory.h"
#include "passes/rewrite.h"

namespace weft::driver {

namespace {

/// A kernel whose threads share memory knows how many there are. On the CPU all kernels do that run in blocks of several, and
/// those whose threads don't wait for each other run one by one all the same.
void settle_block(ir::Module& module, const CompileOptions& options, bool cpu) {
  if (!options.gpu.block) return;
  const bool natives = std::any_of(module.functions.begin(), module.functions.end(), [](const auto& function) {
    return !function->native.empty();
  });  // C++ may wait, too
  const bool together = ir::find_tile_memory(module) || (cpu && (natives || ir::waits_in_block(module)));
  if (!together && !cpu) return;
  ir::Form& form = module.functions.back()->form;
  if (together) {
    form.block = std::uint16_t(options.gpu.block);
    form.rows = options.gpu.rows;
    if (!form.rows) return;
  }
  for (const auto& function : module.functions) {
    ir::Rewriter rewriter(*function);
    rewriter.run(*function->body, [&](ir::Op& op) {
      if (op.code != ir::OpCode::block_dim) return;
      rewriter.replace(op.result(), function->constant_int(types::i32(), options.gpu.block));
      ir::remove_op(&op);
    });
  }
}

/// The kernel's text as IR.
std::unique_ptr<ir::Module> from_text(const BuildRequest& request, DiagnosticSink& sink, bool gradients) {
  sema::Options options;
  options.debug = request.options.debug;
  options.max_unroll = request.options.max_unroll;
  options.gradients = gradients || request.form.adjoint || request.form.taped || request.options.tangent > 0;
  if (request.options.gpu.block)
    options.block_dim = request.options.gpu.block, options.block_rows = request.options.gpu.rows;
  std::span<const Type* const> types = request.arg_types;
  types = types.first(types.size() >> request.options.doublings());  // the others have the same types
  return sema::lower_kernel(*request.kernel, types, options, sink);
}

}  // namespace

std::unique_ptr<ir::Module> lower(const BuildRequest& request, DiagnosticSink& sink, bool gradients) {
  auto module = request.lowered ? request.lowered() : from_text(request, sink, gradients);
  if (!module) return nullptr;
  module->functions.back()->form = request.form.in_ir();
  settle_block(*module, request.options, !request.device);
  std::size_t errors = sink.error_count();
  derive(*module, request.options, sink);
  return sink.error_count() == errors ? std::move(module) : nullptr;
}

std::unique_ptr<ir::Module> front_end(const BuildRequest& request, DiagnosticSink& sink, bool gradients) {
  auto module = lower(request, sink, gradients);
  if (!module) return nullptr;
  std::size_t errors = sink.error_count();
  for (int k = 0; k < request.options.tangent; ++k) {
    make_tangent(*module, request.options, sink);
    if (sink.error_count() != errors) return nullptr;
  }
  if (request.form.adjoint || request.form.taped) {
    differentiate(*module, request.options, sink);
    if (sink.error_count() != errors) return nullptr;
  }
  return module;
}

TangentPlan plan_tangent(const BuildRequest& request) {
  DiagnosticSink unheard;  // who builds it hears of errors
  auto module = lower(request, unheard, true);
  for (int k = 1; module && k < request.options.tangent; ++k) make_tangent(*module, request.options, unheard);
  return module ? plan_tangent(*module, request.options) : TangentPlan();
}

std::vector<runtime::CheckSite> describe_sites(const ir::Module& module) {
  std::vector<runtime::CheckSite> out;
  for (const ir::Op* op : analysis::check_sites(module).ops) {
    runtime::CheckSite site;
    if (op->code == ir::OpCode::assert_) {
      site.kind = runtime::CheckSiteKind::assertion;
    } else {
      switch (op->check) {
        case ir::CheckKind::bounds: site.kind = runtime::CheckSiteKind::bounds; break;
        case ir::CheckKind::divide_by_zero: site.kind = runtime::CheckSiteKind::divide_by_zero; break;
        case ir::CheckKind::not_finite: site.kind = runtime::CheckSiteKind::not_finite; break;
        case ir::CheckKind::aligned: site.kind = runtime::CheckSiteKind::aligned; break;
        case ir::CheckKind::object: site.kind = runtime::CheckSiteKind::object; break;
        case ir::CheckKind::together: site.kind = runtime::CheckSiteKind::together; break;
      }
    }
    site.text = std::string(op->text);
    if (op->loc.file) site.file = op->loc.file->name();
    site.line = std::int32_t(op->loc.line);
    site.column = std::int32_t(op->loc.col);
    site.function = op->parent->function->name;
    out.push_back(std::move(site));
  }
  return out;
}

namespace {

template <class Visit>
void visit_ops(const ir::Region& region, double weight, const Visit& visit) {
  for (ir::Op& op : region) {
    visit(op, weight);
    bool loop = op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_;
    for (const ir::Region* nested : op.regions) visit_ops(*nested, loop ? weight * 8 : weight, visit);
  }
}

/// How many numbers an access moves; large elements are moved a register at a time.
double parts_of(const ir::Op& access) {
  constexpr std::uint32_t kMost = 16;
  std::uint32_t parts = 1;
  auto count = [&](const Type* type) {
    if (type->is_composite()) parts = std::max<std::uint32_t>(parts, std::uint32_t(type->component_count()));
  };
  for (const ir::Value* result : access.results) count(result->type);
  for (const ir::Value* operand : access.operands) count(operand->type);
  return std::min(parts, kMost);
}

}  // namespace

std::uint32_t tid_dims_read(const ir::Module& module) {
  std::uint32_t mask = 0;
  visit_ops(*module.functions.back()->body, 1, [&](const ir::Op& op, double) {
    if (op.code == ir::OpCode::tid) mask |= 1u << op.imm;
  });
  return mask;
}

float estimate_ns(const ir::Function& kernel, int lanes) {
  double ns = 0;
  visit_ops(*kernel.body, 1, [&](const ir::Op& op, double weight) {
    double cost = 0.1 / lanes;
    switch (ir::class_of(op.code)) {
      case ir::OpClass::math: cost = 4.0 / lanes; break;
      // Lanes load and store in one go, but memory behind the caches is no faster for it.
      case ir::OpClass::memory:
        cost = op.code == ir::OpCode::atomic ? (op.imm == analysis::kAddsAlone ? 1 : 5)
                                             : std::max(0.1, 0.3 / lanes) * parts_of(op);
        break;
      case ir::OpClass::whole: cost = 1.0 / lanes; break;
      case ir::OpClass::effect: cost = op.code == ir::OpCode::tid ? 0 : 20; break;
      case ir::OpClass::control: cost = op.code == ir::OpCode::call ? 20 : 0.1 / lanes; break;
      case ir::OpClass::arith:
      case ir::OpClass::bits:
      case ir::OpClass::compare:
      case ir::OpClass::round:
      case ir::OpClass::data: break;
    }
    ns += cost * weight;
  });
  return float(std::min(ns, 1e6));
}

}  // namespace weft::driver
