// What the C++ of native functions can use: the kernel language's types in C layout and their arithmetic, under the names
// of namespace wp. No header is included: clang needs no C++ library, and a compile takes some 50 ms.
#pragma once
#include <string_view>

namespace weft::codegen {

/// C++ text that stands before every native function.
extern const std::string_view kNativePrelude;

}  // namespace weft::codegen
