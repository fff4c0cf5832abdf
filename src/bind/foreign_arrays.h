// Foreign arrays through Python's buffer protocol: NumPy arrays, memoryviews, array.array, ctypes arrays, seen as the
// descriptor of a Weft array without copying. Objects that only have __array_interface__ or __array__ go through Python.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// Memory of another library in the form of a Weft array.
struct __attribute__((visibility("hidden"))) ForeignArray {
  const Type* element = nullptr;
  ArrayDesc desc;
  bool read_only = false;
  nb::object keep;  // holds the exported buffer: while it lives, the memory stays where it is
};

/// Describes the memory behind an object. `element` is the wanted element type: trailing dimensions fold into vectors and
/// matrices, and 16-bit integers serve as bfloat16; null takes the scalars as they are. False, with no Python error set,
/// when the object has no buffer, other scalars, a layout that no array can have (unaligned, swapped bytes) or no
/// dimension or more than four.
bool read_buffer(nb::handle object, const Type* element, ForeignArray& out);

/// A runtime array over that memory; it keeps the buffer until the last view is gone.
runtime::Array wrap_foreign(ForeignArray&& foreign);

}  // namespace weft::bind
