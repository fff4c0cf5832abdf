// Running a case on the interpreter, on machine code and on a GPU, straight through the driver's stages; no cache is
// involved.
#include "executors.h"

#include "codegen/codegen.h"
#include "cuda/device.h"
#include "driver/gpu_launch.h"
#include "driver/pipeline.h"
#include "interp/interpreter.h"
#include "runtime/launch.h"

namespace weft::agree {
namespace {

driver::BuildRequest request_for(const Case& kernel_case, const driver::CompileOptions& options) {
  driver::BuildRequest request;
  request.kernel = &kernel_case.kernel();
  request.arg_types = kernel_case.param_types();
  request.form.rank = std::uint8_t(kernel_case.dims().size());
  request.form.no_overlap = !kernel_case.overlaps();
  request.form.strided = kernel_case.strided();
  request.options = options;
  return request;
}

std::unique_ptr<ir::Module> lower(const Case& kernel_case, const driver::CompileOptions& options) {
  DiagnosticSink sink;
  auto module = driver::front_end(request_for(kernel_case, options), sink);
  if (!module || sink.has_errors()) throw CaseError(sink.render_all() + kernel_case.text());
  return module;
}

cuda::Device& gpu_device() { return cuda::System::shared().device(0); }

/// Memory on the GPU instead of that of the host: `data` points into one of the buffers.
void move_pointer(void*& data, const std::vector<Buffer>& host, const std::vector<runtime::Array>& device) {
  for (std::size_t k = 0; k < host.size(); ++k) {
    const auto* at = static_cast<const std::byte*>(data);
    const std::byte* first = host[k].bytes.data();
    if (at < first || at >= first + host[k].bytes.size()) continue;
    data = static_cast<std::byte*>(device[k].data()) + (at - first);
    return;
  }
}

void move_arrays(const Type* type, char* at, const std::vector<Buffer>& host,
                 const std::vector<runtime::Array>& device) {
  if (type->is_array()) move_pointer(reinterpret_cast<ArrayDesc*>(at)->data, host, device);
  if (type->is_struct())
    for (const Field& f : type->fields()) move_arrays(f.type, at + f.offset, host, device);
}

runtime::Array bytes_of(Buffer& buffer) {
  runtime::Array::External memory;
  memory.data = buffer.bytes.data();
  return runtime::Array::wrap(types::scalar(ScalarKind::u8), {std::int64_t(buffer.bytes.size())}, std::move(memory));
}

}  // namespace

bool has_gpu() { return cuda::System::shared().available() && cuda::System::shared().device_count() > 0; }

Executor Executor::gpu(int opt_level) {
  Executor e;
  e.kind = Kind::gpu;
  e.options.opt_level = opt_level;
  e.options.use_cache = false;
  return e;
}

Executor Executor::interpreter(bool optimized) {
  Executor e;
  e.optimized = optimized;
  return e;
}

Executor Executor::native(int lanes, int opt_level) {
  Executor e;
  e.kind = Kind::native;
  e.options.lanes = lanes;
  e.options.opt_level = opt_level;
  return e;
}

Executor Executor::debug() const {
  Executor e = *this;
  e.options.debug = true;
  return e;
}

Executor Executor::with_free_masks() const {
  Executor e = *this;
  e.free_masks = true;
  return e;
}

Executor Executor::unfused() const {
  Executor e = *this;
  e.options.fuse_fp = false;
  return e;
}

std::string Executor::name() const {
  std::string text = kind == Kind::interpreter ? (optimized ? "interpreter" : "interpreter, no passes")
                     : kind == Kind::gpu       ? "GPU, level " + std::to_string(options.opt_level)
                                               : "native, " + std::to_string(options.lanes) + " lanes, level " +
                                               std::to_string(options.opt_level);
  if (free_masks) text += ", free masks";
  if (options.debug) text += ", debug";
  if (!options.fuse_fp) text += ", unfused";
  return text;
}

Prepared::Prepared(const Case& kernel_case, const Executor& executor) : case_(kernel_case), executor_(executor) {
  module_ = lower(kernel_case, executor.options);
  const bool native = executor.kind == Executor::Kind::native;
  if (executor.optimized || native) driver::optimize(*module_, executor.options);
  const ir::Function& kernel = *module_->functions.back();
  layout_ = codegen::param_layout(kernel);
  sites_ = driver::describe_sites(*module_);
  code_.name = kernel.name;
  code_.tid_dims_read = driver::tid_dims_read(*module_);
  code_.check_sites = sites_;
  if (executor.kind == Executor::Kind::gpu) {
    driver::BuildRequest request = request_for(kernel_case, executor.options);
    request.device = &gpu_device();
    DiagnosticSink sink;
    gpu_.binary = driver::BinaryStore::shared().get(request, sink);
    if (!gpu_.binary) throw CaseError(sink.render_all() + kernel_case.text());
    gpu_.param_bytes = layout_.size;
  }
  if (!native) return;
  codegen::EmitOptions emit;
  emit.lanes = executor.options.lanes;
  emit.opt_level = executor.options.opt_level;
  emit.verify = true;
  emit.free_masks = executor.free_masks;
  codegen::Emitted emitted = codegen::emit(*module_, kernel, codegen::host_target(), emit, codegen::Output::object);
  loaded_ = codegen::load_object(emitted.bytes, emitted.entry);
  code_.entry = loaded_->entry();
  code_.lanes = emitted.lanes;
  code_.ns_per_thread = driver::estimate_ns(kernel);
}

Outcome Prepared::run(const Grid& grid) const {
  Outcome out;
  out.memory = case_.buffers();
  runtime::ParamBlock block(std::string(code_.name), layout_);
  case_.bind(block, out.memory);
  std::mutex mutex;
  runtime::PrintSink sink = [&](std::string_view text) {
    std::lock_guard lock(mutex);
    out.printed += text;
  };
  try {
    if (executor_.kind == Executor::Kind::gpu) {
      run_on_gpu(block, out);
      return out;
    }
    if (executor_.kind == Executor::Kind::native) {
      runtime::LaunchOptions options;
      options.serial = grid.serial;
      options.chunk_threads = grid.chunk_threads;
      options.print_sink = &sink;
      runtime::launch(code_, block.data(), case_.dims(), options);
      return out;
    }
    const std::int64_t total = runtime::launch_size(code_, case_.dims());
    runtime::ErrorRecord record;
    runtime::LaunchContext context;
    context.rank = std::int32_t(case_.dims().size());
    context.serial = 1;
    for (std::size_t d = 0; d < case_.dims().size(); ++d) context.dims[d] = case_.dims()[d];
    context.error = &record;
    runtime::PrintBuffer buffer(1, &sink);
    context.print = &buffer;
    interp::Limits limits;
    limits.max_steps = 200'000'000;
    interp::run_kernel(*module_, *module_->functions.back(), block.data(), context, 0, total, limits);
    buffer.flush();
    runtime::throw_if_failed(record, code_.name, context.rank, sites_);
  } catch (const runtime::KernelError& error) {
    out.error = error.what();
  } catch (const interp::Error& error) {
    out.error = std::string("the interpreter gave up: ") + error.what();
  }
  return out;
}

void Prepared::run_on_gpu(runtime::ParamBlock& block, Outcome& out) const {
  cuda::Device& device = gpu_device();
  std::vector<runtime::Array> memory;
  for (Buffer& buffer : out.memory) {
    const auto size = std::int64_t(buffer.bytes.size());
    memory.push_back(runtime::Array::empty(types::scalar(ScalarKind::u8), {size}, false, &device));
    memory.back().assign(bytes_of(buffer));
  }
  std::vector<std::uint64_t> moved(layout_.size / 8 + 1);
  char* bytes = reinterpret_cast<char*>(moved.data());
  std::memcpy(bytes, block.data(), layout_.size);
  for (const ParamLayout::Param& p : layout_.params) move_arrays(p.type, bytes + p.offset, out.memory, memory);
  driver::launch_on_gpu(gpu_, bytes, {case_.dims(), {}});
  device.synchronize();
  for (std::size_t k = 0; k < memory.size(); ++k) bytes_of(out.memory[k]).assign(memory[k]);
}

std::string emit_ptx(const Case& kernel_case, int sm) {
  driver::CompileOptions options;
  auto module = lower(kernel_case, options);
  driver::optimize(*module, options);
  codegen::EmitOptions emit;
  emit.opt_level = 1;
  emit.verify = true;
  return codegen::emit(*module, *module->functions.back(), codegen::nvptx_target(sm), emit, codegen::Output::ptx).bytes;
}

}  // namespace weft::agree
