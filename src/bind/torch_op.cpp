// The usual call of an operator of PyTorch (python/warp/_src/interop/torch_op.py): plain tensors, one result of the type and shape of
// the first array. Everything else gets None for an answer, and is seen to in Python.
#include <Python.h>
#include <structmember.h>

#include "bind/exchange.h"
#include "bind/python_kernel.h"
#include "bind/tensor_exchange.h"
#include "bind/torch_exchange.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

/// What an operator is, and what of torch it asks.
struct PlainOperator {
  nb::object kernel, launch, tensor_class, parameter_class, zeros_like, empty_like, grad_enabled, dispatch_modes,
      transformed, forward_mode;
  nb::object fills;                      // (): whether a launch of the kernel as it is now writes all of the result
  nb::object cuda_device;                // (number) → Device
  std::vector<nb::object> cuda_devices;  // by number, those that were asked for
  nb::object device, no_tape,
      names;  // of the launch: arguments behind kernel, grid and values, and what they are called
  const interop::DlExchangeTable* table = nullptr;
  PyGetSetDef* tracked = nullptr;   // what C answers for `requires_grad` with; null: asked by name
  const Type* scalar = nullptr;     // of the result
  std::size_t inputs = 0;           // as many arguments as there are
  std::vector<std::size_t> arrays;  // among them; the first is what the result is like
  std::int32_t rank = 0, grid_rank = 0;
  std::shared_ptr<PythonKernel> asked{};  // what `fills` has answered for,
  bool filled = false;                    // and what
};

PyObject *requires_grad_name, *level_name;
constexpr const char* kOperatorName = "weft_plain_operator";

PyObject* nothing() { return Py_NewRef(Py_None); }

nb::object call(const nb::object& function) {
  nb::object found = nb::steal(PyObject_CallNoArgs(function.ptr()));
  if (!found.is_valid()) throw nb::python_error();
  return found;
}

nb::object attribute(PyObject* object, PyObject* name) {
  nb::object found = nb::steal(PyObject_GetAttr(object, name));
  if (!found.is_valid()) throw nb::python_error();
  return found;
}

bool is_tracked(const PlainOperator& self, PyObject* tensor) {
  if (!self.tracked) return attribute(tensor, requires_grad_name).ptr() == Py_True;
  const nb::object found = nb::steal(self.tracked->get(tensor, self.tracked->closure));
  if (!found.is_valid()) throw nb::python_error();
  return found.ptr() == Py_True;
}

/// Whether torch looks at calls otherwise than by autograd: modes that dispatch, function transforms, forward mode.
bool torch_watches(const PlainOperator& self) {
  if (PyLong_AsLong(call(self.dispatch_modes).ptr()) != 0 || !call(self.transformed).is_none()) return true;
  return PyLong_AsLong(attribute(self.forward_mode.ptr(), level_name).ptr()) >= 0;
}

/// Whether the result needs no zeros to begin with.
WEFT_HOT bool fills(PlainOperator& self) {
  if (kFreeThreaded) return false;  // answers are kept under the GIL
  const KernelHandle* handle = find_kernel(self.kernel.ptr());
  if (!handle || !handle->current) return false;
  if (handle->current == self.asked) [[likely]]
    return self.filled;
  std::shared_ptr<PythonKernel> now = handle->current;
  const bool answer = call(self.fills).ptr() == Py_True;
  if (handle->current != now) return false;  // it was compiled anew meanwhile
  self.asked = std::move(now);
  return self.filled = answer;
}

/// The device of a launch: on the CPU its name, which is known at once.
nb::handle device_of(PlainOperator& self, const interop::DlTensor& tensor) {
  if (tensor.device.type != interop::kDlCuda) return self.device;
  const auto number = std::size_t(tensor.device.id);
  if (number >= self.cuda_devices.size()) self.cuda_devices.resize(number + 1);
  nb::object& known = self.cuda_devices[number];
  if (!known.is_valid()) known = self.cuda_device(number);
  return known;
}

