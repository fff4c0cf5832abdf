// Making NumPy arrays by NumPy's own table of functions: its constructor in Python takes several times as long.
#include "bind/numpy_table.h"

#include "bind/array_makers.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

/// The functions of NumPy's table that are used here. Numbers of its functions never change their meaning.
struct Table {
  PyTypeObject* array_class = nullptr;
  PyObject* (*descr_from_type)(int) = nullptr;
  PyObject* (*new_from_descr)(PyTypeObject*, PyObject*, int, const Py_ssize_t*, const Py_ssize_t*, void*, int,
                              PyObject*) = nullptr;
  int (*set_base)(PyObject*, PyObject*) = nullptr;
  bool found = false;
};
enum Slot : std::size_t { kArrayClass = 2, kDescrFromType = 45, kNewFromDescr = 94, kSetBase = 282 };

Table find_table() {
  Table table;
  for (const char* name : {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"}) {
    nb::object module = nb::steal(PyImport_ImportModule(name));
    nb::object capsule =
        module.is_valid() ? nb::steal(PyObject_GetAttrString(module.ptr(), "_ARRAY_API")) : nb::object();
    if (!capsule.is_valid() || !PyCapsule_CheckExact(capsule.ptr())) {
      PyErr_Clear();
      continue;
    }
    auto** slots = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
    if (!slots) {
      PyErr_Clear();
      continue;
    }
    const nb::object ndarray = nb::module_::import_("numpy").attr("ndarray");
    if (slots[kArrayClass] != ndarray.ptr()) return table;  // not the table that is known here
    table.array_class = static_cast<PyTypeObject*>(slots[kArrayClass]);
    table.descr_from_type = reinterpret_cast<decltype(table.descr_from_type)>(slots[kDescrFromType]);
    table.new_from_descr = reinterpret_cast<decltype(table.new_from_descr)>(slots[kNewFromDescr]);
    table.set_base = reinterpret_cast<decltype(table.set_base)>(slots[kSetBase]);
    table.found = true;
    return table;
  }
  return table;
}

const Table& table() {
  static const Table* known = new Table(find_table());
  return *known;
}

/// NumPy's number of a scalar type; -1: it has none of its own.
int number_of(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean: return 0;
    case ScalarKind::i8: return 1;
    case ScalarKind::u8: return 2;
    case ScalarKind::i16: return 3;
    case ScalarKind::u16: return 4;
    case ScalarKind::i32: return 5;
    case ScalarKind::u32: return 6;
    case ScalarKind::i64: return 7;
    case ScalarKind::u64: return 8;
    case ScalarKind::f32: return 11;
    case ScalarKind::f64: return 12;
    case ScalarKind::f16: return 23;
    case ScalarKind::bf16: return -1;
  }
  return -1;
}

}  // namespace

std::optional<ScalarKind> scalar_of_numpy(const NumpyType& type) {
  if (type.byte_order == '>') return std::nullopt;
  switch (type.number) {
    case 0: return ScalarKind::boolean;
    case 1: return ScalarKind::i8;
    case 2: return ScalarKind::u8;
    case 3: return ScalarKind::i16;
    case 4: return ScalarKind::u16;
    case 5: return ScalarKind::i32;
    case 6: return ScalarKind::u32;
    case 7:
    case 9: return ScalarKind::i64;
    case 8:
    case 10: return ScalarKind::u64;
    case 11: return ScalarKind::f32;
    case 12: return ScalarKind::f64;
    case 23: return ScalarKind::f16;
    default: return std::nullopt;
  }
}

WEFT_HOT PyObject* ndarray_over(const runtime::Array& array) {
  const Table& numpy = table();
  const Type* element = array.element();
  const Type* scalar = element->is_scalar() ? element : element->element();
  const int number = numpy.found ? number_of(scalar->scalar_kind()) : -1;
  if (number < 0) return nullptr;
  Py_ssize_t shape[kMaxRank + 2], strides[kMaxRank + 2];
  int rank = array.rank();
  for (int d = 0; d < rank; ++d) shape[d] = array.extent(d), strides[d] = array.strides()[std::size_t(d)];
  const auto size = Py_ssize_t(scalar->size());
  if (element->is_mat()) {
    shape[rank] = Py_ssize_t(element->rows()), shape[rank + 1] = Py_ssize_t(element->cols());
    strides[rank] = size * shape[rank + 1], strides[rank + 1] = size;
    rank += 2;
  } else if (element != scalar) {
    shape[rank] = Py_ssize_t(element->component_count()), strides[rank] = size;
    ++rank;
  }
  nb::object keep = memory_of(array);
  PyObject* const made = numpy.new_from_descr(numpy.array_class, numpy.descr_from_type(number), rank, shape, strides,
                                              array.data(), kNumpyWritable, nullptr);
  if (!made) throw nb::python_error();
  if (numpy.set_base(made, keep.release().ptr()) != 0) {  // takes the reference in any case
    Py_DECREF(made);
    throw nb::python_error();
  }
  return made;
}

}  // namespace weft::bind
