// wp.launch as a C function, for what becomes a launch by other keywords.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// wp.launch: `args` are `count` arguments by position, then those that `keywords` (null, or a tuple) name.
PyObject* launch_entry(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept;

}  // namespace weft::bind
