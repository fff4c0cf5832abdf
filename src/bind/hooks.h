// Python functions that the binding calls back: set once by the package.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

struct __attribute__((visibility("hidden"))) Hooks {
  nb::object as_array;    // (object, array Type) → Array or None: foreign arrays passed to launch
  nb::object make_value;  // (Type, bytes, number or None) → scalar, vector, struct object
  nb::object type_of;     // (object) → Type or None: the type of a NumPy scalar or array for generic parameters
  nb::object warn;        // (text): warnings of the compiler
  nb::object built;       // (kernel, "compiled" | "cached", seconds) or None: told of every form that is built
};
Hooks& hooks();

}  // namespace weft::bind
