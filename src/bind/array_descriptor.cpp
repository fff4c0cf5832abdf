// wp.types.array_t: an array as generated code sees it, in a ctypes structure that Python's class of that name lays out. Behind
// the descriptor lie its element type and place, which launches compare.
#include <cstring>
#include <utility>
#include <vector>

#include <Python.h>
#include <structmember.h>

#include "bind/python_kernel.h"
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

WEFT_HOT void*& word_at(nb::handle object, Py_ssize_t offset) {
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

// ---- Descriptors that died are used again, as arrays are (array_pool.h): ctypes takes as long to make one as all the rest ----

constexpr std::size_t kMost = 16;
PyObject* dead[kMost];  // guarded by the GIL
std::size_t dead_count = 0;
destructor usual = nullptr;      // what Python does with an instance without references; null: none is kept
std::vector<void*> fresh_words;  // of a fresh instance, behind its memory's address

/// Whether nothing but the memory and `_keep` of an instance differs from a fresh one: no other owner, no objects of ctypes.
WEFT_HOT bool is_bare(PyObject* self) {
  Py_ssize_t at = memory_offset;
  for (void* const word : fresh_words)
    if (at += Py_ssize_t(sizeof(void*)); at != keep_offset && word_at(self, at) != word) return false;
  return true;
}

WEFT_HOT void put_aside(PyObject* self) {
  auto* const type = reinterpret_cast<PyTypeObject*>(descriptor_class);
  if (Py_TYPE(self) == type && dead_count < kMost && is_bare(self)) [[likely]] {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(static_cast<PyObject*>(std::exchange(word_at(self, keep_offset), nullptr)));
    if (dead_count < kMost) [[likely]] {  // what it kept may have run anything
      dead[dead_count++] = self;
      return;
    }
    PyObject_GC_Track(self);
  }
  type->tp_dealloc = usual;  // derived classes: see array_pool.cpp
  usual(self);
  type->tp_dealloc = put_aside;
}

WEFT_HOT PyObject* revive() {
  if (dead_count == 0) return nullptr;
  PyObject* const self = dead[--dead_count];
  _Py_NewReference(self);  // the one to its class it still has
  PyObject_GC_Track(self);
  return self;
}

void keep_dead(nb::handle sample) {
  auto* const type = reinterpret_cast<PyTypeObject*>(descriptor_class);
  const bool can_tell = memory_offset > 0 && keep_offset > memory_offset && !type->tp_dictoffset &&
                        !type->tp_weaklistoffset && !type->tp_finalize && !type->tp_del && PyType_IS_GC(type);
  if (kFreeThreaded || usual || !can_tell) return;
  constexpr auto step = Py_ssize_t(sizeof(void*));
  for (Py_ssize_t at = memory_offset + step; at + step <= type->tp_basicsize; at += step)
    fresh_words.push_back(word_at(sample, at));
  usual = type->tp_dealloc;
  type->tp_dealloc = put_aside;
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
  keep_dead(sample);
}

}  // namespace

WEFT_HOT nb::object new_descriptor(const ArrayDesc& desc, const Type* element, int place, nb::object keep) {
  if (!descriptor_class) throw nb::type_error("warp is not initialised");
  auto* type = reinterpret_cast<PyTypeObject*>(descriptor_class);
  static PyObject* const nothing = PyTuple_New(0);
  nb::object made = nb::steal(revive());
  if (!made.is_valid()) made = nb::steal(type->tp_new(type, nothing, nullptr));  // __init__ would find nothing to set
  if (!made.is_valid()) throw nb::python_error();
  *memory_of(made) = Laid{desc, element, place, kMark};
  if (keep_offset)
    word_at(made, keep_offset) = keep.release().ptr();
  else if (PyObject_SetAttr(made.ptr(), keep_name, keep.ptr()) != 0)
    throw nb::python_error();
  return made;
}

WEFT_HOT bool read_plain_descriptor(PyObject* object, const Type* type, ArrayDesc& out) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != descriptor_class || !memory_offset) return false;
  const Laid& laid = *memory_of(object);
  if (laid.mark != kMark || laid.element != type->element() || laid.place != kOnCpu ||
      laid.desc.ndim != std::int32_t(type->rank()))
    return false;
  std::memcpy(&out, &laid.desc, sizeof out);
  return true;
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
