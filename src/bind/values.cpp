// Python values to kernel arguments and back.
#include <cstring>

#include "bind/array_buffer.h"
#include "bind/bind.h"
#include "bind/exchange.h"
#include "bind/hooks.h"
#include "bind/python_kernel.h"
#include "bind/torch_exchange.h"
#include "driver/tape.h"
#include "ir/ir.h"
#include "ir/scalar_eval.h"
#include "runtime/errors.h"
#include "runtime/params.h"
#include "support/hot.h"
#include "types/fabric_type.h"
#include "types/library_struct.h"

namespace weft::bind {

bool is_sequence(nb::handle value) {
  PyObject* const p = value.ptr();
  if (PyUnicode_Check(p)) return false;
  if (PyList_CheckExact(p) || PyTuple_CheckExact(p)) return true;
  if (!PySequence_Check(p) && !PyMapping_Check(p)) return false;
  const nb::object rank =
      nb::getattr(value, "ndim", nb::none());  // a tensor without dimensions has all methods of others
  return rank.is_none() ? bool(PySequence_Check(p)) : !rank.equal(nb::int_(0));
}

namespace {

[[noreturn]] void fail(PyObject* type, const char* kernel, const std::string& param, const std::string& text) {
  std::string message = kernel && *kernel
                            ? "Error launching kernel '" + std::string(kernel) + "': argument '" + param + "': " + text
                            : text;
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

std::string python_type_name(nb::handle value) {
  return nb::cast<std::string>(nb::borrow<nb::str>(nb::handle((PyObject*)Py_TYPE(value.ptr())).attr("__name__")));
}

/// The number as bits of the scalar kind. False when it is no number of a fitting sort. Scalars of ours are Python
/// numbers, too: wp.float64(2.0) is a float.
bool scalar_bits_of(nb::handle value, const Type* type, std::uint64_t& bits) {
  PyObject* p = value.ptr();
  ScalarKind kind = type->scalar_kind();
  if (type->is_float()) {
    double number = PyFloat_AsDouble(p);
    if (number == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    bits = ir::float_to_bits(kind, number);
    return true;
  }
  if (type->is_bool()) {
    int truth = PyBool_Check(p) || PyLong_Check(p) || nb::hasattr(value, "__bool__") ? PyObject_IsTrue(p) : -1;
    if (truth < 0 || PyUnicode_Check(p)) {
      PyErr_Clear();
      return false;
    }
    bits = std::uint64_t(truth);
    return true;
  }
  PyObject* index = PyNumber_Index(p);
  if (!index) {
    PyErr_Clear();
    return false;
  }
  nb::object owned = nb::steal(index);
  bits = ir::int_to_bits(kind, std::int64_t(PyLong_AsUnsignedLongLongMask(index)));
  return true;
}

/// Appends the numbers of nested sequences.
bool flatten(nb::handle value, const Type* scalar, std::vector<std::uint64_t>& out, int depth, std::size_t most) {
  std::uint64_t bits = 0;
  if (!is_sequence(value)) {
    if (!scalar_bits_of(value, scalar, bits)) return false;
    out.push_back(bits);
    return true;
  }
  if (depth > 2) return false;
  // Tensors make themselves into lists at once; one by one each number would be a tensor, and on a GPU a wait.
  const bool plain = PyList_CheckExact(value.ptr()) || PyTuple_CheckExact(value.ptr());
  const nb::object list = !plain && nb::hasattr(value, "tolist") ? value.attr("tolist")() : nb::borrow(value);
  for (nb::handle item : nb::iter(list)) {
    if (!flatten(item, scalar, out, depth + 1, most) || out.size() > most) return false;
  }
  return true;
}

/// A buffer of exactly these scalars, contiguous: copied as it is.
bool copy_buffer(nb::handle value, const Type* type, char* to) {
  if (!PyObject_CheckBuffer(value.ptr()) || nb::isinstance<ArrayObject>(value)) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  const char* format = view.format ? view.format : "B";
  if (*format == '<' || *format == '=' || *format == '@') ++format;
  std::string_view given = format;
  if (given == "l") given = sizeof(long) == 8 ? "q" : "i";
  if (given == "L") given = sizeof(long) == 8 ? "Q" : "I";
  bool fits = view.len == Py_ssize_t(type->size()) && given == format_of(type->scalar_kind());
  if (fits) std::memcpy(to, view.buf, type->size());
  PyBuffer_Release(&view);
  return fits;
}

void pack_composite(nb::handle value, const Type* type, char* to, const char* kernel, const std::string& param) {
  static PyObject* const name = PyUnicode_InternFromString("_wp_type_");
  const nb::object own = nb::steal(PyObject_GetAttr(value.ptr(), name));
  if (!own.is_valid()) PyErr_Clear();
  if (own.is_valid() && nb::isinstance<TypeHandle>(own)) {
    if (nb::cast<const TypeHandle&>(own).type == type) {
      Py_buffer view;
      if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) == 0) {
        bool fits = view.len == Py_ssize_t(type->size());
        if (fits) std::memcpy(to, view.buf, type->size());
        PyBuffer_Release(&view);
        if (fits) return;
      } else {
        PyErr_Clear();
      }
    }
  } else if (copy_buffer(value, type, to)) {
    return;
  }
  std::vector<std::uint64_t> bits;
  std::size_t n = type->component_count();
  if (!is_sequence(value))
    fail(PyExc_RuntimeError, kernel, param, "expected " + type->user_name() + ", got " + python_type_name(value));
  if (!flatten(value, type->element(), bits, 0, n) || bits.size() != n)
    fail(PyExc_ValueError, kernel, param,
         "expected " + type->user_name() + " (" + std::to_string(n) + " numbers), got a sequence that does not fit");
  std::size_t step = type->element()->size();
  for (std::size_t k = 0; k < n; ++k) std::memcpy(to + k * step, &bits[k], step);
}

/// Where arrays must lie that are packed now; see PackingFor.
struct Target {
  bool set = false;
  cuda::Device* device = nullptr;
  LaunchNotes* notes = nullptr;
};
thread_local Target target;

/// Whether code that runs at the target reaches an array's memory.
bool reachable(const runtime::Array& array) {
  runtime::MemorySpace* space = array.space();
  if (!target.set || space == target.device || array.size() == 0) return true;
  if (array.on_host()) return space != nullptr;  // page-locked memory serves both
  return target.device && target.device->peer_enabled(static_cast<cuda::Device&>(*space));
}

/// Tensors that go straight to a launch carry no gradient: on a tape that is seldom meant.
void warn_of_lost_gradient(nb::handle value, const std::string& param) {
  const nb::object wanted = nb::getattr(value, "requires_grad", nb::none());
  if (wanted.ptr() != Py_True || !hooks().warn.is_valid()) return;
  hooks().warn("Warp: the tensor for '" + param +
               "' requires a gradient, but goes straight to a launch that a tape records: none reaches it. Pass "
               "wp.from_torch(tensor) instead.");
}

std::string target_name() { return target.device ? target.device->name() : "cpu"; }

bool is_indexed(nb::handle value) { return nb::hasattr(value, "_wp_indexed_"); }

/// What is known of an array of another kind, and the cure.
std::string describe_elements(nb::handle value, const Type& wanted) {
  nb::object dtype = nb::getattr(value, "dtype", nb::none());
  nb::object ndim = nb::getattr(value, "ndim", nb::none());
  if (dtype.is_none() || !nb::isinstance<int>(ndim)) return "; pass a wp.array or an object with an array interface";
  std::string text = " of " + std::string(nb::str(dtype).c_str()) + " with " + std::string(nb::str(ndim).c_str()) +
                     (nb::cast<int>(ndim) == 1 ? " dimension" : " dimensions");
  const Type* scalar = wanted.element()->is_composite() ? wanted.element()->element() : wanted.element();
  if (!scalar->is_scalar()) return text + "; pass a wp.array";
  return text + "; convert it, e.g. by astype(\"" + std::string(scalar_user_name(scalar->scalar_kind())) +
         "\"), or give it the shape of the parameter";
}

/// The type of an array at the address 0, which kernels get as it is; null for an annotation.
const Type* type_at_no_address(nb::handle array) {
  nb::object type = array.attr("_without_memory")("type");
  return type.is_none() ? nullptr : nb::cast<const TypeHandle&>(type).type;
}

void note_guarded(std::string owner, LaunchNotes::Memory memory, const char* to, const std::string& param) {
  target.notes->guarded.push_back({std::size_t(to - target.notes->block), memory, param, std::move(owner)});
}

/// Whether code at the target reaches memory of another library.
bool lies_in_reach(const ForeignArray& foreign) {
  if (foreign.place == kOnPinned || !target.set) return true;
  return target.device ? foreign.place == target.device->ordinal() : foreign.place == kOnCpu;
}

/// Takes the memory of another library's object as an argument, without an array object for it.
WEFT_HOT void pack_foreign(nb::handle value, ForeignArray&& foreign, char* to, const std::string& param,
                           std::vector<nb::object>& keep) {
  std::memcpy(to, &foreign.desc, sizeof(ArrayDesc));
  if (foreign.stream && target.device) wait_for_foreign(*target.device, foreign.stream);
  if (LaunchNotes* notes = target.notes) {
    notes->ordered |= foreign.ordered || foreign.stream;
    if (foreign.read_only || foreign.copied) [[unlikely]]
      note_guarded(python_type_name(value),
                   foreign.copied ? LaunchNotes::Memory::copied : LaunchNotes::Memory::read_only, to, param);
    if (foreign.provider && !notes->provider) {
      notes->provider = foreign.provider;
      notes->provider_device = foreign.place;
    }
  }
  if (foreign.tracks && driver::recording_tape()) [[unlikely]]
    warn_of_lost_gradient(value, param);
  keep.push_back(std::move(foreign.keep));
}

WEFT_HOT void pack_array(nb::handle value, const Type* type, char* to, const char* kernel, const std::string& param,
                         std::vector<nb::object>& keep) {
  if (value.is_none()) {
    ArrayDesc none;
    std::memcpy(to, &none, sizeof none);
    return;
  }
  // Nothing else that it could be needs to be asked for then.
  const bool shows_memory = !as_array(value.ptr()) && is_memory_type(Py_TYPE(value.ptr()));
  if (shows_memory) {
    ForeignArray foreign;
    std::string why;
    if (read_foreign(value, type->element(), {.host_first = target.device == nullptr}, foreign, why) &&
        foreign.desc.ndim == std::int32_t(type->rank()) && lies_in_reach(foreign)) [[likely]]
      return pack_foreign(value, std::move(foreign), to, param, keep);
  }
  nb::object array = nb::borrow(value);
  if (!nb::isinstance<ArrayObject>(value)) {
    if (!shows_memory && is_indexed(value))
      fail(PyExc_RuntimeError, kernel, param,
           "expected " + type->user_name() +
               ", got an indexedarray; declare the parameter as wp.indexedarray(dtype=…), " +
               "or pass its contiguous() copy");
    // Vectors and matrices show their memory, too, but none of them is meant as an array.
    if (!shows_memory && nb::hasattr(value, "_wp_type_"))
      fail(PyExc_RuntimeError, kernel, param, "expected " + type->user_name() + ", got " + python_type_name(value));
    ForeignArray foreign;
    std::string why;
    if (read_descriptor(value, foreign.desc, foreign.element, foreign.place)) {
      const Type* given = types::array(foreign.element, std::uint32_t(foreign.desc.ndim));
      if (given != type)
        fail(PyExc_RuntimeError, kernel, param, "expected " + type->user_name() + ", got " + given->user_name());
      if (!lies_in_reach(foreign))
        fail(PyExc_RuntimeError, kernel, param,
             "the launch runs on " + target_name() + ", the array_t is of memory elsewhere");
      std::memcpy(to, &foreign.desc, sizeof(ArrayDesc));
      keep.push_back(nb::borrow(value));
      return;
    }
    const bool seen = read_foreign(value, type->element(), {.host_first = target.device == nullptr}, foreign, why);
    if (seen && foreign.desc.ndim == std::int32_t(type->rank()) && lies_in_reach(foreign)) {
      pack_foreign(value, std::move(foreign), to, param, keep);
      return;
    }
    if (const int other = foreign.place; seen && !lies_in_reach(foreign))
      fail(PyExc_RuntimeError, kernel, param,
           "expected " + type->user_name() + " on " + target_name() + ", got " + python_type_name(value) + " on " +
               (other >= 0 ? "a GPU; launch there, or copy it to the host" : "the host; make a wp.array of it there"));
    if (!why.empty() && !PyObject_CheckBuffer(value.ptr()))
      fail(PyExc_RuntimeError, kernel, param,
           "expected " + type->user_name() + ", got " + python_type_name(value) + ": " + why);
    nb::object hook = hooks().as_array;
    const int place = target.device ? target.device->ordinal() : -1;
    array = hook.is_valid() ? hook(value, TypeHandle{type}, place) : nb::none();
    if (array.is_none()) {
      const bool on_gpu = nb::hasattr(value, "__cuda_array_interface__");
      const bool on_host = !on_gpu && (PyObject_CheckBuffer(value.ptr()) || nb::hasattr(value, "__array__") ||
                                       nb::hasattr(value, "__array_interface__"));
      if (target.device ? on_host : on_gpu)
        fail(PyExc_RuntimeError, kernel, param,
             "expected " + type->user_name() + " on " + target_name() + ", got " + python_type_name(value) + " on " +
                 (on_gpu ? "a GPU; launch there, or copy it to the host" : "the host; make a wp.array of it there"));
    }
    if (array.is_none())
      fail(PyExc_RuntimeError, kernel, param,
           "expected " + type->user_name() + ", got " + python_type_name(value) + describe_elements(value, *type));
    keep.push_back(array);
  }
  const runtime::Array& a = nb::cast<const ArrayObject&>(array).array;
  if (!a.is_valid()) {
    const Type* given = type_at_no_address(array);
    if (!given) fail(PyExc_RuntimeError, kernel, param, "the array is an annotation: it has no memory");
    if (given != type)
      fail(PyExc_RuntimeError, kernel, param, "expected " + type->user_name() + ", got " + given->user_name());
    nb::object bytes = nb::steal(PyObject_Bytes(array.attr("__ctype__")().ptr()));
    if (!bytes.is_valid()) throw nb::python_error();
    std::memcpy(to, PyBytes_AS_STRING(bytes.ptr()),
                std::min(std::size_t(PyBytes_GET_SIZE(bytes.ptr())), sizeof(ArrayDesc)));
    return;
  }
  if (a.type() != type)
    fail(PyExc_RuntimeError, kernel, param,
         "expected " + type->user_name() + ", got " + a.type()->user_name() +
             (a.element() == type->element()
                  ? ", which has " + std::to_string(a.rank()) + (a.rank() == 1 ? " dimension" : " dimensions")
                  : ""));
  if (!reachable(a))
    fail(PyExc_RuntimeError, kernel, param,
         "the launch runs on " + target_name() + ", but the array is on " + (a.space() ? a.space()->name() : "cpu") +
             "; copy it with .to(\"" + target_name() + "\")");
  {
    const nb::ft_object_guard guard(array);
    std::memcpy(to, &a.desc(), sizeof(ArrayDesc));
    if (kFreeThreaded && target.notes) target.notes->held.push_back(a);
  }
  if (const auto& object = nb::cast<const ArrayObject&>(array); target.notes) {
    if (object.read_only) [[unlikely]]
      note_guarded(object.owner ? Py_TYPE(object.owner)->tp_name : "library", LaunchNotes::Memory::shared, to, param);
  }
}

/// An indexedarray, or anything that could be passed as an array: that is seen through no index array.
void pack_indexed(nb::handle value, const Type* type, char* to, const char* kernel, const std::string& param,
                  std::vector<nb::object>& keep) {
  std::memset(to, 0, type->size());
  if (value.is_none()) return;
  const std::span<const Field> fields = type->fields();
  if (!is_indexed(value)) return pack_array(value, fields[0].type, to, kernel, param, keep);
  nb::object data = value.attr("data");
  if (data.is_none()) fail(PyExc_RuntimeError, kernel, param, "the indexedarray is an annotation: it has no elements");
  const runtime::Array* elements =
      nb::isinstance<ArrayObject>(data) ? &nb::cast<const ArrayObject&>(data).array : nullptr;
  const bool fits = elements && elements->is_valid() && elements->type() == fields[0].type;
  if (!fits) {
    const Type* given = type_of_value(value);
    fail(PyExc_RuntimeError, kernel, param,
         "expected " + type->user_name() + ", got " + (given ? given->user_name() : python_type_name(value)));
  }
  pack_array(data, fields[0].type, to, kernel, param, keep);
  std::size_t k = 1;
  for (nb::handle index : nb::iter(value.attr("indices"))) {
    if (k < fields.size()) {
      pack_array(index, fields[k].type, to + fields[k].offset, kernel, param, keep);
      // Null means "as it is"; an index array without elements has no memory, but is there.
      static std::int32_t none_picked = 0;  // never read: there is no element
      auto* desc = reinterpret_cast<ArrayDesc*>(to + fields[k].offset);
      if (!index.is_none() && !desc->data) desc->data = &none_picked;
    }
    ++k;
  }
}

void pack_struct(nb::handle value, const Type* type, char* to, const char* kernel, const std::string& param,
                 std::vector<nb::object>& keep) {
  const FabricType* fabric = fabric_type(type);
  if (fabric && value.is_none()) {
    std::memset(to, 0, type->size());
    return;
  }
  // The class itself has a type, too, but no fields.
  bool ours = !PyType_Check(value.ptr()) && nb::hasattr(value, "_wp_type_") &&
              nb::isinstance<TypeHandle>(value.attr("_wp_type_")) &&
              nb::cast<const TypeHandle&>(value.attr("_wp_type_")).type == type;
  if (!ours) {
    const Type* given = fabric ? type_of_value(value) : nullptr;
    fail(PyExc_RuntimeError, kernel, param,
         (fabric                    ? "expected "
          : is_library_struct(type) ? "expected a "
                                    : "expected an instance of the struct ") +
             type->user_name() + ", got " + (given ? given->user_name() : python_type_name(value)));
  }
  for (const Field& f : type->fields()) {
    pack_value(struct_field(value, type, f), f.type, to + f.offset, kernel, param + "." + std::string(f.name), keep);
  }
}

}  // namespace

nb::object struct_field(nb::handle value, const Type* type, const Field& field) {
  const nb::str name(field.name.data(), field.name.size());
  if (is_private(type, field)) return value.attr("__dict__")[name];
  return value.attr(name);
}

PackingFor::PackingFor(cuda::Device* device, LaunchNotes* notes) { target = {true, device, notes}; }
PackingFor::~PackingFor() { target = {}; }

void pack_value(nb::handle value, const Type* type, char* to, const char* kernel, const std::string& param,
                std::vector<nb::object>& keep) {
  if (type->is_scalar()) {
    std::uint64_t bits = 0;
    if (!scalar_bits_of(value, type, bits))
      fail(PyExc_RuntimeError, kernel, param,
           "expected " + type->user_name() + ", got " + python_type_name(value) +
               (PyFloat_Check(value.ptr()) ? "; a float does not become an integer by itself, write int(…)" : ""));
    std::memcpy(to, &bits, type->size());
    return;
  }
  if (type->is_array()) return pack_array(value, type, to, kernel, param, keep);
  if (type->is_composite()) return pack_composite(value, type, to, kernel, param);
  if (type->is_indexed_array()) return pack_indexed(value, type, to, kernel, param, keep);
  if (type->is_struct()) return pack_struct(value, type, to, kernel, param, keep);
  fail(PyExc_RuntimeError, kernel, param, "values of type " + type->user_name() + " can't be passed");
}

nb::object unpack_value(const Type* type, const void* bytes) {
  if (type == types::f32()) {
    float v;
    std::memcpy(&v, bytes, 4);
    return nb::float_(double(v));
  }
  if (type == types::i32()) {
    std::int32_t v;
    std::memcpy(&v, bytes, 4);
    return nb::int_(v);
  }
  if (type->is_bool()) return nb::bool_(*static_cast<const char*>(bytes) != 0);
  if (!hooks().make_value.is_valid()) throw nb::type_error("warp is not initialised");
  nb::object number = nb::none();
  if (type->is_scalar()) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, type->size());
    if (type->is_float())
      number = nb::float_(ir::bits_to_float(type->scalar_kind(), bits));
    else if (type->is_signed_int())
      number = nb::int_(ir::bits_to_int(type->scalar_kind(), bits));
    else
      number = nb::int_(bits);
  }
  return hooks().make_value(TypeHandle{type}, nb::bytes(static_cast<const char*>(bytes), type->size()), number);
}

