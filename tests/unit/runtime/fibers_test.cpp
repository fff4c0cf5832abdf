// Stacks that take turns: the order of turns, what threads keep over them, and that calls find the stack as they expect it.
#include "runtime/fibers.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

struct Log {
  Fibers fibers;
  std::vector<int> turns;
  std::vector<std::uintptr_t> rests;  // of addresses that are multiples of 16
};

/// Not inlined: it has a frame of its own, in which compilers align values by what they know of the stack pointer at calls.
[[gnu::noinline]] std::uintptr_t rest_of_aligned_value(double x) {
  alignas(16) volatile double pair[2] = {x, x + 1};
  return reinterpret_cast<std::uintptr_t>(&pair[0]) % 16;
}

TEST(Fibers, TakeTurns) {
  Log log;
  auto body = [](void* state, int number) {
    Log& log = *static_cast<Log*>(state);
    for (int k = 0; k < 3; ++k) {
      log.turns.push_back(number);
      log.fibers.yield();
      EXPECT_EQ(log.fibers.current(), number);
    }
  };
  ASSERT_TRUE(log.fibers.run(4, 64 << 10, body, &log));
  EXPECT_EQ(log.turns, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(log.fibers.alive(), 0);
}

TEST(Fibers, StacksAreAlignedAsCallsExpect) {
  Log log;
  auto body = [](void* state, int number) {
    Log& log = *static_cast<Log*>(state);
    // The frame's own address, as the processor's calling convention has it at a function's first instruction.
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    log.rests.push_back(frame % 16);
    log.fibers.yield();
    log.rests.push_back(rest_of_aligned_value(number));
  };
  ASSERT_TRUE(log.fibers.run(3, 64 << 10, body, &log));
  for (std::uintptr_t rest : log.rests) EXPECT_EQ(rest, 0u);
}

TEST(Fibers, NumbersInRegistersLastOverTurns) {
  struct Sums {
    Fibers fibers;
    std::vector<double> sums = std::vector<double>(33);
  } all;
  auto body = [](void* state, int number) {
    Sums& all = *static_cast<Sums*>(state);
    double sum = 0;
    for (int k = 0; k < number; ++k) {
      sum += k * 0.5;
      all.fibers.yield();
    }
    all.sums[std::size_t(number)] = sum;
  };
  ASSERT_TRUE(all.fibers.run(33, 64 << 10, body, &all));
  for (int n = 0; n < 33; ++n) EXPECT_EQ(all.sums[std::size_t(n)], n * (n - 1) * 0.25);
}

}  // namespace
}  // namespace weft::runtime
