// The default value of a kernel's parameter as bytes: one place for the C++ API and the Python binding, so that a launch
// that leaves an argument out means the same in both.
#pragma once
#include <string_view>

#include "sema/sema.h"

namespace weft::driver {

/// Writes a default value in the C layout of the type, which must fit the parameter's annotation. Throws
/// runtime::ArgumentError, naming kernel and parameter, for an integer outside the type's range.
void write_default(std::string_view kernel, const sema::KernelParam& param, const Type* type, void* to);

}  // namespace weft::driver
