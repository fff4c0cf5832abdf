// Tensors of PyTorch and Paddle as arrays, and arrays as tensors of PyTorch: the whole of from_torch, from_paddle and to_torch
// but for gradients that have to be made, which the libraries make themselves (python/warp/_src/interop). Nothing here imports
// them: who calls has.
#include <cstring>

#include "bind/exchange.h"
#include "bind/foreign_interfaces.h"
#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "bind/tensor_exchange.h"
#include "bind/torch_exchange.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
  throw nb::python_error();
}

/// What says more than the reader of memory can: why a tensor has none of its own.
std::string reason(nb::handle tensor, std::string why) {
  const auto is = [&](const char* attribute) {
    const nb::object value = nb::getattr(tensor, attribute, nb::none());
    return value.ptr() == Py_True;
  };
  if (is("is_meta")) return "it is a meta tensor, which has no elements";
  if (is("is_sparse") ||
      nb::cast<std::string>(nb::str(nb::getattr(tensor, "layout", nb::str("")))).find("strided") == std::string::npos)
    return "it is sparse; pass .to_dense()";
  if (is("is_quantized")) return "it is quantised; pass .dequantize()";
  if (nb::hasattr(tensor, "fake_mode"))
    return "it is a fake tensor, which has no elements; wrap the launch in wp.torch.op or a custom operator";
  return why;
}

TensorLibrary& torch() {
  static auto* made =
      new TensorLibrary{"from_torch", "torch.Tensor", "requires_grad", true, "is_leaf", &reason};  // outlives teardown
  return *made;
}
TensorLibrary& paddle() {
  static auto* made = new TensorLibrary{"from_paddle", "paddle.Tensor", "stop_gradient", false, "is_leaf", nullptr};
  return *made;
}

/// What becomes of arrays.
struct Results {
  nb::object from_dlpack;                           // torch.utils.dlpack.from_dlpack
  const interop::DlExchangeTable* table = nullptr;  // of torch.Tensor
};
Results& results() {
  static auto* made = new Results;  // outlives module teardown
  return *made;
}
PyObject* require_grad_name;
PyObject* grad_name;

WEFT_HOT nb::object new_tensor(const runtime::Array& array, bool read_only) {
  const interop::DlExchangeTable* table = results().table;
  if (table && table->managed_to_object) {
    interop::DlManagedTensorVersioned* managed = interop::Export::managed_versioned(array, read_only);
    if (array.on_host())
      managed->tensor.device = {interop::kDlCpu, 0};  // torch has no other host, and finds locked pages itself
    void* made = nullptr;
    if (table->managed_to_object(managed, &made) != 0) {
      nb::python_error error;
      if (managed->deleter) managed->deleter(managed);
      throw error;
    }
    return nb::steal(static_cast<PyObject*>(made));
  }
  return results().from_dlpack(new_dlpack_capsule(array, true));
}

