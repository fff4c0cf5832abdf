// Arrays in Python: the C++ part that warp.array derives from. Everything that touches memory happens here, and what is
// called often (making, indexing) without detours; keywords and conversions are Python's business.
#include <cstring>

#include "bind/array_addresses.h"
#include "bind/array_buffer.h"
#include "bind/array_makers.h"
#include "bind/array_pool.h"
#include "bind/exchange.h"
#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "bind/tape.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

using Shape = std::vector<std::int64_t>;
constexpr std::uint64_t kReleaseGilBytes = 1 << 18;  // smaller copies are done before another thread has woken up

PyObject* array_type = nullptr;        // _weft.Array
PyObject* index_error_type = nullptr;  // _weft.ArrayIndexError

const runtime::Array& valid(const ArrayObject& a) {
  if (!a.array.is_valid()) throw runtime::ArgumentError("the array has no memory");
  return a.array;
}

/// The array of an object that is written to.
const runtime::Array& writable(const ArrayObject& a) {
  if (a.read_only) [[unlikely]]
    warn_of_write(a.owner ? Py_TYPE(a.owner)->tp_name : "library", false);
  return valid(a);
}

/// What an array without memory answers: it is an annotation, or lies at no address. Python knows.
nb::object answer(nb::handle self, const char* name) { return self.attr("_without_memory")(name); }

/// An attribute of an array: what `read` says of its memory, or what Python answers if there is none.
template <class Read>
auto attribute(const char* name, const Read& read) {
  return [name, read](nb::handle self) -> nb::object {
    const auto& a = nb::cast<const ArrayObject&>(self);
    return a.array.is_valid() ? nb::object(read(a.array)) : answer(self, name);
  };
}

nb::object to_tuple(const std::int64_t* values, std::int32_t n) {
  nb::object tuple = nb::steal(PyTuple_New(n));
  for (std::int32_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.ptr(), i, PyLong_FromLongLong(values[i]));
  return tuple;
}

/// Gives an instance its array; the instance may come fresh from __new__, its __init__ still running.
void emplace(nb::handle self, runtime::Array array, bool read_only = false) {
  if (!PyObject_TypeCheck(self.ptr(), reinterpret_cast<PyTypeObject*>(array_type)))
    throw nb::type_error("not an array");
  if (nb::inst_ready(self)) {
    *nb::inst_ptr<ArrayObject>(self) = ArrayObject{std::move(array), read_only};
    return;
  }
  new (nb::inst_ptr<ArrayObject>(self)) ArrayObject{std::move(array), read_only};
  nb::inst_mark_ready(self);
}

PyObject* view_class = nullptr;  // warp.array

/// A new instance of a class derived from Array, without its __init__.
WEFT_HOT nb::object instance(nb::handle cls, runtime::Array&& array, bool read_only = false) {
  if (cls.ptr() != view_class &&
      (!PyType_Check(cls.ptr()) ||
       !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), reinterpret_cast<PyTypeObject*>(array_type))))
    throw nb::type_error("not an array class");
  if (PyObject* const revived = revive_array(cls.ptr(), std::move(array), read_only)) [[likely]]
    return nb::steal(revived);
  nb::object made = nb::inst_alloc(cls);
  new (nb::inst_ptr<ArrayObject>(made)) ArrayObject{std::move(array), read_only};
  nb::inst_mark_ready(made);
  return made;
}

/// A view handed to Python. It is a plain array: a class that a program derives may have more to it than its __init__, which
/// does not run here, would have given it.
nb::object like(nb::handle self, runtime::Array array) {
  return instance(view_class ? nb::handle(view_class) : self.type(), std::move(array),
                  nb::inst_ptr<ArrayObject>(self)->read_only);
}

