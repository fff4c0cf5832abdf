// Tensors of PyTorch as arrays and arrays as tensors: the whole of from_torch and to_torch but for gradients that have to be
// made, which torch makes itself (python/warp/_src/interop/torch_exchange.py). Nothing here imports torch: who calls has.
#include <cstring>

#include "bind/exchange.h"
#include "bind/foreign_interfaces.h"
#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "bind/torch_exchange.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

/// What Python gives once.
struct Python {
  nb::object handles;                               // dict: dtype → handle of elements without trouble
  nb::object element_handle;                        // (dtype) → handle; raises
  nb::object gradient_of;                           // (tensor) → tensor or None: the gradient to share, made if need be
  nb::object grad_enabled;                          // torch.is_grad_enabled
  nb::object from_dlpack;                           // torch.utils.dlpack.from_dlpack
  nb::object tensor_class;                          // torch.Tensor
  const interop::DlExchangeTable* table = nullptr;  // of torch.Tensor
};
Python& python() {
  static auto* made = new Python;  // outlives module teardown
  return *made;
}

PyObject* names[4];  // interned: requires_grad, grad, requires_grad_, __dict__
enum Name { kRequiresGrad, kGrad, kRequireGrad };

[[noreturn]] void refuse(const std::string& text) {
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
  throw nb::python_error();
}

const Type* wanted_element(nb::handle dtype) {
  if (dtype.is_none()) return nullptr;
  PyObject* known = PyDict_GetItemWithError(python().handles.ptr(), dtype.ptr());
  nb::object handle = nb::borrow(known);
  if (!known) {
    PyErr_Clear();
    handle = nb::steal(PyObject_GetItem(python().handles.ptr(), dtype.ptr()));  // enters what is plain
    if (!handle.is_valid()) PyErr_Clear();
  }
  if (!handle.is_valid() || handle.is_none()) handle = python().element_handle(dtype);
  return nb::inst_ptr<TypeHandle>(handle)->type;
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

WEFT_HOT ForeignArray read(nb::handle tensor, const Type* element) {
  ForeignArray foreign;
  std::string why;
  interop::Seen how;
  how.any_sign = how.zero_rank = true;
  if (!read_foreign(tensor, element, how, foreign, why)) {
    if (!python().tensor_class.is_valid() || PyObject_IsInstance(tensor.ptr(), python().tensor_class.ptr()) != 1) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "from_torch takes a torch.Tensor, not %s", Py_TYPE(tensor.ptr())->tp_name);
      throw nb::python_error();
    }
    refuse("the tensor can't become an array: " + reason(tensor, why));
  }
  if (foreign.keep.ptr() != tensor.ptr()) foreign.keep = nb::make_tuple(tensor, foreign.keep);
  return foreign;
}

/// The gradient for a tensor: an array over one that exists, or null where it shall be private.
nb::object gradient_for(nb::handle tensor, nb::handle given) {
  if (!given.is_none()) return nb::borrow(given);
  const nb::object enabled = nb::steal(PyObject_CallNoArgs(python().grad_enabled.ptr()));
  if (!enabled.is_valid()) throw nb::python_error();
  if (enabled.ptr() != Py_True) return {};  // inside of autograd functions and custom operators
  nb::object found = python().gradient_of(tensor);
  return found.is_none() ? nb::object() : found;
}

void check_gradient(const ArrayDesc& array, const ArrayDesc& gradient, const Type* element, const Type* of) {
  bool fits = element == of && array.ndim == gradient.ndim;
  for (std::int32_t d = 0; fits && d < array.ndim; ++d)
    fits = array.shape[d] == gradient.shape[d] && (array.shape[d] < 2 || array.strides[d] == gradient.strides[d]);
  if (fits) return;
  const auto text = [](const ArrayDesc& a) {
    std::string out = "shape (", steps = ", strides (";
    for (std::int32_t d = 0; d < a.ndim; ++d) {
      out += (d ? ", " : "") + std::to_string(a.shape[d]);
      steps += (d ? ", " : "") + std::to_string(a.strides[d]);
    }
    return out + ")" + steps + ") bytes";
  };
  refuse("the gradient does not match its tensor: the tensor is seen as " + of->user_name() + " of " + text(array) +
         ", the gradient as " + element->user_name() + " of " + text(gradient) +
         "; give them the same strides, or pass requires_grad=False");
}

bool wants_gradient(nb::handle tensor, nb::handle requires_grad, nb::handle grad) {
  if (!grad.is_none()) return true;
  if (!requires_grad.is_none()) return PyObject_IsTrue(requires_grad.ptr()) == 1;
  const nb::object own = nb::steal(PyObject_GetAttr(tensor.ptr(), names[kRequiresGrad]));
  if (!own.is_valid()) throw nb::python_error();
  return own.ptr() == Py_True;
}

