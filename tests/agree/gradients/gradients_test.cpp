// Adjoints of random kernels at several lane counts and on a GPU: taped launch, then the adjoint that reads what it wrote
// down. All executors must give the gradients of the interpreter, up to the order in which threads add.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "random_differentiable.h"
#include "there_and_back.h"

namespace weft::driver {
namespace {

constexpr std::int64_t kThreads = 19;

struct Data {
  std::vector<double> x, y, out, x_grad, y_grad, out_grad;
  std::vector<int> n;

  Data()
      : x(kThreads), y(kThreads), out(kThreads), x_grad(kThreads), y_grad(kThreads), out_grad(kThreads), n(kThreads) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double t = double(k);
      x[k] = 0.3 + 0.4 * std::sin(1.7 * t);
      y[k] = 0.2 + 0.5 * std::cos(2.3 * t);
      out[k] = 0.4 * std::sin(0.9 * t);
      out_grad[k] = 0.5 + std::cos(3.1 * t);
      n[k] = int(k * 5 % 7);
    }
  }
};

/// Runs the taped form and its adjoint; gives the gradients.
Data gradients(const std::shared_ptr<const sema::FunctionDecl>& decl, int lanes, bool interpret, int opt_level = 1,
               cuda::Device* device = nullptr) {
  CompileOptions options;
  options.lanes = lanes;
  options.opt_level = opt_level;
  options.use_cache = false;
  Kernel kernel(decl, options, {}, interpret);
  Data data;
  using test::Mirror;
  Mirror x(data.x, device), y(data.y, device), n(data.n, device), out(data.out, device), x_grad(data.x_grad, device),
      y_grad(data.y_grad, device), out_grad(data.out_grad, device);
  const ArrayDesc arrays[] = {
      test::desc_of(x.data(), x_grad.data(), kThreads, 8), test::desc_of(y.data(), y_grad.data(), kThreads, 8),
      test::desc_of(n.data(), nullptr, kThreads, 4), test::desc_of(out.data(), out_grad.data(), kThreads, 8)};
  test::there_and_back(kernel, arrays, kThreads, device);
  for (Mirror* one : {&out, &x_grad, &y_grad, &out_grad}) one->take_back();
  return data;
}

void expect_near(const std::vector<double>& want, const std::vector<double>& got, const char* what,
                 const std::string& where) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    if (std::isnan(want[k]) && std::isnan(got[k])) continue;
    ASSERT_NEAR(want[k], got[k], 1e-9 * std::max(1.0, std::abs(want[k]))) << what << "[" << k << "] " << where;
  }
}

void expect_near(const Data& want, const Data& got, const std::string& where) {
  expect_near(want.out, got.out, "out", where);
  expect_near(want.x_grad, got.x_grad, "x.grad", where);
  expect_near(want.y_grad, got.y_grad, "y.grad", where);
  expect_near(want.out_grad, got.out_grad, "out.grad", where);
}

int count_or(int usual) {
  const char* asked = std::getenv("WEFT_GRADIENT_COUNT");
  return asked ? std::atoi(asked) : usual;
}

/// Compares random kernels at one lane and all lanes, or on a GPU alone. Most are small, and LLVM does little about them,
/// so that there can be many; every tenth is neither, and runs at four lanes, too.
void compare_random_kernels(int count, cuda::Device* device) {
  for (int k = 0; k < count; ++k) {
    const bool thorough = k % 10 == 0;
    const std::string text = "import warp as wp\nd = wp.float64\n" +
                             autodiff::test::RandomDifferentiable(std::uint32_t(k) + 5000, thorough ? 3 : 1).kernel();
    SCOPED_TRACE("kernel " + std::to_string(k) + "\n" + text);
    auto decl = test::kernel_of(text);
    ASSERT_TRUE(decl);
    const Data want = gradients(decl, 1, true);
    const int effort = thorough ? 2 : 0;
    if (device) {
      expect_near(want, gradients(decl, 0, false, effort, device), "on the GPU");
    } else {
      for (int lanes : thorough ? std::vector<int>{1, 4, 0} : std::vector<int>{1, 0})
        expect_near(want, gradients(decl, lanes, false, effort), "at " + std::to_string(lanes) + " lanes");
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Gradients, LanesAgreeWithTheInterpreter) { compare_random_kernels(count_or(300), nullptr); }

TEST(Gradients, TheGpuAgreesWithTheInterpreter) {
  cuda::System& system = cuda::System::shared();
  if (!system.available() || system.device_count() == 0) GTEST_SKIP() << "there is no CUDA device";
  compare_random_kernels(count_or(40), &system.device(0));
}

}  // namespace
}  // namespace weft::driver
