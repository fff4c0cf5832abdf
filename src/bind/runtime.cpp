// Settings of the runtime: threads, cache, version, printing.
#include "bind/bind.h"
#include "driver/kernel_binary.h"
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
  m.def("host_target", [] {
    codegen::TargetSpec t = codegen::host_target();
    return nb::make_tuple(t.triple, t.cpu_name, codegen::natural_lanes(t));
  });
  // Kernels print where Python prints: through sys.stdout, whatever it is at that moment.
  runtime::set_print_sink([](std::string_view text) {
    if (!nb::is_alive()) return;
    nb::gil_scoped_acquire gil;
    try {
      nb::module_::import_("sys").attr("stdout").attr("write")(nb::str(text.data(), text.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("kernel print");
    }
  });
}

}  // namespace weft::bind
