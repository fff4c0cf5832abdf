// Arrays: every rank, strides of all kinds, views and slices made in kernels, negative indices, locals, and arguments
// that overlap.
#include "agree.h"

namespace weft::agree {
namespace {

TEST(Memory, RanksOneToFour) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=float), b: wp.array2d(dtype=wp.int16), d: wp.array3d(dtype=wp.vec3), e: wp.array4d(dtype=wp.float64), n: wp.array(dtype=int)):
    i = wp.tid()
    x = i % 2
    y = (i // 2) % 3
    z = (i // 6) % 2
    w = (i // 12) % 5
    a[i] = float(a.shape[0] + b.shape[0] * 10 + b.shape[1] * 100 + d.shape[2] * 1000)
    b[x, y] = wp.int16(x * 10 + y)
    d[x, y, z] = wp.vec3(float(x), float(y), float(z))
    e[x, y, z, w] = wp.float64(x + y + z) + wp.float64(w) / wp.float64(8)
    n[i] = a.ndim + b.ndim * 10 + d.ndim * 100 + e.ndim * 1000 + len(e) * 10000
)",
         {60});
  c.array("float32", {60})
      .array("int16", {2, 3})
      .array("vec3", {2, 3, 2})
      .array("float64", {2, 3, 2, 5})
      .array("int32", {60});
  expect_agreement(c);
}

TEST(Memory, StridedTransposedReversedAndBroadcastArguments) {
  for (const std::string type : {"float32", "int8", "float64", "vec3", "mat22", "bool", "float16"}) {
    Case c(with_type(R"(
@wp.kernel
def k(plain: wp.array2d(dtype=$T), sparse: wp.array2d(dtype=$T), turned: wp.array2d(dtype=$T), back: wp.array2d(dtype=$T), same: wp.array2d(dtype=$T), other: wp.array2d(dtype=$T)):
    i, j = wp.tid()
    sparse[i, j] = plain[i, j]
    turned[i, j] = same[i, j]
    back[i, j] = other[i, j]
)",
                     "wp." + type),
           {5, 19});
    const std::int64_t size = c.type(type)->size();
    c.array(type, {5, 19});
    c.buffer(type, 400, Fill::zeros).view(1, {5, 19}, {57 * size, 2 * size}, 3 * size);
    c.buffer(type, 95, Fill::zeros).view(2, {5, 19}, {size, 5 * size});
    c.buffer(type, 95, Fill::zeros).view(3, {5, 19}, {-19 * size, -size}, 94 * size);
    c.buffer(type, 1).view(4, {5, 19}, {0, 0});
    c.buffer(type, 200).view(5, {5, 19}, {-size, 7 * size}, 5 * size);
    expect_agreement(c, type == "float32" ? Effort::full : Effort::brief);
  }
}

TEST(Memory, EmptyAndNullArrays) {
  Case c(R"(
@wp.kernel
def k(none: wp.array(dtype=float), empty: wp.array2d(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    if none:
        out[i, 0] = 1
    if not none:
        out[i, 1] = 2
    out[i, 2] = empty.shape[0] + empty.shape[1] * 10 + len(none)
    for j in range(empty.shape[0]):
        out[i, 3] = empty[j, 0]
)",
         {9});
  c.no_array().array("int32", {0, 7}).array("int32", {9, 4}, Fill::zeros);
  const std::vector<std::int32_t> got = values<std::int32_t>(expect_agreement(c), 1);
  EXPECT_EQ(got[1], 2);
  EXPECT_EQ(got[2], 70);
}

TEST(Memory, ViewsAndSlices) {
  Case c(R"(
@wp.func
def total(x: wp.array(dtype=float)):
    s = float(0.0)
    for j in range(len(x)):
        s += x[j]
    return s

@wp.func
def fill(x: wp.array(dtype=float), v: float):
    for j in range(x.shape[0]):
        x[j] = v + float(j)

@wp.kernel
def k(a: wp.array2d(dtype=float), cube: wp.array3d(dtype=float), out: wp.array2d(dtype=float), sums: wp.array2d(dtype=float)):
    i = wp.tid()
    row = a[i]
    sums[i, 0] = total(row)
    sums[i, 1] = total(a[i][1:4])
    sums[i, 2] = total(row[-3:])
    sums[i, 3] = total(cube[i % 3][2])
    sums[i, 4] = total(cube[i % 3, 1])
    sums[i, 5] = total(row[i % 4:])
    sums[i, 6] = total(row[:i - 3])
    sums[i, 7] = row[-1] + a[-1, -2] + a[-1][i % 3 - 3]
    fill(out[i], row[2])
    plane = cube[-1]
    sums[i, 8] = plane[i % 4, -1]
)",
         {21});
  c.array("float32", {21, 6})
      .array("float32", {3, 4, 5})
      .array("float32", {21, 7}, Fill::zeros)
      .array("float32", {21, 9}, Fill::zeros);
  expect_agreement(c);
}

