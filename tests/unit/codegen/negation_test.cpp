// A negated sum of a product has the sign of what was written, also where the sum is nothing: aarch64 has an instruction that is almost the same.
#include <cmath>
#include <regex>

#include "harness.h"

namespace weft::codegen::test {
namespace {

const char* const kText = R"(
kernel @k(%x: array<KIND,1>, %y: array<KIND,1>, %z: array<KIND,1>,
          %first: array<KIND,1>, %second: array<KIND,1>, %third: array<KIND,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %b = load %y[%i]
  %c = load %z[%i]
  %sum = fma %a, %b, %c
  %1 = neg %sum
  store %first[%i], %1
  %2 = mul %sum, -1.0KIND
  store %second[%i], %2
  %3 = sub -0.0KIND, %sum
  store %third[%i], %3
  return
}
)";

template <typename Number>
void check(const char* kind) {
  Program program(std::regex_replace(kText, std::regex("KIND"), kind));
  const Number none = Number(-0.0);
  const std::vector<Number> x = {1, 0, 0, none, 2}, y = {1, 1, 1, 1, 1}, z = {-1, 0, none, none, 3};
  const std::vector<bool> minus = {true, true, true, false, true};
  for (const TargetSpec& target : runnable_targets())
    for (int lanes : {1, 2, 4})
      for (int level : {0, 1, 2, 3}) {
        std::vector<Number> a = x, b = y, c = z, first(x.size()), second(x.size()), third(x.size());
        run(program, Block(program).array(a).array(b).array(c).array(first).array(second).array(third),
            {std::int64_t(x.size())}, {.lanes = lanes, .opt_level = level, .target = target});
        for (std::size_t k = 0; k < x.size(); ++k)
          for (const Number got : {first[k], second[k], third[k]})
            EXPECT_EQ(std::signbit(got), minus[k])
                << k << " of " << lanes << " lanes, level " << level << ", " << target.cpu_name;
      }
}

TEST(Negation, OfNothingIsMinusZero) {
  check<float>("f32");
  check<double>("f64");
}

}  // namespace
}  // namespace weft::codegen::test
