// Taking hold of an array whose gradient another thread may replace.
#pragma once
#include "runtime/array.h"

namespace weft::runtime {

/// The array as it is now, with the gradient that it has: both stay as long as the copy. Array::set_grad and set_requires_grad of
/// other threads come before or behind it.
Array held(const Array& array);

}  // namespace weft::runtime
