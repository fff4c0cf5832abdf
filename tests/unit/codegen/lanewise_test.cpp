// Functions that run for one thread at a time: whatever the lanes of the kernel that calls them, and although their vectors
// fill registers, they give what the same function gives without the word.
#include "harness.h"

namespace weft::codegen::test {
namespace {

std::string without(std::string text, const std::string& word) {
  for (std::size_t at; (at = text.find(word)) != std::string::npos;) text.erase(at, word.size());
  return text;
}

constexpr std::int64_t kThreads = 53;

template <class Out>
void expect_same(const std::string& text, std::size_t outputs_each) {
  Program program(text), plain(without(text, " lanewise"));
  std::vector<float> a(64 * 8), x(kThreads);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = 0.25f * float((k * 37) % 101) - 9.0f;
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.5f * float((k * 13) % 29) - 3.0f;
  auto run_one = [&](const Program& which, int lanes, int level, const TargetSpec& target) {
    std::vector<Out> y(std::size_t(kThreads) * outputs_each);
    run(which, Block(which).array(a, {64}).array(x).array(y, {kThreads}), {kThreads},
        {.lanes = lanes, .opt_level = level, .target = target});
    return y;
  };
  const std::vector<Out> expected = run_one(plain, 1, 2, host_target());
  for (const TargetSpec& target : runnable_targets())
    for (int lanes : {1, 2, 4, 8, 16})
      for (int level : {0, 1, 2, 3})
        EXPECT_EQ(run_one(program, lanes, level, target), expected)
            << lanes << " lanes, level " << level << ", " << target.cpu_name;
}

TEST(Lanewise, EveryOperationOnPackedVectors) {
  expect_same<float>(R"(
struct %Pair { v: vec<f32,8>, n: i32 }
func @mixed(%p: %Pair, %w: vec<f32,4>) -> (%Pair, f32) {
  %v = extract %p.0
  %n = extract %p.1
  %e = extract %w[%n]
  %u = scale %v, %e
  %q = insert %p, %u, .0
  %z = insert %q, %e, .0[2]
  %d = dot %v, %u
  return %z, %d
}
func @work(%a: array<vec<f32,8>,1>, %i: i32, %x: f32) -> (f32, vec<f32,4>, bool) lanewise {
  %v = load %a[%i]
  %s = splat vec<f32,8>, %x
  %t = fma %v, %x, %s
  %m = min %t, %v
  %ab = abs %m
  %r = sqrt %ab
  %k = bit_and %i, 3i32
  %e = extract %r[%k]
  %f = extract %r[7]
  %c = lt %e, %f
  %chosen = select %c, %r, %t
  %j = sub %i, 20i32
  %beyond = extract %chosen[%j]
  %w = construct vec<f32,4> %e, %f, %beyond, %x
  %pair = construct %Pair %chosen, %k
  %after, %d = call @mixed(%pair, %w)
  %av = extract %after.0
  %same = eq %av, %chosen
  %sum, %last = for %n = 0i32 to 5i32 step 1i32 (%acc = 0.0f32, %run = %av) {
    %half = scale %run, 0.5f32
    %at = extract %half[%n]
    %next = add %acc, %at
    %moved = insert %half, %next, [%n]
    yield %next, %moved
  }
  %stack = local : array<vec<f32,8>,1> [3]
  store %stack[1i32], %last
  store %stack[2i32][3], %x
  %back = load %stack[1i32]
  %b3 = load %stack[2i32][3]
  %rem = rem %back, %s
  %r0 = extract %rem[1]
  %y0 = add %sum, %d
  %y1 = add %y0, %r0
  %y2 = add %y1, %b3
  %nan = ne %y2, %y2
  %y = select %nan, 1.0f32, %y2
  return %y, %w, %same
}
kernel @k(%a: array<vec<f32,8>,1>, %x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %positive = gt %v, 0.0f32
  %r = if %positive : f32 {
    %s, %w, %same = call @work(%a, %i, %v)
    %w1 = extract %w[1]
    %t = add %s, %w1
    %n = cast %same : f32
    %u = add %t, %n
    yield %u
  } else {
    %s, %w, %same = call @work(%a, 3i32, 2.0f32)
    %w2 = extract %w[2]
    %t = sub %s, %w2
    yield %t
  }
  store %y[%i], %r
  return
}
)",
                     1);
}

TEST(Lanewise, LargeValuesGoInAndOut) {
  // Matrices of more numbers than fit registers live in memory, a copy for each lane.
  expect_same<float>(R"(
func @turn(%m: mat<f32,9,9>, %k: i32) -> (mat<f32,9,9>, i32) lanewise {
  %t = transpose %m
  %s = scale %t, 2.0f32
  %n = add %k, 1i32
  return %s, %n
}
kernel @k(%a: array<vec<f32,8>,1>, %x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %m = splat mat<f32,9,9>, %v
  %q = insert %m, 5.0f32, [1][2]
  %odd = bit_and %i, 1i32
  %c = eq %odd, 0i32
  %r = if %c : f32 {
    %t, %n = call @turn(%q, %i)
    %e = extract %t[2][1]
    %f = extract %t[%n][0]
    %s = add %e, %f
    yield %s
  } else {
    yield %v
  }
  store %y[%i], %r
  return
}
)",
                     1);
}

TEST(Lanewise, RowsOfMatrices) {
  expect_same<float>(R"(
struct %Held { m: mat<f32,4,4>, v: vec<f32,4> }
func @turn(%m: mat<f32,4,4>, %h: %Held, %k: i32) -> (f32, %Held) lanewise {
  %row = extract %m[2]
  %any = extract %m[%k]
  %both = mul %row, %any
  %n = insert %m, %both, [1]
  %o = insert %n, %row, [%k]
  %p = matmul %o, %both
  %inner = extract %h.0[3]
  %sum = add %p, %inner
  %held = insert %h, %sum, .0[0]
  %outer = insert %held, %any, .1
  %d = dot %p, %sum
  return %d, %outer
}
kernel @k(%a: array<vec<f32,8>,1>, %x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %m = splat mat<f32,4,4>, %v
  %q = insert %m, 5.0f32, [2][1]
  %w = splat vec<f32,4>, %v
  %h = construct %Held %q, %w
  %k = bit_and %i, 3i32
  %d, %held = call @turn(%q, %h, %k)
  %e = extract %held.0[0][2]
  %f = extract %held.1[1]
  %s = add %d, %e
  %r = add %s, %f
  store %y[%i], %r
  return
}
)",
                     1);
}

TEST(Lanewise, VectorsFillRegisters) {
  Program program(R"(
func @f(%a: array<vec<f32,8>,1>, %i: i32) -> (f32) lanewise {
  %v = load %a[%i]
  %w = mul %v, %v
  %e = extract %w[3]
  return %e
}
kernel @k(%a: array<vec<f32,8>,1>, %x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %r = call @f(%a, %i)
  store %y[%i], %r
  return
}
)");
  EmitOptions options;
  options.lanes = 4;
  const std::string text = emit(*program.module, program.kernel(), host_target(), options, Output::llvm_ir).bytes;
  EXPECT_NE(text.find("fmul <8 x float>"), std::string::npos) << text;
  const std::string ptx = emit(*program.module, program.kernel(), nvptx_target(80), {}, Output::ptx).bytes;
  EXPECT_NE(ptx.find("mul"), std::string::npos) << ptx;
}

}  // namespace
}  // namespace weft::codegen::test
