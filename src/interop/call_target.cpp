// What it takes to run a record: the kernel that a process has made, or the one that the record brings along.
#include <cstring>

#include "driver/kernel_from_ir.h"
#include "driver/taping.h"
#include "interop/call_record.h"
#include "runtime/errors.h"

namespace weft::interop {

std::span<const std::int64_t> CallTarget::dims(const cuda::Device* device) const {
  if (record.direction == Direction::adjoint) return record.dims;
  return driver::grid_on(device, *kernel, record.dims);
}

driver::LaunchForm CallTarget::form(const cuda::Device* device, bool taped) const {
  driver::LaunchForm form;
  form.rank = std::uint8_t(dims(device).size());
  if (record.direction != Direction::adjoint) return form;
  form.adjoint = !taped;
  form.taped = taped || !facts->log.empty() || !facts->ordered.empty() || !facts->numbers.empty();
  return form;
}

std::unique_ptr<CallTarget> make_target(CallRecord record, std::shared_ptr<driver::Kernel> kernel,
                                        driver::KernelSignature& signature) {
  auto target = std::make_unique<CallTarget>();
  target->kernel = std::move(kernel);
  target->signature = &signature;
  target->layout = signature.layout;
  if (record.direction == Direction::adjoint) {
    driver::LaunchForm form;
    form.rank = std::uint8_t(record.dims.size());
    target->facts = &target->kernel->facts_for(signature, form);
    record.replays = !target->facts->log.empty();
  }
  target->record = std::move(record);
  if (target->facts && target->form(nullptr).taped)
    target->layout = driver::taped_layout(signature.layout, *target->facts, true);
  target->block.assign(target->layout.size / 8 + 1, 0);
  for (std::size_t i = 0; i < target->record.params.size(); ++i) {
    const CallParam& param = target->record.params[i];
    if (param.role == Role::value)
      std::memcpy(reinterpret_cast<char*>(target->block.data()) + target->layout.params[i].offset, param.value.data(),
                  param.value.size());
  }
  target->quick = QuickCall::of(*target);
  return target;
}

const CallTarget& target_on(const CallTarget& target, cuda::Device* device) {
  if (!device || target.kernel->options().gpu.block || !target.kernel->shares_memory().value_or(false)) return target;
  std::call_once(target.block_made, [&] {
    CallRecord record = target.record;
    driver::LaunchPlace place{device, {nullptr, record.block_dim, 0}};
    const std::shared_ptr<driver::Kernel> kernel = driver::kernel_for(target.kernel, place, record.dims);
    record.block_dim = place.gpu.block_dim;
    target.for_block = make_target(std::move(record), kernel, kernel->signature(target.signature->types));
    target.for_block->digest = target.digest;
  });
  return *target.for_block;
}

bool fits(const CallRecord& record, const driver::KernelSignature& signature) {
  if (record.params.size() > signature.layout.params.size()) return false;
  for (std::size_t i = 0; i < record.params.size(); ++i) {
    const CallParam& param = record.params[i];
    const Type* type = signature.layout.params[i].type;
    if (param.type != type->text() || (param.role == Role::value && param.value.size() != type->size())) return false;
    if (param.role != Role::value && !type->is_array()) return false;
  }
  return true;
}

namespace {

/// Whether each array of a record has memory to lie in.
bool has_memory(const CallRecord& record) {
  const bool adjoint = record.direction == Direction::adjoint;
  for (const CallParam& p : record.params) {
    const bool seen = p.ret >= 0 || (adjoint && (p.arg_dot >= 0 || p.ret_dot >= 0));
    switch (p.role) {
      case Role::value: break;
      case Role::input:
        if (p.arg < 0) return false;
        break;
      case Role::output:
        if (!seen) return false;
        break;
      case Role::in_out:
        if (p.arg < 0 || (!adjoint && p.ret < 0)) return false;
        break;
    }
  }
  return true;
}

}  // namespace

PortableKernel make_portable(driver::Kernel& kernel, driver::KernelSignature& signature, const CallRecord& record,
                             DiagnosticSink& sink) {
  PortableKernel out;
  out.options = kernel.options();
  const std::string ir = driver::portable_ir(kernel, signature, sink);
  if (ir.empty()) return out;
  if (kernel.find_shares_memory(signature, record.dims.size())) {
    // Where it will run nobody knows: on a GPU by the blocks that the call names, or that launches have by themselves.
    out.block = record.block_dim > 0 ? record.block_dim : driver::kUsualBlock;
    out.rows = record.dims.back() == out.block;
    const std::shared_ptr<driver::Kernel> for_block = kernel.with_block(out.block, out.rows);
    out.block_ir = driver::portable_ir(*for_block, for_block->signature(signature.types), sink);
    if (out.block_ir.empty()) return out;
  }
  out.ir = ir;
  return out;
}

std::unique_ptr<CallTarget> portable_target(CallRecord record) {
  const PortableKernel& from = *record.portable;
  const driver::LoadedKernel made = driver::kernel_from_ir(record.kernel, from.ir, from.options);
  if (from.block > 0 && !from.block_ir.empty()) {
    driver::CompileOptions options = from.options;
    options.gpu.block = from.block;
    options.gpu.rows = from.rows;
    made.kernel->set_with_block(from.block, from.rows,
                                driver::kernel_from_ir(record.kernel, from.block_ir, options).kernel);
  }
  const bool tangent = record.direction == Direction::tangent;  // whose directions the record does not count
  const std::size_t own = made.signature->layout.params.size() / (tangent ? 2 : 1);
  if ((tangent && from.options.tangent == 0) || record.params.size() != own || !fits(record, *made.signature) ||
      !has_memory(record))
    throw runtime::ArgumentError("the call's record says other things of kernel '" + record.kernel + "' than its code");
  return make_target(std::move(record), made.kernel, *made.signature);
}

}  // namespace weft::interop
