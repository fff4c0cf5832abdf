// Components whose number is known to LLVM's builder and not to our own passes: read, written and added to as any others; those beyond
// the element are nowhere.
#include "harness.h"

namespace weft::codegen::test {
namespace {

/// The number is a dot product of constants: 2 or, `beyond`, 7.
std::string text(bool beyond) {
  const std::string number = beyond ? "7i32" : "2i32";
  return "kernel @k(%x: array<vec<f32,4>,1>, %read: array<f32,1>, %written: array<vec<f32,4>,1>, "
         "%sum: array<vec<f32,4>,1>) form(no_overlap, rank 1) {\n"
         "  %i = tid 0\n"
         "  %a = construct vec<i32,2> " +
         number +
         ", 0i32\n"
         "  %b = construct vec<i32,2> 1i32, 5i32\n"
         "  %c = dot %a, %b\n"
         "  %v = load %x[%i][%c~]\n"
         "  store %read[%i], %v\n"
         "  store %written[%i][%c~], 5.0f32\n"
         "  %old = atomic add %sum[%i][%c~], 3.0f32\n"
         "  return\n}\n";
}

TEST(KnownComponent, IsReadWrittenAndAddedTo) {
  for (const bool beyond : {false, true}) {
    Program program(text(beyond));
    constexpr int n = 21;
    for (int lanes : {1, 2, 4, 8}) {
      std::vector<float> x(std::size_t(4 * n)), read(n, -1), written(4 * n, 1), sum(4 * n, 1);
      for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k);
      run(program, Block(program).array(x, {n}).array(read).array(written, {n}).array(sum, {n}), {n}, {.lanes = lanes});
      for (std::size_t k = 0; k < read.size(); ++k) {
        EXPECT_EQ(read[k], beyond ? 0 : x[4 * k + 2]) << lanes;
        for (std::size_t c = 0; c < 4; ++c) {
          EXPECT_EQ(written[4 * k + c], c == 2 && !beyond ? 5 : 1) << lanes;
          EXPECT_EQ(sum[4 * k + c], c == 2 && !beyond ? 4 : 1) << lanes;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::codegen::test
