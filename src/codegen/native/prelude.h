// What the C++ of native functions can use: the kernel language's types in C layout and their arithmetic, under the names
// of namespace wp. No header is included: clang needs no C++ library, and a compile takes some 50 ms.
#pragma once
#include <string_view>

namespace weft::codegen {

/// C++ text that stands before every native function: types, arrays, arithmetic and atomics.
extern const std::string_view kNativePrelude;

/// Stand behind it: functions of the kernel language and names of C's headers; meshes and triangles; names of CUDA.
extern const std::string_view kNativeNames;
extern const std::string_view kNativeGeometry;
extern const std::string_view kNativeCuda;

}  // namespace weft::codegen
