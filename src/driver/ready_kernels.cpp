// Finds kernels that the library was built with.
#include "driver/ready_kernels.h"

#include <algorithm>

#include "driver/kernel_keys.h"
#include "driver/program_impl.h"

namespace weft::driver {

// The file that the build makes has the other definition. It can't be made by a compiler that contains it.
[[gnu::weak]] std::span<const ReadyKernel> ready_kernels() { return {}; }

const Program& library_program(const char* text, const char* name) {
  Options options;
  options.backward = false;
  return *new Program(Program::compile(text, name, options));  // never destroyed: launches may outlive statics
}

weft::Array handle(const runtime::Array& array) {
  auto impl = std::make_shared<weft::Array::Impl>();
  impl->array = array;
  return weft::Array(std::move(impl));
}

std::vector<BuildRequest> requests_of(const Program& program) {
  std::vector<BuildRequest> out;
  for (const std::string& name : program.kernel_names()) {
    weft::Kernel::Impl& kernel = *program.kernel(name).internal();
    BuildRequest request;
    request.kernel = &kernel.decl();
    request.arg_types = kernel.signature_for({}).types;
    request.options = kernel.options();
    request.source_hash = source_hash(kernel.program.source_hash, kernel.decl());
    out.push_back(std::move(request));
  }
  return out;
}

const ReadyKernel* find_ready_kernel(const BuildRequest& request) {
  const std::span<const ReadyKernel> ready = ready_kernels();
  if (ready.empty() || request.options.gpu.keep_ptx) return nullptr;
  const Hash128 key = ready_key(request);
  const auto found = std::ranges::find(ready, key, &ReadyKernel::key);
  return found == ready.end() ? nullptr : &*found;
}

}  // namespace weft::driver
