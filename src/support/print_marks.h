// A mark in the text of a print, set by the compiler and read by whoever makes text of what kernels print.
#pragma once

namespace weft {

/// First character of a text: the place prints one line for a launch, not one for each thread.
inline constexpr char kOncePerLaunch = '\x01';

}  // namespace weft
