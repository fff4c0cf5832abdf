// Limits on time are meant for a bare machine. Builds for an emulator (tests/CMakeLists.txt) say how much slower it is.
#pragma once

namespace weft {

#ifdef WEFT_TEST_SLOWDOWN
inline constexpr double kSlowdown = WEFT_TEST_SLOWDOWN;
#else
inline constexpr double kSlowdown = 1;
#endif

}  // namespace weft
