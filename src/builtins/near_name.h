// Help with misspelt names: the builtin whose name is nearest to what was written.
#pragma once
#include <string_view>

namespace weft::builtins {

/// The builtin whose name differs least, by about a quarter of its letters at most; empty if none is near.
std::string_view near_name(std::string_view written);

}  // namespace weft::builtins
