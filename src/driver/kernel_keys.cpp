// What goes into the keys of kernels.
#include "driver/kernel_keys.h"

#include <algorithm>

#include "analysis/handles.h"
#include "codegen/own_target.h"
#include "ir/text.h"

namespace weft::driver {
namespace {

const codegen::TargetSpec& host() {
  static const codegen::TargetSpec target = codegen::host_target();
  return target;
}

constexpr int kNewestArch = 90;  // that LLVM knows; newer devices run its code all the same

void hash_target(Hasher& hasher, const codegen::TargetSpec& target, const BuildRequest& request) {
  const cuda::Device* device = request.device;
  hasher.text(target.triple).text(target.cpu_name).text(target.features).value(int(target.arch)).value(target.sm);
  // A GPU's machine code is made for its own architecture, by its driver or by a compiler that is linked in.
  if (!device) return;
  const cuda::PtxCompiler* compiler = device->system().ptx_compiler();
  hasher.value(device->facts().arch).value(device->system().version()).value(compiler ? compiler->version() : 0);
  request.options.hash_gpu_into(hasher);
}

void hash_form(Hasher& hasher, const LaunchForm& form) {
  hasher.value(form.no_overlap)
      .value(form.strided)
      .value(form.aligned)
      .value(form.taped)
      .value(form.adjoint)
      .value(form.meet)
      .value(form.objects_apart)
      .value(form.atomic_sums)
      .value(form.bucket_sums)
      .value(form.in_order)
      .value(form.exact_sums)
      .value(form.rank);
}

}  // namespace

Hash128 source_hash(const Hash128& program, const sema::FunctionDecl& kernel) {
  return Hasher().value(program).text(kernel.key).finish();
}

codegen::TargetSpec target_of(const BuildRequest& request) {
  if (!request.device) return host();
  const CompileOptions::Gpu& gpu = request.options.gpu;
  int arch = request.device->facts().arch;
  if (gpu.keep_ptx && gpu.ptx_arch) {
    if (gpu.ptx_arch > arch)
      throw codegen::Error("PTX for sm_" + std::to_string(gpu.ptx_arch) + " does not run on " +
                           request.device->facts().name + ", which is sm_" + std::to_string(arch));
    arch = gpu.ptx_arch;
  }
  // Tiles of whole groups of four warps may be multiplied by what only this architecture has, if the driver knows it.
  constexpr int kGroup = 128, kDriver = 12000;
  const bool own = arch == codegen::kOwnArch && arch == request.device->facts().arch && !gpu.keep_ptx &&
                   gpu.block > 0 && gpu.block % kGroup == 0 && request.device->system().version() >= kDriver;
  const codegen::TargetSpec target = codegen::nvptx_target(std::min(arch, kNewestArch));
  return own ? codegen::with_own(target) : target;
}

void set_target(CompileOptions& options, const codegen::TargetSpec& target) {
  options.gpu.target = target.arch == codegen::TargetSpec::nvptx;
  options.gpu.sm = options.gpu.target ? target.sm : 0;
  options.gpu.own = codegen::has_own(target);
}

Hash128 content_key(const ir::Module& module, const BuildRequest& request, const codegen::TargetSpec& target) {
  ir::PrintOptions canonical;
  canonical.names = false;
  // Checks report places, and so do line tables.
  canonical.locations = request.options.names_places() || (request.device && request.options.gpu.line_info);
  Hasher hasher;
  hasher.text(ir::print(module, canonical)).text(build_id());
  // Errors about ids name the argument: a kernel that is the same but for names says its own.
  for (const auto& function : module.functions)
    if (function->kind == ir::FunctionKind::kernel)
      for (const analysis::HandleArgument& id : analysis::handle_arguments(*function)) hasher.text(id.name);
  request.options.hash_into(hasher);
  hash_form(hasher, request.form);
  hash_target(hasher, target, request);
  return hasher.finish();
}

Hash128 source_key(const BuildRequest& request, const codegen::TargetSpec& target) {
  Hasher hasher;
  hasher.value(request.source_hash).text(build_id());
  for (const Type* type : request.arg_types) hasher.text(type->text());
  request.options.hash_into(hasher);
  hash_form(hasher, request.form);
  hash_target(hasher, target, request);
  return hasher.finish();
}

Hash128 first_version_key(const Hash128& content) { return Hasher().value(content).text("first version").finish(); }

Hash128 ready_key(const BuildRequest& request) {
  Hasher hasher;
  hasher.text("ready").value(request.source_hash);
  for (const Type* type : request.arg_types) hasher.text(type->text());
  request.options.hash_into(hasher);
  request.options.hash_gpu_into(hasher);
  hash_form(hasher, request.form);
  return hasher.finish();
}

Hash128 in_place(Hash128 key, const cuda::Device* device) {
  if (device) key.lo ^= 0x9e3779b97f4a7c15ULL * std::uint64_t(device->ordinal() + 1);
  return key;
}

}  // namespace weft::driver
