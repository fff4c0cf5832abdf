// Bytes of values for Python. ctypes arrays know no half floats and no rows, so classes of warp's vectors and matrices
// get a buffer protocol of their own that states the true format and shape: NumPy then reads them as they are.
#include <array>
#include <memory>

#include "bind/bind.h"

namespace weft::bind {
namespace {

constexpr const char* kLayoutName = "_wp_buffer_layout_";

/// What the buffers of one class say; owned by a capsule in the class.
struct BufferLayout {
  getbufferproc plain = nullptr;  // ctypes' own
  std::string format;
  int ndim = 1;
  std::array<Py_ssize_t, 2> shape{};
  std::array<Py_ssize_t, 2> strides{};
  Py_ssize_t itemsize = 0;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), kLayoutName);
  if (!capsule) return -1;
  auto* layout = static_cast<BufferLayout*>(PyCapsule_GetPointer(capsule, kLayoutName));
  Py_DECREF(capsule);
  if (!layout) return -1;
  if (layout->plain(self, view, flags) != 0) return -1;
  view->itemsize = layout->itemsize;
  view->format = flags & PyBUF_FORMAT ? layout->format.data() : nullptr;
  view->ndim = layout->ndim;
  view->shape = flags & PyBUF_ND ? layout->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout->strides.data() : nullptr;
  return 0;
}

void set_buffer_layout(nb::type_object cls, const std::string& format, const std::vector<Py_ssize_t>& shape,
                       Py_ssize_t itemsize) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !type->tp_as_buffer || !type->tp_as_buffer->bf_getbuffer)
    throw nb::type_error("the class must be made by Python and have a buffer protocol");
  if (shape.empty() || shape.size() > 2 || itemsize < 1)
    throw nb::value_error("a value's buffer has one or two dimensions");
  if (type->tp_as_buffer->bf_getbuffer == &get_buffer) throw nb::type_error("the class has its layout already");
  auto layout = std::make_unique<BufferLayout>();
  layout->plain = type->tp_as_buffer->bf_getbuffer;
  layout->format = format;
  layout->ndim = int(shape.size());
  layout->itemsize = itemsize;
  Py_ssize_t step = itemsize;
  for (std::size_t k = shape.size(); k-- > 0; step *= shape[k]) {
    layout->shape[k] = shape[k];
    layout->strides[k] = step;
  }
  auto free_layout = [](void* p) noexcept { delete static_cast<BufferLayout*>(p); };
  nb::capsule owner(layout.get(), kLayoutName, free_layout);
  layout.release();  // the capsule's from here on, also if setattr fails
  nb::setattr(cls, kLayoutName, owner);
  type->tp_as_buffer->bf_getbuffer = &get_buffer;
}

nb::bytes pack(const TypeHandle& type, nb::handle value) {
  std::string bytes(type.type->size(), '\0');
  std::vector<nb::object> keep;
  pack_value(value, type.type, bytes.data(), "", "value", keep);
  if (!keep.empty()) throw nb::type_error("a foreign array can't be kept alive by bytes; wrap it in a wp.array first");
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void register_buffers(nb::module_& m) {
  m.def("set_buffer_layout", &set_buffer_layout, nb::arg("cls"), nb::arg("format"), nb::arg("shape"),
        nb::arg("itemsize"), "Makes the buffers of a ctypes array class state this item format and shape.");
  m.def(
      "type_of",
      [](nb::handle value) -> std::optional<TypeHandle> {
        const Type* type = type_of_value(value);
        return type ? std::optional(TypeHandle{type}) : std::nullopt;
      },
      nb::arg("value").none(), "The type that a generic parameter takes from a value; None if it takes none.");
  m.def("pack", &pack, nb::arg("type"), nb::arg("value"),
        "The bytes of a value in a type's C layout, as a kernel would get them. Arrays in structs stay the caller's to "
        "keep alive.");
}

}  // namespace weft::bind
