// Buffers, array interfaces of the host and of CUDA, and the attributes of Paddle's tensors.
#include "bind/foreign_interfaces.h"

#include <cstring>

#include "bind/numpy_table.h"
#include "bind/python_kernel.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

using interop::ForeignMemory;
using interop::Seen;

std::optional<ScalarKind> sized(char kind, std::int64_t size) {
  const interop::DlCode code = kind == 'b'   ? interop::kDlBool
                               : kind == 'i' ? interop::kDlInt
                               : kind == 'u' ? interop::kDlUInt
                                             : interop::kDlFloat;
  if (size < 1 || size > 8) return std::nullopt;
  return interop::scalar_kind({code, std::uint8_t(8 * size), 1});
}

/// The scalar type of a buffer format; nothing for structs, pointers, complex numbers and foreign byte orders.
std::optional<ScalarKind> scalar_of_format(const char* format, Py_ssize_t item_size) {
  if (!format) return item_size == 1 ? std::optional(ScalarKind::u8) : std::nullopt;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (!*format || format[1]) return std::nullopt;
  switch (*format) {
    case '?': return sized('b', item_size);
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return sized('i', item_size);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return sized('u', item_size);
    case 'e': return item_size == 2 ? std::optional(ScalarKind::f16) : std::nullopt;
    case 'f': return item_size == 4 ? std::optional(ScalarKind::f32) : std::nullopt;
    case 'd': return item_size == 8 ? std::optional(ScalarKind::f64) : std::nullopt;
    default: return std::nullopt;
  }
}

bool is_of_jax(PyTypeObject* type) { return std::string_view(type->tp_name).ends_with("ArrayImpl"); }

}  // namespace

bool read_ndarray(nb::handle object, const Type* element, Seen how, ForeignArray& out, std::string& why) {
  const auto& array = *reinterpret_cast<const NumpyArray*>(object.ptr());
  const std::optional<ScalarKind> scalar = scalar_of_numpy(*array.type);
  if (!scalar || array.rank > interop::kMaxForeignRank) return false;
  ForeignMemory memory;
  memory.data = array.data;
  memory.scalar = *scalar;
  memory.rank = array.rank;
  memory.read_only = !(array.flags & kNumpyWritable);
  for (int d = 0; d < array.rank; ++d) memory.shape[d] = array.shape[d], memory.strides[d] = array.strides[d];
  if (!settle_foreign(memory, element, how, out, why)) return false;
  out.keep = nb::borrow(object);
  return true;
}

namespace {

/// A buffer that is held: what a memoryview does, without what else one can do.
struct HeldBuffer {
  PyObject_HEAD Py_buffer view;  // its `obj` is null if there is none
};

void release_buffer(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyBuffer_Release(&reinterpret_cast<HeldBuffer*>(self)->view);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyTypeObject* held_class = nullptr;

nb::object hold_buffer(nb::handle object) {
  auto* const made = PyObject_New(HeldBuffer, held_class);
  if (!made) return {};
  made->view = {};
  nb::object held = nb::steal(reinterpret_cast<PyObject*>(made));
  return PyObject_GetBuffer(object.ptr(), &made->view, PyBUF_FULL_RO) == 0 ? held : nb::object();
}

}  // namespace

void prepare_foreign_interfaces() {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(release_buffer)}, {0, nullptr}};
  PyType_Spec spec{"warp._weft.HeldBuffer", sizeof(HeldBuffer), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  held_class = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!held_class) throw nb::python_error();
}

