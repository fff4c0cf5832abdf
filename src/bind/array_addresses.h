// Addresses of arrays: who is told them, and arrays that are made of them again.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// Attributes of the class of arrays that tell addresses, and what Python's part of it (arrays/address_uses.py) needs.
void register_array_addresses(nb::module_& m, nb::class_<ArrayObject>& arrays);

}  // namespace weft::bind
