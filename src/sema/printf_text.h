// Text among the values of wp.printf: it is known while the program is compiled, and becomes part of the format.
#pragma once
#include <string>
#include <vector>

#include "sema/lowering.h"

namespace weft::sema {

/// The format of a call with the text for each '%s' in its place; the arguments that gave it are taken out of `args`, whose
/// first is the format. What does not fit is left as it is, for check_printf to tell.
std::string with_text(std::vector<Argument>& args);

}  // namespace weft::sema