bool read_buffer(nb::handle object, const Type* element, Seen how, ForeignArray& out, std::string& why) {
  nb::object view = hold_buffer(object);
  if (!view.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const Py_buffer& buffer = reinterpret_cast<HeldBuffer*>(view.ptr())->view;
  if (buffer.suboffsets || buffer.ndim > interop::kMaxForeignRank || (buffer.ndim > 0 && !buffer.shape)) return false;
  const std::optional<ScalarKind> scalar = scalar_of_format(buffer.format, buffer.itemsize);
  if (!scalar) return false;
  ForeignMemory memory;
  memory.data = buffer.buf;
  memory.scalar = *scalar;
  memory.rank = buffer.ndim;
  memory.read_only = buffer.readonly != 0;
  bool empty = false;
  for (int d = 0; d < buffer.ndim; ++d) {
    if (buffer.shape[d] < 0) return false;
    empty |= buffer.shape[d] == 0;
    memory.shape[d] = buffer.shape[d];
    if (buffer.strides) memory.strides[d] = buffer.strides[d];
  }
  if ((!buffer.strides && !interop::pack_strides(memory)) || (!buffer.buf && !empty)) return false;
  if (!settle_foreign(memory, element, how, out, why)) return false;
  out.keep = std::move(view);
  return true;
}

namespace {

[[noreturn]] void wrong(const char* name, const std::string& text) {
  PyErr_SetString(PyExc_RuntimeError, ("the object's " + std::string(name) + " is wrong: " + text).c_str());
  throw nb::python_error();
}

/// Reads a tuple of integers, whatever sort they are of.
int read_integers(nb::handle values, const char* name, const char* what, std::int64_t* out) {
  const nb::object list = nb::steal(
      PySequence_Check(values.ptr()) && !PyUnicode_Check(values.ptr()) ? PySequence_Tuple(values.ptr()) : nullptr);
  const auto refuse = [&] {
    PyErr_Clear();
    wrong(name, std::string(what) + " is " + nb::repr(values).c_str() + ", not a tuple of integers");
  };
  if (!list.is_valid()) refuse();
  const Py_ssize_t count = PyTuple_GET_SIZE(list.ptr());
  if (count > interop::kMaxForeignRank) return int(std::min<Py_ssize_t>(count, 1000));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::object number = nb::steal(PyNumber_Index(PyTuple_GET_ITEM(list.ptr(), i)));
    if (!number.is_valid()) refuse();
    int overflow = 0;
    out[i] = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow) wrong(name, std::string(what) + " has a number beyond 64 bits");
  }
  return int(count);
}

/// An entry of an interface; null where there is none or None.
nb::object entry(nb::handle interface, const char* key) {
  PyObject* found = PyDict_GetItemString(interface.ptr(), key);
  return found && found != Py_None ? nb::borrow(found) : nb::object();
}

enum class Interface : std::uint8_t { read, exotic };

