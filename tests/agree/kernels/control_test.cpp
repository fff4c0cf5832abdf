// Control under conditions that differ from thread to thread: nested loops, break, continue, return, while loops of
// different lengths, short-circuit evaluation, unrolled loops, names bound on one path only.
#include "agree.h"

namespace weft::agree {
namespace {

TEST(Control, NestedLoopsLeftInEveryWay) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = wp.abs(a[i]) % 9
    count = int(0)
    trace = int(0)
    for x in range(n):
        if x == 6:
            break
        if (x + i) % 3 == 0:
            continue
        y = int(0)
        while y < x + 2:
            y += 1
            if y % 2 == 0 and i % 2 == 0:
                continue
            if y > 4:
                break
            for z in range(y, 0, -2):
                count += 1
                trace = trace * 3 + z
                if trace > 100000:
                    out[i, 3] = trace
                    return
                if z == 1 and i % 5 == 0:
                    break
            else_value = count
        trace += y
    out[i, 0] = count
    out[i, 1] = trace
    if n == 4:
        return
    out[i, 2] = 1
)",
         {67});
  c.array("int32", {67}).array("int32", {67, 4}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, GuardsThatMostGroupsPass) {
  // Both forms of a guard, values that leave it, a guard within a guard, and additions behind it (emit/agreeing_if.cpp).
  Case c(R"(
@wp.kernel
def k(n: int, x: wp.array2d(dtype=float), v: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float), sums: wp.array(dtype=float)):
    i, j = wp.tid()
    kept = float(j)
    if i > 0 and j > 1 and i < x.shape[0] - 1 and j < x.shape[1] - 1:
        kept = x[i - 1, j] + x[i + 1, j] - x[i, j - 1] * x[i, j + 1]
        if j + i < n:
            p = v[j]
            v[j] = p
            kept += p[0] * p[2] - p[1]
    out[i, j] = kept
    if i >= 3 or j >= n:
        return
    wp.atomic_add(sums, j, 1.0)
    if x[i, j] > 0.0:
        out[i, j] += 1.0
)",
         {4, 83});
  c.integer(70).array("float32", {4, 83}).array("vec3", {83}).array("float32", {4, 83}, Fill::zeros);
  c.array("float32", {83}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, GuardsWithMemoryOnBothSides) {
  // The inside of a stencil and its border, each in its own order; and a border that reads and writes as much as the inside.
  Case c(R"(
@wp.kernel
def k(x: wp.array2d(dtype=float), a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), d: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if j > 0 and j < x.shape[1] - 1:
        a[i, j] = x[i, j - 1] + x[i, j + 1] - 2.0 * x[i, j]
    else:
        a[i, j] = x[i, j]
    kept = float(0.0)
    if j == 0 or j >= x.shape[1] - 1:
        kept = x[i, j]
        b[i, j] = kept
    else:
        kept = x[i, j + 1] - x[i, j - 1]
        b[i, j] = kept * 0.5
    if j < 40:
        d[i, j] = x[i, j] + kept
    else:
        d[i, j] = x[i, j] - kept
)",
         {3, 83});
  c.array("float32", {3, 83}).array("float32", {3, 83}, Fill::zeros).array("float32", {3, 83}, Fill::zeros);
  c.array("float32", {3, 83}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, GuardedLightKernel) {
  Case c(R"(
@wp.kernel
def k(n: int, x: wp.array(dtype=float), out: wp.array(dtype=float), bins: wp.array(dtype=float)):
    i = wp.tid()
    if i >= n:
        return
    out[i] = x[i] * 2.0
    wp.atomic_add(bins, i % 7, 1.0)
)",
         {150});
  c.integer(131).array("float32", {150}).array("float32", {150}, Fill::zeros).array("float32", {7}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, WhileLoopsOfDifferentLengths) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=int), out: wp.array(dtype=int), f: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.abs(a[i]) * 37 + i + 1
    steps = int(0)
    while n != 1:
        if n % 2 == 0:
            n = n / 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 500:
            break
    out[i] = steps
    x = float(i)
    while True:
        x = x * 0.5 + 0.25
        if x < 0.51:
            break
    f[i] = x
)",
         {131});
  c.array("int32", {131}).array("int32", {131}, Fill::zeros).array("float32", {131}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, ReturnsFromFunctions) {
  Case c(R"(
@wp.func
def find(x: wp.array(dtype=int), v: int):
    for j in range(len(x)):
        if x[j] == v:
            return j
        if x[j] > 18:
            return -2
    return -1

@wp.func
def classify(v: int):
    if v < 0:
        if v < -10:
            return 1, float(v)
        return 2, 0.5
    elif v == 0:
        return 3, 1.0
    k = int(0)
    while True:
        k += v
        if k > 30:
            return 4, float(k)

@wp.kernel
def k(a: wp.array(dtype=int), out: wp.array2d(dtype=int), f: wp.array(dtype=float)):
    i = wp.tid()
    out[i, 0] = find(a, i - 20)
    c, x = classify(a[i])
    out[i, 1] = c
    f[i] = x
)",
         {45});
  c.array("int32", {45}).array("int32", {45, 2}, Fill::zeros).array("float32", {45}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, ShortCircuitGuardsAccesses) {
  Case c(R"(
@wp.func
def note(log: wp.array2d(dtype=int), i: int, slot: int, result: bool):
    log[i, slot] = log[i, slot] + 1
    return result

@wp.kernel
def k(a: wp.array(dtype=int), log: wp.array2d(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    j = a[i] * 3
    if j >= 0 and j < len(a) and a[j] > 0:
        out[i] = a[j]
    elif j < 0 or a[j % len(a)] == 0:
        out[i] = -1
    x = note(log, i, 0, i % 2 == 0) and note(log, i, 1, i % 3 == 0) and note(log, i, 2, True)
    y = note(log, i, 3, i % 2 == 0) or note(log, i, 4, i % 3 == 0)
    z = a[j] if j >= 0 and j < len(a) else 77
    if x or not y:
        out[i] += z
)",
         {41});
  c.array("int32", {41}).array("int32", {41, 5}, Fill::zeros).array("int32", {41}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, UnrolledAndConstantLoops) {
  Case c(R"(
N = wp.constant(5)

@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    v = wp.vec3(0.0, 0.0, 0.0)
    for j in range(3):
        v[j] = a[i] * float(j)
    s = 0.0
    for j in range(N):
        if j == i % N:
            continue
        s += float(j) * a[(i + j) % len(a)]
    for j in range(40):
        s += 0.125
        if s > 10.0:
            break
    for j in range(6, -6, -4):
        s += float(j)
    for j in range(3, 3):
        s = -1.0
    last = j
    out[i, 0] = v[0] + v[1] + v[2]
    out[i, 1] = s
    out[i, 2] = float(last)
)",
         {33});
  c.array("float32", {33}).array("float32", {33, 3}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, NamesBoundOnOnePath) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    if a[i] > 0:
        x = a[i] * 2
        if i % 2 == 0:
            y = x + 1
    else:
        z = 5
    out[i, 0] = x
    out[i, 1] = y
    out[i, 2] = z
    for j in range(a[i]):
        w = j
    out[i, 3] = w
)",
         {29});
  c.array("int32", {29}).array("int32", {29, 4}, Fill::counting);
  expect_agreement(c);
}

