// Grids: ranks 1 to 4, extents around the lane count, thread indices fewer and more than the rank, empty grids.
#include "agree.h"

namespace weft::agree {
namespace {

TEST(Launch, OneDimensionAroundTheLaneCount) {
  for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1001}) {
    Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i] * 2.0 + float(i)
)",
           {n});
    c.array("float32", {n}).array("float32", {n}, Fill::zeros);
    expect_agreement(c, Effort::brief);
  }
}

TEST(Launch, ManyDimensions) {
  const Case::Shape grids[] = {{3, 5},     {1, 40},    {40, 1},      {7, 17},       {17, 33},    {2, 3, 5},
                               {5, 1, 19}, {3, 4, 16}, {2, 3, 2, 5}, {1, 2, 1, 21}, {2, 2, 2, 2}};
  for (const Case::Shape& grid : grids) {
    const int rank = int(grid.size());
    const char* names[] = {"", "i, j", "i, j, k", "i, j, k, l"};
    std::string text = "\n@wp.kernel\ndef kernel(out: wp.array" + std::to_string(rank) +
                       "d(dtype=int), n: wp.array(dtype=int)):\n    " + names[rank - 1] + " = wp.tid()\n    out[" +
                       names[rank - 1] + "] = i * 1000000 + j * 10000";
    if (rank > 2) text += " + k * 100";
    if (rank > 3) text += " + l";
    text += "\n    wp.atomic_add(n, 0, 1)\n    if j % 2 == 0:\n        out[" + std::string(names[rank - 1]) +
            "] += i - j\n";
    Case c(text, grid);
    c.array("int32", grid, Fill::zeros).array("int32", {1}, Fill::zeros);
    const Outcome got = expect_agreement(c, rank == 3 ? Effort::full : Effort::brief);
    std::int64_t total = 1;
    for (std::int64_t extent : grid) total *= extent;
    EXPECT_EQ(values<std::int32_t>(got, 1)[0], total);
  }
}

TEST(Launch, FewerAndMoreIndicesThanTheRank) {
  // Fewer: the leading coordinates; more: the further ones are zero.
  Case fewer(R"(
@wp.kernel
def k(n: wp.array2d(dtype=int)):
    i, j = wp.tid()
    wp.atomic_add(n, i, j, 1)
)",
             {3, 7, 5, 2});
  fewer.array("int32", {3, 7}, Fill::zeros);
  for (std::int32_t x : values<std::int32_t>(expect_agreement(fewer), 0)) EXPECT_EQ(x, 10);
  Case one(R"(
@wp.kernel
def k(n: wp.array(dtype=int)):
    i = wp.tid()
    n[i] += 1
)",
           {4, 19});
  one.array("int32", {4}, Fill::zeros);
  for (std::int32_t x : values<std::int32_t>(expect_agreement(one), 0)) EXPECT_EQ(x, 19);
  Case more(R"(
@wp.kernel
def k(out: wp.array2d(dtype=int)):
    i, j, k, l = wp.tid()
    out[i, j] = 1 + i + j * 10 + k * 100 + l * 1000
)",
            {5, 18});
  more.array("int32", {5, 18}, Fill::zeros);
  expect_agreement(more);
  Case none(R"(
@wp.kernel
def k(n: wp.array(dtype=int)):
    wp.atomic_add(n, 0, 3)
)",
            {7, 6});
  none.array("int32", {1}, Fill::zeros);
  EXPECT_EQ(values<std::int32_t>(expect_agreement(none), 0)[0], 126);
}

TEST(Launch, EmptyGrids) {
  for (const Case::Shape& grid : {Case::Shape{0}, Case::Shape{0, 5}, Case::Shape{4, 0, 3}}) {
    Case c(R"(
@wp.kernel
def k(n: wp.array(dtype=int)):
    wp.atomic_add(n, 0, 1)
)",
           grid);
    c.array("int32", {1}, Fill::zeros);
    EXPECT_EQ(values<std::int32_t>(expect_agreement(c, Effort::brief), 0)[0], 0);
  }
}

TEST(Launch, RowsShorterThanTheLanesReadNeighboursRightly) {
  Case c(R"(
@wp.kernel
def k(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    left = a[i, j - 1] if j > 0 else 0.0
    right = a[i, j + 1] if j + 1 < a.shape[1] else 0.0
    out[i, j] = left + right - 2.0 * a[i, j] + a[i, 0]
)",
         {23, 5});
  c.array("float32", {23, 5}).array("float32", {23, 5}, Fill::zeros);
  expect_agreement(c);
}

}  // namespace
}  // namespace weft::agree