/// Sees a gradient that a program or torch gave as elements of the tensor's type.
ForeignArray read_gradient(nb::handle gradient, const Type* element) {
  if (const runtime::Array* array = as_array(gradient.ptr()); array && array->is_valid()) {
    ForeignArray foreign;
    foreign.element = array->element();
    foreign.desc = array->desc();
    foreign.place = place_of(*array);
    foreign.keep = nb::borrow(gradient);
    return foreign;
  }
  return read(gradient, element);
}

nb::object from_torch(nb::handle tensor, nb::handle dtype, nb::handle requires_grad, nb::handle grad, bool return_ctype,
                      bool retain_grad) {
  ForeignArray foreign = read(tensor, wanted_element(dtype));
  const bool wanted = wants_gradient(tensor, requires_grad, grad);
  nb::object shared = wanted ? gradient_for(tensor, grad) : nb::object();
  std::optional<ForeignArray> gradient;
  if (shared.is_valid()) {
    gradient.emplace(read_gradient(shared, foreign.element));
    check_gradient(foreign.desc, gradient->desc, gradient->element, foreign.element);
    if (gradient->place != foreign.place) refuse("the gradient lies on another device than its tensor");
  }
  if (return_ctype) {
    nb::object keep = foreign.keep;
    if (gradient) {
      foreign.desc.grad = gradient->desc.data;
      keep = nb::make_tuple(keep, gradient->keep);
    } else if (wanted) {  // a private one, which lives with the descriptor
      runtime::Array array = wrap_foreign(std::move(foreign));
      array.set_requires_grad(true);
      const ArrayDesc desc = array.desc();
      const Type* element = array.element();
      const int place = place_of(array);
      return new_descriptor(desc, element, place, new_array({}, std::move(array)));
    }
    return new_descriptor(foreign.desc, foreign.element, foreign.place, std::move(keep));
  }
  const bool read_only = foreign.read_only;
  runtime::Array array = wrap_foreign(std::move(foreign));
  if (gradient)
    array.set_grad(wrap_foreign(std::move(*gradient)));
  else if (wanted)
    array.set_requires_grad(true);
  nb::object made = new_array({}, std::move(array), read_only);
  nb::inst_ptr<ArrayObject>(made)->owner = tensor.ptr();
  if (retain_grad) made.attr("retain_grad") = true;
  return made;
}

WEFT_HOT nb::object new_tensor(const runtime::Array& array, bool read_only) {
  const interop::DlExchangeTable* table = python().table;
  if (table && table->managed_to_object) {
    interop::DlManagedTensorVersioned* managed = interop::Export::managed_versioned(array, read_only);
    void* made = nullptr;
    if (table->managed_to_object(managed, &made) != 0) {
      nb::python_error error;
      if (managed->deleter) managed->deleter(managed);
      throw error;
    }
    return nb::steal(static_cast<PyObject*>(made));
  }
  return python().from_dlpack(new_dlpack_capsule(array));
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
      nb::steal(PyObject_VectorcallMethod(names[kRequireGrad], self, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!done.is_valid()) throw nb::python_error();
  if (array->has_grad()) {
    const nb::object gradient = new_tensor(array->grad(), false);
    if (PyObject_SetAttr(tensor.ptr(), names[kGrad], gradient.ptr()) != 0) throw nb::python_error();
  }
  return tensor;
}

}  // namespace

void register_torch(nb::module_& m) {
  names[kRequiresGrad] = PyUnicode_InternFromString("requires_grad");
  names[kGrad] = PyUnicode_InternFromString("grad");
  names[kRequireGrad] = PyUnicode_InternFromString("requires_grad_");
  m.def(
      "set_torch",
      [](nb::object handles, nb::object element_handle, nb::object gradient_of, nb::object torch) {
        Python& p = python();
        p.handles = std::move(handles);
        p.element_handle = std::move(element_handle);
        p.gradient_of = std::move(gradient_of);
        p.grad_enabled = torch.attr("is_grad_enabled");
        p.tensor_class = torch.attr("Tensor");
        p.from_dlpack = torch.attr("utils").attr("dlpack").attr("from_dlpack");
        p.table = exchange_table(reinterpret_cast<PyTypeObject*>(p.tensor_class.ptr()));
      },
      nb::arg("handles"), nb::arg("element_handle"), nb::arg("gradient_of"), nb::arg("torch"),
      "Tells of torch once it is imported.");
  m.def("from_torch", &from_torch, nb::arg("t").none(), nb::arg("dtype").none() = nb::none(),
        nb::arg("requires_grad").none() = nb::none(), nb::arg("grad").none() = nb::none(),
        nb::arg("return_ctype") = false, nb::arg("retain_grad") = false);
  m.def("to_torch", &to_torch, nb::arg("a").none(), nb::arg("requires_grad").none() = nb::none());
  m.def(
      "array_tensor",
      [](nb::handle array) {
        const ArrayObject* object = as_array(array.ptr()) ? nb::inst_ptr<ArrayObject>(array) : nullptr;
        return object && object->owner ? nb::borrow(object->owner) : nb::object(nb::none());
      },
      nb::arg("array"), "The tensor over whose memory an array lies, or None.");
}

}  // namespace weft::bind
