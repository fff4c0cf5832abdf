// Eigen's fixed-size types as its documentation uses them: maps onto the arrays, one expression an element.
#include "linear.h"

#ifdef WEFT_HAND_EIGEN

#include <Eigen/Dense>

namespace {

template <class T, int N>
using Mat = Eigen::Matrix<T, N, N, Eigen::RowMajor>;
template <class T, int N>
using In = Eigen::Map<const Mat<T, N>>;
template <class T, int N>
using Out = Eigen::Map<Mat<T, N>>;
template <class T>
using Vec3 = Eigen::Matrix<T, 3, 1>;

template <class T, int N>
void inverse(std::int64_t n, const T* a, const T*, T* c, T*, T*) {
  for (std::int64_t i = 0; i < n; ++i) Out<T, N>(c + i * N * N) = In<T, N>(a + i * N * N).inverse();
}

template <class T>
void svd3(std::int64_t n, const T* a, const T*, T* u, T* sigma, T* v) {
  Eigen::JacobiSVD<Mat<T, 3>> svd;
  for (std::int64_t i = 0; i < n; ++i) {
    svd.compute(In<T, 3>(a + i * 9), Eigen::ComputeFullU | Eigen::ComputeFullV);
    Out<T, 3>(u + i * 9) = svd.matrixU();
    Eigen::Map<Vec3<T>>(sigma + i * 3) = svd.singularValues();
    Out<T, 3>(v + i * 9) = svd.matrixV();
  }
}

template <class T>
void rotate(std::int64_t n, const T* q, const T* x, T* c, T*, T*) {
  for (std::int64_t i = 0; i < n; ++i)
    Eigen::Map<Vec3<T>>(c + i * 3) =
        Eigen::Map<const Eigen::Quaternion<T>>(q + i * 4) * Eigen::Map<const Vec3<T>>(x + i * 3);
}

template <class T>
void multiply4(std::int64_t n, const T* a, const T* b, T* c, T*, T*) {
  for (std::int64_t i = 0; i < n; ++i) Out<T, 4>(c + i * 16).noalias() = In<T, 4>(a + i * 16) * In<T, 4>(b + i * 16);
}

const HandLinear kTable[] = {
    {"inverse3", inverse<float, 3>, inverse<double, 3>},
    {"inverse4", inverse<float, 4>, inverse<double, 4>},
    {"svd3", svd3<float>, svd3<double>},
    {"rotate", rotate<float>, rotate<double>},
    {"multiply4", multiply4<float>, multiply4<double>},
    {nullptr, nullptr, nullptr},
};

}  // namespace

#define WEFT_TEXT_OF(x) #x
#define WEFT_TEXT(x) WEFT_TEXT_OF(x)
const HandLinear* hand_linear() { return kTable; }
const char* hand_eigen_version() {
  return WEFT_TEXT(EIGEN_WORLD_VERSION) "." WEFT_TEXT(EIGEN_MAJOR_VERSION) "." WEFT_TEXT(EIGEN_MINOR_VERSION);
}

#else

const HandLinear* hand_linear() { return nullptr; }
const char* hand_eigen_version() { return nullptr; }

#endif