/// An extent, index or slice bound. Numbers beyond 64 bits saturate where `clamp` says so, otherwise they are errors.
std::int64_t to_int64(nb::handle value, const char* what, bool clamp = false) {
  nb::object index;
  if (!PyLong_Check(value.ptr())) {
    index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "%s must be an integer, not %s", what, Py_TYPE(value.ptr())->tp_name);
      throw nb::python_error();
    }
    value = index;
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return number;
  if (clamp) return overflow < 0 ? INT64_MIN : INT64_MAX;
  PyErr_Format(PyExc_OverflowError, "%s does not fit in 64 bits", what);
  throw nb::python_error();
}

/// A shape as programs write it: a number, or a sequence of them.
struct Extents {
  std::int64_t values[kMaxRank + 1];
  std::size_t count = 0;
  std::span<const std::int64_t> span() const { return {values, count}; }
};

Extents read_shape(nb::handle shape) {
  Extents out;
  if (PyLong_Check(shape.ptr()) || (PyIndex_Check(shape.ptr()) && !PySequence_Check(shape.ptr()))) {
    out.values[out.count++] = to_int64(shape, "an array's shape");
    return out;
  }
  if (!PySequence_Check(shape.ptr()) || PyUnicode_Check(shape.ptr()) || PyBytes_Check(shape.ptr())) {
    PyErr_Format(PyExc_TypeError, "an array's shape must be an integer or a tuple of integers, not %s",
                 Py_TYPE(shape.ptr())->tp_name);
    throw nb::python_error();
  }
  nb::object list = nb::steal(PySequence_Tuple(shape.ptr()));
  if (!list.is_valid()) throw nb::python_error();
  const Py_ssize_t n = PyTuple_GET_SIZE(list.ptr());
  if (n < 1 || n > kMaxRank)
    throw runtime::ArgumentError("an array has 1 to 4 dimensions, the given shape has " + std::to_string(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    out.values[out.count++] = to_int64(PyTuple_GET_ITEM(list.ptr(), i), "an array's shape");
  return out;
}

/// Raises for an extent below 0.
void check_extents(std::span<const std::int64_t> shape) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 0) {
      PyErr_Format(PyExc_ValueError, "Array shapes must be non-negative, got %lld in dimension %zu",
                   static_cast<long long>(shape[d]), d);
      throw nb::python_error();
    }
}

}  // namespace

runtime::Array allocate_array(const Type* element, nb::handle shape, bool zero, bool requires_grad, int place) {
  const Extents extents = read_shape(shape);
  check_extents(extents.span());
  runtime::MemorySpace* space = space_of(place);
  return zero ? runtime::Array::zeros(element, extents.span(), requires_grad, space)
              : runtime::Array::empty(element, extents.span(), requires_grad, space);
}

PyTypeObject* visible_array_class() { return reinterpret_cast<PyTypeObject*>(view_class); }

