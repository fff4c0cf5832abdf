// Loops over queries, the library's structs and its tables, through every executor.
#include "agree.h"

#include <algorithm>

namespace weft::agree {
namespace {

TEST(Query, LoopsOverQueries) {
  Case c(R"(
@wp.func
def total(q: wp.ProbeRange):
    s = int(0)
    for i in q:
        s += i
    return s

@wp.func
def first_above(q: wp.ProbeRange, least: int):
    for i in q:
        if i > least:
            return i
    return -1

@wp.kernel
def k(out: wp.array(dtype=int)):
    n = wp.tid()
    q = wp.probe_range(0, n, 1 + n % 3)
    s = total(q)  # a copy: q itself stays where it is
    for i in q:
        if i == 6:
            break
        if i % 2 == 1:
            continue
        for j in wp.probe_range(i, i + n % 4):
            s += 100 * j
    else:
        s += 1000000
    last = int(-1)
    for i in q:  # from where the loop above left it
        last = i
    out[n] = s + 10000 * last + first_above(wp.probe_range(0, 40, 7), n)
)",
         {37});
  c.array("int", {37}, Fill::zeros);
  Outcome outcome = expect_agreement(c);
  auto out = values<std::int32_t>(outcome, 0);
  ASSERT_EQ(out.size(), 37u);
  for (int n = 0; n < 37; ++n) {
    int step = 1 + n % 3, at = 0, s = 0, last = -1;
    for (int i = 0; i < n; i += step) s += i;
    bool left = false;
    while (at < n) {
      int i = at;
      at += step;
      if (i == 6) {
        left = true;
        break;
      }
      if (i % 2 == 1) continue;
      for (int j = i; j < i + n % 4; ++j) s += 100 * j;
    }
    if (!left) s += 1000000;
    for (; at < n; at += step) last = at;
    int above = -1;
    for (int i = 0; i < 40 && above < 0; i += 7)
      if (i > n) above = i;
    EXPECT_EQ(out[std::size_t(n)], s + 10000 * last + above) << n;
  }
}

TEST(Query, ByHandAndInStructs) {
  Case c(R"(
@wp.struct
class Pair:
    a: wp.ProbeRange
    b: wp.ProbeDecay

@wp.func
def advance(p: Pair):
    for i in p.a:
        if i == 1:
            break
    return p

@wp.kernel
def k(out: wp.array(dtype=wp.float64), limit: wp.float64):
    n = wp.tid()
    p = Pair()
    p.a = wp.probe_range(0, n)
    p.b = wp.probe_decay(wp.float64(n), wp.float64(0.5), 3)
    p = advance(p)
    s = wp.float64(0.0)
    for i in p.a:
        s += wp.float64(i)
    i = int(0)
    while wp.probe_decay_next(p.b, i, limit):
        s += p.b.value * wp.float64(i + 1)
    chosen = p.a
    if n % 2 == 0:
        chosen = wp.probe_range(0, 3)
    for i in chosen:
        s += wp.float64(1000.0)
    out[n] = s
)",
         {21});
  c.array("float64", {21}, Fill::zeros).real(15.0);
  Outcome outcome = expect_agreement(c);
  auto out = values<double>(outcome, 0);
  for (int n = 0; n < 21; ++n) {
    double s = 0, value = n;
    for (int i = 2; i < n; ++i) s += i;
    if (value <= 15) s += value * 1 + value / 2 * 2 + value / 4 * 3;
    if (n % 2 == 0) s += 3000;
    EXPECT_EQ(out[std::size_t(n)], s) << n;
  }
}

