// Work that threads and processes do against each other: compile a family of kernels through the public API, launch
// them, check every element.
#pragma once
#include <string>

#include "weft/weft.h"

namespace weft::agree {

inline constexpr int kFamily = 6;

/// A program of kFamily kernels k0, k1, …: y[i] = x[i] · (variant + number) + i, each in its own way.
std::string family_text(int variant);
/// Launches one of them over n threads and checks it; says what is wrong, or nothing.
std::string run_member(const Program& program, int variant, int number, std::int64_t n);
/// Compiles the family and runs all of it.
std::string run_family(int variant, std::int64_t n, const Options& options = {});

}  // namespace weft::agree
