// Control flow: divergent and uniform branches, loops with varying trip counts, nesting. Every kernel runs at one lane
// and at many over grids with tails; results must be bit-identical.
#include "harness.h"

#include <cmath>

namespace weft::codegen::test {
namespace {

/// Runs with one lane, then with others, on the same inputs; `out` is compared bit for bit.
void same_at_all_lanes(const std::string& text, std::size_t n, std::vector<float> x, std::vector<std::int32_t> k) {
  Program program(text);
  std::vector<float> want(n, -7.0f);
  run(program, Block(program).array(x).array(k).array(want), {std::int64_t(n)});
  auto compare = [&](const RunOptions& options) {
    std::vector<float> got(n, -7.0f);
    run(program, Block(program).array(x).array(k).array(got), {std::int64_t(n)}, options);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_TRUE(std::memcmp(&got[i], &want[i], 4) == 0 || (std::isnan(got[i]) && std::isnan(want[i])))
          << options.lanes << " lanes on " << options.target.cpu_name << ", thread " << i << ": " << got[i]
          << " instead of " << want[i];
  };
  for (int lanes : lane_counts()) compare({.lanes = lanes});
  for (int lanes : {4, 16, 32}) compare({.lanes = lanes, .opt_level = 1, .free_masks = true});
  compare({.lanes = 4, .opt_level = 0});
  compare({.lanes = 8, .opt_level = 3});
  for (const TargetSpec& target : runnable_targets()) compare({.lanes = natural_lanes(target), .target = target});
}

std::vector<float> some_floats(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = float(int(i * 37 % 101) - 50) * 0.37f;
  return x;
}

std::vector<std::int32_t> some_counts(std::size_t n) {
  std::vector<std::int32_t> k(n);
  for (std::size_t i = 0; i < n; ++i) k[i] = int(i * 13 % 11) - 2;
  return k;
}

void check(const std::string& body) {
  std::string text =
      "kernel @k(%x: array<f32,1>, %n: array<i32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {\n"
      "  %i = tid 0\n  %v = load %x[%i]\n  %m = load %n[%i]\n" +
      body + "  return\n}\n";
  for (std::size_t n : {1u, 5u, 64u, 101u}) same_at_all_lanes(text, n, some_floats(n), some_counts(n));
}

TEST(Control, DivergentIf) {
  check(R"(
  %c = gt %v, 0.0f32
  %r = if %c : f32 {
    %s = sqrt %v
    store %out[%i], %s
    yield %s
  } else {
    %t = mul %v, %v
    yield %t
  }
  %u = add %r, %v
  store %out[%i], %u
)");
}

TEST(Control, StoresUnderMask) {
  check(R"(
  %c = gt %m, 3i32
  if %c {
    store %out[%i], %v
    yield
  } else {
    yield
  }
)");
}

TEST(Control, NestedDivergence) {
  check(R"(
  %n1 = dim %x, 0 : i32
  %c = gt %v, 0.0f32
  %r, %q = if %c : f32, i32 {
    %d = gt %m, 4i32
    %a = if %d : f32 {
      %e = exp %v
      yield %e
    } else {
      %at = rem %m, %n1
      %w = load %x[%at~]
      %f = div %v, %w
      yield %f
    }
    yield %a, 1i32
  } else {
    %g = lt %m, 1i32
    %h = if %g : f32 { 
      %z = abs %v
      store %out[%i], %z
      yield %z
    } else { yield %v }
    yield %h, 2i32
  }
  %qf = cast %q : f32
  %s = add %r, %qf
  store %out[%i], %s
)");
}

TEST(Control, UniformFor) {
  check(R"(
  %len = dim %x, 0 : i32
  %s = for %j = 0i32 to 7i32 step 2i32 (%acc = %v) {
    %at = rem %j, %len
    %w = load %x[%at~]
    %p = mul %acc, 0.5f32
    %q = add %p, %w
    yield %q
  }
  store %out[%i], %s
)");
}

TEST(Control, VaryingTripCount) {
  check(R"(
  %s, %last = for %j = 0i32 to %m step 1i32 (%acc = %v, %k0 = -1i32) {
    %jf = cast %j : f32
    %p = mul %acc, 1.25f32
    %q = add %p, %jf
    yield %q, %j
  }
  %lf = cast %last : f32
  %t = add %s, %lf
  store %out[%i], %t
)");
}

TEST(Control, VaryingStartAndStep) {
  check(R"(
  %five = mul %m, 5i32
  %s = for %j = %five to %m step -3i32 (%acc = 0.0f32) {
    %jf = cast %j : f32
    %q = add %acc, %jf
    yield %q
  }
  %st = rem %m, 4i32
  %s2 = for %j = %m to 20i32 step %st (%acc = %s) {
    %jf = cast %j : f32
    %q = sub %acc, %jf
    yield %q
  }
  %len = dim %x, 0 : i32
  %s3 = for %j = %i to %five step 2i32 (%acc = %s2) {
    %at = rem %j, %len
    %w = load %x[%at~]
    %q = add %acc, %w
    yield %q
  }
  store %out[%i], %s3
)");
}

TEST(Control, WhileWithBreakFlag) {
  check(R"(
  %s, %k, %on = while (%s1 = %v, %k1 = 0i32, %on1 = true) {
    %more = lt %k1, %m
    %run = bit_and %on1, %more
    test %run
  } do {
    %sn = mul %s1, 1.5f32
    %k2 = add %k1, 1i32
    %stop = gt %sn, 20.0f32
    %go = bit_not %stop
    yield %sn, %k2, %go
  }
  %kf = cast %k : f32
  %t = add %s, %kf
  %onf = cast %on : f32
  %u = add %t, %onf
  store %out[%i], %u
)");
}

TEST(Control, LoopInDivergentIfInLoop) {
  check(R"(
  %s = for %j = 0i32 to 4i32 step 1i32 (%acc = %v) {
    %c = gt %acc, 0.0f32
    %r = if %c : f32 {
      %w, %k = while (%w1 = %acc, %k1 = %j) {
        %go = lt %k1, %m
        test %go
      } do {
        %wn = sub %w1, 1.0f32
        %kn = add %k1, 1i32
        store %out[%i], %wn
        yield %wn, %kn
      }
      yield %w
    } else {
      %z = add %acc, 3.0f32
      yield %z
    }
    yield %r
  }
  store %out[%i], %s
)");
}

TEST(Control, UniformBranchOnParameterAndDivergentInside) {
  check(R"(
  %len = dim %x, 0 : i32
  %big = gt %len, 10i32
  %r, %lin = if %big : f32, i32 {
    %c = gt %v, 1.0f32
    %a = if %c : f32 {
      %e = log %v
      yield %e
    } else { yield 0.25f32 }
    %i1 = add %i, 1i32
    yield %a, %i1
  } else {
    %i2 = add %i, 1i32
    yield 1.0f32, %i2
  }
  %last = sub %len, 1i32
  %at = min %lin, %last
  %w = load %x[%at]
  %s = add %r, %w
  store %out[%i], %s
)");
}

TEST(Control, LinearIndexCarriedByLoop) {
  check(R"(
  %len = dim %x, 0 : i32
  %at, %sum = for %j = 0i32 to 5i32 step 1i32 (%p = %i, %acc = 0.0f32) {
    %ok = lt %p, %len
    %w = if %ok : f32 {
      %l = load %x[%p]
      yield %l
    } else { yield 0.0f32 }
    %q = add %p, 3i32
    %s = add %acc, %w
    yield %q, %s
  }
  %one = sub %len, 1i32
  %two = min %one, 2i32
  %back = sub %i, %two
  %before = load %x[%back~]
  %r = add %sum, %before
  store %out[%i], %r
)");
}

TEST(Control, Functions) {
  std::string text = R"(
func @inner(%x: array<f32,1>, %i: i32, %s: f32) -> (f32, i32) {
  %c = gt %s, 0.0f32
  %r = if %c : f32 {
    %w = load %x[%i~]
    yield %w
  } else {
    %z = neg %s
    yield %z
  }
  %j = add %i, 1i32
  return %r, %j
}
func @outer(%x: array<f32,1>, %v: vec<f32,3>, %i: i32) -> (vec<f32,3>) {
  %a = extract %v[0]
  %r, %j = call @inner(%x, %i, %a)
  %r2, %j2 = call @inner(%x, 0i32, 1.0f32)
  %m = mul %r, %r2
  %w = insert %v, %m, [1]
  return %w
}
kernel @k(%x: array<f32,1>, %n: array<i32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %c = lt %v, 5.0f32
  if %c {
    %vec = construct vec<f32,3> %v, %v, 1.0f32
    %w = call @outer(%x, %vec, %i)
    %s = dot %w, %vec
    store %out[%i], %s
    yield
  } else { yield }
  return
}
)";
  for (std::size_t n : {1u, 5u, 64u, 101u}) same_at_all_lanes(text, n, some_floats(n), some_counts(n));
}

}  // namespace
}  // namespace weft::codegen::test
