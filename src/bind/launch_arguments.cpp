// Arguments of launches: lists, dimensions, types of generic parameters, and the parameter block.
#include <atomic>

#include "bind/exchange.h"
#include "bind/python_kernel.h"
#include "bind/torch_exchange.h"
#include "driver/default_argument.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

[[noreturn]] void launch_error(const PythonKernel& kernel, const std::string& text,
                               PyObject* type = PyExc_RuntimeError) {
  PyErr_SetString(type, ("Error launching kernel '" + kernel.name() + "': " + text).c_str());
  throw nb::python_error();
}

PyTypeObject* array_class() {
  static auto* type = reinterpret_cast<PyTypeObject*>(nb::type<ArrayObject>().ptr());
  return type;
}

}  // namespace

WEFT_HOT const runtime::Array* as_array(PyObject* value) {
  // Nearly all are of one class, which is not looked for among its bases again; it is held, so that no other takes its place.
  static std::atomic<PyTypeObject*> usual{nullptr};
  if (Py_TYPE(value) != usual.load(std::memory_order_relaxed)) [[unlikely]] {
    if (!PyObject_TypeCheck(value, array_class())) return nullptr;
    PyTypeObject* none = nullptr;
    if (usual.compare_exchange_strong(none, Py_TYPE(value), std::memory_order_relaxed)) Py_INCREF(Py_TYPE(value));
  }
  if (!nb::inst_ready(value)) return nullptr;
  return &nb::inst_ptr<ArrayObject>(value)->array;
}

namespace {

WEFT_HOT std::int64_t read_extent(PyObject* value) {
  nb::object index;
  if (!PyLong_Check(value)) {
    index = nb::steal(PyNumber_Index(value));
    if (!index.is_valid()) {
      PyErr_Format(PyExc_TypeError, "launch dimensions: an integer or a tuple of 1 to %d integers, not %s", kMaxRank,
                   Py_TYPE(value)->tp_name);
      throw nb::python_error();
    }
    value = index.ptr();
  }
  int overflow = 0;
  const long long extent = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) {
    PyErr_SetString(PyExc_OverflowError, "launch dimensions: an extent does not fit in 64 bits");
    throw nb::python_error();
  }
  return extent;
}

}  // namespace

WEFT_HOT ArgumentList::ArgumentList(PyObject* inputs, PyObject* outputs) {
  PyObject* lists[2] = {inputs, outputs};
  nb::object made[2];
  for (int i = 0; i < 2; ++i) {
    PyObject*& list = lists[i];
    if (!PyList_Check(list) && !PyTuple_Check(list)) {
      if (list == Py_None) {
        made[i] = nb::steal(PyTuple_New(0));
      } else if (PyObject_TypeCheck(list, array_class()) || !PySequence_Check(list) || PyUnicode_Check(list) ||
                 PyObject_CheckBuffer(list)) {
        PyErr_Format(PyExc_TypeError, "%s of a launch is a list of arguments, not %s; write %s=[...]",
                     i ? "outputs" : "inputs", Py_TYPE(list)->tp_name, i ? "outputs" : "inputs");
        throw nb::python_error();
      } else {
        made[i] = nb::steal(PySequence_Tuple(list));
      }
      if (!made[i].is_valid()) throw nb::python_error();
      list = made[i].ptr();
    }
  }
  // Nothing from here on runs Python code; without the GIL the guard keeps other threads off the lists.
  const nb::ft_object2_guard guard(lists[0], lists[1]);
  const std::size_t total = std::size_t(PySequence_Fast_GET_SIZE(lists[0]) + PySequence_Fast_GET_SIZE(lists[1]));
  if (total > std::size(few_)) {
    many_ = std::make_unique<PyObject*[]>(total);
    items_ = many_.get();
  }
  for (PyObject* list : lists) {
    PyObject** items = PySequence_Fast_ITEMS(list);
    const std::size_t count = std::size_t(PySequence_Fast_GET_SIZE(list));
    for (std::size_t i = 0; i < count; ++i) {
      items_[size_++] = Py_NewRef(items[i]);
      // What follows an array's header is wanted when the block is filled; Python's own work drove it out of the first cache.
      __builtin_prefetch(reinterpret_cast<const char*>(items[i]) + 64);
      __builtin_prefetch(reinterpret_cast<const char*>(items[i]) + 128);
    }
  }
}

