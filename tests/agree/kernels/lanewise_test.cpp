// Functions that run lane by lane, and the operations of walks: the same from every executor.
#include "agree.h"

namespace weft::agree {
namespace {

TEST(Lanewise, OperationsOfWalks) {
  Case c(R"(
vec8 = wp.types.vector(length=8, dtype=wp.float32)

@wp.func(lanewise=True)
def work(a: vec8, b: vec8, n: int):
    low = wp._least(a, b)
    high = wp._greatest(a, b)
    below = wp._less_bits(a, b)
    most = wp._less_equal_bits(low, a)
    mixed = wp._choose_bits(below ^ wp.uint32(n), low, high)
    rest = below
    total = float(0.0)
    while rest != wp.uint32(0):
        k = int(wp._trailing_zeros(rest))
        rest = rest & (rest - wp.uint32(1))
        total += mixed[k]
    if n % 5 == 3:
        return total, most
    return total + wp.dot(mixed, low), wp._bit_count(most)

@wp.kernel
def k(a: wp.array2d(dtype=float), out: wp.array(dtype=float), bits: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    v = vec8()
    w = vec8()
    for c in range(8):
        v[c] = a[i, c]
        w[c] = a[i, 15 - c]
    wp._prefetch(a, i + 7, 3)
    if i % 4 != 2:
        x, y = work(v, w, i)
        out[i] = x
        bits[i] = y
)",
         {37});
  c.array("float32", {37, 16}).array("float32", {37}, Fill::zeros).array("uint32", {37}, Fill::zeros);
  expect_agreement(c, Effort::full);
}

TEST(Lanewise, EffectsHappenOnceAThread) {
  // Arguments are the same for all threads here: each of them runs the function all the same.
  Case c(R"(
@wp.func(lanewise=True)
def count(n: wp.array(dtype=int), step: int):
    wp.atomic_add(n, 0, step)
    return n.shape[0] + step

@wp.kernel
def k(n: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = count(n, 2)
    if i > 20:
        out[i] = count(n, 3)
)",
         {45});
  c.array("int32", {1}, Fill::zeros).array("int32", {45}, Fill::zeros);
  const Outcome got = expect_agreement(c, Effort::full);
  EXPECT_EQ(values<std::int32_t>(got, 0)[0], 45 * 2 + 24 * 3);
}

TEST(Lanewise, ScalarsOfEveryKind) {
  for (const char* kind : {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}) {
    std::string text = R"(
@wp.kernel
def k(a: wp.array(dtype=wp.KIND), b: wp.array(dtype=wp.KIND), out: wp.array2d(dtype=wp.KIND)):
    i = wp.tid()
    out[i, 0] = wp._trailing_zeros(a[i])
    out[i, 1] = wp._bit_count(a[i])
    out[i, 2] = wp._least(a[i], b[i])
    out[i, 3] = wp._greatest(a[i], b[i])
    out[i, 4] = wp._trailing_zeros(wp.KIND(0))
)";
    for (std::size_t at; (at = text.find("KIND")) != std::string::npos;) text.replace(at, 4, kind);
    Case c(text, {40});
    c.array(kind, {40}).array(kind, {40}).array(kind, {40, 5}, Fill::zeros);
    expect_agreement(c, Effort::brief);
  }
}

}  // namespace
}  // namespace weft::agree