TEST(Query, RunsAreCounted) {
  Case c(R"(
@wp.func
def first_even(q: wp.ProbeRows, least: int):
    for i in q:
        if i % 2 == 0 and i > least:
            return i
    return -1

@wp.func
def hash(s: int, i: int):
    return s * 31 + i

@wp.kernel
def k(out: wp.array2d(dtype=int)):
    n = wp.tid()
    width = 2 + n % 5
    s = int(0)
    for i in wp.probe_rows(0, n, width):
        s = hash(s, i)
    out[n, 0] = s

    q = wp.probe_rows(0, n, width)
    i = int(-5)
    s = 0
    while wp.probe_rows_next(q, i):
        if i % 3 == 1:
            continue
        s = hash(s, i)
        late = i
        if s % 11 == 7:
            break
    else:
        s += 1
    out[n, 1] = s
    out[n, 2] = i
    if wp.probe_rows_next(q, i):
        out[n, 3] = i
    s = 0
    for j in q:
        s = hash(s, j)
        for j2 in wp.probe_rows(j - 1000, j - 998, 4):
            if j2 % 5 == 2:
                break
            s = hash(s, j2)
    out[n, 4] = s + first_even(wp.probe_rows(0, n, width), 1020)
    for j in q:
        out[n, 4] = -1

    q = wp.probe_rows(1, n, width)
    s = 0
    for j in q:
        s = hash(s, j)
        wp.probe_rows_next(q, i)  # the body goes on by itself
    out[n, 5] = s
)",
         {31});
  c.array("int", {31, 6}, Fill::zeros);
  Outcome outcome = expect_agreement(c);
  auto out = values<std::int32_t>(outcome, 0);
  ASSERT_EQ(out.size(), 31u * 6);
  const auto numbers = [](int first, int last, int width) {
    std::vector<int> all;
    for (int k = first; k < last; ++k)
      for (int place = 10 * k; place < 10 * k + (7 * k) % width; ++place) all.push_back(place + 1000);
    return all;
  };
  const auto hash = [](int s, int i) { return int(unsigned(s) * 31u + unsigned(i)); };
  for (int n = 0; n < 31; ++n) {
    const int width = 2 + n % 5;
    const std::vector<int> all = numbers(0, n, width);
    int expected[6] = {};
    for (int i : all) expected[0] = hash(expected[0], i);
    std::size_t at = 0;
    int s = 0, i = -5;
    bool left = false;
    while (at < all.size() && !left) {
      i = all[at++];
      if (i % 3 == 1) continue;
      s = hash(s, i);
      left = s % 11 == 7;
    }
    expected[1] = s + (left ? 0 : 1);
    expected[2] = i;
    if (at < all.size()) expected[3] = all[at++];
    s = 0;
    for (; at < all.size(); ++at) {
      s = hash(s, all[at]);
      for (int j : numbers(all[at] - 1000, all[at] - 998, 4)) {
        if (j % 5 == 2) break;
        s = hash(s, j);
      }
    }
    const auto even = std::find_if(all.begin(), all.end(), [](int j) { return j % 2 == 0 && j > 1020; });
    expected[4] = int(unsigned(s) + unsigned(even == all.end() ? -1 : *even));
    const std::vector<int> later = numbers(1, n, width);
    for (std::size_t k = 0; k < later.size(); k += 2) expected[5] = hash(expected[5], later[k]);
    for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(out[std::size_t(n) * 6 + k], expected[k]) << n << ", " << k;
  }
}

TEST(Library, StructsAsValues) {
  Case c(R"(
@wp.func
def flip(hit: wp.ProbeHit):
    hit.normal = -hit.normal
    return hit

@wp.kernel
def k(x: wp.array(dtype=float), hits: wp.array(dtype=float)):
    n = wp.tid()
    hit = wp.probe_hit(x[n], wp.vec3(1.0, 2.0, 3.0))
    if n % 2 == 1:
        hit = flip(hit)
        wp.probe_mark(hit, n)
    hits[n] = wp.probe_height(hit) + hit.normal[1] + float(hit.face)
    if not hit.result:
        hits[n] = hit.t
)",
         {19});
  c.array("float", {19}, Fill::small).array("float", {19}, Fill::zeros);
  Outcome outcome = expect_agreement(c);
  auto x = values<float>(outcome, 0), hits = values<float>(outcome, 1);
  for (int n = 0; n < 19; ++n) {
    float v = x[std::size_t(n)];
    float expected = 2.0f * (3.0f * v) + v * 0.5f + (n % 2 ? -2.0f : 2.0f) + float(n % 2 ? n : 3);
    EXPECT_NEAR(hits[std::size_t(n)], v > 0 ? expected : v * 0.5f, 1e-4f) << n;
  }
}

TEST(Library, Tables) {
  Case c(R"(
@wp.kernel
def k(out: wp.array(dtype=wp.vec3), numbers: wp.array2d(dtype=wp.uint64)):
    n = wp.tid()
    out[n] = wp.probe_corner(n)
    numbers[n, 0] = wp.probe_number(n + 1, 0)
    numbers[n, 1] = wp.probe_number(n % 3, 1)
    numbers[n, 2] = wp.probe_number(n, 2)
)",
         {4});
  c.array("vec3", {4}, Fill::zeros).array("uint64", {4, 3}, Fill::zeros);
  Outcome outcome = expect_agreement(c);
  const float corners[4][3] = {{1, 0, 0}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}};
  const std::uint64_t primes[] = {3, 5, 7, 11}, wide[] = {1, ~std::uint64_t(0), 3};
  auto out = values<float>(outcome, 0);
  auto numbers = values<std::uint64_t>(outcome, 1);
  for (std::size_t n = 0; n < 4; ++n) {
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(out[3 * n + k], corners[n][k]) << n << ", " << k;
    EXPECT_EQ(numbers[3 * n], primes[n]);
    EXPECT_EQ(numbers[3 * n + 1], wide[n % 3]);
    EXPECT_EQ(numbers[3 * n + 2], 10u);
  }
}

}  // namespace
}  // namespace weft::agree
