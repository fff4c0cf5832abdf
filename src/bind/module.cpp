// The extension module warp._weft.
#include "bind/bind.h"

NB_MODULE(_weft, m) {
  namespace bind = weft::bind;
  namespace nb = nanobind;
  // Kernels, types and hooks live as long as the process by design; the warning would appear at every exit.
  nanobind::set_leak_warnings(false);
  m.doc() = "The compiler and runtime of Weft; used through the package warp.";
  nb::set_leak_warnings(
      false);  // arrays and kernels in globals are alive when a program ends; that is no fault of theirs
  bind::register_errors(m);
  bind::register_types(m);
  bind::register_arrays(m);
  bind::register_class_bases(m);
  bind::register_exchange(m);
  bind::register_dlpack(m);
  bind::register_descriptors(m);
  bind::register_torch(m);
  bind::register_functions(m);
  bind::register_function_calls(m);
  bind::register_kernels(m);
  bind::register_cuda(m);
  bind::register_cuda_work(m);
  bind::register_algorithms(m);
  bind::register_host_graphs(m);
  bind::register_meshes(m);
  bind::register_hash_grids(m);
  bind::register_volumes(m);
  bind::register_textures(m);
  bind::register_graph_journal(m);
  bind::register_graph_writes(m);
  bind::register_saved_graphs(m);
  bind::register_launch(m);
  bind::register_launch_tiled(m);
  bind::register_recorded_launch(m);
  bind::register_tape(m);
  bind::register_builtins(m);
  bind::register_buffers(m);
  bind::register_runtime(m);
  bind::register_xla_targets(m);
  bind::register_jax_exchange(m);
  bind::register_jax_quick_call(m);
}
