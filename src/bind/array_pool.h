// Array objects that nobody needs any more, for the next that are made: arrays over tensors, views and results come and go by
// the thousand, and Python's part of that (memory, tables, the collector) costs more than all that is done to make an array.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// From now on instances of this class that die are kept, where that can be; `base` is the C++ class that it derives from. The
/// class, which lives as long as the process.
PyObject* keep_dead_arrays(nb::object cls, PyObject* base);
/// An instance of that class over an array, made of one that died; null if there is none.
PyObject* revive_array(PyObject* cls, runtime::Array&& array, bool read_only);

}  // namespace weft::bind
