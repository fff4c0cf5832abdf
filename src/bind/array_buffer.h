// The buffer protocol of arrays in the host's memory.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// The letter of a scalar in formats of buffers; empty: there is none.
const char* format_of(ScalarKind kind);

/// The slots of the array class: MPI, NumPy, memoryview and others then read and write the array's own memory. With them its
/// methods that are C functions.
const PyType_Slot* array_buffer_slots();

}  // namespace weft::bind
