// The protocols by which objects show memory, each read into a ForeignArray (exchange.h). All return false with no Python
// error set; `why` stays empty where an object has nothing to show.
#pragma once
#include "bind/exchange.h"

namespace weft::bind {

/// To be called once before the others.
void prepare_foreign_interfaces();

/// Folds what was read and places it.
bool settle_foreign(const interop::ForeignMemory& memory, const Type* element, interop::Seen how, ForeignArray& out,
                    std::string& why);

/// A numpy.ndarray, by the fields that NumPy's headers have shown to compiled programs since its first version.
bool read_ndarray(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out, std::string& why);
/// The buffer protocol.
bool read_buffer(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out, std::string& why);
/// __cuda_array_interface__, __array_interface__, __dlpack__ and __array__, in this order.
bool read_interfaces(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out, std::string& why);
/// A tensor of Paddle by its attributes, which is the only way to its memory on the CPU.
bool read_paddle(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out, std::string& why);

/// Looks into a DLPack capsule that was not used yet and stays whose it is. ValueError for a used one.
bool read_capsule_memory(nb::handle capsule, const Type* element, interop::Seen how, ForeignArray& out,
                         std::string& why);
/// Takes the tensor out of a capsule, which becomes a used one: `keep` gives it back.
bool take_capsule(nb::handle capsule, const Type* element, interop::Seen how, ForeignArray& out, std::string& why);
/// Asks an object with __dlpack__ for its memory, ordered behind work of the device's current stream.
bool read_dlpack(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out, std::string& why);

}  // namespace weft::bind
