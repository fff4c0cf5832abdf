// Calls of a kernel as a function of JAX, outside of traced code: the usual one (arrays only, nothing said for this call, settings as
// they were) goes from Python's call straight to what jax.jit made. Everything else is `__call__` of the class
// (python/warp/_src/interop/jax_kernel.py), which makes that function and says what is wrong with arguments.
#include <Python.h>
#include <structmember.h>

#include <utility>

#include "bind/python_kernel.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

/// What JaxKernel derives from.
struct QuickJaxCall {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;   // of jax.jit, for inputs alone; null: ask the class
  std::uint64_t epoch;  // of the settings under which it was made
  Py_ssize_t inputs;
  bool single;  // it returns one array, not a list
};
PyObject* python_call;  // of the class

PyObject* call_class(PyObject* self, PyObject* const* given, std::size_t count, PyObject* keywords) {
  const std::size_t named = keywords ? std::size_t(PyTuple_GET_SIZE(keywords)) : 0;
  std::vector<PyObject*> all{self};
  all.insert(all.end(), given, given + count + named);
  return PyObject_Vectorcall(python_call, all.data(), count + 1, keywords);
}

WEFT_HOT PyObject* in_list(PyObject* one) {
  PyObject* const list = PyList_New(1);
  if (list)
    PyList_SET_ITEM(list, 0, one);
  else
    Py_DECREF(one);
  return list;
}

WEFT_HOT PyObject* call_quickly(PyObject* self, PyObject* const* given, std::size_t flags,
                                PyObject* keywords) noexcept {
  try {
    const auto& own = *reinterpret_cast<QuickJaxCall*>(self);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (keywords || !own.function || count != own.inputs || own.epoch != launch_settings().epoch) [[unlikely]]
      return call_class(self, given, std::size_t(count), keywords);
    const bool single = own.single;
    const nb::object function = nb::borrow(own.function);  // another thread may replace it meanwhile
    PyObject* const made = PyObject_Vectorcall(function.ptr(), given, flags, nullptr);
    if (made) [[likely]]
      return single ? in_list(made) : made;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
    PyErr_Clear();  // JAX names no argument; nothing was run, and the class says which it is
    return call_class(self, given, std::size_t(count), nullptr);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const made = type->tp_alloc(type, 0);
  if (made) reinterpret_cast<QuickJaxCall*>(made)->call = call_quickly;
  return made;
}

int visit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<QuickJaxCall*>(self)->function);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<QuickJaxCall*>(self)->function);
  return 0;
}

void drop(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/// _set_quick(function or None, epoch, inputs, single)
PyObject* set_quick(PyObject* self, PyObject* arguments) {
  PyObject* function = nullptr;
  unsigned long long epoch = 0;
  Py_ssize_t inputs = 0;
  int single = 0;
  if (!PyArg_ParseTuple(arguments, "OKnp", &function, &epoch, &inputs, &single)) return nullptr;
  auto& own = *reinterpret_cast<QuickJaxCall*>(self);
  own.epoch = epoch, own.inputs = inputs, own.single = single != 0;
  Py_XDECREF(std::exchange(own.function, function == Py_None ? nullptr : Py_NewRef(function)));
  Py_RETURN_NONE;
}

}  // namespace

void register_jax_quick_call(nb::module_& m) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, Py_ssize_t(offsetof(QuickJaxCall, call)), READONLY, nullptr}, {}};
  static PyMethodDef methods[] = {
      {"_set_quick", set_quick, METH_VARARGS,
       "_set_quick(function, epoch, inputs, single)\n--\n\nWhat calls with so many inputs go "
       "to while the settings are as now; None: all are the class's own."},
      {}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(drop)},
                         {Py_tp_traverse, reinterpret_cast<void*>(visit)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_members, members},
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec{"warp._weft.QuickJaxCall", sizeof(QuickJaxCall), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  const nb::object made = nb::steal(PyType_FromSpec(&spec));
  if (!made.is_valid()) throw nb::python_error();
  m.attr("QuickJaxCall") = made;
  m.def(
      "call_jax_quickly",
      [](nb::handle cls) {
        auto* const type = reinterpret_cast<PyTypeObject*>(cls.ptr());
        python_call = nb::object(cls.attr("__call__")).release().ptr();
        if (kFreeThreaded || type->tp_vectorcall_offset != Py_ssize_t(offsetof(QuickJaxCall, call))) return;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
      },
      nb::arg("cls"), "Lets calls of instances of a class that derives from QuickJaxCall go to C++ first.");
}

}  // namespace weft::bind
