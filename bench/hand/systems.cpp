// Cholesky factors and solutions of systems of fixed sizes by Eigen, one after the other: what bench/python/tiles.py compares with where
// it is told where Eigen lies.
#include <Eigen/Dense>

#include <cstdint>

namespace {

template <int N>
void solve(std::int64_t count, const float* a, const float* b, float* x) {
  using Matrix = Eigen::Matrix<float, N, N, Eigen::RowMajor>;
  using Vector = Eigen::Matrix<float, N, 1>;
  for (std::int64_t i = 0; i < count; ++i) {
    const Eigen::LLT<Matrix> factor(Eigen::Map<const Matrix>(a + i * N * N));
    Eigen::Map<Vector>(x + i * N) = factor.solve(Eigen::Map<const Vector>(b + i * N));
  }
}

}  // namespace

extern "C" {
void hand_solve_16(std::int64_t count, const float* a, const float* b, float* x) { solve<16>(count, a, b, x); }
void hand_solve_32(std::int64_t count, const float* a, const float* b, float* x) { solve<32>(count, a, b, x); }
void hand_solve_64(std::int64_t count, const float* a, const float* b, float* x) { solve<64>(count, a, b, x); }
}