/// Reads the dict of either interface. Exotic: elements that are no plain numbers, or memory in another object.
Interface read_interface(nb::handle interface, const char* name, ForeignMemory& memory) {
  if (!PyDict_Check(interface.ptr()))
    wrong(name, "it is a " + std::string(Py_TYPE(interface.ptr())->tp_name) + ", not a dict");
  for (const char* key : {"shape", "typestr"})
    if (!PyDict_GetItemString(interface.ptr(), key)) wrong(name, "it has no '" + std::string(key) + "'");
  if (entry(interface, "mask").is_valid()) {
    PyErr_SetString(PyExc_RuntimeError, "arrays with a mask are not supported; fill the masked values first");
    throw nb::python_error();
  }
  memory.rank = read_integers(nb::handle(PyDict_GetItemString(interface.ptr(), "shape")), name, "shape", memory.shape);
  if (memory.rank > interop::kMaxForeignRank) return Interface::exotic;
  bool empty = false;
  for (int d = 0; d < memory.rank; ++d) {
    if (memory.shape[d] < 0) wrong(name, "its shape has the negative extent " + std::to_string(memory.shape[d]));
    empty |= memory.shape[d] == 0;
  }
  const nb::object typestr = entry(interface, "typestr");
  if (!typestr.is_valid() || !PyUnicode_Check(typestr.ptr())) wrong(name, "typestr is no text");
  const std::string_view type = PyUnicode_AsUTF8(typestr.ptr());
  if (type.size() < 3 || type.size() > 4 || type[0] == '>') return Interface::exotic;
  const std::int64_t item = type[2] - '0';
  if (type.size() == 4) return Interface::exotic;
  if (type[1] == 'V' && item == 2) {
    memory.scalar = ScalarKind::u16;
    memory.bits_only = true;
  } else if (std::optional<ScalarKind> scalar = std::string_view("biuf").find(type[1]) == std::string_view::npos
                                                    ? std::nullopt
                                                    : sized(type[1], item)) {
    memory.scalar = *scalar;
  } else {
    return Interface::exotic;
  }
  if (const nb::object strides = entry(interface, "strides"); strides.is_valid()) {
    const int count = read_integers(strides, name, "strides", memory.strides);
    if (count != memory.rank)
      wrong(name, std::to_string(count) + " strides for " + std::to_string(memory.rank) + " dimensions");
  } else if (!interop::pack_strides(memory)) {
    wrong(name, "its shape reaches beyond the address space");
  }
  const nb::object data = entry(interface, "data");
  if (!data.is_valid() || !PyTuple_Check(data.ptr())) return Interface::exotic;
  if (PyTuple_GET_SIZE(data.ptr()) != 2) wrong(name, "data must be (address, read-only)");
  const nb::object address = nb::steal(PyNumber_Index(PyTuple_GET_ITEM(data.ptr(), 0)));
  if (!address.is_valid()) {
    PyErr_Clear();
    wrong(name, "data must be (address, read-only)");
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(address.ptr(), &overflow);
  memory.data = reinterpret_cast<void*>(std::uintptr_t(number));
  memory.read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data.ptr(), 1)) == 1;
  // The limits of memory are those of a tensor, which are checked in one place.
  interop::DlTensor tensor;
  std::int64_t steps[interop::kMaxForeignRank];
  tensor.dtype = {interop::kDlUInt, 8, 1};
  tensor.data = overflow || number <= 0 ? nullptr : memory.data;
  tensor.ndim = memory.rank;
  tensor.shape = memory.shape;
  tensor.strides = steps;
  for (int d = 0; d < memory.rank; ++d) steps[d] = memory.strides[d];
  ForeignMemory checked;
  std::string why;
  if (!interop::read_tensor(tensor, 0, checked, why))
    wrong(name, tensor.data || empty ? "shape and strides reach beyond the address space"
                                     : std::string(nb::repr(address).c_str()) + " is no address");
  return Interface::read;
}

bool read_cuda_interface(nb::handle object, nb::handle interface, const Type* element, Seen how, ForeignArray& out,
                         std::string& why) {
  constexpr const char* kName = "__cuda_array_interface__";
  ForeignMemory memory;
  if (read_interface(interface, kName, memory) == Interface::exotic) {
    const std::string type = nb::str(entry(interface, "typestr")).c_str();
    why = "arrays have at most 4 dimensions of real numbers, and it has " + std::to_string(memory.rank) + " of '" +
          type + "'" +
          (type.size() > 1 && type[1] == 'c' ? ", complex numbers; pass the real and the imaginary part" : "");
    return false;
  }
  cuda::System& system = cuda::System::shared();
  if (!system.available()) {
    why = "it lies on a CUDA device, and there is none here: " + system.problem();
    return false;
  }
  bool empty = false;
  for (int d = 0; d < memory.rank; ++d) empty |= memory.shape[d] == 0;
  memory.where = interop::Where::cuda;
  int place = std::max(0, int(launch_settings().current));
  if (!empty) {
    const std::optional<int> found = pointer_place(reinterpret_cast<std::uintptr_t>(memory.data));
    if (!found) wrong(kName, std::to_string(std::uintptr_t(memory.data)) + " is no memory of a CUDA device");
    place = *found;
  }
  if (place == kOnPinned) memory.where = interop::Where::pinned;
  memory.device = 0;
  if (!settle_foreign(memory, element, how, out, why)) return false;
  out.place = place;
  if (const nb::object stream = entry(interface, "stream"); stream.is_valid()) {
    const nb::object number = nb::steal(PyNumber_Index(stream.ptr()));
    if (!number.is_valid()) {
      PyErr_Clear();
      wrong(kName, "its stream is no integer");
    }
    out.stream = PyLong_AsUnsignedLongLongMask(number.ptr());
    if (out.stream == 0) wrong(kName, "its stream is 0; 1 is the legacy default stream");
  }
  out.keep = nb::borrow(object);
  return true;
}

