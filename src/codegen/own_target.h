// What a single architecture of GPUs has and no later one (sm_90a: products of tiles by four warps): code that uses it runs nowhere else.
#pragma once
#include "codegen/codegen.h"

namespace weft::codegen {

inline constexpr int kOwnArch = 90;

/// The target with what it alone has; it is sm_90.
TargetSpec with_own(TargetSpec gpu);
bool has_own(const TargetSpec& target);

}  // namespace weft::codegen
