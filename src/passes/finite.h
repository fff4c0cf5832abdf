// Whether the floats of a value are finite, as operations.
#pragma once
#include "ir/builder.h"

namespace weft::passes {

/// |x| < ∞ (false for NaN) of every float in the value, joined to `ok` (null: nothing yet); null if there is none.
ir::Value* all_finite(ir::Builder& build, ir::Value* value, ir::Value* ok = nullptr);

}  // namespace weft::passes
