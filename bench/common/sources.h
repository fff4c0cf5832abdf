// The kernels that benchmarks compile, as text.
#pragma once
#include <string>

namespace weft::bench {

/// The ten-line kernel of the compile-time goals: a particle step over vec3 arrays with a branch.
extern const char* const kTenLines;
extern const char* const kSaxpy;
extern const char* const kEmpty;
extern const char* const kDot3;
extern const char* const kPolynomial;
extern const char* const kNestedRanges;
extern const char* const kProduct16;
extern const char* const kInverse12;

/// One kernel with a body of about `lines` lines: arithmetic, math functions, loads, stores, branches.
std::string long_kernel(int lines);
/// A file of `count` small kernels, no two alike.
std::string many_kernels(int count);
/// `levels` functions, each calling the next one twice.
std::string call_tree(int levels);

}  // namespace weft::bench
