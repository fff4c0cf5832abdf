// From tensors to arrays: arguments, memory, gradients. See docs/design/interop.md.
#include "bind/tensor_exchange.h"

#include "bind/foreign_interfaces.h"
#include "bind/python_kernel.h"
#include "bind/torch_exchange.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

enum Argument : std::size_t { kTensor, kDtype, kRequiresGrad, kGrad, kReturnCtype, kRetainGrad, kArguments };
constexpr const char* kArgumentNames[kArguments] = {"t",    "dtype",        "requires_grad",
                                                    "grad", "return_ctype", "retain_grad"};
PyObject* argument_names[kArguments];  // interned
enum Name : std::size_t { kTracked, kLeaf, kGradient };

[[noreturn]] void refuse(const std::string& text) {
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
  throw nb::python_error();
}

/// Sorts arguments into their places; what is not given is null.
WEFT_HOT void sort_arguments(const TensorLibrary& library, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                             PyObject* given[kArguments]) {
  if (std::size_t(count) > kArguments) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments, %zd were given", library.function,
                 std::size_t(kArguments), count);
    throw nb::python_error();
  }
  std::copy(args, args + count, given);
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, i);
    std::size_t at = 0;
    while (at < kArguments && argument_names[at] != name) ++at;
    if (at == kArguments)
      for (at = 0; at < kArguments && PyUnicode_Compare(argument_names[at], name) != 0;) ++at;
    if (at == kArguments || given[at]) {
      PyErr_Format(PyExc_TypeError,
                   at == kArguments ? "%s() got an unexpected keyword argument '%U'"
                                    : "%s() got multiple values for argument '%U'",
                   library.function, name);
      throw nb::python_error();
    }
    given[at] = args[count + i];
  }
  if (!given[kTensor]) {
    PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional argument: 't'", library.function);
    throw nb::python_error();
  }
}

bool is_given(PyObject* value) { return value && value != Py_None; }