namespace {

/// The array if the CPU can read its elements by their address; raises otherwise.
const runtime::Array& on_host(const runtime::Array& array) {
  if (!array.on_host())
    throw runtime::ArgumentError("the array's memory is on " + array.space()->name() + "; take its numpy() copy");
  return array;
}

/// Raises if the values of host memory come to be only when the graph runs that this thread captures.
const runtime::Array& known_now(const runtime::Array& array, const char* what) {
  if (runtime::recording() && array.on_host() && runtime::awaits_recorded_work(array.range())) [[unlikely]]
    runtime::refuse_while_recording(what);
  return array;
}

/// One element of an array at an address, as an array of its own.
runtime::Array element_at(const runtime::Array& array, void* address) {
  return runtime::Array::wrap(array.element(), {1}, {.data = address, .space = array.space()});
}

/// Keeps a Python object alive as long as the array's memory, then calls the program's deleter.
std::function<void()> holder(nb::object owner, nb::object deleter, std::uintptr_t ptr, std::size_t size) {
  struct State {
    nb::object owner, deleter;
    std::uintptr_t ptr;
    std::size_t size;
  };
  auto state = std::make_shared<State>(State{std::move(owner), std::move(deleter), ptr, size});
  return [state] {
    if (!nb::is_alive()) {  // the interpreter is going: leave the references
      state->owner.release();
      state->deleter.release();
      return;
    }
    GilAcquire gil;
    if (state->deleter.is_valid() && !state->deleter.is_none()) {
      try {
        state->deleter(state->ptr, state->size);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("array deleter");
      }
    }
    state->owner.reset();
    state->deleter.reset();
  };
}

void wrap(nb::handle self, const TypeHandle& element, const Shape& shape, std::optional<Shape> strides,
          std::uintptr_t ptr, nb::object owner, nb::object deleter, std::uintptr_t grad, int place) {
  check_extents(shape);
  runtime::Array::External memory;
  memory.space = space_of(place);
  memory.data = reinterpret_cast<void*>(ptr);
  memory.grad = reinterpret_cast<void*>(grad);
  const Shape s = strides.value_or(Shape());
  memory.strides = s;
  std::size_t size = element.type->size();
  for (std::int64_t n : shape) size *= std::size_t(n < 0 ? 0 : n);
  if (!owner.is_none() || !deleter.is_none()) memory.release = holder(std::move(owner), std::move(deleter), ptr, size);
  emplace(self, runtime::Array::wrap(element.type, shape, std::move(memory)));
}

// ---- Indexing ------------------------------------------------------------------------------------------------------

/// What a basic index selects: an element, or a view.
struct Selection {
  void* element = nullptr;
  runtime::Array view;
};

bool is_plain_index(nb::handle item) {
  return PyLong_Check(item.ptr()) || (PyIndex_Check(item.ptr()) && !PySequence_Check(item.ptr()));
}

[[noreturn]] void raise_index_error(std::int64_t index, int dim, std::int64_t extent) {
  PyErr_Format(index_error_type, "index %lld is out of range for dimension %d with size %lld",
               static_cast<long long>(index), dim, static_cast<long long>(extent));
  throw nb::python_error();
}

runtime::Array sliced(const runtime::Array& array, int dim, nb::handle slice) {
  const auto* s = reinterpret_cast<PySliceObject*>(slice.ptr());
  const auto bound = [](PyObject* value, std::int64_t missing) {
    return value == Py_None ? missing : to_int64(value, "a slice's bound", true);
  };
  const std::int64_t step = bound(s->step, 1);
  if (step == 0) throw nb::value_error("slice step cannot be zero");
  return array.slice(dim, bound(s->start, step < 0 ? INT64_MAX : 0), bound(s->stop, step < 0 ? INT64_MIN : INT64_MAX),
                     step);
}

/// Reads integers, slices and "..."; false for anything else, which Python looks at.
bool select(const runtime::Array& array, nb::handle key, Selection& out) {
  PyObject* single = key.ptr();
  PyObject** items = &single;
  Py_ssize_t count = 1;
  if (PyTuple_Check(key.ptr())) {
    items = &PyTuple_GET_ITEM(key.ptr(), 0);
    count = PyTuple_GET_SIZE(key.ptr());
  }
  const int rank = array.rank();
  bool all_numbers = count == rank;
  int ellipses = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const bool number = is_plain_index(items[i]);
    ellipses += items[i] == Py_Ellipsis;
    if (!number && !PySlice_Check(items[i]) && items[i] != Py_Ellipsis) return false;
    all_numbers &= number;
  }
  if (ellipses > 1) throw runtime::ArgumentError("an index can have one '...' only");
  if (count - ellipses > rank) {
    PyErr_Format(index_error_type, "too many indices: the array has %d dimension%s, %zd were given", rank,
                 rank == 1 ? "" : "s", count - ellipses);
    throw nb::python_error();
  }
  std::int64_t numbers[kMaxRank];
  if (all_numbers) {
    for (int d = 0; d < rank; ++d) {
      const std::int64_t given = to_int64(items[d], "an index"), extent = array.extent(d);
      numbers[d] = given < 0 ? given + extent : given;
      if (numbers[d] < 0 || numbers[d] >= extent) raise_index_error(given, d, extent);
    }
    out.element = array.address({numbers, std::size_t(rank)});
    return true;
  }
  out.view = array;
  int dim = 0;  // of the view
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (items[i] == Py_Ellipsis) {
      dim += rank - int(count - 1);
    } else if (PySlice_Check(items[i])) {
      out.view = sliced(out.view, dim++, items[i]);
    } else {
      const std::int64_t given = to_int64(items[i], "an index"), extent = out.view.extent(dim);
      if (given < -extent || given >= extent) raise_index_error(given, int(i), extent);
      if (out.view.rank() == 1) {  // a[..., i] with every other index a number
        out.element = out.view.address(
            std::span<const std::int64_t>(numbers, (numbers[0] = given < 0 ? given + extent : given, 1)));
        return true;
      }
      out.view = out.view.index(dim, given);
    }
  }
  return true;
}

