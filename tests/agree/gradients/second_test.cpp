// Second derivatives of random kernels: the adjoint of the tangent against differences of the adjoint, and the tangent
// itself against the adjoint. All in float64, by the interpreter and at several lane counts.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "cuda/system.h"
#include "random_differentiable.h"
#include "there_and_back.h"

namespace weft::driver::test {
namespace {

constexpr std::int64_t kThreads = 7;
using Numbers = std::vector<double>;

/// Two inputs, a result that is read as well, and what belongs to them; tangents only where they are wanted.
struct Data {
  Numbers in[3], grad[3], along[3], along_grad[3];  // x, y, out
  std::vector<int> n;

  explicit Data(double shift) : n(kThreads) {
    for (int a = 0; a < 3; ++a)
      for (Numbers* list : {&in[a], &grad[a], &along[a], &along_grad[a]}) list->resize(kThreads);
    for (std::size_t k = 0; k < std::size_t(kThreads); ++k) {
      const double t = double(k);
      for (int a = 0; a < 3; ++a) {
        along[a][k] = std::sin(2.7 * t + 1.3 * a);
        in[a][k] = 0.3 + 0.4 * std::cos(1.7 * t + 0.9 * a) + shift * along[a][k];
      }
      n[k] = int(k * 5 % 7);
    }
  }
  static double weight(std::size_t k) { return 0.5 + std::cos(3.1 * double(k)); }
  ArrayDesc array(int a) { return desc_of(in[a].data(), grad[a].data(), kThreads, 8); }
  ArrayDesc tangent(int a) { return desc_of(along[a].data(), along_grad[a].data(), kThreads, 8); }
  ArrayDesc counts() { return desc_of(n.data(), nullptr, kThreads, 4); }
};

CompileOptions options_for(int lanes, bool tangent) {
  CompileOptions options;
  options.lanes = lanes;
  options.opt_level = 1;
  options.use_cache = false;
  options.tangent = tangent;
  return options;
}

/// The gradient of the weighted sum of the result, at a place that is shifted along the direction.
Data gradient(const std::shared_ptr<const sema::FunctionDecl>& decl, double shift) {
  Data data(shift);
  for (std::size_t k = 0; k < data.grad[2].size(); ++k) data.grad[2][k] = Data::weight(k);
  Kernel kernel(decl, options_for(1, false), {}, /*interpret=*/true);
  const ArrayDesc arrays[] = {data.array(0), data.array(1), data.counts(), data.array(2)};
  there_and_back(kernel, arrays, kThreads);
  return data;
}

/// The tangent, and back from the weighted sum of the result's tangent unless `back` is false.
Data second(const std::shared_ptr<const sema::FunctionDecl>& decl, int lanes, bool interpret,
            cuda::Device* device = nullptr, bool back = true) {
  Data data(0);
  for (std::size_t k = 0; k < data.grad[2].size(); ++k) data.along_grad[2][k] = Data::weight(k);
  Kernel kernel(decl, options_for(lanes, true), {}, interpret);
  ArrayDesc arrays[] = {data.array(0),   data.array(1),   data.counts(), data.array(2),
                        data.tangent(0), data.tangent(1), data.counts(), data.tangent(2)};
  std::vector<Mirror> mirrors;
  mirrors.emplace_back(data.n, device);
  arrays[2].data = arrays[6].data = mirrors.back().data();
  for (int a = 0; a < 3; ++a) {
    ArrayDesc& own = arrays[a == 2 ? 3 : a];
    ArrayDesc& tangent = arrays[a == 2 ? 7 : 4 + a];
    auto mirror = [&](Numbers& list) { return mirrors.emplace_back(list, device).data(); };
    own.data = mirror(data.in[a]), own.grad = mirror(data.grad[a]);
    tangent.data = mirror(data.along[a]), tangent.grad = mirror(data.along_grad[a]);
  }
  (back ? there_and_back : there)(kernel, std::span<const ArrayDesc>(arrays), kThreads, device);
  for (Mirror& one : mirrors) one.take_back();
  return data;
}

void expect_near(const Numbers& want, const Numbers& got, double tolerance, const std::string& what) {
  double size = 1;
  for (double w : want)
    if (std::isfinite(w)) size = std::max(size, std::abs(w));
  for (std::size_t k = 0; k < want.size(); ++k) {
    // Numbers that grow from turn to turn may end beyond all.
    if (want[k] == got[k] || (std::isnan(want[k]) && std::isnan(got[k]))) continue;
    ASSERT_NEAR(want[k], got[k], tolerance * size) << what << "[" << k << "]";
  }
}

using Slopes = std::array<Numbers, 3>;

/// How the gradient changes along the direction, by differences.
Slopes slopes(const std::shared_ptr<const sema::FunctionDecl>& decl, double step) {
  const Data up = gradient(decl, step), down = gradient(decl, -step), up2 = gradient(decl, 2 * step),
             down2 = gradient(decl, -2 * step);
  Slopes out;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t k = 0; k < up.grad[a].size(); ++k)
      out[a].push_back((8 * (up.grad[a][k] - down.grad[a][k]) - (up2.grad[a][k] - down2.grad[a][k])) / (12 * step));
  return out;
}

double largest(const Data& data) {
  double most = 0;
  for (const Numbers& list : data.grad)
    for (double value : list) most = std::max(most, std::abs(value));
  return most;
}

/// `meet`: in the order of threads, which the launches of compiled kernels must see to.
void compare_random_kernels(int count, bool meet) {
  constexpr int kAtLanes = 12;  // of them, also compiled
  int compared = 0;
  for (int seed = 0; seed < count; ++seed) {
    const std::string text = "import warp as wp\nd = wp.float64\n" +
                             autodiff::test::RandomDifferentiable(std::uint32_t(seed) + 9000, 3, meet).kernel();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    auto decl = kernel_of(text);
    ASSERT_TRUE(decl);
    const Data first = gradient(decl, 0), got = second(decl, 1, true);
    if (testing::Test::HasFatalFailure()) return;
    // Back from the tangent, what belongs to the directions is the gradient itself.
    for (int a = 0; a < 3; ++a) expect_near(first.grad[a], got.along_grad[a], 1e-9, "gradient");
    // Along the direction, tangent and gradient say the same.
    double by_tangent = 0, by_gradient = 0, size = 1;
    for (std::size_t k = 0; k < std::size_t(kThreads); ++k) {
      by_tangent += Data::weight(k) * got.along[2][k];
      for (int a = 0; a < 3; ++a) by_gradient += first.grad[a][k] * Data(0).along[a][k];
      size += std::abs(by_gradient);
    }
    ASSERT_NEAR(by_tangent, by_gradient, 1e-9 * size);
    if (largest(got) > 1e3) continue;  // differences say nothing where derivatives explode
    ++compared;
    // Some kernels bend sharply: how far two steps are apart says what a difference is worth.
    const Slopes fine = slopes(decl, 4e-6), coarse = slopes(decl, 1e-5);
    for (int a = 0; a < 3; ++a) {
      double apart = 0;
      for (std::size_t k = 0; k < fine[a].size(); ++k) apart = std::max(apart, std::abs(fine[a][k] - coarse[a][k]));
      expect_near(fine[a], got.grad[a], 2e-6 + std::min(2 * apart, 1e-2), "second derivative");
    }
    if (testing::Test::HasFatalFailure()) return;
    if (seed >= kAtLanes) continue;
    for (int lanes : {1, 4, 0}) {
      const Data there = second(decl, lanes, false);
      for (int a = 0; a < 3; ++a) {
        expect_near(got.along[a], there.along[a], 1e-9, "tangent at " + std::to_string(lanes) + " lanes");
        expect_near(got.grad[a], there.grad[a], 1e-9, "second derivative at " + std::to_string(lanes) + " lanes");
      }
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(compared, count / 2);
}

int count_or(int usual) {
  const char* asked = std::getenv("WEFT_GRADIENT_COUNT");
  return asked ? std::atoi(asked) : usual;
}

TEST(SecondDerivatives, OfRandomKernels) { compare_random_kernels(count_or(80), false); }

TEST(SecondDerivatives, OfRandomKernelsWhoseThreadsMeet) { compare_random_kernels(count_or(40), true); }

TEST(SecondDerivatives, TheGpuAgreesWithTheInterpreter) {
  cuda::System& system = cuda::System::shared();
  if (!system.available() || system.device_count() == 0) GTEST_SKIP() << "there is no CUDA device";
  for (int k = 0; k < count_or(24); ++k) {
    const bool meet = k % 2 == 1;  // one thread does it all, and there is no way back
    const std::string text = "import warp as wp\nd = wp.float64\n" +
                             autodiff::test::RandomDifferentiable(std::uint32_t(k) + 7000, 2, meet).kernel();
    SCOPED_TRACE("kernel " + std::to_string(k) + "\n" + text);
    auto decl = kernel_of(text);
    ASSERT_TRUE(decl);
    const Data want = second(decl, 1, true, nullptr, !meet), got = second(decl, 0, false, &system.device(0), !meet);
    for (int a = 0; a < 3; ++a) {
      expect_near(want.in[a], got.in[a], 1e-9, "values");
      expect_near(want.along[a], got.along[a], 1e-9, "tangent");
      expect_near(want.grad[a], got.grad[a], 1e-8, "second derivative");
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::driver::test
