// Tapes whose recorded work is done again: by the program, by a graph, by the tape; and inputs that were written since.
#include <gtest/gtest.h>

#include "runtime/versions.h"
#include "weft/weft.h"

namespace {

using weft::Array;
using weft::Program;
using weft::Tape;
using Floats = std::vector<float>;

const char* kKernels = R"(
import warp as wp

@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]

@wp.kernel
def square_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]

@wp.kernel
def power(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for k in range(n):
        x[i] = x[i] * x[i]

@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i])
)";

weft::Kernel kernel(const char* name) {
  static const Program* program = [] {
    weft::Options options;
    options.cache = false;
    return new Program(Program::compile(kKernels, "repeat.py", options));
  }();
  return program->kernel(name);
}

Array with_grad(std::initializer_list<float> values) {
  Array a = Array::from<float>(values);
  a.set_requires_grad(true);
  return a;
}

/// x⁸ in place, with a copy, a log and a value that is kept.
struct Chain {
  Array x = with_grad({1, 2}), y = with_grad({0, 0}), loss = with_grad({0});

  void forward() const {
    loss.fill_zero();
    y.assign(x);
    kernel("square_in_place").launch({2}, y);
    kernel("power").launch({2}, y, 2);
    kernel("total").launch({2}, y, loss);
  }
  Floats gradient(const Tape& tape) const {
    tape.zero();
    tape.backward(loss);
    return x.grad().read<float>();
  }
};

Floats wanted(float a, float b) {
  auto slope = [](float v) { return 8 * v * v * v * v * v * v * v; };
  return {slope(a), slope(b)};
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const weft::Error& e) {
    return e.what();
  }
  return "";
}

TEST(TapeRepeat, LaunchesThatRanAgain) {
  Chain chain;
  Tape tape;
  tape.record([&] { chain.forward(); });
  EXPECT_EQ(chain.gradient(tape), wanted(1, 2));
  const std::uint64_t logs = tape.log_bytes(), kept = tape.kept_bytes();
  for (float v : {3.0F, 0.5F}) {
    chain.x.fill(v);
    chain.forward();
    EXPECT_EQ(chain.gradient(tape), wanted(v, v));
    EXPECT_EQ(chain.gradient(tape), wanted(v, v)) << "as often as one likes";
  }
  EXPECT_EQ(tape.log_bytes(), logs);
  EXPECT_EQ(tape.kept_bytes(), kept);
  EXPECT_EQ(tape.size(), 5u);
}

TEST(TapeRepeat, OnlyAllOfThemInOrder) {
  Array x = with_grad({1, 2}), y = with_grad({0, 0}), z = with_grad({0, 0});
  Tape tape;
  tape.record([&] {
    kernel("square").launch({2}, x, y);
    kernel("square").launch({2}, y, z);
  });
  const auto back = [&] { tape.backward({{z, Array::from<float>({1, 1})}}); };
  x.fill(3);
  kernel("square").launch({2}, y, z);
  kernel("square").launch({2}, x, y);
  EXPECT_NE(message_of(back).find("tape.replay()"), std::string::npos);
  x.fill(2);
  kernel("square").launch({2}, x, y);
  x.fill(3);  // what the first of them has read
  kernel("square").launch({2}, y, z);
  EXPECT_NE(message_of(back).find("tape.replay()"), std::string::npos);
  kernel("square").launch({2}, x, y);
  kernel("square").launch({1}, y, z);  // another grid
  EXPECT_NE(message_of(back).find("tape.replay()"), std::string::npos);
  kernel("square").launch({2}, y, z);  // nothing that the first one used was written in between
  tape.zero();
  back();
  EXPECT_EQ(x.grad().read<float>(), (Floats{108, 108}));
}

TEST(TapeRepeat, Replay) {
  Chain chain;
  Tape tape;
  tape.replay();
  tape.record([&] { chain.forward(); });
  chain.x.fill(3);
  tape.replay();
  EXPECT_EQ(chain.gradient(tape), wanted(3, 3));
  EXPECT_EQ(chain.loss.read<float>(), Floats{2 * 6561});
  tape.record([&] { EXPECT_NE(message_of([&] { tape.replay(); }).find("in its own block"), std::string::npos); });
  tape.record_function([] {}, {chain.x});
  EXPECT_NE(message_of([&] { tape.replay(); }).find("record_func"), std::string::npos);
}

TEST(TapeRepeat, InputsOfOneLaunch) {
  Array x = with_grad({1, 2}), loss = with_grad({0, 0});
  Tape tape;
  tape.record([&] { kernel("square").launch({2}, x, loss); });
  for (float v : {3.0F, 5.0F}) {
    x.fill(v);
    tape.zero();
    tape.backward({{loss, Array::from<float>({1, 1})}});
    EXPECT_EQ(x.grad().read<float>(), (Floats{2 * v, 2 * v}));
  }
}

TEST(TapeRepeat, Graphs) {
  Chain chain;
  Tape tape;
  tape.record([&] { chain.forward(); });
  const weft::Graph forward = weft::Graph::capture({}, [&] { chain.forward(); });
  const weft::Graph both = weft::Graph::capture({}, [&] {
    tape.zero();
    chain.forward();
    tape.backward(chain.loss);
  });
  EXPECT_EQ(chain.gradient(tape), wanted(1, 2)) << "nothing has run so far";
  for (float v : {3.0F, 0.5F}) {
    chain.x.fill(v);
    forward.launch();
    EXPECT_EQ(chain.gradient(tape), wanted(v, v));
    chain.x.fill(v + 1);
    both.launch();
    EXPECT_EQ(chain.x.grad().read<float>(), wanted(v + 1, v + 1));
  }
}

TEST(TapeRepeat, TwoTapes) {
  Chain chain;
  Tape first, second;
  first.record([&] { chain.forward(); });
  chain.x.fill(3);
  second.record([&] { chain.forward(); });
  EXPECT_EQ(chain.gradient(first), wanted(3, 3));
  EXPECT_EQ(chain.gradient(second), wanted(3, 3));
  chain.x.fill(2);
  first.replay();
  EXPECT_EQ(chain.gradient(first), wanted(2, 2));
  EXPECT_EQ(chain.gradient(second), wanted(2, 2)) << "for it, too, they ran again";
}

TEST(TapeRepeat, NothingIsWatchedWhenTapesAreGone) {
  Chain chain;
  {
    Tape tape;
    tape.record([&] { chain.forward(); });
    kernel("square_in_place").launch({2}, chain.y);
    chain.loss.fill_zero();
    chain.y.assign(chain.x);  // begun again
    EXPECT_TRUE(weft::runtime::writes_are_watched());
  }
  EXPECT_FALSE(weft::runtime::writes_are_watched());
}

}  // namespace
