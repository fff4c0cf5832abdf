// Atomics: all kinds on all types. Where the order of threads can't show in the result, every executor and every cut of
// the grid gives the same; where old values are used, serial runs do.
#include "agree.h"

namespace weft::agree {
namespace {

const std::vector<std::string> kInts = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"};
const std::vector<std::string> kFloats = {"float16", "bfloat16", "float32", "float64"};

TEST(Atomic, IntegersCommute) {
  for (const std::string& type : kInts) {
    Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), sums: wp.array(dtype=$T), subs: wp.array(dtype=$T), low: wp.array(dtype=$T), high: wp.array(dtype=$T), ands: wp.array(dtype=$T), ors: wp.array(dtype=$T), xors: wp.array(dtype=$T), plus: wp.array2d(dtype=$T)):
    i = wp.tid()
    x = a[i]
    wp.atomic_add(sums, i % 3, x)
    wp.atomic_sub(subs, 0, x)
    wp.atomic_min(low, i % 2, x)
    wp.atomic_max(high, 1, x)
    wp.atomic_and(ands, i % 5, x | $T(3))
    wp.atomic_or(ors, 0, x)
    wp.atomic_xor(xors, i % 4, x)
    if i % 3 != 1:
        plus[i % 2, i % 3] += x
        plus[0, 3] -= $T(1)
)",
                     "wp." + type),
           {301});
    c.array(type, {301}, Fill::bits);
    for (int k = 0; k < 7; ++k) c.array(type, {5}, Fill::edges);
    c.array(type, {2, 4}, Fill::zeros);
    expect_agreement(c, type == "int32" ? Effort::full : Effort::brief);
  }
}

TEST(Atomic, FloatExtremesCommute) {
  for (const std::string& type : kFloats) {
    Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), low: wp.array(dtype=$T), high: wp.array(dtype=$T)):
    i = wp.tid()
    wp.atomic_min(low, i % 3, a[i])
    wp.atomic_max(high, 0, a[i])
)",
                     "wp." + type),
           {211});
    c.array(type, {211}).array(type, {3}).array(type, {1});
    expect_agreement(c, Effort::brief);
  }
}

TEST(Atomic, FloatAddsToOwnElements) {
  for (const std::string& type : kFloats) {
    Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), sums: wp.array(dtype=$T), old: wp.array(dtype=$T)):
    i = wp.tid()
    sums[i] += a[i]
    if i % 2 == 0:
        wp.atomic_sub(sums, i, a[i] * a[i])
    old[i] = wp.atomic_add(sums, i, $T(1.5))
)",
                     "wp." + type),
           {77});
    c.array(type, {77}).array(type, {77}).array(type, {77}, Fill::zeros);
    expect_agreement(c, type == "float32" ? Effort::full : Effort::brief);
  }
}

TEST(Atomic, CompositesAndStructFields) {
  Case c(R"(
@wp.struct
class Cell:
    n: int
    v: wp.vec3i

@wp.kernel
def k(a: wp.array(dtype=wp.vec3i), sums: wp.array(dtype=wp.vec3i), own: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), cells: wp.array(dtype=Cell)):
    i = wp.tid()
    wp.atomic_add(sums, i % 2, a[i])
    sums[2] += a[i]
    wp.atomic_max(sums, 3, a[i])
    own[i] += wp.vec3(1.5, 2.5, float(i))
    m[i] -= wp.mat22(1.0, 2.0, 3.0, 4.0)
    cells[i % 3].n += i
    cells[i % 3].v += a[i]
)",
         {53});
  c.array("vec3i", {53})
      .array("vec3i", {4}, Fill::zeros)
      .array("vec3", {53})
      .array("mat22", {53})
      .array("Cell", {3}, Fill::zeros);
  expect_agreement(c);
}

TEST(Atomic, OldValuesInSerialOrder) {
  Case c(R"(
@wp.kernel
def k(counter: wp.array(dtype=int), slots: wp.array(dtype=int), even: wp.array(dtype=bool)):
    i = wp.tid()
    if even[i]:
        slot = wp.atomic_add(counter, 0, 1)
        slots[slot] = i
)",
         {83});
  c.data<std::int32_t>("int32", {0}).array("int32", {83}, Fill::zeros).array("bool", {83}, Fill::bits).serial_only();
  expect_agreement(c);
}

TEST(Atomic, OldValuesOfEveryKind) {
  for (const std::string call : {"atomic_add(x, j, v)", "atomic_sub(x, j, v)", "atomic_min(x, j, v)",
                                 "atomic_max(x, j, v)", "atomic_exch(x, j, v)", "atomic_cas(x, j, v, v + $T(1))",
                                 "atomic_and(x, j, v)", "atomic_or(x, j, v)", "atomic_xor(x, j, v)"})
    for (const std::string type : {"int32", "uint8", "int64", "float32", "float16"}) {
      const bool bits = call.find("_and") != std::string::npos || call.find("_or") != std::string::npos ||
                        call.find("_xor") != std::string::npos;
      if (bits && type.starts_with("float")) continue;
      if (type != "int32" && type != "float32" && call.find("cas") == std::string::npos &&
          call.find("exch") == std::string::npos)
        continue;
      Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), x: wp.array(dtype=$T), old: wp.array(dtype=$T)):
    i = wp.tid()
    j = i % 3
    v = a[i]
    old[i] = wp.)" + call + "\n",
                       "wp." + type),
             {45});
      c.array(type, {45}).array(type, {3}).array(type, {45}, Fill::zeros).serial_only();
      expect_agreement(c, Effort::brief);
    }
}

TEST(Atomic, ManyThreadsOnOneAddress) {
  Case c(R"(
@wp.kernel
def k(n: wp.array(dtype=wp.int64), low: wp.array(dtype=int)):
    i, j = wp.tid()
    wp.atomic_add(n, 0, wp.int64(i) * wp.int64(j))
    wp.atomic_add(n, 1, wp.int64(1))
    wp.atomic_min(low, 0, i - j)
)",
         {301, 333});
  c.array("int64", {2}, Fill::zeros).array("int32", {1}, Fill::zeros);
  const Outcome got = expect_agreement(c, Effort::brief);
  EXPECT_EQ(values<std::int64_t>(got, 0), (std::vector<std::int64_t>{45150ll * 55278ll, 301 * 333}));
  EXPECT_EQ(values<std::int32_t>(got, 1), (std::vector<std::int32_t>{-332}));
}

}  // namespace
}  // namespace weft::agree
