// wp.types.array_t: an array as generated code sees it, in a ctypes structure that Python's class of that name lays out. Behind
// the descriptor lie its element type and place, which launches compare.
#include <cstring>

#include <Python.h>
#include <structmember.h>

#include "bind/torch_exchange.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

/// The structure's memory. `mark` tells that it was filled here.
struct Laid {
  ArrayDesc desc;
  const Type* element;
  std::int64_t place;
  std::uint64_t mark;
};
constexpr std::uint64_t kMark = 0x7765667461727230;
PyObject* descriptor_class = nullptr;
PyObject* keep_name = nullptr;
Py_ssize_t keep_offset = 0;    // of the slot `_keep` in an instance; 0: not known
Py_ssize_t memory_offset = 0;  // of what ctypes knows an instance's memory by; 0: not known

void*& word_at(nb::handle object, Py_ssize_t offset) {
  return *reinterpret_cast<void**>(reinterpret_cast<char*>(object.ptr()) + offset);
}

/// The memory of a ctypes structure; it stays where it is as long as the object.
WEFT_HOT Laid* memory_of(nb::handle object) {
  if (memory_offset) return static_cast<Laid*>(word_at(object, memory_offset));
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  void* at = view.buf;
  const bool fits = view.len >= Py_ssize_t(sizeof(Laid));
  PyBuffer_Release(&view);
  if (!fits) throw nb::type_error("array_t has another layout");
  return static_cast<Laid*>(at);
}

/// Finds out where instances have what every call needs, by looking at one.
void learn_layout() {
  const auto* type = reinterpret_cast<PyTypeObject*>(descriptor_class);
  const nb::object slot = nb::getattr(descriptor_class, "_keep");
  if (Py_IS_TYPE(slot.ptr(), &PyMemberDescr_Type))
    keep_offset = reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member->offset;
  const nb::object sample = nb::handle(descriptor_class)();
  const void* const memory = memory_of(sample);
  constexpr auto first = Py_ssize_t(sizeof(PyObject));
  if (type->tp_basicsize >= first + Py_ssize_t(sizeof(void*)) && word_at(sample, first) == memory)
    memory_offset = first;
}

}  // namespace

WEFT_HOT nb::object new_descriptor(const ArrayDesc& desc, const Type* element, int place, nb::object keep) {
  if (!descriptor_class) throw nb::type_error("warp is not initialised");
  auto* type = reinterpret_cast<PyTypeObject*>(descriptor_class);
  static PyObject* const nothing = PyTuple_New(0);
  nb::object made = nb::steal(type->tp_new(type, nothing, nullptr));  // __init__ would find nothing to set
  if (!made.is_valid()) throw nb::python_error();
  *memory_of(made) = Laid{desc, element, place, kMark};
  if (keep_offset)
    word_at(made, keep_offset) = keep.release().ptr();
  else if (PyObject_SetAttr(made.ptr(), keep_name, keep.ptr()) != 0)
    throw nb::python_error();
  return made;
}

bool read_descriptor(nb::handle object, ArrayDesc& desc, const Type*& element, int& place) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) != descriptor_class) return false;
  const Laid* laid = memory_of(object);
  if (laid->mark != kMark) throw nb::type_error("an array_t is made by from_torch(…, return_ctype=True) and its kind");
  std::memcpy(&desc, &laid->desc, sizeof desc);
  element = laid->element;
  place = int(laid->place);
  return true;
}

void register_descriptors(nb::module_& m) {
  keep_name = PyUnicode_InternFromString("_keep");
  m.def(
      "set_descriptor_class",
      [](nb::object cls) {
        descriptor_class = cls.release().ptr();
        learn_layout();
      },
      nb::arg("cls"), "The ctypes structure that descriptors of arrays are handed out in.");
  m.def(
      "array_descriptor",
      [](nb::handle object) {
        const auto& a = nb::cast<const ArrayObject&>(object).array;
        if (!a.is_valid()) throw nb::type_error("the array has no memory");
        return new_descriptor(a.desc(), a.element(), a.space() ? a.space()->ordinal() : -1, nb::borrow(object));
      },
      nb::arg("array"), "The descriptor of an array; it keeps the array.");
}

}  // namespace weft::bind