/// An attribute of an object, which it may lack.
nb::object attribute(nb::handle object, const char* name) {
  nb::object found = nb::steal(PyObject_GetAttrString(object.ptr(), name));
  if (!found.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    PyErr_Clear();
  }
  return found;
}

const void* buffer_address(nb::handle values) {
  const nb::object view = nb::steal(PyMemoryView_FromObject(values.ptr()));
  if (!view.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  return PyMemoryView_GET_BUFFER(view.ptr())->buf;
}

/// __array__ may answer with a copy: then two answers, both held, lie at two addresses.
bool read_array_method(nb::handle object, const Type* element, Seen how, ForeignArray& out, std::string& why) {
  const nb::object method = attribute(object, "__array__");
  if (!method.is_valid() || PyType_Check(object.ptr())) return false;
  const nb::object first = nb::steal(PyObject_CallNoArgs(method.ptr()));
  if (!first.is_valid()) throw nb::python_error();
  if (!read_buffer(first, element, how, out, why)) return false;
  const nb::object second = nb::steal(PyObject_CallNoArgs(method.ptr()));
  if (!second.is_valid()) throw nb::python_error();
  out.copied = second.ptr() != first.ptr() && buffer_address(second) != buffer_address(first);
  return true;
}

}  // namespace

bool read_interfaces(nb::handle object, const Type* element, Seen how, ForeignArray& out, std::string& why) {
  const nb::object on_host = attribute(object, "__array_interface__");
  // JAX's interface for CUDA names no stream and waits for nothing; its DLPack is in order with our stream.
  const bool jax = is_of_jax(Py_TYPE(object.ptr()));
  if (!(on_host.is_valid() && how.host_first) && !jax)
    if (const nb::object on_gpu = attribute(object, "__cuda_array_interface__"); on_gpu.is_valid())
      return read_cuda_interface(object, on_gpu, element, how, out, why);
  if (on_host.is_valid()) {
    ForeignMemory memory;
    if (read_interface(on_host, "__array_interface__", memory) == Interface::exotic) return false;
    if (!settle_foreign(memory, element, how, out, why)) return false;
    out.keep = nb::make_tuple(object, on_host);  // some keep the memory in the dict
    return true;
  }
  if (attribute(object, "__dlpack__").is_valid() && attribute(object, "__dlpack_device__").is_valid()) {
    if (read_dlpack(object, element, how, out, why)) {
      out.read_only |= jax;
      return true;
    }
    if (!why.empty()) return false;
  }
  return read_array_method(object, element, how, out, why);
}

