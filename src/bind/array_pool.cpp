// The class's own function for instances without references is replaced: those that are nothing but their C++ object are put
// aside, registered with nanobind as they are and unknown to the collector; all others go the usual way.
#include "bind/array_pool.h"

#include "bind/python_kernel.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

constexpr std::size_t kMost = 64;
PyObject* dead[kMost];  // their C++ objects are destroyed; guarded by the GIL
std::size_t count = 0;
PyTypeObject* kept_class = nullptr;
destructor usual = nullptr;           // what Python does with an instance without references
Py_ssize_t slots_begin, slots_end;    // where classes of Python have their __slots__, references all
Py_ssize_t dict_offset, weak_offset;  // the C++ class's

WEFT_HOT PyObject*& reference_at(PyObject* self, Py_ssize_t offset) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + offset);
}

/// Whether an instance has a C++ object, and nothing that Python gave it.
WEFT_HOT bool is_bare(PyObject* self) {
  if (reference_at(self, dict_offset) || reference_at(self, weak_offset)) return false;
  for (Py_ssize_t at = slots_begin; at < slots_end; at += Py_ssize_t(sizeof(PyObject*)))
    if (reference_at(self, at)) return false;
  return nb::inst_ready(self);
}

WEFT_HOT void put_aside(PyObject* self) {
  if (Py_TYPE(self) == kept_class && count < kMost && is_bare(self)) [[likely]] {
    PyObject_GC_UnTrack(self);
    auto* const object = nb::inst_ptr<ArrayObject>(self);
    object->~ArrayObject();
    if (count < kMost) [[likely]] {  // what its memory was held by may have run anything
      dead[count++] = self;
      return;
    }
    new (object) ArrayObject{};
  }
  // Instances of derived classes come here from Python's function, which stops at the first class with another one: it has to
  // see the class as it was, or what this class adds to instances would stay.
  kept_class->tp_dealloc = usual;
  usual(self);
  kept_class->tp_dealloc = put_aside;
}

}  // namespace

PyObject* keep_dead_arrays(nb::object cls, PyObject* base) {
  auto* const type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  const auto* const known = reinterpret_cast<PyTypeObject*>(base);
  dict_offset = known->tp_dictoffset, weak_offset = known->tp_weaklistoffset;
  slots_begin = known->tp_basicsize, slots_end = type->tp_basicsize;
  // Where the class has more than slots, or its instances something to say at the end, they can't be told to be bare.
  const bool can_tell = dict_offset > 0 && weak_offset > 0 && type->tp_dictoffset == dict_offset &&
                        type->tp_weaklistoffset == weak_offset && slots_begin % Py_ssize_t(sizeof(PyObject*)) == 0;
  if (!kFreeThreaded && !kept_class && can_tell && !type->tp_finalize && !type->tp_del) {
    kept_class = type;
    usual = type->tp_dealloc;
    type->tp_dealloc = put_aside;
  }
  return cls.release().ptr();
}

WEFT_HOT PyObject* revive_array(PyObject* cls, runtime::Array&& array, bool read_only) {
  if (count == 0 || reinterpret_cast<PyTypeObject*>(cls) != kept_class) return nullptr;
  PyObject* const self = dead[--count];
  _Py_NewReference(self);  // the one to its class it still has
  new (nb::inst_ptr<ArrayObject>(self)) ArrayObject{std::move(array), read_only};
  PyObject_GC_Track(self);
  return self;
}

}  // namespace weft::bind
