// What from_torch and its kind share: descriptors of arrays as ctypes structures, and capsules.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// A wp.types.array_t: a descriptor that launches take. `keep` lives as long as it.
nb::object new_descriptor(const ArrayDesc& desc, const Type* element, int place, nb::object keep);
/// Reads one; false if the object is none. Raises for one that was not made by new_descriptor.
bool read_descriptor(nb::handle object, ArrayDesc& desc, const Type*& element, int& place);
/// The same for the usual one: memory of the host, of the parameter's own type. False says nothing.
bool read_plain_descriptor(PyObject* object, const Type* type, ArrayDesc& out);
/// A DLPack capsule over an array; `plain_host` calls page-locked memory what libraries know that have one kind of host only.
nb::object new_dlpack_capsule(const runtime::Array& array, bool plain_host = false);

void register_torch_operators(nb::module_& m);

}  // namespace weft::bind
