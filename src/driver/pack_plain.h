// The quick way into a parameter block, for launches whose arguments are plainly right: as many as there are parameters,
// each of the parameter's own kind and in range. Anything else goes through runtime::ParamBlock, which knows how to say
// what is wrong.
#pragma once
#include <span>

#include "types/type.h"
#include "weft/weft.h"

namespace weft::driver {

/// Writes the block (layout.size bytes, aligned to 8) and returns true, or returns false with the block unspecified.
bool pack_plain(const ParamLayout& layout, std::span<const Argument> args, void* block);

}  // namespace weft::driver
