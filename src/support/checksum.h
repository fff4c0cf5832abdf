// A hash of one piece of memory, four stretches of it at a time: one alone waits for itself at every step, and code that comes
// out of the cache is checked as a whole before a program's first results.
#pragma once
#include <cstddef>
#include <span>

#include "support/hash.h"

namespace weft {

Hash128 checksum(std::span<const std::byte> bytes);

}  // namespace weft
