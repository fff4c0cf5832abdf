// wp.zeros, empty, zeros_like, empty_like, clone, from_numpy and array.numpy as C functions, as wp.launch is one: keywords are
// sorted by comparing interned names, and the usual requests (types whose arrays need no care, a device that is known, no
// page-locked memory, nobody who listens to copies) run no Python code. Everything else, mistakes included, goes with all its
// arguments to the function of Python that has the same signature.
#include "bind/array_makers.h"

#include <cstring>

#include "bind/exchange.h"
#include "bind/launch_place.h"
#include "bind/numpy_table.h"
#include "bind/tape.h"
#include "runtime/command_list.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

enum class Maker : std::uint8_t { zeros, empty, zeros_like, empty_like, clone, from_numpy, kCount };
constexpr std::size_t kMakers = std::size_t(Maker::kCount);
constexpr std::size_t kMaxParameters = 6;

/// Parameters that makers have; each has some of them, in an order of its own.
enum Parameter : std::uint8_t {
  kSource,
  kShape,
  kDtype,
  kDevice,
  kRequiresGrad,
  kPinned,
  kRetainGrad,
  kArray,
  kParameters,
  kNone
};
constexpr const char* kNames[kParameters] = {"src",           "shape",  "dtype",       "device",
                                             "requires_grad", "pinned", "retain_grad", "arr"};
PyObject* names[kParameters];  // interned
PyObject* plain_types;         // a dict: dtype → _weft.Type, of types whose arrays need no care; None for others
PyObject* carefully[kMakers];  // functions of Python
PyTypeObject* ndarray_class;   // numpy.ndarray
PyTypeObject* type_class;      // _weft.Type

struct Signature {
  const char* name;
  Parameter order[kMaxParameters];
};
constexpr Signature kSignatures[kMakers] = {
    {"zeros", {kShape, kDtype, kDevice, kRequiresGrad, kPinned, kRetainGrad}},
    {"empty", {kShape, kDtype, kDevice, kRequiresGrad, kPinned, kRetainGrad}},
    {"zeros_like", {kSource, kDevice, kRequiresGrad, kPinned, kRetainGrad, kNone}},
    {"empty_like", {kSource, kDevice, kRequiresGrad, kPinned, kRetainGrad, kNone}},
    {"clone", {kSource, kDevice, kRequiresGrad, kPinned, kRetainGrad, kNone}},
    {"from_numpy", {kArray, kDtype, kShape, kDevice, kRequiresGrad, kRetainGrad}},
};

/// Arguments in their places; false for what the function of Python has to see: other keywords, too many arguments.
WEFT_HOT bool sort_arguments(const Signature& signature, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                             PyObject* given[kParameters]) {
  if (std::size_t(count) > kMaxParameters) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (signature.order[i] == kNone) return false;
    given[signature.order[i]] = args[i];
  }
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, i);
    bool found = false;
    for (const Parameter p : signature.order) {
      if (p == kNone || names[p] != name) continue;
      if (given[p]) return false;
      given[p] = args[count + i];
      found = true;
      break;
    }
    if (!found) return false;
  }
  return true;
}

bool is_off(PyObject* flag) { return !flag || flag == Py_False || flag == Py_None; }
bool is_missing(PyObject* value) { return !value || value == Py_None; }

/// A flag that is plainly one.
bool read_flag(PyObject* flag, bool& out) {
  out = flag == Py_True;
  return out || is_off(flag);
}

/// The place that a device argument names, without Python code; kPlaceUnknown: ask Python.
WEFT_HOT int place_for(PyObject* device) {
  if (!is_missing(device)) return place_named(device);
  const int chosen = place_of_thread();
  return chosen != kNoScope ? chosen : launch_settings().current.load(std::memory_order_relaxed);
}

/// The element type of a dtype whose arrays need no care; null: ask Python.
WEFT_HOT const Type* plain_type(PyObject* dtype) {
  const auto type_of = [](PyObject* handle) {
    return Py_TYPE(handle) == type_class ? nb::inst_ptr<TypeHandle>(handle)->type : nullptr;
  };
  if (PyObject* const known = PyDict_GetItemWithError(plain_types, dtype)) return type_of(known);
  PyErr_Clear();
  const nb::object found = nb::steal(PyObject_GetItem(plain_types, dtype));  // by its __missing__
  if (found.is_valid()) return type_of(found.ptr());
  PyErr_Clear();
  return nullptr;
}

WEFT_HOT PyObject* make_new(PyObject* const given[kParameters], bool zero) {
  bool requires_grad = false;
  if (is_missing(given[kShape]) || !is_off(given[kPinned]) || !is_off(given[kRetainGrad]) ||
      !read_flag(given[kRequiresGrad], requires_grad))
    return nullptr;
  const int place = place_for(given[kDevice]);
  const Type* element = given[kDtype] ? plain_type(given[kDtype]) : types::scalar(ScalarKind::f32);
  if (place == kPlaceUnknown || !element) return nullptr;
  return new_array({}, allocate_array(element, given[kShape], zero, requires_grad, place)).release().ptr();
}