WEFT_HOT std::size_t read_dims(PyObject* dim, std::int64_t out[kMaxRank]) {
  if (PyLong_Check(dim) || !PySequence_Check(dim) || PyUnicode_Check(dim)) {
    out[0] = read_extent(dim);
    return 1;
  }
  nb::object list = PyTuple_Check(dim) ? nb::borrow(dim) : nb::steal(PySequence_Tuple(dim));
  if (!list.is_valid()) throw nb::python_error();
  const Py_ssize_t n = PyTuple_GET_SIZE(list.ptr());
  if (n < 1 || n > kMaxRank) {
    PyErr_Format(PyExc_ValueError,
                 "launch dimensions: a kernel runs over at least 1 and at most %d dimensions, %zd were given", kMaxRank,
                 n);
    throw nb::python_error();
  }
  for (Py_ssize_t i = 0; i < n; ++i) out[i] = read_extent(PyTuple_GET_ITEM(list.ptr(), i));
  return std::size_t(n);
}

namespace {

bool holds_tiles(const builtins::Pattern& pattern) {
  return pattern.kind == builtins::Pattern::Kind::tile || (pattern.element && holds_tiles(*pattern.element));
}

}  // namespace

WEFT_HOT driver::KernelSignature& signature_for(PythonKernel& kernel, const ArgumentList& args) {
  if (driver::KernelSignature* plain = kernel.plain_signature(); plain && args.size() == plain->types.size())
    return *plain;
  const auto& params = kernel.params();
  std::size_t required = params.size();
  while (required > 0 && params[required - 1].has_default) --required;
  if (args.size() > params.size() || args.size() < required) {
    std::string text =
        "it takes " + std::to_string(params.size()) + (params.size() == 1 ? " argument (" : " arguments (");
    for (std::size_t i = 0; i < params.size(); ++i) text += (i ? ", " : "") + params[i].name;
    launch_error(kernel, text + "), inputs and outputs together gave " + std::to_string(args.size()));
  }
  std::vector<const Type*> types;
  const std::size_t own = params.size() >> kernel.options().doublings();
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (i >= own) {  // a tangent or a seed has the type of what it belongs to
      types.push_back(types[i - own]);
      continue;
    }
    const builtins::Pattern& pattern = params[i].pattern;
    if (holds_tiles(pattern))
      launch_error(
          kernel,
          "argument '" + params[i].name + "' is annotated as " + builtins::to_string(pattern) +
              ", but tiles live in kernels only: kernels take arrays; annotate it as one, wp.array(dtype=…), and "
              "load a part of it in the kernel: wp.tile_load(…)",
          PyExc_TypeError);
    const Type* type = pattern.kind == builtins::Pattern::Kind::exact ? pattern.type
                       : i < args.size()                              ? type_of_value(args[i])
                                                                      : nullptr;
    if (pattern.kind == builtins::Pattern::Kind::indexed_array && type && type->is_array())
      type = types::indexed_array(type->element(), type->rank());
    builtins::Bindings bindings;
    if (!type) launch_error(kernel, "argument '" + params[i].name + "': its type can't be told; pass a typed value");
    if (!builtins::match(pattern, type, bindings))
      launch_error(
          kernel,
          "argument '" + params[i].name + "': expected " + builtins::to_string(pattern) + ", got " + type->user_name(),
          PyExc_TypeError);
    types.push_back(type);
  }
  return kernel.signature(types);
}

namespace {

/// Copies the descriptor of an array of ours, of this very type and place; false for everything else.
WEFT_HOT bool fill_own_array(PyObject* value, const Type* type, char* to, const cuda::Device* device,
                             LaunchNotes* notes) {
  const runtime::Array* array = as_array(value);
  if (!array || array->element() != type->element() || array->rank() != int(type->rank()) || array->space() != device ||
      nb::inst_ptr<ArrayObject>(value)->read_only)
    return false;
  if (notes) notes->own_arrays = true;
  const nb::ft_object_guard guard(value);  // its gradient may be replaced
  std::memcpy(to, &array->desc(), sizeof(ArrayDesc));
  if (kFreeThreaded && notes) notes->held.push_back(*array);
  return true;
}

/// The same for tensors of PyTorch and descriptors that the list of arguments holds.
WEFT_HOT bool fill_held_memory(PyObject* value, const Type* type, char* to, const cuda::Device* device,
                               LaunchNotes& notes) {
  ArrayDesc seen;
  if (!read_plain_tensor(value, type, device, notes, seen)) {
    if (device || !read_plain_descriptor(value, type, seen)) return false;
    notes.plain_tensors = true;  // held as these are
  }
  std::memcpy(to, &seen, sizeof seen);
  return true;
}

}  // namespace

