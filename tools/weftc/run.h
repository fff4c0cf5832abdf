// `weftc run`: fills arguments from short descriptions, launches, prints arrays.
#pragma once
#include "arguments.h"

namespace weftc {

int run_kernel(const Arguments& args);

}  // namespace weftc
