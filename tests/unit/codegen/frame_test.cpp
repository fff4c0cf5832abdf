// The bodies of a kernel over several dimensions: rows of every length, cut into chunks anywhere, run by full, masked and
// narrow groups, each thread once. Also with the bodies of processors whose masks are free (AVX-512), on any processor.
#include "harness.h"

#include <cmath>

namespace weft::codegen::test {
namespace {

/// A kernel over rows with so many branches, maybe a loop of another length for each thread, and a call.
std::string kernel_over_rows(int branches, bool loop, bool call) {
  std::string text;
  if (call) {
    text += R"(
func @far(%x: array<f32,2>, %i: i32, %j: i32) -> (f32) {
  %n = dim %x, 1 : i32
  %k = add %j, 3i32
  %at = rem %k, %n
  %v = load %x[%i, %at~]
  return %v
}
)";
  }
  text += R"(
kernel @k(%x: array<f32,2>, %at: array<i32,1>, %out: array<f32,2>, %runs: array<i32,2>) form(no_overlap, rank 2) {
  %i = tid 0
  %j = tid 1
  %v = load %x[%i, %j]
  %a = load %at[%j]
  %s0 = load %x[%i, %a~]
)";
  for (int k = 0; k < branches; ++k) {
    const std::string n = std::to_string(k), next = std::to_string(k + 1);
    text += "  %c" + n + " = gt %v, " + std::to_string(k * 7 - 10) + ".0f32\n" +  //
            "  %s" + next + " = if %c" + n + " : f32 {\n" +                       //
            "    %w" + n + " = load %x[%i, %a~]\n" +                              //
            "    %p" + n + " = add %s" + n + ", %w" + n + "\n    yield %p" + n + "\n  } else {\n" + "    %q" + n +
            " = mul %s" + n + ", 0.75f32\n    yield %q" + n + "\n  }\n";
  }
  std::string last = "%s" + std::to_string(branches);
  if (loop) {
    text += "  %m = rem %a, 5i32\n  %t = for %r = 0i32 to %m step 1i32 (%acc = " + last +
            ") {\n    %f = cast %r : f32\n    %h = mul %acc, 0.5f32\n    %g = add %h, %f\n    yield %g\n  }\n";
    last = "%t";
  }
  if (call) {
    text += "  %far = call @far(%x, %i, %j)\n  %u = add " + last + ", %far\n";
    last = "%u";
  }
  return text + "  store %out[%i, %j], " + last +
         "\n  %before = load %runs[%i, %j]\n  %now = add %before, 1i32\n  store %runs[%i, %j], %now\n  return\n}\n";
}

/// Kernels are compiled for every launch: few of them, one for each sort of row.
void check_frames(int branches, bool loop, bool call) {
  const Program program(kernel_over_rows(branches, loop, call));
  for (int cols : {1, 3, 7, 8, 17, 27, 33, 65}) {
    const int rows = cols < 16 ? 19 : 5;
    const std::size_t count = std::size_t(rows) * std::size_t(cols);
    std::vector<float> x(count), want(count, -7.0f);
    std::vector<std::int32_t> at(std::size_t(cols), 0), once(count, 0);
    for (std::size_t k = 0; k < count; ++k) x[k] = float(int(k * 37 % 101) - 50) * 0.37f;
    // Neighbours in the first half of a row, anywhere behind.
    for (int j = 0; j < cols; ++j) at[std::size_t(j)] = j < cols / 2 ? j : (j * 11 + 3) % cols;
    auto launch = [&](std::vector<float>& out, std::vector<std::int32_t>& runs, const RunOptions& how) {
      Block block(program);
      block.array(x, {rows, cols}).array(at).array(out, {rows, cols}).array(runs, {rows, cols});
      run(program, block, {rows, cols}, how);
    };
    launch(want, once, {.opt_level = 0});
    auto compare = [&](const RunOptions& how) {
      std::vector<float> got(count, -7.0f);
      std::vector<std::int32_t> runs(count, 0);
      launch(got, runs, how);
      for (std::size_t k = 0; k < count; ++k) {
        ASSERT_EQ(runs[k], 1) << how.lanes << " lanes, " << rows << "x" << cols << ", thread " << k;
        ASSERT_TRUE(std::memcmp(&got[k], &want[k], 4) == 0)
            << how.lanes << " lanes, " << rows << "x" << cols << ", thread " << k << ": " << got[k] << " instead of "
            << want[k];
      }
    };
    compare({.lanes = 16, .opt_level = 1, .chunk = 37});
    compare({.lanes = 4, .opt_level = 1, .chunk = 11, .free_masks = true});
    compare({.lanes = 16, .opt_level = 1, .free_masks = true});
    compare({.lanes = 32, .opt_level = 1, .chunk = 37, .free_masks = true});
  }
}

TEST(Frame, StraightRows) { check_frames(0, false, false); }
TEST(Frame, RowsWithBranches) { check_frames(5, false, false); }
TEST(Frame, RowsWithLoops) { check_frames(2, true, false); }
TEST(Frame, RowsWithBranchesAndLoops) { check_frames(4, true, false); }
TEST(Frame, RowsWithCalls) { check_frames(4, true, true); }

}  // namespace
}  // namespace weft::codegen::test