WEFT_HOT void fill_param(PythonKernel& kernel, const driver::KernelSignature& signature, std::size_t index,
                         PyObject* value, char* block, std::vector<nb::object>& keep, cuda::Device* device,
                         LaunchNotes* notes) {
  const ParamLayout::Param& p = signature.layout.params[index];
  char* to = block + p.offset;
  if (value == Py_None && kernel.options().doubles_params() &&
      index >= signature.types.size() >> kernel.options().doublings()) [[unlikely]] {
    std::memset(to, 0, p.type->size());  // it does not move, or begins at zero
    return;
  }
  if (p.type->is_array()) {
    if (fill_own_array(value, p.type, to, device, notes)) return;
    if (notes && notes->arguments_held && fill_held_memory(value, p.type, to, device, *notes)) return;
  } else if (p.type == types::f32() && PyFloat_CheckExact(value)) {
    const auto number = float(PyFloat_AS_DOUBLE(value));
    std::memcpy(to, &number, sizeof number);
    return;
  }
  const PackingFor target(device, notes);
  pack_value(value, p.type, to, kernel.name().c_str(), p.name, keep);
}

WEFT_HOT void fill_block(PythonKernel& kernel, const driver::KernelSignature& signature, const ArgumentList& args,
                         char* block, std::vector<nb::object>& keep, cuda::Device* device, LaunchNotes* notes) {
  const std::size_t given = std::min(args.size(), signature.types.size());
  if (notes) notes->block = block;
  for (std::size_t i = 0; i < given; ++i) fill_param(kernel, signature, i, args[i], block, keep, device, notes);
  for (std::size_t i = given; i < signature.types.size(); ++i)
    driver::write_default(kernel.name(), kernel.params()[i], signature.types[i],
                          block + signature.layout.params[i].offset);
}

namespace {

/// Points the gradient of an array's descriptor, or those of a struct's fields, to the memory of what was given.
void use_gradient(PythonKernel& kernel, const std::string& name, const Type* type, nb::handle given, char* at,
                  std::vector<runtime::Array>& held) {
  if (given.is_none()) return;
  if (type->is_indexed_array()) {
    const nb::object data = as_array(given.ptr()) ? nb::borrow(given) : nb::object(given.attr("data"));
    return use_gradient(kernel, name, type->fields()[0].type, data, at + type->fields()[0].offset, held);
  }
  if (type->is_struct()) {
    if (type_of_value(given) != type)
      launch_error(kernel, "the gradient of '" + name + "' must be an instance of " + type->user_name() + " or None");
    for (const Field& f : type->fields())
      if (f.type->is_array() || f.type->is_struct())
        use_gradient(kernel, name + "." + std::string(f.name), f.type, struct_field(given, type, f), at + f.offset,
                     held);
    return;
  }
  if (!type->is_array()) launch_error(kernel, "'" + name + "' is no array: it has no gradient");
  const runtime::Array* gradient = as_array(given.ptr());
  if (!gradient || !gradient->is_valid())
    launch_error(kernel, "the gradient of '" + name + "' must be an array or None");
  auto* desc = reinterpret_cast<ArrayDesc*>(at);
  const nb::ft_object_guard guard(given);
  const ArrayDesc& memory = gradient->desc();
  bool fits = gradient->element() == type->element() && memory.ndim == desc->ndim;
  for (std::int32_t d = 0; fits && d < desc->ndim; ++d)
    fits = memory.shape[d] == desc->shape[d] && (memory.strides[d] == desc->strides[d] || desc->shape[d] < 2);
  if (!fits) launch_error(kernel, "the gradient of '" + name + "' must have the array's own type, shape and strides");
  desc->grad = memory.data;
  held.push_back(*gradient);
}

}  // namespace

void use_gradients(PythonKernel& kernel, const driver::KernelSignature& signature, const ArgumentList& gradients,
                   char* block, std::vector<runtime::Array>& held) {
  for (std::size_t i = 0; i < gradients.size() && i < signature.types.size(); ++i) {
    const ParamLayout::Param& param = signature.layout.params[i];
    use_gradient(kernel, param.name, param.type, gradients[i], block + param.offset, held);
  }
}

void hold_arrays(PyObject* value, const Type* type, std::vector<runtime::Array>& keep) {
  if (value == Py_None) return;  // no gradient was given: the arrays have their own
  if (type->is_array()) {
    const runtime::Array* array = as_array(value);
    // The memory, not the Python object, which could be given other memory.
    if (!array) return;
    const nb::ft_object_guard guard(value);
    keep.push_back(*array);
  } else if (type->is_indexed_array()) {
    if (as_array(value)) return hold_arrays(value, type->fields()[0].type, keep);
    const nb::object indexed = nb::borrow(value);
    if (!nb::hasattr(indexed, "_wp_indexed_")) return;
    hold_arrays(nb::object(indexed.attr("data")).ptr(), type->fields()[0].type, keep);
    for (nb::handle index : nb::iter(indexed.attr("indices"))) hold_arrays(index.ptr(), type->fields()[1].type, keep);
  } else if (type->is_struct()) {
    for (const Field& f : type->fields()) {
      if (!f.type->is_array() && !f.type->is_struct()) continue;
      hold_arrays(struct_field(value, type, f).ptr(), f.type, keep);
    }
  }
}

}  // namespace weft::bind
