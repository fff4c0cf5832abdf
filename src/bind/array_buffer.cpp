// Arrays as buffers: mpi4py and others ask for this first, and it is the cheapest way to an array's memory. Components of
// vectors and matrices are further dimensions. What has no format letter (bfloat16, structs) and what lies on a GPU is
// refused by a BufferError, after which NumPy goes on to the other protocols.
#include "bind/array_buffer.h"

#include <string>

#include "bind/array_makers.h"
#include "runtime/command_list.h"

namespace weft::bind {
namespace {

constexpr int kMaxBufferRank = kMaxRank + 2;  // a matrix has two dimensions of its own

/// What a buffer points to, as long as somebody holds it.
struct BufferState {
  runtime::Array array;  // the object's own memory may be replaced meanwhile
  Py_ssize_t shape[kMaxBufferRank], strides[kMaxBufferRank];
};

int refuse(const std::string& why) {
  PyErr_SetString(PyExc_BufferError, why.c_str());
  return -1;
}

int fill_view(PyObject* self, Py_buffer* view, int flags) {
  const runtime::Array& array = nb::inst_ptr<ArrayObject>(self)->array;
  if (!array.is_valid()) return refuse("an annotation has no memory");
  if (!array.on_host()) return refuse("the array's memory is on " + array.space()->name() + "; take its numpy() copy");
  const Type* element = array.element();
  const Type* scalar = element->is_composite() ? element->element() : element;
  const char* format = scalar->is_scalar() ? format_of(scalar->scalar_kind()) : "";
  if (!*format) return refuse("buffers have no format for " + element->user_name());
  if (runtime::recording() && runtime::awaits_recorded_work(array.range()))
    runtime::refuse_while_recording("read an array that the graph writes (as a buffer)");

  auto state = std::make_unique<BufferState>();
  state->array = array;
  const ArrayDesc& desc = array.desc();
  int rank = 0;
  for (; rank < array.rank(); ++rank) {
    state->shape[rank] = desc.shape[rank];
    state->strides[rank] = desc.strides[rank];
  }
  const auto size = Py_ssize_t(scalar->size());
  if (element->kind() == TypeKind::mat) {
    state->shape[rank] = element->rows(), state->strides[rank++] = size * element->cols();
    state->shape[rank] = element->cols(), state->strides[rank++] = size;
  } else if (element->is_composite()) {
    state->shape[rank] = Py_ssize_t(element->size()) / size, state->strides[rank++] = size;
  }
  view->buf = array.data();
  view->itemsize = size;
  view->readonly = 0;
  view->ndim = rank;
  view->format = const_cast<char*>(format);
  view->shape = state->shape;
  view->strides = state->strides;
  view->suboffsets = nullptr;
  view->len = size;
  for (int i = 0; i < rank; ++i) view->len *= state->shape[i];
  const bool c_order = PyBuffer_IsContiguous(view, 'C'), fortran = PyBuffer_IsContiguous(view, 'F');
  const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  if (((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c_order) ||
      ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !fortran) ||
      ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c_order && !fortran) || (!strided && !c_order))
    return refuse("the array's elements do not lie side by side; take .contiguous()");
  if (!(flags & PyBUF_FORMAT)) view->format = nullptr;
  if (!(flags & PyBUF_ND)) view->shape = nullptr;
  if (!strided) view->strides = nullptr;
  view->internal = state.release();
  Py_INCREF(self);
  view->obj = self;
  return 0;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  try {
    if (!nb::inst_ready(self)) return refuse("the array was never made");
    const nb::ft_object_guard guard(self);
    return fill_view(self, view, flags);
  } catch (...) {
    set_python_error();
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) noexcept { delete static_cast<BufferState*>(view->internal); }

}  // namespace

const char* format_of(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean: return "?";
    case ScalarKind::i8: return "b";
    case ScalarKind::u8: return "B";
    case ScalarKind::i16: return "h";
    case ScalarKind::u16: return "H";
    case ScalarKind::i32: return "i";
    case ScalarKind::u32: return "I";
    case ScalarKind::i64: return "q";
    case ScalarKind::u64: return "Q";
    case ScalarKind::f16: return "e";
    case ScalarKind::bf16: return "";
    case ScalarKind::f32: return "f";
    case ScalarKind::f64: return "d";
  }
  return "";
}

const PyType_Slot* array_buffer_slots() {
  static const PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                      {Py_tp_methods, array_numpy_methods},
                                      {0, nullptr}};
  return slots;
}

}  // namespace weft::bind
