// Code for what a single architecture has and no later one (sm_90a): compilers must be told, and PTX says so.
#pragma once
#include <string>

namespace weft::cuda {

inline bool is_for_own(const std::string& ptx, int arch) {
  return ptx.find(".target sm_" + std::to_string(arch) + "a") != std::string::npos;
}

}  // namespace weft::cuda