WEFT_HOT PyObject* make_like(PyObject* const given[kParameters], Maker maker) {
  PyObject* const source = given[kSource];
  if (!source || !visible_array_class() || !PyObject_TypeCheck(source, visible_array_class()) ||
      !nb::inst_ready(source) || !is_off(given[kPinned]) || !is_off(given[kRetainGrad]))
    return nullptr;
  const runtime::Array from = nb::inst_ptr<ArrayObject>(source)->array;  // held: other threads may replace it
  if (!from.is_valid() || !from.element()->is_numeric()) return nullptr;
  bool requires_grad = from.has_grad();
  if (!is_missing(given[kRequiresGrad]) && !read_flag(given[kRequiresGrad], requires_grad)) return nullptr;
  int place = is_missing(given[kDevice]) ? place_of(from) : place_for(given[kDevice]);
  if (place == kOnPinned) place = kOnCpu;
  if (place == kPlaceUnknown) return nullptr;
  runtime::MemorySpace* const space = space_of(place);
  if (maker == Maker::clone) {
    // Copies that somebody follows, or that a device does, are Python's.
    if (place != kOnCpu || !from.on_host() || runtime::recording() || runtime::writes_are_watched() ||
        copies_are_heard())
      return nullptr;
    runtime::Array made = runtime::Array::empty(from.element(), from.shape(), requires_grad, space);
    if (from.size()) copy_elements(made, from);
    if (from.size() && requires_grad && from.has_grad()) copy_elements(made.grad(), from.grad());
    return new_array({}, std::move(made)).release().ptr();
  }
  const bool zero = maker == Maker::zeros_like;
  return new_array({}, zero ? runtime::Array::zeros(from.element(), from.shape(), requires_grad, space)
                            : runtime::Array::empty(from.element(), from.shape(), requires_grad, space))
      .release()
      .ptr();
}

/// The element type that `from_numpy` takes if none is named: trailing dimensions of two and three make vectors and matrices.
const Type* type_of_ndarray(PyObject* array) {
  const auto& seen = *reinterpret_cast<const NumpyArray*>(array);
  const std::optional<ScalarKind> kind = scalar_of_numpy(*seen.type);
  if (!kind || seen.rank < 1 || seen.rank > 3) return nullptr;
  const Type* scalar = types::scalar(*kind);
  if (seen.rank == 1) return scalar;
  constexpr Py_ssize_t kMost = 65536;
  const Py_ssize_t rows = seen.shape[1], columns = seen.rank == 3 ? seen.shape[2] : 1;
  if (rows < 1 || columns < 1 || rows > kMost || columns > kMost || rows * columns > kMost) return nullptr;
  return seen.rank == 2 ? types::vec(scalar, std::uint32_t(rows))
                        : types::mat(scalar, std::uint32_t(rows), std::uint32_t(columns));
}

WEFT_HOT PyObject* make_from_numpy(PyObject* const given[kParameters]) {
  PyObject* const source = given[kArray];
  bool requires_grad = false;
  if (!source || Py_TYPE(source) != ndarray_class || !is_missing(given[kShape]) || !is_off(given[kRetainGrad]) ||
      !read_flag(given[kRequiresGrad], requires_grad) || place_for(given[kDevice]) != kOnCpu)
    return nullptr;
  const Type* element = is_missing(given[kDtype]) ? type_of_ndarray(source) : plain_type(given[kDtype]);
  if (!element || !element->is_numeric()) return nullptr;
  bool read_only = false;
  std::optional<runtime::Array> made = from_foreign(source, element, true, read_only);
  if (!made) return nullptr;
  if (requires_grad) made->set_requires_grad(true);
  return new_array({}, std::move(*made)).release().ptr();
}

template <Maker kMaker>
WEFT_HOT PyObject* entry(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
  constexpr auto kIndex = std::size_t(kMaker);
  PyObject* given[kParameters] = {};
  if (sort_arguments(kSignatures[kIndex], args, count, keywords, given)) {
    try {
      PyObject* made = nullptr;
      if constexpr (kMaker == Maker::zeros || kMaker == Maker::empty)
        made = make_new(given, kMaker == Maker::zeros);
      else if constexpr (kMaker == Maker::from_numpy)
        made = make_from_numpy(given);
      else
        made = make_like(given, kMaker);
      if (made) return made;
    } catch (...) {
      set_python_error();
      return nullptr;
    }
  }
  if (carefully[kIndex]) return PyObject_Vectorcall(carefully[kIndex], args, std::size_t(count), keywords);
  PyErr_SetString(PyExc_RuntimeError, "warp is not initialised");
  return nullptr;
}

