// Loops count their turns and ask whether to go on: how often, and what a stop leaves undone.
#include <atomic>
#include <memory>

#include "codegen/emit/loop_turns.h"
#include "harness.h"
#include "runtime/kernel_abi.h"

namespace weft::codegen::test {
namespace {

/// A context whose host counts questions and says stop at one of them.
struct Host {
  runtime::LaunchContext context;
  int asked = 0;
  int stop_at = 0;  // 0: never

  explicit Host(std::int64_t threads, int stop_at = 0) : stop_at(stop_at) {
    context.dims[0] = threads;
    context.ask_state = this;
    context.ask = [](void* state) {
      auto& host = *static_cast<Host*>(state);
      if (++host.asked == host.stop_at) host.context.stop = 1;
    };
  }
};

void run(const Program& program, const Block& block, Host& host, int lanes, int level = 2) {
  EmitOptions options;
  options.lanes = lanes;
  options.opt_level = level;
  options.verify = true;
  Emitted code = emit(*program.module, program.kernel(), host_target(), options, Output::object);
  load_object(code.bytes, code.entry)->entry()(0, host.context.dims[0], block.data(), &host.context);
}

const char* const kEndless = R"(
kernel @k(%x: array<i32,1>) form(rank 1) {
  %i = tid 0
  store %x[%i], 1i32
  %k = while (%k1 = 0i32) {
    %go = ge %k1, 0i32
    test %go
  } do {
    %k2 = add %k1, %i
    %k3 = bit_and %k2, 255i32
    yield %k3
  }
  store %x[%i], 2i32
  return
}
)";

TEST(Turns, AStopLeavesTheKernelAtOnce) {
  Program program(kEndless);
  for (int lanes : {1, 4})
    for (int level : {0, 1, 2, 3}) {
      std::vector<std::int32_t> x(40, 0);
      Block block(program);
      block.array(x);
      Host host(40, 3);
      run(program, block, host, lanes, level);
      EXPECT_EQ(host.asked, 3);
      for (int i = 0; i < 40; ++i) EXPECT_EQ(x[std::size_t(i)], i < lanes ? 1 : 0) << i;
    }
}

const char* const kSums = R"(
kernel @k(%n: i32, %step: i32, %x: array<i32,1>) form(rank 1) {
  %i = tid 0
  %s = for %k = 0i32 to %n step %step (%p = 0i32) {
    %q = bit_xor %p, %k
    yield %q
  }
  store %x[%i], %s
  return
}
)";

TEST(Turns, AllThreadsOfAChunkShareThem) {
  Program program(kSums);
  for (int lanes : {1, 4})
    for (auto [n, step] : {std::pair(1000, 1), std::pair(1998, 2), std::pair(300'000, 1), std::pair(4, 1)}) {
      constexpr int kThreads = 2000;
      std::vector<std::int32_t> x(kThreads, -1);
      std::int32_t expected = 0, turns = 0;
      for (int k = 0; k < n; k += step) expected ^= k, ++turns;
      const std::int64_t threads = turns > 10'000 ? 8 : kThreads, total = threads * turns / lanes;
      Block block(program);
      block.scalar(n).scalar(step).array(x);
      Host host(threads);
      run(program, block, host, lanes);
      for (std::int64_t i = 0; i < threads; ++i) ASSERT_EQ(x[std::size_t(i)], expected) << n << " " << i;
      // Loops of a few turns take them all at once and may take too many; long ones take portions of 65536.
      EXPECT_LE(host.asked, total / runtime::kTurnsBetweenQuestions + 1) << n;
      EXPECT_GE(host.asked,
                turns > 65536 ? threads / lanes * (turns / 65536 + 1) : total / runtime::kTurnsBetweenQuestions / 2)
          << n;
    }
}

TEST(Turns, ShortLoopsOfAConstantCountDoNotAsk) {
  Program program(R"(
kernel @k(%x: array<i32,1>) form(rank 1) {
  %i = tid 0
  %s = for %k = 0i32 to 50i32 step 1i32 (%p = 0i32) {
    %t = for %l = 0i32 to 4i32 step 1i32 (%q = %p) {
      %r = bit_xor %q, %k
      yield %r
    }
    %u = add %t, 1i32
    yield %u
  }
  store %x[%i], %s
  return
}
)");
  const LoopTurns turns(*program.module);
  EXPECT_FALSE(turns.counts(program.kernel()));
  std::vector<std::int32_t> x(1000, -1);
  Block block(program);
  block.array(x);
  Host host(1000, 1);
  run(program, block, host, 1, 0);
  EXPECT_EQ(host.asked, 0);
  EXPECT_NE(x[999], -1);
}

TEST(Turns, FunctionsThatAreCalledPassThemOn) {
  Program program(R"(
func @inner(%n: i32) -> (i32) {
  %s = while (%k = 0i32) {
    %go = ne %k, %n
    test %go
  } do {
    %next = add %k, 1i32
    yield %next
  }
  return %s
}
func @outer(%n: i32) -> (i32) {
  %a = call @inner(%n)
  %b = add %a, 1i32
  return %b
}
kernel @k(%n: i32, %x: array<i32,1>) form(rank 1) {
  %i = tid 0
  %a = call @outer(%n)
  %b = call @outer(%a)
  store %x[%i], %b
  return
}
)");
  EXPECT_TRUE(LoopTurns(*program.module).counts(program.kernel()));
  for (int lanes : {1, 4}) {
    std::vector<std::int32_t> x(800, -1);
    Block block(program);
    block.scalar(100).array(x);
    Host host(800);
    run(program, block, host, lanes);
    for (std::int32_t v : x) ASSERT_EQ(v, 102);
    const int total = 800 * 201 / lanes;
    EXPECT_EQ(host.asked, total / runtime::kTurnsBetweenQuestions);

    std::fill(x.begin(), x.end(), -1);
    Block endless(program);
    endless.scalar(-1).array(x);
    Host impatient(800, 2);
    run(program, endless, impatient, lanes);
    EXPECT_EQ(impatient.asked, 2);
    for (std::int32_t v : x) EXPECT_EQ(v, -1);
  }
}

}  // namespace
}  // namespace weft::codegen::test