TEST(Memory, NegativeAndInt64Indices) {
  Case c(R"(
@wp.kernel
def k(a: wp.array2d(dtype=int), n: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    j = n[i] % 5
    out[i, 0] = a[i, j]
    out[i, 1] = a[-1 - i % 7, -j - 1 + j]
    out[i, 2] = a[wp.int64(i), wp.int64(j - 5)] if j < 0 else a[wp.int64(i), wp.int64(j)]
    out[i, 3] = a[wp.uint8(i), wp.int8(-1)]
    out[i, -1] = i
)",
         {13});
  c.array("int32", {13, 5}).array("int32", {13}, Fill::counting).array("int32", {13, 6}, Fill::zeros);
  expect_agreement(c);
}

TEST(Memory, GatherScatterAndColliding) {
  Case c(R"(
@wp.kernel
def k(index: wp.array(dtype=int), a: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3), last: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = a[index[i]]
    last[index[i] % 4] = i
)",
         {53});
  // Threads that store to one element: the last one wins in serial order, at every lane count.
  c.data<std::int32_t>("int32",
                       {52, 3,  9, 9, 9, 1, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 0, 1, 2, 3, 4, 5, 6,  7, 8,
                        9,  10, 9, 8, 7, 6, 5,  4,  3,  2,  1,  0,  11, 22, 33, 44, 7,  7,  7, 7, 7, 7, 7, 7, 12, 13});
  c.array("vec3", {53}).array("vec3", {53}, Fill::zeros).array("int32", {4}, Fill::zeros).serial_only();
  expect_agreement(c);
}

/// Indices that grow by one for whole groups of lanes, for some, around the end, or never: the fast way and the slow one.
TEST(Memory, IndicesOfNeighbours) {
  const std::int64_t n = 150;
  for (const std::string index : {"int32", "int64", "uint32"})
    for (const std::string type : {"float32", "int8", "float64", "vec3", "vec2", "quat", "mat33", "bool", "float16"}) {
      if (index != "int32" && type != "vec3" && type != "float32") continue;
      Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), at: wp.array2d(dtype=)" +
                           ("wp." + index) + R"(), read: wp.array2d(dtype=$T), put: wp.array2d(dtype=$T)):
    i = wp.tid()
    for row in range(at.shape[0]):
        read[row, i] = a[at[row, i]]
    read[6, i] = a[(i + 37) % len(a)]
    read[7, i] = a[i - 9]
    if i != 20 and i % 40 != 16:
        read[8, i] = a[at[0, i]]
        put[0][at[0, i]] = a[i]
    one = put[1]
    one[at[0, i]] = a[i]
    two = put[2]
    two[at[1, i]] = a[i]
    three = put[3]
    three[(i + 37) % len(a)] = a[i]
)",
                       "wp." + type),
             {n});
      std::vector<std::int64_t> at;
      for (std::int64_t i = 0; i < n; ++i) at.push_back(i);                            // as they come
      for (std::int64_t i = 0; i < n; ++i) at.push_back((i + 5) % n);                  // around the end
      for (std::int64_t i = 0; i < n; ++i) at.push_back(i % 23 == 22 ? 0 : i);         // a stray one here and there
      for (std::int64_t i = 0; i < n; ++i) at.push_back(n - 1 - i);                    // back to front
      for (std::int64_t i = 0; i < n; ++i) at.push_back(index[0] == 'u' ? i : i - n);  // from the end
      for (std::int64_t i = 0; i < n; ++i) at.push_back(index[0] == 'u' ? i : i - n / 2);
      c.array(type, {n});
      if (index == "int64") {
        c.data(index, at.data(), at.size() * 8, {6, n});
      } else {
        const std::vector<std::int32_t> narrow(at.begin(), at.end());
        c.data(index, narrow.data(), narrow.size() * 4, {6, n});
      }
      c.array(type, {9, n}, Fill::zeros).array(type, {4, n}, Fill::zeros);
      expect_agreement(c, type == "vec3" ? Effort::full : Effort::brief);
    }
}

TEST(Memory, Locals) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array2d(dtype=float), m: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    l = wp.zeros(shape=8, dtype=float)
    g = wp.zeros(shape=(3, 2), dtype=wp.mat22)
    for j in range(8):
        l[j] = a[(i + j) % len(a)]
    for j in range(7):
        for t in range(7 - j):
            if l[t] > l[t + 1]:
                x = l[t]
                l[t] = l[t + 1]
                l[t + 1] = x
    for j in range(8):
        out[i, j] = l[j]
    g[i % 3, i % 2] = wp.mat22(l[0], l[1], l[2], l[3])
    m[i] = g[i % 3, i % 2] + g[(i + 1) % 3, 0]
)",
         {35});
  c.array("float32", {35}).array("float32", {35, 8}, Fill::zeros).array("mat22", {35}, Fill::zeros);
  expect_agreement(c);
}