nb::object to_torch(nb::handle object, nb::handle requires_grad) {
  const runtime::Array* array = as_array(object.ptr());
  if (!array) {
    PyErr_Format(PyExc_TypeError, "to_torch takes a wp.array, not %s", Py_TYPE(object.ptr())->tp_name);
    throw nb::python_error();
  }
  if (!array->is_valid()) refuse("the array has no memory: it is an annotation");
  if (!array->element()->is_numeric())
    refuse("PyTorch has no structs; an array of " + array->element()->user_name() + " can't become a tensor");
  nb::object tensor = new_tensor(*array, false);
  const bool wanted = requires_grad.is_none() ? array->has_grad() : PyObject_IsTrue(requires_grad.ptr()) == 1;
  if (!wanted) return tensor;
  PyObject* const self[] = {tensor.ptr()};
  const nb::object done =
      nb::steal(PyObject_VectorcallMethod(require_grad_name, self, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!done.is_valid()) throw nb::python_error();
  if (array->has_grad()) {
    const nb::object gradient = new_tensor(array->grad(), false);
    if (PyObject_SetAttr(tensor.ptr(), grad_name, gradient.ptr()) != 0) throw nb::python_error();
  }
  return tensor;
}

PyObject* from_torch_entry(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
  return from_tensor(torch(), args, count, keywords);
}
PyObject* from_paddle_entry(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
  return from_tensor(paddle(), args, count, keywords);
}

// Without annotations, which `inspect` does not read from text.
#define WEFT_FROM_TENSOR_SIGNATURE \
  "(t, dtype=None, requires_grad=None, grad=None, return_ctype=False, retain_grad=False)\n--\n\n"

PyMethodDef methods[] = {
    {"from_torch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(from_torch_entry)),
     METH_FASTCALL | METH_KEYWORDS,
     "from_torch" WEFT_FROM_TENSOR_SIGNATURE "An array over the memory of a PyTorch tensor, which it keeps alive.\n\n"
     "`dtype` may be a vector, matrix, quaternion or transform that trailing dimensions fold into, or a scalar that\n"
     "differs in sign only. `requires_grad=None` takes the tensor's. The gradient is the tensor's own, made and set where a\n"
     "leaf has none; while torch's grad mode is off, as inside of autograd functions and custom operators, and for tensors\n"
     "that are no leaves it is private: pass `grad=` (an array or a tensor of the same strides) to share one. With\n"
     "`return_ctype` the result is a `wp.types.array_t`, a plain descriptor that is cheaper to make and goes to launches\n"
     "only."},
    {"from_paddle", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(from_paddle_entry)),
     METH_FASTCALL | METH_KEYWORDS,
     "from_paddle" WEFT_FROM_TENSOR_SIGNATURE "An array over the memory of a Paddle tensor, which it keeps alive.\n\n"
     "`dtype` may be a vector, matrix, quaternion or transform that trailing dimensions fold into, or a scalar that\n"
     "differs in sign only. `requires_grad=None` is `not t.stop_gradient`. The gradient is the tensor's own, made and set\n"
     "where a leaf has none; while Paddle's grad mode is off, as inside of PyLayer, and for tensors that are no leaves it is\n"
     "private: pass `grad=` (an array or a tensor of the same strides) to share one. With `return_ctype` the result is a\n"
     "`wp.types.array_t`, a plain descriptor that goes to launches only."},
};

}  // namespace

void register_torch(nb::module_& m) {
  prepare_from_tensor();
  require_grad_name = PyUnicode_InternFromString("requires_grad_");
  grad_name = PyUnicode_InternFromString("grad");
  const char* const modules[] = {"warp._src.interop.torch_exchange", "warp._src.interop.paddle_exchange"};
  for (std::size_t i = 0; i < std::size(methods); ++i) {
    const nb::str module_name(modules[i]);
    m.attr(methods[i].ml_name) = nb::steal(PyCFunction_NewEx(&methods[i], nullptr, module_name.ptr()));
  }
  m.def(
      "set_torch_start", [](nb::object start) { torch().start = std::move(start); }, nb::arg("start"),
      "What to call before the first tensor of torch: it must tell of it.");
  m.def(
      "set_paddle_start", [](nb::object start) { paddle().start = std::move(start); }, nb::arg("start"),
      "The same for Paddle.");
  m.def(
      "set_torch",
      [](const nb::dict& told, const nb::object& from_dlpack) {
        results().from_dlpack = from_dlpack;
        results().table = exchange_table(reinterpret_cast<PyTypeObject*>(nb::object(told["tensor_class"]).ptr()));
        torch().set(told);
      },
      nb::arg("told"), nb::arg("from_dlpack"), "Tells of torch once it is imported.");
  m.def(
      "set_paddle", [](const nb::dict& told) { paddle().set(told); }, nb::arg("told"),
      "Tells of Paddle once it is imported.");
  m.def("to_torch", &to_torch, nb::arg("a").none(), nb::arg("requires_grad").none() = nb::none());
  m.def(
      "array_tensor",
      [](nb::handle array) {
        const ArrayObject* object = as_array(array.ptr()) ? nb::inst_ptr<ArrayObject>(array) : nullptr;
        return object && object->owner ? nb::borrow(object->owner) : nb::object(nb::none());
      },
      nb::arg("array"), "The tensor over whose memory an array lies, or None.");
  register_torch_operators(m);
}

}  // namespace weft::bind
