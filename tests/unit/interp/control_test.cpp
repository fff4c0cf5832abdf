// Control flow, calls, limits, prints and asserts.
#include "interp_text.h"
#include "runtime/print_buffer.h"

namespace weft::testing {
namespace {

TEST(InterpControl, ForCountsIn64Bits) {
  std::string text =
      "func @f(%lo: i32, %hi: i32, %step: i32) -> (i32, i32) {\n"
      "%n, %last = for %k = %lo to %hi step %step (%p = 0i32, %q = -1i32) {\n %1 = add %p, 1i32\n yield %1, %k\n}\n"
      "return %n, %last\n}\n";
  auto run = [&](int lo, int hi, int step) {
    auto r = call(text, {datum(lo), datum(hi), datum(step)});
    return std::pair(as<std::int32_t>(r[0]), as<std::int32_t>(r[1]));
  };
  EXPECT_EQ(run(0, 5, 2), std::pair(3, 4));
  EXPECT_EQ(run(5, 0, -2), std::pair(3, 1));
  EXPECT_EQ(run(0, 5, 0), std::pair(0, -1));
  EXPECT_EQ(run(5, 0, 1), std::pair(0, -1));
  EXPECT_EQ(run(INT32_MIN, INT32_MAX, INT32_MAX), std::pair(3, INT32_MAX - 1));
  EXPECT_EQ(run(INT32_MAX, INT32_MIN, INT32_MIN), std::pair(2, -1));
}

TEST(InterpControl, CarriedValuesChangeAtOnce) {
  auto r = call(
      "func @f(%n: i32) -> (i32, i32) {\n%a, %b = for %k = 0i32 to %n step 1i32 (%p = 0i32, %q = 1i32) {\n"
      " %s = add %p, %q\n yield %q, %s\n}\nreturn %a, %b\n}\n",
      {datum(10)});
  EXPECT_EQ(as<std::int32_t>(r[0]), 55);
  EXPECT_EQ(as<std::int32_t>(r[1]), 89);
}

TEST(InterpControl, WhileGivesWhatTheTestSaw) {
  auto r = call(
      "func @f(%n: i32) -> (i32) {\n%a = while (%p = 1i32) {\n %1 = lt %p, %n\n test %1\n} do {\n"
      " %2 = add %p, %p\n yield %2\n}\nreturn %a\n}\n",
      {datum(100)});
  EXPECT_EQ(as<std::int32_t>(r[0]), 128);
}

TEST(InterpControl, CallsNestAndReturnSeveralValues) {
  auto r = call(
      "func @g(%a: i32) -> (i32, i32) {\n%1 = add %a, 1i32\nreturn %1, %a\n}\n"
      "func @f(%a: i32) -> (i32) {\n%x, %y = call @g(%a)\n%z, %w = call @g(%x)\n%1 = mul %z, %w\n"
      "%2 = add %1, %y\nreturn %2\n}\n",
      {datum(3)});
  EXPECT_EQ(as<std::int32_t>(r[0]), 5 * 4 + 3);
}

TEST(InterpControl, StepLimitStopsEndlessLoops) {
  std::string text = "func @f() -> (i32) {\n%a = while (%p = 1i32) {\n test true\n} do {\n yield %p\n}\nreturn %a\n}\n";
  EXPECT_THROW(call(text, {}, {.max_steps = 1000}), interp::Error);
}

TEST(InterpControl, LongCallChainsEndInAnErrorNotInACrash) {
  std::string text = "func @f0(%a: i32) -> (i32) {\nreturn %a\n}\n";
  for (int k = 1; k <= 5000; ++k)
    text += "func @f" + std::to_string(k) + "(%a: i32) -> (i32) {\n%1 = call @f" + std::to_string(k - 1) +
            "(%a)\nreturn %1\n}\n";
  auto module = parse_ir(text);
  interp::Datum arg[] = {datum(3)};
  EXPECT_EQ(as<std::int32_t>(interp::call(*module->find("f1500"), arg)[0]), 3);
  EXPECT_THROW(interp::call(*module->find("f5000"), arg), interp::Error);
}

TEST(InterpControl, WrongArgumentsAreErrors) {
  auto module = parse_ir("func @f(%a: i32) -> (i32) {\nreturn %a\n}\n");
  interp::Datum wrong[] = {datum(1.0f)};
  EXPECT_THROW(interp::call(*module->functions[0], wrong), interp::Error);
  EXPECT_THROW(interp::call(*module->functions[0], {}), interp::Error);
}

TEST(InterpControl, AssertThrowsInCallsAndIsRecordedInKernels) {
  std::string function =
      "func @f(%a: i32) -> (i32) {\n%1 = gt %a, 0i32\nassert %1, \"a must be positive\"\nreturn %a\n}\n";
  EXPECT_EQ(as<std::int32_t>(call(function, {datum(2)})[0]), 2);
  try {
    call(function, {datum(-2)});
    FAIL();
  } catch (const interp::Error& error) {
    EXPECT_NE(std::string(error.what()).find("a must be positive"), std::string::npos);
  }
  auto module = parse_ir(function +
                         "kernel @k() form(rank 2) {\n%i = tid 0\n%j = tid 1\nassert true, \"\"\n%1 = sub 3i32, %j\n"
                         "%2 = call @f(%1)\nreturn\n}\n");
  runtime::ErrorRecord error;
  runtime::LaunchContext context;
  context.rank = 2;
  context.dims[0] = 2, context.dims[1] = 5;
  context.error = &error;
  interp::run_kernel(*module, *module->functions.back(), nullptr, context, 0, 10);
  EXPECT_EQ(error.state.load(), 2);
  EXPECT_EQ(error.site, 0);
  EXPECT_EQ(error.thread[0], 0);
  EXPECT_EQ(error.thread[1], 3);
}

TEST(InterpControl, PrintsInThreadOrder) {
  auto module =
      parse_ir("kernel @k() form(rank 1) {\n%i = tid 0\nprint \"thread \", %i\nprintf \"<%d>\\n\", %i\nreturn\n}\n");
  std::string text;
  runtime::PrintSink sink = [&](std::string_view part) { text += part; };
  {
    runtime::PrintBuffer prints(1, &sink);
    runtime::LaunchContext context;
    context.dims[0] = 2;
    context.print = &prints;
    interp::run_kernel(*module, *module->functions.back(), nullptr, context, 0, 2);
  }
  EXPECT_EQ(text, "thread 0\n<0>\nthread 1\n<1>\n");
}

TEST(InterpControl, ThreadsGoBackFromTheLast) {
  auto module = parse_ir(
      "kernel @k(%turn: array<i32,1>, %n: i32) form(rank 1) {\n%i = tid 0\n%t = atomic add %turn[0i32], %n\n"
      "store %turn[%i], %t\nreturn\n}\n");
  std::vector<std::int32_t> turn(5);
  struct {
    ArrayDesc turn;
    std::int32_t n = 7;
  } block;
  block.turn.data = turn.data();
  block.turn.ndim = 1;
  block.turn.shape[0] = 5, block.turn.strides[0] = 4;
  runtime::LaunchContext context;
  context.dims[0] = 5;
  interp::run_kernel(*module, *module->functions.back(), &block, context, 1, 4, {.descending = true});
  EXPECT_EQ(turn, (std::vector<std::int32_t>{21, 14, 7, 0, 0}));
}

TEST(InterpControl, AStopLeavesTheKernel) {
  auto endless = parse_ir(
      "kernel @k() form(rank 1) {\n%i = tid 0\n%a = while (%p = 1i32) {\n test true\n} do {\n yield %p\n}\n"
      "print \"behind\"\nreturn\n}\n");
  auto many = parse_ir("kernel @k() form(rank 1) {\n%i = tid 0\nreturn\n}\n");
  for (const auto* module : {&endless, &many}) {
    std::string text;
    runtime::PrintSink sink = [&](std::string_view part) { text += part; };
    runtime::PrintBuffer prints(1, &sink);
    runtime::LaunchContext context;
    context.dims[0] = INT64_MAX;
    context.print = &prints;
    context.ask_state = &context;
    context.ask = [](void* state) { static_cast<runtime::LaunchContext*>(state)->stop = 1; };
    interp::run_kernel(**module, *(*module)->functions.back(), nullptr, context, 0, INT64_MAX);
    prints.flush();
    EXPECT_EQ(text, "");
  }
}

}  // namespace
}  // namespace weft::testing