TEST(Memory, LocalsThatAllThreadsWriteAlike) {
  Case c(R"(
@wp.kernel
def k(n: int, a: wp.array(dtype=float), out: wp.array2d(dtype=float), m: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    table = wp.zeros(shape=6, dtype=float)
    marks = wp.zeros(shape=4, dtype=int)
    corners = wp.zeros(shape=(2, 3), dtype=wp.vec3)
    for j in range(n):
        table[j] = float(j * j) - a[j]
        marks[j % 4] += j
        corners[j % 2, j % 3] = wp.vec3(float(j), a[0], 1.0)
    if a[i] > 0.0:
        mine = wp.zeros(shape=3, dtype=wp.vec3)
        small = wp.zeros(shape=3, dtype=wp.int8)
        mine[i % 3] = corners[i % 2, marks[1] % 3]
        small[marks[2] % 3] = wp.int8(i)
        m[i] = mine[i % 3] + mine[(i + 1) % 3] + wp.vec3(float(small[0]), float(small[1]), float(small[2]))
    out[i, 0] = table[i % 6] + table[n - 1]
    table[2] = a[i]
    out[i, 1] = table[2] * table[1] + float(marks[i % 4])
)",
         {35});
  c.integer(6).array("float32", {35}).array("float32", {35, 2}, Fill::zeros).array("vec3", {35}, Fill::zeros);
  expect_agreement(c);
}

TEST(Memory, LocalsAreFreshInEachIteration) {
  Case c(R"(
@wp.kernel
def k(out: wp.array2d(dtype=int)):
    i = wp.tid()
    for j in range(i % 5 + 1):
        l = wp.zeros(shape=4, dtype=int)
        l[j % 4] += 1
        out[i, j] = l[0] + l[1] * 10 + l[2] * 100 + l[3] * 1000
)",
         {17});
  c.array("int32", {17, 5}, Fill::zeros);
  expect_agreement(c);
}

TEST(Memory, SameArrayTwice) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    x = a[i]
    b[i] = x + 1.0
    y = a[i]
    a[i] = y * 3.0
    z = b[i]
    out[i, 0] = x
    out[i, 1] = y
    out[i, 2] = z
)",
         {29});
  c.buffer("float32", 29).view(0, {29}, {4}).view(0, {29}, {4}).array("float32", {29, 3}, Fill::zeros);
  const Outcome got = expect_agreement(c);
  const std::vector<float> out = values<float>(got, 1);
  for (std::size_t i = 0; i < 29; ++i) {
    EXPECT_EQ(out[i * 3 + 1], out[i * 3] + 1);
    EXPECT_EQ(out[i * 3 + 2], out[i * 3 + 1] * 3);
  }
}

TEST(Memory, ShiftedViewsOfOneBuffer) {
  // Thread i stores to element i+1, which thread i+1 reads: only the serial order at one lane is promised.
  Case shifted(R"(
@wp.kernel
def k(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] + 1.0
)",
               {30});
  shifted.buffer("float32", 31).view(0, {30}, {4}).view(0, {30}, {4}, 4).one_lane_only();
  const std::vector<float> got = values<float>(expect_agreement(shifted), 0);
  EXPECT_EQ(got[30], got[0] + 30);
}

TEST(Memory, LoopOverOverlappingViews) {
  Case c(R"(
@wp.kernel
def k(a: wp.array2d(dtype=int), b: wp.array2d(dtype=int)):
    i = wp.tid()
    for j in range(6):
        b[i, j] = a[i, j] + a[i, 0]
)",
         {19});
  // Row by row the second view lies one element behind the first.
  c.buffer("int32", 19 * 8).view(0, {19, 6}, {32, 4}).view(0, {19, 6}, {32, 4}, 4);
  expect_agreement(c);
}

TEST(Memory, StoresUnderMasksTouchNothingElse) {
  for (const std::string type : {"int8", "float16", "float32", "float64", "vec3", "mat33"}) {
    Case c(with_type(R"(
@wp.kernel
def k(on: wp.array(dtype=bool), a: wp.array(dtype=$T), out: wp.array(dtype=$T)):
    i = wp.tid()
    if on[i]:
        out[i] = a[i]
    elif i % 3 == 0:
        out[i] = a[0]
)",
                     "wp." + type),
           {43});
    c.array("bool", {43}, Fill::bits).array(type, {43}).array(type, {43}, Fill::counting);
    expect_agreement(c, Effort::brief);
  }
}

}  // namespace
}  // namespace weft::agree