namespace {

/// Scalars by Paddle's types. No initialiser of a static variable: it would be waited for by a thread that has the GIL, while
/// the one that runs it gives it up.
nb::handle paddle_scalars() {
  static std::atomic<PyObject*> scalars{nullptr};  // outlives module teardown
  if (PyObject* known = scalars.load(std::memory_order_acquire)) return known;
  nb::dict made;
  const nb::object paddle = nb::module_::import_("paddle");
  const std::pair<const char*, ScalarKind> known[] = {{"bool", ScalarKind::boolean}, {"int8", ScalarKind::i8},
                                                      {"uint8", ScalarKind::u8},     {"int16", ScalarKind::i16},
                                                      {"int32", ScalarKind::i32},    {"int64", ScalarKind::i64},
                                                      {"float16", ScalarKind::f16},  {"bfloat16", ScalarKind::bf16},
                                                      {"float32", ScalarKind::f32},  {"float64", ScalarKind::f64}};
  for (const auto& [name, kind] : known)
    if (nb::hasattr(paddle, name)) made[paddle.attr(name)] = int(kind);
  PyObject* before = nullptr;
  if (PyObject* own = made.ptr(); scalars.compare_exchange_strong(before, own)) return made.release();
  return before;  // another thread was faster
}

nb::object call_method(nb::handle object, PyObject* name) {
  PyObject* const arguments[] = {object.ptr()};
  nb::object answer =
      nb::steal(PyObject_VectorcallMethod(name, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!answer.is_valid()) PyErr_Clear();
  return answer;
}

constexpr const char* kFreshCapsule = "dltensor";

/// A capsule of DLPack that says all of a tensor on the host, for a third of what five attributes cost. Nothing if there is
/// none, or the tensor lies elsewhere. Unlike __dlpack__ it takes tensors that want a gradient.
nb::object paddle_capsule(nb::handle object) {
  static PyObject* const get_tensor = PyUnicode_InternFromString("get_tensor");
  static PyObject* const to_dlpack = PyUnicode_InternFromString("_to_dlpack");
  const nb::object dense = call_method(object, get_tensor);
  if (!dense.is_valid() || dense.is_none()) return {};
  nb::object capsule = call_method(dense, to_dlpack);
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), kFreshCapsule)) return {};
  const auto* managed =
      static_cast<const interop::DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kFreshCapsule));
  const auto where = managed->tensor.device.type;
  return where == interop::kDlCpu || where == interop::kDlCudaHost ? capsule : nb::object();
}

}  // namespace

bool read_paddle(nb::handle object, const Type* element, Seen how, ForeignArray& out, std::string& why) {
  if (const nb::object capsule = paddle_capsule(object); capsule.is_valid()) {
    if (!read_capsule_memory(capsule, element, how, out, why)) return false;
    out.keep = nb::borrow(object);  // not the capsule: it holds the memory, but programs ask for the tensor
    return true;
  }
  const nb::object place = attribute(object, "place"), dtype = attribute(object, "dtype");
  if (!place.is_valid() || !dtype.is_valid()) return false;
  if (const nb::object dense = attribute(object, "is_dense"); dense.is_valid() && dense().ptr() == Py_False) {
    why = "it is sparse; pass .to_dense()";
    return false;
  }
  const bool pinned = nb::cast<bool>(place.attr("is_cuda_pinned_place")());
  if (!pinned && !nb::cast<bool>(place.attr("is_cpu_place")())) {
    const nb::object on_gpu = attribute(object, "__cuda_array_interface__");
    if (on_gpu.is_valid()) return read_cuda_interface(object, on_gpu, element, how, out, why);
    why = "it is on " + std::string(nb::str(place).c_str()) + "; kernels run on the CPU and on CUDA devices";
    return false;
  }
  PyObject* code = PyDict_GetItemWithError(paddle_scalars().ptr(), dtype.ptr());
  if (!code) {
    PyErr_Clear();
    why = "its elements are " + std::string(nb::str(dtype).c_str()) + ", which arrays don't have";
    return false;
  }
  ForeignMemory memory;
  memory.scalar = ScalarKind(PyLong_AsLong(code));
  memory.where = pinned ? interop::Where::pinned : interop::Where::host;
  constexpr const char* kName = "tensor";
  memory.rank = read_integers(object.attr("shape"), kName, "shape", memory.shape);
  if (memory.rank > interop::kMaxForeignRank) {
    why = "it has " + std::to_string(memory.rank) + " dimensions";
    return false;
  }
  const auto item = std::int64_t(types::scalar(memory.scalar)->size());
  bool empty = false;
  for (int d = 0; d < memory.rank; ++d) empty |= memory.shape[d] == 0;
  if (read_integers(object.attr("strides"), kName, "strides", memory.strides) != memory.rank) {
    if (!interop::pack_strides(memory)) return false;
  } else {
    for (int d = 0; d < memory.rank; ++d) memory.strides[d] *= item;
  }
  if (!empty) memory.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(object.attr("data_ptr")()));
  if (!memory.data && !empty) {
    why = "it has no memory";
    return false;
  }
  if (!settle_foreign(memory, element, how, out, why)) return false;
  out.keep = nb::borrow(object);
  return true;
}

}  // namespace weft::bind
