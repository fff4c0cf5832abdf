// Structs: nested, with array fields, as parameters, as elements of arrays; copies are values. Functions: several
// results, defaults, keywords, overloads, generics.
#include "agree.h"

namespace weft::agree {
namespace {

TEST(Struct, NestedInArrays) {
  Case c(R"(
@wp.struct
class Inner:
    flag: bool
    v: wp.vec3
    n: wp.int16

@wp.struct
class Outer:
    a: wp.uint8
    inner: Inner
    m: wp.mat22d
    k: int

@wp.func
def bump(o: Outer):
    o.k += 5
    o.inner.v[1] = 9.0
    return o

@wp.kernel
def k(src: wp.array(dtype=Outer), dst: wp.array(dtype=Outer), out: wp.array(dtype=float)):
    i = wp.tid()
    s = src[i]
    t = s
    t.inner.v.x += 2.0
    t.inner.flag = not s.inner.flag
    t.a = wp.uint8(i)
    t.m[0, 1] = wp.float64(s.k)
    u = bump(t)
    out[i] = t.inner.v[1] + float(t.k) + u.inner.v[1] + float(u.k) + s.inner.v.x
    dst[i] = u
    dst[i].inner.n = wp.int16(-i)
    dst[i].inner.v[2] = 4.0
    src[i].k = dst[i].k + int(src[i].inner.n)
    fresh = Outer()
    fresh.inner = s.inner
    if i % 4 == 0:
        dst[i] = fresh
)",
         {27});
  c.array("Outer", {27}).array("Outer", {27}, Fill::counting).array("float32", {27}, Fill::zeros);
  expect_agreement(c);
}

TEST(Struct, ParametersWithArrayFields) {
  Case c(R"(
@wp.struct
class Grid:
    x: wp.array(dtype=float)
    y: wp.array2d(dtype=float)
    scale: float
    n: int

@wp.struct
class Args:
    grid: Grid
    offset: wp.vec3

@wp.func
def sample(g: Grid, i: int):
    return g.x[i % len(g.x)] * g.scale + g.y[i % g.y.shape[0], 1]

@wp.kernel
def k(args: Args, out: wp.array(dtype=float)):
    i = wp.tid()
    g = args.grid
    if i % 2 == 0:
        g.scale = 0.5
    out[i] = sample(g, i) + sample(args.grid, i + 1) + args.offset[i % 3]
    args.grid.y[i, 0] = float(args.grid.n)
)",
         {25});
  c.at("args.grid.x").array("float32", {7});
  c.at("args.grid.y").array("float32", {25, 2});
  c.at("args.grid.scale").real(2.5);
  c.at("args.grid.n").integer(3);
  c.at("args.offset").value("vec3");
  c.array("float32", {25}, Fill::zeros);
  expect_agreement(c);
}

TEST(Struct, ArrayFieldsChosenByThread) {
  Case c(R"(
@wp.struct
class Pair:
    a: wp.array(dtype=int)
    b: wp.array(dtype=int)

@wp.kernel
def k(p: Pair, out: wp.array(dtype=int)):
    i = wp.tid()
    q = p.a if i % 3 == 0 else p.b
    out[i] = q[i] + len(q)
    if i % 2 == 0:
        q[i] = -i
)",
         {26});
  c.at("p.a").array("int32", {30});
  c.at("p.b").array("int32", {26});
  c.array("int32", {26}, Fill::zeros);
  expect_agreement(c);
}

TEST(Function, SeveralResultsDefaultsKeywordsOverloads) {
  Case c(R"(
SCALE = wp.constant(2.5)

@wp.func
def split(x: float, by: float = 3.0):
    q = wp.floor(x / by)
    return q, x - q * by, x < 0.0

@wp.func
def pick(a: int, b: int = 7, c: int = 9):
    if a > b:
        return a
    return b * 10 + c

@wp.func
def twice(x: float):
    return x * SCALE

@wp.func
def twice(x: int):
    return x * 2

@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array2d(dtype=float), n: wp.array2d(dtype=int)):
    i = wp.tid()
    q, r, neg = split(a[i])
    out[i, 0] = q
    out[i, 1] = r
    q, r, neg = split(by=a[i] + 1.5, x=2.0)
    out[i, 2] = q if neg else r
    out[i, 3] = twice(a[i])
    n[i, 0] = pick(i)
    n[i, 1] = pick(i, c=i)
    n[i, 2] = pick(i, 3, 4) + twice(i)
    x, y = 1, 2
    x, y = y, x + i
    n[i, 3] = x * 100 + y
)",
         {31});
  c.array("float32", {31}).array("float32", {31, 4}, Fill::zeros).array("int32", {31, 4}, Fill::zeros);
  expect_agreement(c);
}

TEST(Function, GenericFunctionsAndKernels) {
  const std::string text = R"(
@wp.func
def mad(x: wp.Any, y: wp.Any):
    return x * y + x

@wp.func
def largest(x: wp.array(dtype=wp.Any), n: int):
    best = x[0]
    for j in range(1, n):
        best = wp.max(best, x[j])
    return best

@wp.kernel
def k(a: wp.array(dtype=wp.Any), b: wp.array(dtype=wp.Any), s: wp.Any, out: wp.array(dtype=wp.Any)):
    i = wp.tid()
    out[i] = mad(a[i], b[i]) + largest(a, i + 1)
    if s > type(s)(i):
        out[i] = a[i]
)";
  for (const std::string type : {"float32", "float64", "int64", "uint8", "bfloat16"}) {
    Case c(text, {23});
    c.array(type, {23}).array(type, {23}).integer(5).array(type, {23}, Fill::zeros);
    expect_agreement(c, Effort::brief);
  }
}

TEST(Function, DeepCallsStayCalls) {
  // More than the inliner takes: some functions are emitted on their own, with masks.
  std::string text =
      "\n@wp.func\ndef f0(x: float, n: int):\n    if n < 0:\n        return x\n    return x * 1.5 + float(n)\n";
  for (int k = 1; k <= 9; ++k) {
    const std::string me = std::to_string(k), down = std::to_string(k - 1);
    text += "\n@wp.func\ndef f" + me + "(x: float, n: int):\n    if x > 40.0:\n        return f" + down +
            "(x - 50.0, n - 1)\n" + "    return f" + down + "(x + 1.0, n) + f" + down + "(x - 1.0, n - 2)\n";
  }
  text += R"(
@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = f9(a[i], i % 7)
)";
  Case c(text, {21});
  c.array("float32", {21}).array("float32", {21}, Fill::zeros);
  expect_agreement(c, Effort::brief);
}

}  // namespace
}  // namespace weft::agree
