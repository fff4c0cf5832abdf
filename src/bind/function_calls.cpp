// Calls of `wp.func` functions from Python by position: which overload values of these classes mean was found out by the
// first such call (kernels/python_calls.py), so that a later one needs a look into a table and no Python code of ours.
#include "bind/bind.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

/// The base class of warp.Function.
struct __attribute__((visibility("hidden"))) FunctionCalls {};

PyObject *chosen_name, *rare_name;  // interned

WEFT_HOT PyObject* call(PyObject* self, PyObject* args, PyObject* keywords) {
  if (!keywords || PyDict_GET_SIZE(keywords) == 0) {
    const nb::object chosen = nb::steal(PyObject_GetAttr(self, chosen_name));
    if (!chosen.is_valid()) return nullptr;
    const Py_ssize_t count = PyTuple_GET_SIZE(args);
    const nb::object classes = nb::steal(PyTuple_New(count));
    if (!classes.is_valid()) return nullptr;
    for (Py_ssize_t i = 0; i < count; ++i)
      PyTuple_SET_ITEM(classes.ptr(), i, Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(args, i)))));
    PyObject* found = PyDict_GetItemWithError(chosen.ptr(), classes.ptr());  // the table holds it, and never changes
    if (found) return PyObject_Call(found, args, nullptr);
    if (PyErr_Occurred()) return nullptr;
  }
  const nb::object rare = nb::steal(PyObject_GetAttr(self, rare_name));
  return rare.is_valid() ? PyObject_Call(rare.ptr(), args, keywords) : nullptr;
}

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call)}, {0, nullptr}};

}  // namespace

void register_function_calls(nb::module_& m) {
  chosen_name = PyUnicode_InternFromString("_chosen");
  rare_name = PyUnicode_InternFromString("_call_rarely");
  nb::class_<FunctionCalls>(m, "FunctionCalls", "Calls of a function of the kernel language from Python.",
                            nb::type_slots(slots))
      .def(nb::init<>());
}

}  // namespace weft::bind