nb::object get_item(nb::handle self, nb::handle key) {
  const runtime::Array& array = valid(nb::cast<const ArrayObject&>(self));
  Selection selection;
  if (!select(array, key, selection)) return nb::borrow(Py_NotImplemented);
  if (selection.element && !array.on_host()) {
    runtime::Array here = runtime::Array::empty(array.element(), {1});
    copy_elements(here, element_at(array, selection.element));
    return unpack_value(array.element(), here.data());
  }
  if (selection.element) {
    known_now(element_at(array, selection.element), "read an element that the graph writes");
    return unpack_value(array.element(), selection.element);
  }
  return like(self, std::move(selection.view));
}

/// Writes an element and answers with its address, or answers with the view that the key selects.
nb::object put_item(nb::handle self, nb::handle key, nb::handle value) {
  const runtime::Array& array = writable(nb::cast<const ArrayObject&>(self));
  Selection selection;
  if (!select(array, key, selection)) return nb::borrow(Py_NotImplemented);
  if (!selection.element) return like(self, std::move(selection.view));
  const TapeTurnIfAny turn;
  if (runtime::writes_are_watched()) [[unlikely]]
    driver::announce_array_write(element_at(array, selection.element), "an assignment to an element", &array);
  std::vector<nb::object> keep;
  if (runtime::CommandList* list = runtime::recording(); list && array.on_host()) [[unlikely]] {
    std::vector<std::uint64_t> bytes(array.element()->size() / 8 + 1);
    char* packed = reinterpret_cast<char*>(bytes.data());
    pack_value(value, array.element(), packed, "", "value", keep);
    list->keep(std::make_shared<const runtime::Array>(array));
    element_at(array, selection.element).fill(packed);
  } else if (array.on_host()) {
    pack_value(value, array.element(), static_cast<char*>(selection.element), "", "value", keep);
  } else {
    const runtime::Array here = runtime::Array::empty(array.element(), {1});
    pack_value(value, array.element(), static_cast<char*>(here.data()), "", "value", keep);
    copy_elements(element_at(array, selection.element), here);
  }
  return nb::int_(reinterpret_cast<std::uintptr_t>(selection.element));
}

/// The element that `fill_` writes everywhere; a number counts for every component.
void pack_fill(nb::handle value, const Type* element, char* to, std::vector<nb::object>& keep) {
  if (element->is_composite() && (PyNumber_Check(value.ptr()) || nb::hasattr(value, "_wp_scalar_")) &&
      !is_sequence(value)) {
    const std::size_t step = element->element()->size();
    pack_value(value, element->element(), to, "", "value", keep);
    for (std::size_t k = 1; k < element->component_count(); ++k) std::memcpy(to + k * step, to, step);
  } else {
    pack_value(value, element, to, "", "value", keep);
  }
}

