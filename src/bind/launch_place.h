// Where a launch runs that names no device: the calling thread's own choice, else where its arrays lie, else the device
// that is current for the process.
#pragma once
#include "bind/python_kernel.h"

namespace weft::bind {

/// The device that a scope of the calling thread chose; kNoScope outside of scopes.
inline constexpr int kNoScope = -4;
int place_of_thread();

/// The place of a launch that names none.
int place_unnamed(PyObject* inputs, PyObject* outputs);

/// The place of a device that is named, by its Device object or text, as far as it can be told without Python code; else
/// kPlaceUnknown.
int place_named(PyObject* device);

/// The threads of a block on the CPU, where it may have several; else 0. Raises ValueError if there are too many.
int block_on_cpu(std::int64_t block_dim);

void register_launch_place(nb::module_& m);

}  // namespace weft::bind