TEST(Control, UniformConditionsAndLoops) {
  Case c(R"(
@wp.kernel
def k(mode: int, n: int, on: bool, a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    if mode == 1:
        s = a[i]
    elif mode == 2:
        for j in range(n):
            s += a[j] * float(i)
            if s > 1000.0:
                break
    if on and i > n:
        s += 1.0
        k = int(0)
        while k < n:
            k += 2
            s -= a[k % len(a)]
    out[i] = s
)",
         {39});
  c.integer(2).integer(9).boolean(true).array("float32", {39}).array("float32", {39}, Fill::zeros);
  expect_agreement(c);
}

TEST(Control, LoopBoundsAtTheEdges) {
  Case c(R"(
@wp.kernel
def k(lo: wp.array(dtype=int), hi: wp.array(dtype=int), step: wp.array(dtype=int), out: wp.array2d(dtype=wp.int64)):
    i = wp.tid()
    n = wp.int64(0)
    s = wp.int64(0)
    for j in range(lo[i], hi[i], step[i]):
        n += wp.int64(1)
        s += wp.int64(j)
    out[i, 0] = n
    out[i, 1] = s
)",
         {12});
  constexpr std::int32_t kMin = INT32_MIN, kMax = INT32_MAX;
  c.data<std::int32_t>("int32", {0, 5, 5, kMax - 3, kMin + 2, kMin, kMax, 0, -3, kMin, kMax, 1});
  c.data<std::int32_t>("int32", {5, 0, 0, kMax, kMin, kMax, kMin, 10, 3, kMin, kMax, 2});
  c.data<std::int32_t>("int32", {2, 1, -2, 2, -1, 1 << 30, -(1 << 30), 3, 1, 1, -1, kMax});
  c.array("int64", {12, 2}, Fill::zeros);
  expect_agreement(c);
}

}  // namespace
}  // namespace weft::agree