bool is_true(PyObject* value) {
  if (!value || value == Py_False || value == Py_None) return false;
  const int truth = value == Py_True ? 1 : PyObject_IsTrue(value);
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

/// An attribute of a tensor. What C answers for the library's own class is asked at once, for finding it by its name takes as
/// long as the answer; classes that derive from it may have others.
WEFT_HOT nb::object attribute(const TensorLibrary& library, nb::handle tensor, Name which) {
  const PyGetSetDef* getter = library.getters[which];
  const bool known = getter && reinterpret_cast<PyObject*>(Py_TYPE(tensor.ptr())) == library.tensor_class.ptr();
  nb::object found = nb::steal(known ? getter->get(tensor.ptr(), getter->closure)
                                     : PyObject_GetAttr(tensor.ptr(), library.names[which]));
  if (!found.is_valid()) throw nb::python_error();
  return found;
}

const Type* wanted_element(const TensorLibrary& library, PyObject* dtype) {
  if (!is_given(dtype)) return nullptr;
  PyObject* known = PyDict_GetItemWithError(library.handles.ptr(), dtype);
  nb::object handle = nb::borrow(known);
  if (!known) {
    PyErr_Clear();
    handle = nb::steal(PyObject_GetItem(library.handles.ptr(), dtype));  // enters what is plain
    if (!handle.is_valid()) PyErr_Clear();
  }
  if (!handle.is_valid() || handle.is_none()) handle = library.element_handle(nb::handle(dtype));
  return nb::inst_ptr<TypeHandle>(handle)->type;
}

WEFT_HOT ForeignArray read(const TensorLibrary& library, nb::handle tensor, const Type* element,
                           bool is_gradient = false) {
  if (!PyObject_TypeCheck(tensor.ptr(), reinterpret_cast<PyTypeObject*>(library.tensor_class.ptr()))) [[unlikely]] {
    if (is_gradient)
      PyErr_Format(PyExc_TypeError, "a gradient is an array or a %s, not %s", library.tensor,
                   Py_TYPE(tensor.ptr())->tp_name);
    else
      PyErr_Format(PyExc_TypeError, "%s takes a %s, not %s", library.function, library.tensor,
                   Py_TYPE(tensor.ptr())->tp_name);
    throw nb::python_error();
  }
  ForeignArray foreign;
  std::string why;
  interop::Seen how;
  how.any_sign = how.zero_rank = true;
  if (!read_foreign(tensor, element, how, foreign, why) || foreign.copied) [[unlikely]]
    refuse("the tensor can't become an array: " + (library.reason ? library.reason(tensor, why) : why));
  if (foreign.keep.ptr() != tensor.ptr()) foreign.keep = nb::make_tuple(tensor, foreign.keep);
  return foreign;
}

/// The gradient that a tensor shares; none where it shall be private.
nb::object gradient_of(TensorLibrary& library, nb::handle tensor) {
  const nb::object enabled = nb::steal(PyObject_CallNoArgs(library.grad_enabled.ptr()));
  if (!enabled.is_valid()) throw nb::python_error();
  const bool shares = enabled.ptr() == Py_True;  // it is off inside of autograd functions and custom operators
  if (!shares && library.noted) return {};
  if (attribute(library, tensor, kLeaf).ptr() == Py_True) {  // what is no leaf warns of the question
    nb::object found = attribute(library, tensor, kGradient);
    if (shares && !found.is_none()) return found;
    if (!shares && found.is_none()) {
      library.noted = true;
      library.note_private();
    }
  }
  if (!shares) return {};
  nb::object found = library.gradient_of(tensor);
  return found.is_none() ? nb::object() : found;
}

void check_gradient(const ForeignArray& array, const ForeignArray& gradient) {
  const ArrayDesc &own = array.desc, &given = gradient.desc;
  bool fits = gradient.element == array.element && own.ndim == given.ndim;
  for (std::int32_t d = 0; fits && d < own.ndim; ++d)
    fits = own.shape[d] == given.shape[d] && (own.shape[d] < 2 || own.strides[d] == given.strides[d]);
  if (fits && gradient.place != array.place && (gradient.place >= 0 || array.place >= 0))
    refuse("the gradient lies on another device than its tensor");
  if (fits) return;
  const auto text = [](const ArrayDesc& a) {
    std::string out = "shape (", steps = ", strides (";
    for (std::int32_t d = 0; d < a.ndim; ++d) {
      out += (d ? ", " : "") + std::to_string(a.shape[d]);
      steps += (d ? ", " : "") + std::to_string(a.strides[d]);
    }
    return out + ")" + steps + ") bytes";
  };
  refuse("the gradient does not match its tensor: the tensor is seen as " + array.element->user_name() + " of " +
         text(own) + ", the gradient as " + gradient.element->user_name() + " of " + text(given) +
         "; give them the same strides, or pass requires_grad=False");
}

bool wants_gradient(const TensorLibrary& library, PyObject* const given[kArguments]) {
  if (is_given(given[kGrad])) return true;
  if (is_given(given[kRequiresGrad])) return is_true(given[kRequiresGrad]);
  return attribute(library, given[kTensor], kTracked).ptr() == (library.tracked_if ? Py_True : Py_False);
}

/// Sees a gradient that a program or the library gave as elements of the tensor's type.
ForeignArray read_gradient(const TensorLibrary& library, nb::handle gradient, const Type* element) {
  if (const runtime::Array* array = as_array(gradient.ptr()); array && array->is_valid()) {
    ForeignArray foreign;
    foreign.element = array->element();
    foreign.desc = array->desc();
    foreign.place = place_of(*array);
    foreign.keep = nb::borrow(gradient);
    return foreign;
  }
  return read(library, gradient, element, true);
}

nb::object descriptor_of(ForeignArray&& foreign, std::optional<ForeignArray>&& gradient, bool wanted) {
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

/// Page-locked memory of the host comes as any other of it; copies between it alone and GPUs don't wait. An array lies where
/// its gradient does, so that both have to be such memory.
void see_page_locked(ForeignArray& array, std::optional<ForeignArray>& gradient) {
  const auto locked = [](const ForeignArray& one) {
    return one.place == kOnPinned || pointer_place(reinterpret_cast<std::uintptr_t>(one.desc.data)) == kOnPinned;
  };
  const int place = locked(array) && (!gradient || locked(*gradient)) ? kOnPinned : kOnCpu;
  array.place = place;
  if (gradient) gradient->place = place;
}

WEFT_HOT nb::object make(TensorLibrary& library, PyObject* const given[kArguments]) {
  if (!library.tensor_class.is_valid()) [[unlikely]]
    library.start();
  const nb::handle tensor = given[kTensor];
  ForeignArray foreign = read(library, tensor, wanted_element(library, given[kDtype]));
  const bool wanted = wants_gradient(library, given);
  std::optional<ForeignArray> gradient;
  if (wanted) {
    const nb::object shared = is_given(given[kGrad]) ? nb::borrow(given[kGrad]) : gradient_of(library, tensor);
    if (shared.is_valid()) {
      gradient.emplace(read_gradient(library, shared, foreign.element));
      check_gradient(foreign, *gradient);
    }
  }
  if (is_true(given[kReturnCtype])) return descriptor_of(std::move(foreign), std::move(gradient), wanted);
  if (foreign.place < 0 && cuda::System::is_open() && cuda::System::shared().available() &&
      !cuda::System::shared().forked()) [[unlikely]]  // a child of fork() can't ask, and needs CUDA for nothing here
    see_page_locked(foreign, gradient);
  const bool read_only = foreign.read_only;
  runtime::Array array = wrap_foreign(std::move(foreign));
  if (gradient)
    array.set_grad(wrap_foreign(std::move(*gradient)));
  else if (wanted)
    array.set_requires_grad(true);
  nb::object made = new_array({}, std::move(array), read_only);
  nb::inst_ptr<ArrayObject>(made)->owner = tensor.ptr();
  if (is_true(given[kRetainGrad])) made.attr("retain_grad") = true;
  return made;
}

}  // namespace

PyGetSetDef* getter_of(nb::handle cls, PyObject* name) {
  const nb::object found = nb::steal(PyObject_GetAttr(cls.ptr(), name));
  if (!found.is_valid()) PyErr_Clear();
  const bool by_c = found.is_valid() && Py_IS_TYPE(found.ptr(), &PyGetSetDescr_Type);
  PyGetSetDef* const getter = by_c ? reinterpret_cast<PyGetSetDescrObject*>(found.ptr())->d_getset : nullptr;
  return getter && getter->get ? getter : nullptr;
}

void TensorLibrary::set(const nb::dict& told) {
  const char* const attributes[] = {tracked, leaf, "grad"};
  for (std::size_t i = 0; i < 3; ++i) names[i] = PyUnicode_InternFromString(attributes[i]);
  handles = told["handles"];
  element_handle = told["element_handle"];
  gradient_of = told["gradient_of"];
  grad_enabled = told["grad_enabled"];
  note_private = told["note_private"];
  noted = note_private.is_none();
  const nb::object cls = told["tensor_class"];
  for (std::size_t i = 0; i < 3; ++i) getters[i] = getter_of(cls, names[i]);
  tensor_class = cls;  // last: who finds it finds all
}

void prepare_from_tensor() {
  for (std::size_t i = 0; i < kArguments; ++i) argument_names[i] = PyUnicode_InternFromString(kArgumentNames[i]);
}

WEFT_HOT PyObject* from_tensor(TensorLibrary& library, PyObject* const* args, Py_ssize_t count,
                               PyObject* keywords) noexcept {
  try {
    PyObject* given[kArguments] = {};
    sort_arguments(library, args, count, keywords, given);
    return make(library, given).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace weft::bind
