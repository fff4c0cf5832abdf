// Classes of Python with several bases that are kinds of one C++ class, `class Both(Tracked, Named)` of two classes of
// arrays. nanobind takes one such base, for two C++ objects don't fit into one Python object; here there is only one.
#include <utility>

#include "bind/bind.h"

namespace weft::bind {
namespace {

PyTypeObject* metaclass = nullptr;  // of all classes that C++ knows
initproc init_class = nullptr;      // nanobind's

/// Whether the bases of a class that C++ knows, if there are several, are all kinds of the same C++ class.
bool shares_one(PyTypeObject* made) {
  const nb::handle main = reinterpret_cast<PyObject*>(made->tp_base);
  if (!PyObject_TypeCheck(main.ptr(), metaclass)) return false;
  int known = 0;
  for (nb::handle base : nb::borrow<nb::tuple>(made->tp_bases)) {
    if (!PyObject_TypeCheck(base.ptr(), metaclass)) continue;
    ++known;
    if (nb::type_info(base) != nb::type_info(main)) return false;
  }
  return known > 1;
}

/// Shows nanobind the base that gives the class its layout. What the class inherits Python has decided before.
int init_with_one_base(PyObject* self, PyObject* args, PyObject* keywords) noexcept {
  auto* made = reinterpret_cast<PyTypeObject*>(self);
  if (!made->tp_bases || PyTuple_GET_SIZE(made->tp_bases) < 2 || !shares_one(made))
    return init_class(self, args, keywords);
  PyObject* one = PyTuple_Pack(1, made->tp_base);
  if (!one) return -1;
  PyObject* all = std::exchange(made->tp_bases, one);
  const int result = init_class(self, args, keywords);
  made->tp_bases = all;
  Py_DECREF(one);
  return result;
}

}  // namespace

void register_class_bases(nb::module_& m) {
  metaclass = Py_TYPE(nb::object(m.attr("Array")).ptr());
  init_class = metaclass->tp_init;
  metaclass->tp_init = init_with_one_base;
}

}  // namespace weft::bind
