// from_jax: the usual array of JAX, on the host and for its scalars, becomes an array here; everything else is Python's
// (python/warp/_src/interop/jax_exchange.py). Nothing here imports JAX: who calls has.
#include "bind/exchange.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

PyTypeObject* host_class = nullptr;  // of arrays that JAX has shown on the host
PyObject* carefully = nullptr;       // Python's from_jax
PyObject* is_there = nullptr;        // the class's is_ready, which takes less than to wait for what is there
PyObject* wait = nullptr;            // its block_until_ready

/// Waits for an array's value. JAX's buffers do so, too, but keep the interpreter's lock meanwhile, which a function of Python in
/// the awaited program needs.
WEFT_HOT void wait_for(PyObject* source) {
  const nb::object there = is_there ? nb::steal(PyObject_CallOneArg(is_there, source)) : nb::object();
  if (there.is_valid() && there.ptr() == Py_True) return;
  if (!there.is_valid()) PyErr_Clear();  // who waits hears why
  const nb::object done = nb::steal(PyObject_CallOneArg(wait, source));
  if (!done.is_valid()) throw nb::python_error();
}

/// An array over the value once it is there; none where it shows no buffer.
WEFT_HOT nb::object over_host(PyObject* source) {
  wait_for(source);
  bool read_only = false;
  std::optional<runtime::Array> made = from_foreign(source, nullptr, false, read_only);
  return made ? new_array({}, std::move(*made), read_only) : nb::object();
}

WEFT_HOT PyObject* from_jax(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
  try {
    if (count == 1 && !keywords && Py_TYPE(args[0]) == host_class)
      if (nb::object made = over_host(args[0]); made.is_valid()) return made.release().ptr();
    return PyObject_Vectorcall(carefully, args, std::size_t(count), keywords);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyMethodDef method = {
    "from_jax", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(from_jax)), METH_FASTCALL | METH_KEYWORDS,
    "from_jax(jax_array, dtype=None)\n--\n\n"
    "An array over the memory of a JAX array, once its value is there.\n\n"
    "Args:\n"
    "    jax_array: a jax.Array on one device.\n"
    "    dtype: element type; that of a vector or matrix takes the last dimensions as components. None: the scalars.\n\n"
    "JAX takes its arrays for constants: what kernels write there, JAX's programs need not see."};

}  // namespace

void register_jax_exchange(nb::module_& m) {
  const nb::str module_name("warp._src.interop.jax_exchange");
  m.attr(method.ml_name) = nb::steal(PyCFunction_NewEx(&method, nullptr, module_name.ptr()));
  m.def(
      "set_from_jax", [](nb::object python) { carefully = python.release().ptr(); }, nb::arg("python"),
      "Python's function for what is not usual.");
  m.def(
      "set_jax_array_class",
      [](nb::handle cls) {
        if (host_class || !PyType_Check(cls.ptr())) return;  // a process has one JAX
        wait = nb::object(cls.attr("block_until_ready")).release().ptr();
        if (nb::hasattr(cls, "is_ready")) is_there = nb::object(cls.attr("is_ready")).release().ptr();
        host_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls.ptr()));
      },
      nb::arg("cls"), "The class of JAX's arrays, one of which lay on the host.");
}

}  // namespace weft::bind
