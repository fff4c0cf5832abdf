// NumPy's arrays by its C structures and its table of C functions, which compiled programs have relied on since its first
// version. They are looked up when first needed: nothing here is built against NumPy's headers.
#pragma once
#include <optional>

#include "bind/bind.h"

namespace weft::bind {

/// The beginnings of NumPy's structures. Its buffer protocol takes ten times as long.
struct NumpyType {
  PyObject_HEAD PyTypeObject* scalar;
  char kind, type, byte_order, flags;
  int number;
};
struct NumpyArray {
  PyObject_HEAD char* data;
  int rank;
  Py_ssize_t *shape, *strides;
  PyObject* base;
  NumpyType* type;
  int flags;
};
inline constexpr int kNumpyWritable = 0x0400;

/// The scalar type that elements of a NumPy type are; nothing for others.
std::optional<ScalarKind> scalar_of_numpy(const NumpyType& type);

/// A new numpy.ndarray over the memory of a valid array on the host, which it keeps alive; its elements are scalars, vectors
/// or matrices. Null with no error set where NumPy's table is not as it was, or has no such scalar.
PyObject* ndarray_over(const runtime::Array& array);

}  // namespace weft::bind
