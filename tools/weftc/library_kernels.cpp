// Compiles the library's own kernels to PTX and writes them down as C++, with what launches must know of each.
#include "library_kernels.h"

#include <cstdio>
#include <memory>

#include "driver/exact_launch.h"
#include "driver/gpu_grids.h"
#include "driver/gpu_trees.h"
#include "driver/kernel_keys.h"
#include "driver/kernel_metadata.h"
#include "driver/ready_kernels.h"
#include "emit.h"
#include "weft/weft.h"

namespace weftc {
namespace {

using namespace weft;

/// A string literal; bytes that are no plain text as three octal digits.
std::string literal(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    if (plain) {
      out += c;
    } else {
      char digits[8];
      std::snprintf(digits, sizeof digits, "\\%03o", unsigned(static_cast<unsigned char>(c)));
      out += digits;
    }
    if (c == '\n') out += "\"\n\"";
  }
  return out + "\"";
}

std::string entry(const driver::BuildRequest& request) {
  DiagnosticSink sink;
  const std::unique_ptr<ir::Module> module = driver::front_end(request, sink);
  if (!module) throw Error(sink.render_all());
  driver::KernelMetadata meta;
  const std::string ptx = driver::emit_ptx(*module, request, codegen::nvptx_target(driver::kReadyArch), meta);
  const std::string metadata = meta.write();
  const Hash128 key = driver::ready_key(request);
  const auto sized = [](std::string_view bytes) {
    return "{" + literal(bytes) + ", " + std::to_string(bytes.size()) + "}";
  };
  return "{{" + std::to_string(key.lo) + "u, " + std::to_string(key.hi) + "u},\n" + sized(ptx) + ",\n" +
         sized(metadata) + "},\n";
}

}  // namespace

int write_library_kernels(const Arguments& args) {
  std::string out = R"(// Made by weftc --library-kernels: PTX of the kernels in src/driver/kernels.
#include "driver/ready_kernels.h"

namespace weft::driver {
namespace {
constexpr ReadyKernel kReady[] = {
)";
  for (const driver::BuildRequest& request : driver::tree_kernel_requests()) out += entry(request);
  for (const driver::BuildRequest& request : driver::exact_sum_requests()) out += entry(request);
  for (const driver::BuildRequest& request : driver::grid_kernel_requests()) out += entry(request);
  out += R"(};
}  // namespace

std::span<const ReadyKernel> ready_kernels() { return kReady; }

}  // namespace weft::driver
)";
  write_output(args, out);
  return 0;
}

}  // namespace weftc
