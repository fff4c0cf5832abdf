// Some thousand random kernels on every executor. WEFT_RANDOM_COUNT changes how many, WEFT_RANDOM_LEVELS=all compiles
// each of them at all of LLVM's levels.
#include <gtest/gtest.h>

#include <cstdlib>

#include "executors.h"
#include "random_check.h"

namespace weft::agree {
namespace {

TEST(Random, KernelsAgree) {
  const char* wanted = std::getenv("WEFT_RANDOM_COUNT");
  const std::uint64_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 2000;
  const std::uint64_t checked = check_seeds(1, count, 3, [](const std::string& text) { ADD_FAILURE() << text; });
  EXPECT_EQ(checked, count) << "stopped early";
}

TEST(Random, KernelsAgreeOnTheGpu) {
  if (!has_gpu()) GTEST_SKIP() << "there is no CUDA device";
  const char* wanted = std::getenv("WEFT_RANDOM_GPU_COUNT");
  const std::uint64_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 200;
  const auto report = [](const std::string& text) { ADD_FAILURE() << text; };
  EXPECT_EQ(check_seeds(1, count, 3, report, true), count) << "stopped early";
}

TEST(Random, SeedsAreDeterministic) {
  for (std::uint64_t seed : {1u, 99u, 12345u}) {
    EXPECT_EQ(random_program(seed).text(), random_program(seed).text());
    EXPECT_NE(random_program(seed).text(), random_program(seed + 1).text());
  }
}

}  // namespace
}  // namespace weft::agree
