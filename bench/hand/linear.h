// Small matrices and quaternions by Eigen, one after the other in a plain loop; nothing where Eigen is not installed.
#pragma once
#include <cstdint>

/// Rows of matrices follow each other, quaternions are x, y, z, w, as in Weft's arrays.
template <class T>
using HandLinearLoop = void (*)(std::int64_t n, const T* a, const T* b, T* c, T* d, T* e);

struct HandLinear {
  const char* name;
  HandLinearLoop<float> loop32;
  HandLinearLoop<double> loop64;
};

extern "C" {
/// inverse3, inverse4, svd3, rotate, multiply4; the last has no name. Null without Eigen.
const HandLinear* hand_linear();
/// Eigen's version; null without it.
const char* hand_eigen_version();
}