WEFT_HOT PyObject* run(PlainOperator& self, PyObject* const* given, std::size_t count) {
  if (count != self.inputs) return nothing();
  bool tracked = false;
  for (const std::size_t at : self.arrays) {
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(given[at]));
    if (type != self.tensor_class.ptr() && type != self.parameter_class.ptr()) return nothing();
    tracked |= is_tracked(self, given[at]);
  }
  if (torch_watches(self)) return nothing();
  PyObject* const first = given[self.arrays[0]];
  interop::DlTensor tensor;
  if (self.table->tensor_from_object(first, &tensor) != 0) {
    PyErr_Clear();
    return nothing();
  }
  ArrayDesc desc;
  const Type* scalar = self.scalar;
  interop::DlTensor packed = tensor;
  if (tensor.device.type == interop::kDlCuda && tensor.device.id >= 0 && !kFreeThreaded)
    packed.device.type = interop::kDlCpu;  // packed memory is the same everywhere
  if (!interop::read_packed(packed, scalar, desc) || desc.ndim != self.rank) return nothing();
  if (tracked && call(self.grad_enabled).ptr() == Py_True) return Py_NewRef(Py_Ellipsis);

  const nb::object& make = fills(self) ? self.empty_like : self.zeros_like;
  nb::object result = nb::steal(PyObject_CallOneArg(make.ptr(), first));
  if (!result.is_valid()) throw nb::python_error();
  const nb::object grid = nb::steal(PyTuple_New(self.grid_rank));
  for (std::int32_t d = 0; d < self.grid_rank; ++d) PyTuple_SET_ITEM(grid.ptr(), d, PyLong_FromLongLong(desc.shape[d]));
  const nb::object values = nb::steal(PyList_New(Py_ssize_t(count) + 1));
  for (std::size_t i = 0; i < count; ++i) PyList_SET_ITEM(values.ptr(), Py_ssize_t(i), Py_NewRef(given[i]));
  PyList_SET_ITEM(values.ptr(), Py_ssize_t(count), Py_NewRef(result.ptr()));
  PyObject* const device = device_of(self, tensor).ptr();
  PyObject* const arguments[] = {self.kernel.ptr(), grid.ptr(), values.ptr(), device, self.no_tape.ptr()};
  if (!nb::steal(PyObject_Vectorcall(self.launch.ptr(), arguments, 3, self.names.ptr())).is_valid())
    throw nb::python_error();
  return result.release().ptr();
}

PyObject* entry(PyObject* capsule, PyObject* const* given, Py_ssize_t count) noexcept {
  try {
    return run(*static_cast<PlainOperator*>(PyCapsule_GetPointer(capsule, kOperatorName)), given, std::size_t(count));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyMethodDef method = {"plain_operator", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry)), METH_FASTCALL,
                      "The result for plain tensors; ... where autograd has to follow; None for what is not usual."};

nb::object plain_operator(const nb::object& kernel, const TypeHandle& scalar, std::size_t inputs,
                          std::vector<std::size_t> arrays, std::int32_t rank, std::int32_t grid_rank,
                          const nb::dict& torch) {
  const nb::object tensor_class = torch["tensor_class"];
  const interop::DlExchangeTable* table = exchange_table(reinterpret_cast<PyTypeObject*>(tensor_class.ptr()));
  if (!table || !table->tensor_from_object || arrays.empty()) return nb::none();
  auto made = std::make_unique<PlainOperator>();
  made->kernel = kernel;
  made->launch = torch["launch"];
  made->tensor_class = tensor_class;
  made->parameter_class = torch["parameter_class"];
  made->zeros_like = torch["zeros_like"];
  made->empty_like = torch["empty_like"];
  made->fills = torch["fills"];
  made->cuda_device = torch["cuda_device"];
  made->grad_enabled = torch["grad_enabled"];
  made->dispatch_modes = torch["dispatch_modes"];
  made->transformed = torch["transformed"];
  made->forward_mode = torch["forward_mode"];
  const auto interned = [](const char* text) {
    return nb::steal(PyUnicode_InternFromString(text));
  };  // compared by address
  made->device = interned("cpu");
  made->no_tape = nb::borrow(Py_False);
  made->names = nb::make_tuple(interned("device"), interned("record_tape"));
  made->table = table;
  made->tracked = getter_of(tensor_class, requires_grad_name);
  if (getter_of(made->parameter_class, requires_grad_name) != made->tracked) made->tracked = nullptr;
  made->scalar = scalar.type;
  made->inputs = inputs;
  made->arrays = std::move(arrays);
  made->rank = rank, made->grid_rank = grid_rank;
  const nb::object capsule = nb::steal(PyCapsule_New(made.get(), kOperatorName, [](PyObject* self) {
    delete static_cast<PlainOperator*>(PyCapsule_GetPointer(self, kOperatorName));
  }));
  if (!capsule.is_valid()) throw nb::python_error();
  made.release();
  return nb::steal(PyCFunction_NewEx(&method, capsule.ptr(), nullptr));
}

