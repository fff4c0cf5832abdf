// Elements of more than four scalars, read and written at all lanes: forwards, backwards and with gaps, of both widths,
// over counts that leave a rest.
#include "harness.h"

#include <algorithm>

namespace weft::codegen::test {
namespace {

/// Copies x[i] to y[n - 1 - i] and x[i] to z[2·i] with its first and last component exchanged.
template <class T>
void check(const std::string& type, int components) {
  const std::string last = type.starts_with("vec") ? "[" + std::to_string(components - 1) + "]" : "[2][2]";
  const std::string first = type.starts_with("vec") ? "[0]" : "[0][0]";
  Program program("kernel @k(%x: array<" + type + ",1>, %y: array<" + type + ",1>, %z: array<" + type +
                  ",1>, %n: i32) form(no_overlap, rank 1) {\n"
                  "  %i = tid 0\n"
                  "  %m = load %x[%i]\n"
                  "  %end = sub %n, 1i32\n"
                  "  %j = sub %end, %i\n"
                  "  store %y[%j], %m\n"
                  "  %a = extract %m" +
                  first +
                  "\n"
                  "  %b = extract %m" +
                  last +
                  "\n"
                  "  %c = insert %m, %b, " +
                  first +
                  "\n"
                  "  %d = insert %c, %a, " +
                  last +
                  "\n"
                  "  %k = mul %i, 2i32\n"
                  "  store %z[%k], %d\n"
                  "  return\n}\n");
  const int n = 53;
  const std::size_t size = std::size_t(components);
  std::vector<T> x(n * size);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = T(k * 7 % 1000);
  for (int lanes : {1, 2, 4, 8, 16}) {
    std::vector<T> y(n * size, T(-1)), z(2 * n * size, T(-1));
    run(program, Block(program).array(x, {n}).array(y, {n}).array(z, {2 * n}).scalar(std::int32_t(n)), {n},
        {.lanes = lanes});
    for (int i = 0; i < n; ++i) {
      std::vector<T> element(x.begin() + i * components, x.begin() + (i + 1) * components);
      auto at = [&](std::vector<T>& from, int index) {
        return std::vector<T>(from.begin() + index * components, from.begin() + (index + 1) * components);
      };
      ASSERT_EQ(at(y, n - 1 - i), element) << type << ", " << lanes << " lanes, thread " << i;
      std::swap(element.front(), element.back());
      ASSERT_EQ(at(z, 2 * i), element) << type << ", " << lanes << " lanes, thread " << i;
      ASSERT_EQ(at(z, 2 * i + 1), std::vector<T>(size, T(-1))) << type << ", " << lanes << " lanes, gap " << i;
    }
  }
}

TEST(Quads, Floats) {
  check<float>("mat<f32,3,3>", 9);
  check<float>("vec<f32,4>", 4);
  check<float>("vec<f32,5>", 5);
  check<float>("vec<f32,7>", 7);
  check<float>("vec<f32,8>", 8);
  check<float>("vec<f32,16>", 16);
}

TEST(Quads, Doubles) {
  check<double>("mat<f64,3,3>", 9);
  check<double>("vec<f64,4>", 4);
  check<double>("vec<f64,6>", 6);
  check<double>("vec<f64,7>", 7);
  check<double>("vec<f64,8>", 8);
  check<double>("vec<f64,16>", 16);
}

TEST(Quads, Integers) {
  check<std::int32_t>("vec<i32,6>", 6);
  check<std::int64_t>("vec<i64,5>", 5);
  check<std::int16_t>("vec<i16,9>", 9);
}

}  // namespace
}  // namespace weft::codegen::test