template <Maker kMaker>
constexpr PyCFunction entry_of() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry<kMaker>));
}

#define WEFT_LIKE "(src, device=None, requires_grad=None, pinned=None, retain_grad=False)\n--\n\n"
#define WEFT_NEW \
  "(shape=None, dtype=..., device=None, requires_grad=False, pinned=False, retain_grad=False, **kwargs)\n--\n\n"
constexpr int kHow = METH_FASTCALL | METH_KEYWORDS;
PyMethodDef methods[kMakers] = {
    {"zeros", nullptr, kHow, "zeros" WEFT_NEW "A new array of zeros, of floats unless `dtype` says otherwise."},
    {"empty", nullptr, kHow,
     "empty" WEFT_NEW "A new array whose elements are not initialised, of floats unless `dtype` says otherwise."},
    {"zeros_like", nullptr, kHow,
     "zeros_like" WEFT_LIKE "Zeros in the shape and type of another array; `requires_grad` is its own unless given."},
    {"empty_like", nullptr, kHow,
     "empty_like" WEFT_LIKE "An array that is not initialised in the shape and type of another."},
    {"clone", nullptr, kHow,
     "clone" WEFT_LIKE "A contiguous copy with memory of its own; with that of its gradient, if both have one."},
    {"from_numpy", nullptr, kHow,
     "from_numpy(arr, dtype=None, shape=None, device=None, requires_grad=False, retain_grad=False)\n--\n\n"
     "A copy of a NumPy array. Without a dtype, the trailing dimension of 2-D data becomes a vector, the two of 3-D\n"
     "data a matrix."},
};
#undef WEFT_LIKE
#undef WEFT_NEW

/// array.numpy: the memory of scalars, vectors and matrices on the host as a NumPy array.
WEFT_HOT PyObject* array_numpy(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
  try {
    if (count == 0 && !keywords && nb::inst_ready(self)) {
      const runtime::Array array = nb::inst_ptr<ArrayObject>(self)->array;
      if (array.is_valid() && array.on_host() && array.size() > 0 && array.element()->is_numeric() &&
          !runtime::recording())
        if (PyObject* made = ndarray_over(array)) return made;
    }
  } catch (...) {
    set_python_error();
    return nullptr;
  }
  static PyObject* const name = PyUnicode_InternFromString("_numpy_carefully");
  const nb::object method = nb::steal(PyObject_GetAttr(self, name));
  return method.is_valid() ? PyObject_Vectorcall(method.ptr(), args, std::size_t(count), keywords) : nullptr;
}

}  // namespace

PyMethodDef array_numpy_methods[] = {
    {"numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(array_numpy)), METH_FASTCALL | METH_KEYWORDS,
     "numpy($self)\n--\n\n"
     "A NumPy array over the same memory, without a copy; of an array on a CUDA device a copy, when the work queued\n"
     "before is done. Vectors and matrices add dimensions, structs become records; bfloat16 shows as ml_dtypes' type, or\n"
     "as bits in uint16 where that is not installed. An annotation has no elements."},
    {nullptr, nullptr, 0, nullptr}};

void register_array_makers(nb::module_& m) {
  for (std::size_t p = 0; p < kParameters; ++p) names[p] = PyUnicode_InternFromString(kNames[p]);
  methods[std::size_t(Maker::zeros)].ml_meth = entry_of<Maker::zeros>();
  methods[std::size_t(Maker::empty)].ml_meth = entry_of<Maker::empty>();
  methods[std::size_t(Maker::zeros_like)].ml_meth = entry_of<Maker::zeros_like>();
  methods[std::size_t(Maker::empty_like)].ml_meth = entry_of<Maker::empty_like>();
  methods[std::size_t(Maker::clone)].ml_meth = entry_of<Maker::clone>();
  methods[std::size_t(Maker::from_numpy)].ml_meth = entry_of<Maker::from_numpy>();
  m.def(
      "array_makers",
      [](nb::dict plain, nb::dict careful, nb::object ndarray, nb::str module) {
        plain_types = plain.inc_ref().ptr();
        ndarray_class = reinterpret_cast<PyTypeObject*>(ndarray.inc_ref().ptr());
        type_class = reinterpret_cast<PyTypeObject*>(nb::type<TypeHandle>().ptr());
        nb::list made;
        for (std::size_t i = 0; i < kMakers; ++i) {
          carefully[i] = nb::object(careful[kSignatures[i].name]).release().ptr();
          made.append(nb::steal(PyCFunction_NewEx(&methods[i], nullptr, module.ptr())));
        }
        return made;
      },
      nb::arg("plain"), nb::arg("careful"), nb::arg("ndarray"), nb::arg("module"),
      "zeros, empty, zeros_like, empty_like, clone and from_numpy as C functions. `plain` has the types by dtype whose arrays "
      "need no care, `careful` the functions of Python, by name, that take all other requests.");
}

}  // namespace weft::bind
