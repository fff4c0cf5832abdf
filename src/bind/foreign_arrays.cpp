// The buffer protocol read into array descriptors.
#include "bind/foreign_arrays.h"
#include "bind/gil.h"

namespace weft::bind {
namespace {

/// The scalar type of a buffer format; null for structs, pointers, complex numbers and foreign byte orders.
const Type* scalar_of_format(const char* format, Py_ssize_t item_size) {
  if (!format) return item_size == 1 ? types::scalar(ScalarKind::u8) : nullptr;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (!*format || format[1]) return nullptr;
  const auto sized = [&](ScalarKind one, ScalarKind two, ScalarKind four, ScalarKind eight) -> const Type* {
    switch (item_size) {
      case 1: return types::scalar(one);
      case 2: return types::scalar(two);
      case 4: return types::scalar(four);
      case 8: return types::scalar(eight);
      default: return nullptr;
    }
  };
  switch (*format) {
    case '?': return item_size == 1 ? types::boolean() : nullptr;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return sized(ScalarKind::i8, ScalarKind::i16, ScalarKind::i32, ScalarKind::i64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return sized(ScalarKind::u8, ScalarKind::u16, ScalarKind::u32, ScalarKind::u64);
    case 'e': return item_size == 2 ? types::scalar(ScalarKind::f16) : nullptr;
    case 'f': return item_size == 4 ? types::f32() : nullptr;
    case 'd': return item_size == 8 ? types::f64() : nullptr;
    default: return nullptr;
  }
}

/// Number of trailing dimensions that make one element, or -1 when they do not fit or are not packed.
int folded_dims(const Py_buffer& view, const Type* element, const Type* scalar) {
  if (element->is_scalar()) return 0;
  std::int64_t inner[2] = {std::int64_t(element->component_count()), 0};
  int count = 1;
  if (element->kind() == TypeKind::mat) {
    inner[0] = element->rows();
    inner[1] = element->cols();
    count = 2;
  }
  if (view.ndim <= count) return -1;
  auto packed = std::int64_t(scalar->size());
  for (int d = count - 1; d >= 0; --d) {
    const int at = view.ndim - count + d;
    if (view.shape[at] != inner[d]) return -1;
    if (inner[d] > 1 && view.strides[at] != packed) return -1;
    packed *= inner[d];
  }
  return count;
}

}  // namespace

bool read_buffer(nb::handle object, const Type* element, ForeignArray& out) {
  if (!PyObject_CheckBuffer(object.ptr())) return false;
  if (element && !element->is_scalar() && !element->is_composite()) return false;
  out.keep = nb::steal(PyMemoryView_FromObject(object.ptr()));
  if (!out.keep.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const Py_buffer& view = *PyMemoryView_GET_BUFFER(out.keep.ptr());
  if (view.suboffsets || !view.shape || !view.strides || view.ndim < 1) return false;
  const Type* scalar = scalar_of_format(view.format, view.itemsize);
  if (!scalar) return false;
  if (!element) element = scalar;
  const Type* wanted = element->is_scalar() ? element : element->element();
  const bool bits = wanted->scalar_kind() == ScalarKind::bf16 && scalar->scalar_kind() == ScalarKind::u16;
  if (wanted != scalar && !bits) return false;
  const int folded = folded_dims(view, element, scalar);
  const int rank = view.ndim - folded;
  if (folded < 0 || rank < 1 || rank > kMaxRank) return false;

  const auto align = std::int64_t(element->align());
  bool empty = false;
  for (int d = 0; d < rank; ++d) {
    if (view.shape[d] < 0 || view.strides[d] % align != 0) return false;
    empty |= view.shape[d] == 0;
    out.desc.shape[d] = view.shape[d];
    out.desc.strides[d] = view.strides[d];
  }
  if (std::intptr_t(view.buf) % align != 0 || (!view.buf && !empty)) return false;
  out.desc.ndim = rank;
  out.desc.data = view.buf;
  out.element = element;
  out.read_only = view.readonly != 0;
  return true;
}

runtime::Array wrap_foreign(ForeignArray&& foreign) {
  runtime::Array::External memory;
  memory.data = foreign.desc.data;
  memory.strides = {foreign.desc.strides, std::size_t(foreign.desc.ndim)};
  PyObject* held = foreign.keep.release().ptr();
  memory.release = [held] {
    if (!nb::is_alive()) return;  // the interpreter is going: leave the reference
    GilAcquire gil;
    Py_DECREF(held);
  };
  return runtime::Array::wrap(foreign.element, {foreign.desc.shape, std::size_t(foreign.desc.ndim)}, std::move(memory));
}

}  // namespace weft::bind
