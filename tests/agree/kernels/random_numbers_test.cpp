// Random numbers of the library: known values, and the same stream on every executor.
#include "agree.h"

namespace weft::agree {
namespace {

TEST(RandomNumbers, KnownValues) {
  Case c(R"(
@wp.kernel
def k(out: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    for j in range(i):
        x = wp.randf(s)
    out[i] = wp.randf(s)
)",
         {2});
  c.array("float32", {2}, Fill::zeros);
  const std::vector<float> got = values<float>(expect_agreement(c), 0);
  EXPECT_FLOAT_EQ(got[0], 0.64850521f);
  EXPECT_FLOAT_EQ(got[1], 0.93236130f);
}

TEST(RandomNumbers, StreamsPerThread) {
  Case c(R"(
@wp.kernel
def k(seed: int, f: wp.array2d(dtype=float), r: wp.array2d(dtype=float), n: wp.array2d(dtype=int), u: wp.array2d(dtype=wp.uint32)):
    i, j = wp.tid()
    s = wp.rand_init(seed, i * 7 + j)
    f[i, j] = wp.randf(s)
    r[i, j] = wp.randf(s, -3.0, 5.0)
    n[i, j] = wp.randi(s, -10, 10) + wp.randi(s)
    u[i, j] = wp.randu(s)
)",
         {5, 7});
  c.integer(123).array("float32", {5, 7}).array("float32", {5, 7}).array("int32", {5, 7}).array("uint32", {5, 7});
  expect_agreement(c);
}

}  // namespace
}  // namespace weft::agree
