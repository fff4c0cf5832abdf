// Elements of several scalars at places of each lane's own (emit/lane_loads.cpp): vectors of every length, and structs in which
// scalars of several kinds follow each other, with all lanes and with a part of them, on all processors that this one can stand for.
#include "harness.h"

#include <array>

namespace weft::codegen::test {
namespace {

constexpr int kThreads = 131;

std::int32_t place_of(int thread) { return (thread * 29) % kThreads; }

/// y[i] = x[at[i]] for all threads, or for two of three.
template <class T>
void check(const std::string& declared, const std::string& type, const std::vector<T>& x, bool some) {
  const std::string array = "array<" + type + ",1>";
  Program program(declared + "kernel @k(%x: " + array + ", %y: " + array +
                  ", %at: array<i32,1>) form(no_overlap, rank 1) {\n"
                  "  %i = tid 0\n"
                  "  %j = load %at[%i]\n" +
                  (some ? "  %r = rem %i, 3i32\n  %c = ne %r, 1i32\n  if %c {\n    %v = load %x[%j]\n"
                          "    store %y[%i], %v\n    yield\n  } else {\n    yield\n  }\n"
                        : "  %v = load %x[%j]\n  store %y[%i], %v\n") +
                  "  return\n}\n");
  const std::size_t size = x.size() / kThreads;
  std::vector<std::int32_t> at(kThreads);
  std::vector<T> expected(x.size());
  for (int i = 0; i < kThreads; ++i) {
    // Who is not asked may point anywhere.
    const bool asked = !some || i % 3 != 1;
    at[std::size_t(i)] = asked ? place_of(i) : -2000000000;
    for (std::size_t c = 0; c < size && asked; ++c)
      expected[std::size_t(i) * size + c] = x[std::size_t(place_of(i)) * size + c];
  }
  for (const TargetSpec& target : runnable_targets())
    for (int lanes : {1, 4, 8, 32}) {
      std::vector<T> from = x, y(x.size());
      run(program, Block(program).array(from, {kThreads}).array(y, {kThreads}).array(at), {kThreads},
          {.lanes = lanes, .target = target});
      ASSERT_EQ(y, expected) << type << (some ? ", some of " : ", ") << lanes << " lanes, " << target.cpu_name;
    }
}

TEST(LaneLoads, VectorsOfEveryLength) {
  for (int components : {2, 3, 5, 7, 10}) {
    std::vector<float> x(std::size_t(kThreads * components));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k);
    for (bool some : {false, true}) check("", "vec<f32," + std::to_string(components) + ">", x, some);
  }
}

/// Runs of 5 and 3 scalars of 32 bits, of 3 and 1 of others, and a gap between them.
struct Mixed {
  float a, b, c, d, e;
  std::int32_t f, g, h;
  double i;
  std::int8_t j, k, l;
  float m;

  bool operator==(const Mixed&) const = default;
};

TEST(LaneLoads, StructsOfSeveralKinds) {
  std::vector<Mixed> x(kThreads);
  for (int n = 0; n < kThreads; ++n) {
    const auto f = float(n);
    x[std::size_t(n)] = {f,  f + 1,   f + 2,          f + 3,           f + 4, n * 5, n * 7,
                         -n, n / 4.0, std::int8_t(n), std::int8_t(-n), 1,     f * 2};
  }
  const std::string declared =
      "struct %S { a: f32, b: f32, c: f32, d: f32, e: f32, f: i32, g: i32, h: i32, i: f64, j: i8, k: i8, l: i8, m: f32 "
      "}\n";
  for (bool some : {false, true}) check(declared, "%S", x, some);
}

/// Elements that follow each other, which come by vectors but where a part of the lanes asks for them.
TEST(LaneLoads, PartsOfRows) {
  Program program(R"(kernel @k(%x: array<vec<f32,10>,1>, %y: array<vec<f32,10>,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %r = rem %i, 5i32
  %c = lt %r, 3i32
  if %c {
    %v = load %x[%i]
    store %y[%i], %v
    yield
  } else {
    yield
  }
  return
}
)");
  std::vector<float> x(std::size_t(10) * kThreads), expected(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k);
  for (std::size_t k = 0; k < x.size(); ++k) expected[k] = k / 10 % 5 < 3 ? x[k] : 0.0f;
  for (const TargetSpec& target : runnable_targets())
    for (int lanes : {1, 4, 8, 16, 32}) {
      std::vector<float> y(x.size());
      run(program, Block(program).array(x, {kThreads}).array(y, {kThreads}), {kThreads},
          {.lanes = lanes, .target = target});
      ASSERT_EQ(y, expected) << lanes << " lanes, " << target.cpu_name;
    }
}

}  // namespace
}  // namespace weft::codegen::test