// ---- Calls without Python's part -------------------------------------------------------------------------------------

/// What operators derive from: calls go to C++ first, to `__call__` of the class if they are not usual. Dynamo, which runs the
/// text of functions itself, sees that `__call__` alone.
struct QuickCall {
  PyObject_HEAD vectorcallfunc call;
  PyObject* plain;  // what plain_operator made, or null
};
PyObject *python_call, *apply_name;

/// The results of an operator's autograd function, of which there is one.
nb::object follow(PyObject* self, PyObject* const* given, std::size_t count) {
  const nb::object apply = attribute(self, apply_name);
  std::vector<PyObject*> all{Py_None};
  all.insert(all.end(), given, given + count);
  const nb::object made = nb::steal(PyObject_Vectorcall(apply.ptr(), all.data(), all.size(), nullptr));
  nb::object first = made.is_valid() ? nb::steal(PySequence_GetItem(made.ptr(), 0)) : nb::object();
  if (!first.is_valid()) throw nb::python_error();
  return first;
}

WEFT_HOT PyObject* call_quickly(PyObject* self, PyObject* const* given, std::size_t flags,
                                PyObject* keywords) noexcept {
  const auto count = std::size_t(PyVectorcall_NARGS(flags));
  try {
    PyObject* const plain = reinterpret_cast<QuickCall*>(self)->plain;
    if (plain && !keywords) {
      nb::object found = nb::steal(entry(PyCFunction_GET_SELF(plain), given, Py_ssize_t(count)));
      if (!found.is_valid()) return nullptr;
      if (found.ptr() == Py_Ellipsis) return follow(self, given, count).release().ptr();
      if (!found.is_none()) return found.release().ptr();
    }
    const std::size_t named = keywords ? std::size_t(PyTuple_GET_SIZE(keywords)) : 0;
    std::vector<PyObject*> all{self};
    all.insert(all.end(), given, given + count + named);
    return PyObject_Vectorcall(python_call, all.data(), count + 1, keywords);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* new_quick_call(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const made = type->tp_alloc(type, 0);
  if (made) reinterpret_cast<QuickCall*>(made)->call = call_quickly;
  return made;
}

void drop_quick_call(PyObject* self) {  // classes that derive are the collector's, this one has nothing for it
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<QuickCall*>(self)->plain);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* set_plain(PyObject* self, PyObject* plain) {
  PyObject* const given = PyCFunction_Check(plain) ? Py_NewRef(plain) : nullptr;
  Py_XDECREF(std::exchange(reinterpret_cast<QuickCall*>(self)->plain, given));
  Py_RETURN_NONE;
}

void register_quick_call(nb::module_& m) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, Py_ssize_t(offsetof(QuickCall, call)), READONLY, nullptr}, {}};
  static PyMethodDef methods[] = {
      {"_set_plain", set_plain, METH_O, "What to ask first: what plain_operator made, or None."}, {}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(new_quick_call)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(drop_quick_call)},
                         {Py_tp_members, members},
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec{"warp._weft.QuickCall", sizeof(QuickCall), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const nb::object made = nb::steal(PyType_FromSpec(&spec));
  if (!made.is_valid()) throw nb::python_error();
  m.attr("QuickCall") = made;
  m.def(
      "call_quickly",
      [](nb::handle cls) {
        auto* const type = reinterpret_cast<PyTypeObject*>(cls.ptr());
        python_call = nb::object(cls.attr("__call__")).release().ptr();
        if (type->tp_vectorcall_offset != Py_ssize_t(offsetof(QuickCall, call))) return;  // it is called as ever
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
      },
      nb::arg("cls"), "Lets calls of instances of a class that derives from QuickCall go to C++ first.");
}

}  // namespace

void register_torch_operators(nb::module_& m) {
  register_quick_call(m);
  apply_name = PyUnicode_InternFromString("_apply");
  requires_grad_name = PyUnicode_InternFromString("requires_grad");
  level_name = PyUnicode_InternFromString("_current_level");
  m.def("plain_operator", &plain_operator, nb::arg("kernel"), nb::arg("scalar"), nb::arg("inputs"), nb::arg("arrays"),
        nb::arg("rank"), nb::arg("grid_rank"), nb::arg("torch"),
        "A function for the usual call of a kernel as an operator of PyTorch; None where torch is too old for it. See "
        "python/warp/_src/interop/torch_op.py.");
}

}  // namespace weft::bind