void fill(const runtime::Array& array, nb::handle value) {
  const Type* element = array.element();
  std::vector<std::uint64_t> bytes(element->size() / 8 + 1);
  std::vector<nb::object> keep;
  char* to = reinterpret_cast<char*>(bytes.data());
  try {
    pack_fill(value, element, to, keep);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_RuntimeError) && !error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError) &&
        !error.matches(PyExc_OverflowError))
      throw;
    const std::string why = nb::str(error.value()).c_str();
    nb::raise_from(error, PyExc_ValueError, "Failed to convert the value to the array data type: %s", why.c_str());
  }
  const TapeTurnIfAny turn;
  driver::announce_array_write(array, "a fill");
  const runtime::Array target = array;
  if (target.bytes() < kReleaseGilBytes || !target.on_host()) return target.fill(to);
  GilRelease release;
  target.fill(to);
}

void zero(const runtime::Array& array) {
  if (array.bytes() < kReleaseGilBytes || !array.on_host()) return array.fill_zero();
  GilRelease release;
  array.fill_zero();
}

// ---- The memory behind an array, for NumPy --------------------------------------------------------------------------

/// The bytes that an array spreads over, as a writable buffer.
struct Memory {
  runtime::Array array;
};

int memory_buffer(PyObject* self, Py_buffer* view, int flags) {
  const runtime::ByteRange range = nb::inst_ptr<Memory>(self)->array.range();
  return PyBuffer_FillInfo(view, self, reinterpret_cast<void*>(range.lo), Py_ssize_t(range.hi - range.lo), 0, flags);
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(memory_buffer)}, {0, nullptr}};

}  // namespace

nb::object memory_of(const runtime::Array& array) { return nb::cast(Memory{array}); }

void copy_elements(const runtime::Array& to, const runtime::Array& from) {
  if (to.bytes() < kReleaseGilBytes && to.on_host() && from.on_host()) return to.assign(from);
  const runtime::Array keep_to = to, keep_from = from;
  GilRelease release;
  keep_to.assign(keep_from);
}