const Type* type_of_value(nb::handle value) {
  PyObject* p = value.ptr();
  if (PyBool_Check(p)) return types::boolean();
  if (PyLong_CheckExact(p)) return types::i32();
  if (PyFloat_CheckExact(p)) return types::f32();
  if (nb::isinstance<ArrayObject>(value)) {
    const runtime::Array& a = nb::cast<const ArrayObject&>(value).array;
    return a.is_valid() ? a.type() : type_at_no_address(value);
  }
  if (nb::hasattr(value, "_wp_type_")) {
    nb::object type = value.attr("_wp_type_");
    if (nb::isinstance<TypeHandle>(type)) return nb::cast<const TypeHandle&>(type).type;
  }
  ArrayDesc desc;
  const Type* element = nullptr;
  if (int place = 0; read_descriptor(value, desc, element, place))
    return types::array(element, std::uint32_t(desc.ndim));
  {  // NumPy arrays and the like: an array of the scalars it holds
    ForeignArray foreign;
    std::string why;
    if (read_foreign(value, nullptr, {}, foreign, why))
      return types::array(foreign.element, std::uint32_t(foreign.desc.ndim));
  }
  if (hooks().type_of.is_valid()) {
    nb::object type = hooks().type_of(value);
    if (nb::isinstance<TypeHandle>(type)) return nb::cast<const TypeHandle&>(type).type;
  }
  // Subclasses come last: NumPy's float64 is one of Python's float, and an IntEnum one of int.
  if (PyLong_Check(p)) return types::i32();
  if (PyFloat_Check(p)) return types::f32();
  return nullptr;
}

}  // namespace weft::bind
