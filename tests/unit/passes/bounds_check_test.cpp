// Debug-mode checks: the inserted IR, and what it does when an index is wrong.
#include "passes/bounds_check.h"

#include <array>
#include <cmath>

#include "interp/interpreter.h"
#include "ir_text.h"

namespace weft::testing {
namespace {

void check_all(ir::Module& module) {
  for (auto& function : module.functions) passes::bounds_check(*function);
}

struct Launch {
  runtime::ErrorRecord error;
  runtime::LaunchContext context;
  std::vector<std::byte> block;

  void add(const void* bytes, std::size_t size) {
    block.resize((block.size() + 7) / 8 * 8);
    auto from = static_cast<const std::byte*>(bytes);
    block.insert(block.end(), from, from + size);
  }
  template <class T>
  void array(std::vector<T>& data) {
    ArrayDesc desc;
    desc.data = data.data();
    desc.shape[0] = std::int64_t(data.size());
    desc.strides[0] = sizeof(T);
    desc.ndim = 1;
    add(&desc, sizeof desc);
  }
  void run(const ir::Module& module, std::int64_t threads) {
    context.dims[0] = threads;
    context.error = &error;
    interp::run_kernel(module, *module.functions.back(), block.data(), context, 0, threads, {.max_steps = 1000000});
  }
};

TEST(BoundsCheck, RewritesALoad) {
  auto module = parse_ir(
      "kernel @k(%x: array<f32,1>, %i: i32) form(rank 1) {\n%1 = load %x[%i~]\nstore %x[0i32], %1\nreturn\n}\n");
  auto expected = parse_ir(
      "kernel @k(%x: array<f32,1>, %i: i32) form(rank 1) {\n"
      "%d = dim %x, 0 : i64\n%w = cast %i : i64\n%n = lt %w, 0i64\n%s = add %w, %d\n%k = select %n, %s, %w\n"
      "%p = ge %k, 0i64\n%q = lt %k, %d\n%ok = bit_and %p, %q\ncheck bounds %ok, \"x\", %w, %d\n"
      "%r = if %ok : f32 {\n %1 = load %x[%k]\n yield %1\n} else {\n yield 0.0f32\n}\n"
      "%d2 = dim %x, 0 : i64\n%w2 = cast 0i32 : i64\n%p2 = ge %w2, 0i64\n%q2 = lt %w2, %d2\n%ok2 = bit_and %p2, %q2\n"
      "check bounds %ok2, \"x\", %w2, %d2\nif %ok2 {\n store %x[%w2], %r\n yield\n} else {\n yield\n}\nreturn\n}\n");
  check_all(*module);
  EXPECT_EQ(ir::verify(*module), "");
  EXPECT_EQ(canonical(*module), canonical(*expected));
}

TEST(BoundsCheck, ReportsTheFirstBadIndexAndStops) {
  auto module = parse_ir(
      "kernel @k(%x: array<f32,1>, %i: i32) form(rank 1) {\n%1 = load %x[%i~]\nstore %x[0i32], %1\nreturn\n}\n");
  check_all(*module);
  std::vector<float> data = {1, 2, 3};
  std::int32_t index = -4;
  Launch run;
  run.array(data);
  run.add(&index, sizeof index);
  run.run(*module, 3);
  EXPECT_EQ(run.error.state.load(), 2);
  EXPECT_EQ(run.error.index, -4);
  EXPECT_EQ(run.error.extent, 3);
  EXPECT_EQ(run.error.thread[0], 0);
  EXPECT_EQ(data[0], 0.0f);
}

TEST(BoundsCheck, ReportsZeroDivisors) {
  auto module = parse_ir(
      "kernel @k(%x: array<i32,1>, %i: i32) form(rank 1) {\n%1 = div 7i32, %i\n%2 = rem %1, 3i32\n"
      "store %x[0i32], %2\nreturn\n}\n");
  check_all(*module);
  EXPECT_EQ(ir::verify(*module), "");
  std::vector<std::int32_t> data = {9};
  std::int32_t divisor = 0;
  Launch run;
  run.array(data);
  run.add(&divisor, sizeof divisor);
  run.run(*module, 1);
  EXPECT_EQ(run.error.state.load(), 2);
  EXPECT_EQ(data[0], 0);
}

TEST(BoundsCheck, EveryKindOfForStillCounts) {
  auto module = parse_ir(
      "kernel @k(%x: array<i64,1>, %lo: i64, %hi: i64, %step: i64) form(rank 1) {\n"
      "%n, %s = for %k = %lo to %hi step %step (%p = 0i64, %q = 0i64) {\n %1 = add %p, 1i64\n"
      " %2 = add %q, %k\n yield %1, %2\n}\n"
      "store %x[0i32], %n\nstore %x[1i32], %s\nreturn\n}\n");
  auto plain = parse_ir(ir::print(*module));
  check_all(*module);
  EXPECT_EQ(ir::verify(*module), "");
  constexpr std::int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  const std::int64_t cases[][3] = {{0, 5, 1},          {5, 0, 1},           {5, 0, -1},           {0, 5, -1},
                                   {0, 5, 0},          {-3, 8, 4},          {8, -3, -4},          {kMin, kMax, kMax},
                                   {kMax, kMin, kMin}, {kMax - 2, kMax, 1}, {kMin + 2, kMin, -1}, {3, 3, 1}};
  for (const auto& bounds : cases) {
    std::vector<std::int64_t> a(2), b(2);
    for (auto [data, ir] : {std::pair(&a, module.get()), std::pair(&b, plain.get())}) {
      Launch run;
      run.array(*data);
      for (std::int64_t v : bounds) run.add(&v, sizeof v);
      run.run(*ir, 1);
    }
    EXPECT_EQ(a, b) << bounds[0] << " " << bounds[1] << " " << bounds[2];
  }
}

TEST(BoundsCheck, ATestWithALoadMovesIntoTheBody) {
  auto module = parse_ir(
      "kernel @k(%x: array<i32,1>, %y: array<i32,1>) form(rank 1) {\n"
      "%k = while (%p = 0i32) {\n %1 = load %x[%p]\n %2 = ne %1, 0i32\n test %2\n} do {\n %3 = add %p, 1i32\n"
      " yield %3\n}\n"
      "store %y[0i32], %k\nreturn\n}\n");
  check_all(*module);
  EXPECT_EQ(ir::verify(*module), "");
  std::vector<std::int32_t> ends = {1, 1, 0, 1}, endless = {1, 1, 1}, result = {-1};
  Launch good;
  good.array(ends);
  good.array(result);
  good.run(*module, 1);
  EXPECT_EQ(good.error.state.load(), 0);
  EXPECT_EQ(result[0], 2);
  Launch bad;
  bad.array(endless);
  bad.array(result);
  bad.run(*module, 1);
  EXPECT_EQ(bad.error.state.load(), 2);
  EXPECT_EQ(bad.error.index, 3);
}

TEST(BoundsCheck, EndlessLoopsEndWhenTold) {
  auto module = parse_ir(
      "kernel @k(%x: array<i32,1>) form(rank 1) {\nassert false, \"stop here\"\n%k = while (%p = 0i32) {\n"
      " test true\n} do {\n"
      " %3 = add %p, 1i32\n yield %3\n}\nstore %x[0i32], %k\nreturn\n}\n");
  check_all(*module);
  std::vector<std::int32_t> data = {5};
  Launch run;
  run.array(data);
  run.run(*module, 1);
  EXPECT_EQ(run.error.state.load(), 2);
  EXPECT_EQ(data[0], 0);
}

TEST(BoundsCheck, NotFiniteOnRequest) {
  auto module = parse_ir(
      "kernel @k(%x: array<vec<f32,2>,1>, %a: f32) form(rank 1) {\n%v = construct vec<f32,2> 1.0f32, %a\n"
      "store %x[0i32], %v\nreturn\n}\n");
  passes::bounds_check(*module->functions.back(), {.not_finite = true});
  EXPECT_EQ(ir::verify(*module), "");
  for (float a : {1.0f, INFINITY, NAN}) {
    std::vector<std::array<float, 2>> data(1);
    Launch run;
    run.array(data);
    run.add(&a, sizeof a);
    run.run(*module, 1);
    EXPECT_EQ(run.error.state.load() != 0, !(a == 1.0f));
  }
}

}  // namespace
}  // namespace weft::testing