void register_arrays(nb::module_& m) {
  m.def(
      "set_view_class", [](nb::object cls) { view_class = keep_dead_arrays(std::move(cls), array_type); },
      nb::arg("cls"), "The class of views of arrays.");
  nb::class_<Memory>(m, "ArrayMemory", "The bytes of an array as a buffer.", nb::type_slots(memory_slots));
  nb::object bases = nb::steal(PyTuple_Pack(2, PyExc_IndexError, PyExc_RuntimeError));
  index_error_type =
      PyErr_NewExceptionWithDoc("warp._weft.ArrayIndexError", "An array index out of range.", bases.ptr(), nullptr);
  m.attr("ArrayIndexError") = nb::borrow(index_error_type);

  nb::class_<ArrayObject> cls(m, "Array", "Memory, shape and strides of an array; warp.array derives from it.",
                              nb::is_weak_referenceable(), nb::dynamic_attr(), nb::type_slots(array_buffer_slots()));
  array_type = cls.ptr();
  Py_INCREF(array_type);
  cls.def(nb::init<>())
      .def("_init_null", [](nb::handle self) { emplace(self, runtime::Array()); })
      .def(
          "_allocate",
          [](nb::handle self, const TypeHandle& element, nb::handle shape, bool zero, bool requires_grad, int place) {
            emplace(self, allocate_array(element.type, shape, zero, requires_grad, place));
          },
          nb::arg("element"), nb::arg("shape"), nb::arg("zero"), nb::arg("requires_grad"), nb::arg("place") = kOnCpu)
      .def(
          "_init_foreign",
          [](nb::handle self, nb::handle source, const TypeHandle* element, bool copy) {
            bool read_only = false;
            std::optional<runtime::Array> made =
                from_foreign(source, element ? element->type : nullptr, copy, read_only);
            if (made) emplace(self, std::move(*made), read_only);
            return made.has_value();
          },
          nb::arg("source").none(), nb::arg("element").none(), nb::arg("copy"),
          "Takes the elements of another library's object on the host, or its memory itself; False if that does not fit as "
          "it is.")
      .def("_wrap", &wrap, nb::arg("element"), nb::arg("shape"), nb::arg("strides").none(), nb::arg("ptr"),
           nb::arg("owner").none(), nb::arg("deleter").none(), nb::arg("grad") = 0, nb::arg("place") = kOnCpu)
      // Without the GIL, no gradient is replaced while an array is looked at that may have one.
      .def(
          "_share", [](nb::handle self, const ArrayObject& from) { emplace(self, valid(from), from.read_only); },
          nb::arg("other").lock())
      .def("_get", &get_item, nb::lock_self(), nb::arg("key").none(),
           "Element or view for integers, slices and '...'; NotImplemented for other keys.")
      .def("_put", &put_item, nb::lock_self(), nb::arg("key").none(), nb::arg("value").none(),
           "Writes an element and returns its address, or returns the selected view; NotImplemented for other keys.")
      .def(
          "_reshape",
          [](nb::handle self, nb::handle shape) {
            return like(self, valid(nb::cast<const ArrayObject&>(self)).reshape(read_shape(shape).span()));
          },
          nb::lock_self())
      .def(
          "_transpose",
          [](nb::handle self, const std::vector<int>& order) {
            return like(self, valid(nb::cast<const ArrayObject&>(self)).transpose(order));
          },
          nb::lock_self())
      .def(
          "_reinterpret",
          [](nb::handle self, const TypeHandle& element, const Shape& shape, const Shape& strides) {
            return like(self, valid(nb::cast<const ArrayObject&>(self)).reinterpret(element.type, shape, strides));
          },
          nb::lock_self())
      .def(
          "_grad_view", [](nb::handle self) { return like(self, valid(nb::cast<const ArrayObject&>(self)).grad()); },
          nb::lock_self())
      .def(
          "_set_grad", [](ArrayObject& a, const ArrayObject& grad) { valid(a), a.array.set_grad(valid(grad)); },
          nb::lock_self())
      .def(
          "_set_requires_grad", [](ArrayObject& a, bool on) { valid(a), a.array.set_requires_grad(on); },
          nb::lock_self())
      .def(
          "_copy_from",
          [](nb::handle self, nb::handle source) {
            const auto& a = nb::cast<const ArrayObject&>(self);
            const TapeTurnIfAny turn;
            driver::announce_array_write(writable(a), "a copy");
            copy_elements(valid(a), valid(nb::cast<const ArrayObject&>(source)));
            if (copies_are_heard()) tape_hooks().copied(self, source);
          },
          nb::lock_self(), nb::arg("source").lock())
      .def(
          "_take_back", [](const ArrayObject& a, const ArrayObject& from) { copy_elements(writable(a), valid(from)); },
          nb::lock_self(), nb::arg("source").lock(),
          "Takes the elements of a copy on the host that were changed there; tapes hear of it from whoever changed them.")
      .def(
          "_fill",
          [](nb::handle self, nb::handle value) {
            fill(writable(nb::cast<const ArrayObject&>(self)), value);
            if (copies_are_heard()) tape_hooks().filled(self, value);
          },
          nb::lock_self(), nb::arg("value").none())
      .def(
          "_zero",
          [](nb::handle self) {
            const runtime::Array to = writable(nb::cast<const ArrayObject&>(self));
            const TapeTurnIfAny turn;
            driver::announce_array_write(to, "a fill with zeros");
            zero(to);
            if (copies_are_heard()) tape_hooks().filled(self, nb::none());
          },
          nb::lock_self())
      .def("_read",
           [](const ArrayObject& a, const Shape& index) {
             return unpack_value(known_now(on_host(valid(a)), "read an element that the graph writes").element(),
                                 a.array.address(index));
           })
      .def(
          "_write",
          [](ArrayObject& a, const Shape& index, nb::handle value) {
            std::vector<nb::object> keep;
            pack_value(value, on_host(valid(a)).element(), static_cast<char*>(a.array.address(index)), "", "value",
                       keep);
          },
          nb::arg("index"), nb::arg("value").none())
      .def(
          "_memory",
          [](const ArrayObject& a) {
            const runtime::ByteRange range =
                known_now(on_host(valid(a)), "read an array that the graph writes (numpy(), list(), printing)").range();
            const std::uintptr_t at =
                range.lo == range.hi ? 0 : reinterpret_cast<std::uintptr_t>(a.array.data()) - range.lo;
            return nb::make_tuple(Memory{a.array}, at);
          },
          nb::lock_self(), "The array's bytes as a buffer, and where in it the first element lies.")
      .def_prop_ro(
          "_block",
          [](const ArrayObject& a) {
            const runtime::ByteRange own = valid(a).range(), block = a.array.block();
            const bool inside = block.lo <= own.lo && own.hi <= block.hi;
            return inside ? nb::make_tuple(block.lo, block.hi) : nb::make_tuple(own.lo, own.hi);
          },
          "First and last address of the memory that was allocated, of which the array may be a view.")
      .def("_overlaps",
           [](const ArrayObject& a, const ArrayObject& b) { return valid(a).range().intersects(valid(b).range()); })
      .def_prop_ro("_element", [](const ArrayObject& a) { return TypeHandle{valid(a).element()}; })
      .def_prop_ro("_type", [](const ArrayObject& a) { return TypeHandle{valid(a).type()}; })
      .def_prop_ro(
          "_place", [](const ArrayObject& a) { return a.array.is_valid() ? place_of(a.array) : kOnCpu; },
          "The CUDA device that the memory is on; -1 for the host, -2 for its page-locked memory.")
      .def_prop_ro("_valid", [](const ArrayObject& a) { return a.array.is_valid(); })
      .def_prop_ro("_read_only", [](const ArrayObject& a) { return a.read_only; })
      .def_prop_ro("_has_grad", [](const ArrayObject& a) { return a.array.is_valid() && a.array.has_grad(); })
      .def_prop_ro("shape",
                   attribute("shape", [](const runtime::Array& a) { return to_tuple(a.desc().shape, a.desc().ndim); }),
                   "Extents of the dimensions.")
      .def_prop_ro(
          "strides",
          attribute("strides", [](const runtime::Array& a) { return to_tuple(a.desc().strides, a.desc().ndim); }),
          "Bytes from one element to the next, per dimension.")
      .def_prop_ro("ndim", attribute("ndim", [](const runtime::Array& a) { return nb::int_(a.rank()); }),
                   "Number of dimensions.")
      .def_prop_ro("size", attribute("size", [](const runtime::Array& a) { return nb::int_(a.size()); }),
                   "Number of elements.")
      .def_prop_ro("_bytes",
                   [](const ArrayObject& a) {
                     if (!a.array.is_valid()) return std::uintptr_t(0);
                     const runtime::ByteRange range = a.array.range();
                     return range.hi - range.lo;
                   })
      .def_prop_ro(
          "is_contiguous", [](const ArrayObject& a) { return a.array.is_valid() && a.array.is_contiguous(); },
          "Whether elements lie one after the other, last index fastest.")
      .def("__len__", [](nb::handle self) {
        const auto& a = nb::cast<const ArrayObject&>(self);
        return a.array.is_valid() ? a.array.extent(0) : nb::cast<std::int64_t>(answer(self, "length"));
      });

  m.def(
      "array_new",
      [](nb::handle cls, const TypeHandle& element, nb::handle shape, bool zero, bool requires_grad, int place) {
        return instance(cls, allocate_array(element.type, shape, zero, requires_grad, place));
      },
      nb::arg("cls"), nb::arg("element"), nb::arg("shape"), nb::arg("zero"), nb::arg("requires_grad"),
      nb::arg("place") = kOnCpu, "A new array of a class derived from Array, its __init__ left out.");
  register_array_makers(m);
  register_array_addresses(m, cls);
}

WEFT_HOT nb::object new_array(nb::handle cls, runtime::Array array, bool read_only) {
  return instance(cls.is_valid() ? cls : nb::handle(view_class), std::move(array), read_only);
}

}  // namespace weft::bind
