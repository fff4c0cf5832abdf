// Vectors of length 0: wp.vector(length=wp.static(n), dtype=…) where n turns out to be 0. A value of one is passed on and has a
// length; what is read of it is zero, and what is written goes nowhere. In the IR it is a struct without fields.
#pragma once
#include "types/type.h"

namespace weft::sema {

/// The vector of no numbers of this type.
const Type* empty_vector(const Type* scalar);
/// The type of the numbers that it has none of; null if the type is another one.
const Type* empty_vector_scalar(const Type* type);

}  // namespace weft::sema
