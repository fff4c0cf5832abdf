// Settings of the runtime: threads, cache, version, printing.
#include "bind/bind.h"
#include "bind/gil.h"
#include "driver/kernel_binary.h"
#include "runtime/allocator.h"
#include "runtime/print_buffer.h"
#include "runtime/scheduler.h"
#include "weft/weft.h"

namespace weft::bind {

void register_runtime(nb::module_& m) {
  m.def("version", [] { return weft::version(); });
  m.def("build_id", [] { return driver::build_id(); });
  m.def("set_thread_limit", [](int n) { runtime::set_thread_limit(n); });
  m.def("thread_count", [] { return runtime::thread_count(); });
  m.def("cache_folder", [] { return weft::cache_folder(); });
  m.def("clear_cache", [] { driver::BinaryStore::shared().cache()->clear(); });
  m.def("set_cache_folder", [](const std::string& folder) { driver::BinaryStore::shared().set_cache_folder(folder); });
  m.def("set_native_compiler", [](const std::string& clang) { codegen::set_native_compiler(clang); });
  m.def("find_clang", [] { return codegen::find_clang(); });
  m.def(
      "find_libdevice",
      [](const std::string& given, const std::vector<std::string>& search) {
        return codegen::find_libdevice(given, search);
      },
      nb::arg("given") = "", nb::arg("search") = std::vector<std::string>());
  m.def(
      "memory_stats",
      [] {
        runtime::AllocatorStats s = runtime::host_allocator_stats();
        return nb::make_tuple(s.live_bytes, s.live_blocks, s.peak_bytes, s.total_blocks);
      },
      "Of array memory: bytes and blocks alive, the most bytes ever alive, blocks allocated in all.");
  m.def("host_target", [] {
    codegen::TargetSpec t = codegen::host_target();
    return nb::make_tuple(t.triple, t.cpu_name, codegen::natural_lanes(t));
  });
  // Kernels print where Python prints: through sys.stdout, whatever it is at that moment.
  runtime::set_print_sink([](std::string_view text) {
    if (!nb::is_alive()) return;
    GilAcquire gil;
    try {
      nb::module_::import_("sys").attr("stdout").attr("write")(nb::str(text.data(), text.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("kernel print");
    }
  });
}

}  // namespace weft::bind
