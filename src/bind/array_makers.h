// What the functions that make arrays need of the file of arrays.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// A new array; raises for what is no shape and for memory that can't be had.
runtime::Array allocate_array(const Type* element, nb::handle shape, bool zero, bool requires_grad, int place);
/// The class of arrays that Python sees, warp.array; null before it is set.
PyTypeObject* visible_array_class();
/// An object whose buffer is the memory of an array on the host, and which keeps it.
nb::object memory_of(const runtime::Array& array);

/// `wp.zeros` and its kin, and `array.numpy`.
void register_array_makers(nb::module_& m);
/// The method `numpy` of the class of arrays.
extern PyMethodDef array_numpy_methods[];

}  // namespace weft::bind
