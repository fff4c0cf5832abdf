// Tapes of C++ programs: gradients through several launches, overwritten arrays, copies and fills, retained gradients,
// functions, graphs, and what goes wrong.
#include <gtest/gtest.h>

#include <thread>

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
def scale(x: wp.array(dtype=float), s: float):
    i = wp.tid()
    x[i] = x[i] * s

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

@wp.kernel
def weigh(x: wp.array2d(dtype=wp.vec2), loss: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, x[i, j][0] * 2.0 + x[i, j][1] * 3.0)

@wp.kernel
def count_down(n: wp.array(dtype=int)):
    n[0] = n[0] - 1

@wp.kernel
def set_first(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[0] = x[0] * 10.0
)";

const Program& program() {
  static const Program* made = [] {
    weft::Options options;
    options.cache = false;
    return new Program(Program::compile(kKernels, "tape.py", options));
  }();
  return *made;
}

weft::Kernel kernel(const char* name) { return program().kernel(name); }

Array with_grad(std::initializer_list<float> values) {
  Array a = Array::from<float>(values);
  a.set_requires_grad(true);
  return a;
}

Floats gradient(const Array& a) { return a.grad().read<float>(); }

template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Tape, GoesBackOverSeveralLaunches) {
  Array x = with_grad({1, 2, 3}), y = with_grad({0, 0, 0}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    kernel("square").launch({3}, x, y);
    kernel("scale").launch({3}, y, 0.5);
    kernel("total").launch({3}, y, loss);
  });
  EXPECT_EQ(tape.size(), 3u);
  EXPECT_EQ(loss.read<float>(), Floats{7});
  tape.backward(loss);
  EXPECT_EQ(gradient(x), (Floats{1, 2, 3}));
  tape.zero();
  EXPECT_EQ(gradient(x), (Floats{0, 0, 0}));
  tape.backward(loss);
  tape.backward({{loss, Array::from<float>({2})}});
  EXPECT_EQ(gradient(x), (Floats{3, 6, 9})) << "backward passes add";
  tape.reset();
  EXPECT_EQ(tape.size(), 0u);
  EXPECT_EQ(gradient(x), (Floats{0, 0, 0}));
}

TEST(Tape, KeepsWhatIsOverwrittenLater) {
  Array x = with_grad({1, 2, 3}), y = with_grad({0, 0, 0}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    kernel("square").launch({3}, x, y);
    x.fill(100);
    kernel("square").launch({3}, x, y);
    x.assign(y);
    kernel("total").launch({3}, x, loss);
  });
  EXPECT_GT(tape.kept_bytes(), 0u);
  tape.backward(loss);
  EXPECT_EQ(gradient(x), (Floats{0, 0, 0})) << "the fill takes the gradient of what it overwrote";
  EXPECT_EQ(x.read<float>(), (Floats{1e4, 1e4, 1e4})) << "values stay as they are";
}

TEST(Tape, KernelsWriteDownWhatTheyOverwrite) {
  Array x = with_grad({1, 2, 3}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    kernel("square_in_place").launch({3}, x);
    kernel("power").launch({3}, x, 2);
    kernel("total").launch({3}, x, loss);
  });
  EXPECT_GT(tape.log_bytes(), 0u);
  tape.backward(loss);
  EXPECT_EQ(gradient(x), (Floats{8, 8 * 128, 8 * 2187}));
}

TEST(Tape, CopiesAndFillsPassGradients) {
  Array x = with_grad({1, 2}), y = with_grad({0, 0}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    y.assign(x);
    kernel("scale").launch({2}, y, 3.0);
    y.slice(0, 1, 2).fill_zero();
    kernel("total").launch({2}, y, loss);
  });
  tape.backward(loss);
  EXPECT_EQ(gradient(x), (Floats{3, 0}));
  Array wide = Array::zeros("vec2", {2, 3});
  wide.set_requires_grad(true);
  Array source = wide.copy();
  source.set_requires_grad(true);
  tape.reset();
  tape.record([&] {
    wide.assign(source);
    kernel("weigh").launch({2, 3}, wide, loss);
  });
  tape.backward(loss);
  EXPECT_EQ(gradient(source), (Floats{2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3}));
}

TEST(Tape, CopiesBetweenArraysWhoseGradientsShareMemory) {
  Array x = with_grad({1, 2, 3, 4}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    x.slice(0, 0, 2).assign(x.slice(0, 2, 4));
    x.slice(0, 0, 3).assign(x.slice(0, 1, 4));
    kernel("total").launch({4}, x, loss);
  });
  EXPECT_EQ(x.read<float>(), (Floats{4, 3, 4, 4}));
  tape.backward(loss);
  EXPECT_EQ(gradient(x), (Floats{0, 0, 1, 3}));
}

TEST(Tape, RetainsGradientsOfLastValues) {
  Array x = with_grad({1, 2, 3}), y = with_grad({0, 0, 0}), loss = with_grad({0});
  Tape tape;
  auto work = [&] {
    kernel("square").launch({3}, x, y);
    kernel("total").launch({3}, y, loss);
  };
  tape.record(work);
  tape.backward(loss);
  EXPECT_EQ(gradient(y), (Floats{0, 0, 0})) << "the store takes it";
  tape.reset();
  y.set_retain_grad(true);
  EXPECT_TRUE(y.retains_grad());
  tape.record(work);
  tape.backward(loss);
  EXPECT_EQ(gradient(y), (Floats{1, 1, 1}));
  EXPECT_EQ(gradient(x), (Floats{2, 4, 6}));
  tape.reset();
  tape.record([&] {
    work();
    kernel("set_first").launch({1}, x, y);  // stores one element of three
    kernel("total").launch({3}, y, loss);
  });
  tape.backward(loss);
  EXPECT_EQ(gradient(y), (Floats{1, 2, 2}));
}

TEST(Tape, CallsFunctionsOnTheWayBack) {
  Array x = with_grad({1, 2}), y = with_grad({0, 0}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    // What is computed elsewhere tells the tape its gradient.
    y.as<float>()[0] = 5 * x.as<float>()[0];
    tape.record_function(
        [&] {
          x.grad().as<float>()[0] += 5 * y.grad().as<float>()[0];
          y.grad().fill_zero();
        },
        {x, y});
    kernel("total").launch({2}, y, loss);
  });
  EXPECT_EQ(loss.read<float>(), Floats{5});
  tape.backward(loss);
  EXPECT_EQ(gradient(x), (Floats{5, 0}));
}

TEST(Tape, LaunchesOfOtherThreadsAreRecorded) {
  Array loss = with_grad({0});
  std::vector<Array> xs;
  for (int k = 0; k < 8; ++k) xs.push_back(with_grad({float(k), 1}));
  Tape tape;
  tape.record([&] {
    std::vector<std::thread> threads;
    for (const Array& x : xs)
      threads.emplace_back([&] {
        for (int n = 0; n < 20; ++n) kernel("scale").launch({2}, x, 1.0);
      });
    for (std::thread& one : threads) one.join();
    for (const Array& x : xs) kernel("total").launch({2}, x, loss);
  });
  EXPECT_EQ(tape.size(), 8u * 21);
  tape.backward(loss);
  for (const Array& x : xs) EXPECT_EQ(gradient(x), (Floats{1, 1}));
}

TEST(Tape, RecordingAndBackwardInAGraph) {
  Array x = with_grad({1, 2}), y = with_grad({0, 0}), loss = with_grad({0});
  Tape tape;
  const weft::Graph graph = weft::Graph::capture({}, [&] {
    tape.record([&] {
      kernel("square").launch({2}, x, y);
      kernel("total").launch({2}, y, loss);
    });
    tape.backward(loss);
  });
  EXPECT_EQ(gradient(x), (Floats{0, 0})) << "nothing has run so far";
  graph.launch();
  EXPECT_EQ(gradient(x), (Floats{2, 4}));
  x.zero_grad();
  x.fill(5);
  graph.launch();
  EXPECT_EQ(gradient(x), (Floats{10, 10}));
}

TEST(Tape, StopsAtKernelsThatAreNotDifferentiated) {
  weft::Options options;
  options.cache = options.backward = false;
  const Program stopped = Program::compile(kKernels, "stopped.py", options);
  Array x = with_grad({1, 2}), y = with_grad({0, 0}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    stopped.kernel("square").launch({2}, x, y);
    kernel("total").launch({2}, y, loss);
  });
  tape.backward(loss);
  EXPECT_EQ(gradient(x), (Floats{0, 0}));
  ASSERT_EQ(stopped.messages().size(), 1u);
  EXPECT_NE(stopped.messages()[0].text.find("may produce incorrect gradients"), std::string::npos);
}

TEST(TapeErrors, CopiesThatAreNotWanted) {
  Array x = with_grad({1, 2}), y = with_grad({0, 0});
  Tape tape(false);
  const Tape::Recording recording(tape);
  kernel("square").launch({2}, x, y);
  EXPECT_NE(message_of<weft::Error>([&] { x.fill(3); }).find("kernel 'square'"), std::string::npos);
  EXPECT_EQ(x.read<float>(), (Floats{1, 2})) << "it throws before anything is written";
}

TEST(TapeErrors, WritesThatNobodyRecorded) {
  Array x = with_grad({1, 2}), y = with_grad({0, 0}), z = with_grad({0, 0}), loss = with_grad({0});
  Tape tape;
  tape.record([&] {
    kernel("square").launch({2}, x, y);
    kernel("square").launch({2}, y, z);
    kernel("total").launch({2}, z, loss);
  });
  x.fill(7);
  const std::string text = message_of<weft::Error>([&] { tape.backward(loss); });
  EXPECT_NE(text.find("a fill"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel 'square'"), std::string::npos) << text;
}

TEST(TapeErrors, WritesThatNoGradientGoesBackOver) {
  Array x = with_grad({1, 2}), loss = with_grad({0});
  Tape tape;
  tape.record([&] { kernel("scale").launch({2}, x, 2.0); });
  x.assign(Array::from<float>({3, 4}));
  tape.record([&] { kernel("total").launch({2}, x, loss); });
  const std::string text = message_of<weft::Error>([&] { tape.backward(loss); });
  EXPECT_NE(text.find("the gradient of an array of shape (2,) is not known before a place on the tape"),
            std::string::npos)
      << text;
}

TEST(TapeErrors, SeedsThatDontFit) {
  Array x = with_grad({1, 2, 3}), loss = with_grad({0});
  Tape tape;
  tape.record([&] { kernel("total").launch({3}, x, loss); });
  EXPECT_NE(message_of<weft::ArgumentError>([&] { tape.backward(x); }).find("has 3"), std::string::npos);
  EXPECT_NE(message_of<weft::ArgumentError>([&] { tape.backward(Array::from<float>({1})); }).find("no gradient"),
            std::string::npos);
  EXPECT_THROW(tape.backward({{x, Array::from<float>({1})}}), weft::ArgumentError);
}

TEST(TapeErrors, OneRecordsAtATime) {
  Tape one, two;
  const Tape::Recording recording(one);
  EXPECT_NE(message_of<weft::Error>([&] { two.record([] {}); }).find("records already"), std::string::npos);
}

TEST(TapeErrors, AFailureInsideEndsTheRecording) {
  Array x = with_grad({1});
  Tape tape;
  EXPECT_THROW(tape.record([&] { kernel("scale").launch({1}, x, x); }), weft::ArgumentError);
  kernel("scale").launch({1}, x, 1.0);
  EXPECT_EQ(tape.size(), 0u);
}

TEST(Graph, RunsWhatWasCapturedOnTheCpu) {
  Array x = Array::from<float>({1, 2});
  const weft::Graph graph = weft::Graph::capture({}, [&] {
    kernel("scale").launch({2}, x, 2.0);
    x.slice(0, 0, 1).assign(std::span<const float>(Floats{9}));
  });
  EXPECT_EQ(x.read<float>(), (Floats{1, 2}));
  graph.launch();
  graph.launch();
  EXPECT_EQ(x.read<float>(), (Floats{9, 8}));
  const weft::Graph twice = weft::Graph::capture({}, [&] {
    graph.launch();
    graph.launch();
  });
  twice.launch();
  EXPECT_EQ(x.read<float>(), (Floats{9, 32}));
  Tape tape;
  EXPECT_NE(message_of<weft::Error>([&] { tape.record([&] { graph.launch(); }); }).find("is not recorded by a tape"),
            std::string::npos);
  {
    weft::Graph::Capture dropped;
    kernel("scale").launch({2}, x, 0.0);
    EXPECT_NE(message_of<weft::ArgumentError>([&] { x.read<float>(); }).find("can't read an array"), std::string::npos);
  }
  EXPECT_EQ(x.read<float>(), (Floats{9, 32}));
}

TEST(Graph, DecidesWhenItRuns) {
  const Array count = Array::from<std::int32_t>({3}), x = Array::from<float>({1});
  auto work = [&] {
    weft::run_while(count, [&] {
      kernel("scale").launch({1}, x, 2.0);
      kernel("count_down").launch({1}, count);
    });
    weft::run_if(count, [&] { x.fill(-1); }, [&] { kernel("scale").launch({1}, x, 10.0); });
    weft::run_if(count, {}, {});
  };
  work();
  EXPECT_EQ(x.read<float>(), Floats{80});
  const weft::Graph graph = weft::Graph::capture({}, work);
  EXPECT_EQ(x.read<float>(), Floats{80});
  count.fill(1);
  graph.launch();
  EXPECT_EQ(x.read<float>(), Floats{1600});
  graph.launch();
  EXPECT_EQ(x.read<float>(), Floats{16000});
  EXPECT_NE(message_of<weft::ArgumentError>([&] { weft::run_while(x, [] {}); }).find("one int32"), std::string::npos);
  EXPECT_THROW(weft::run_while(count, {}), weft::ArgumentError);
  count.fill(1);
  EXPECT_THROW(weft::Graph::capture({}, [&] { weft::run_if(count, [] { throw std::runtime_error("mine"); }); }),
               std::runtime_error);
  EXPECT_EQ(count.read<std::int32_t>()[0], 1) << "the capture has ended with the exception";
}

TEST(Arrays, ReadWriteAndFill) {
  Array x = Array::zeros("vec2", {3});
  x.assign(std::span<const float>(Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(x.slice(0, 0, 3, 2).read<float>(), (Floats{1, 2, 5, 6}));
  x.fill(2.5);
  EXPECT_EQ(x.read<float>(), Floats(6, 2.5f));
  Array i = Array::zeros("int16", {2});
  i.fill(-7);
  EXPECT_EQ(i.read<std::int16_t>(), (std::vector<std::int16_t>{-7, -7}));
  EXPECT_EQ(x.device(), weft::Device());
  EXPECT_THROW(x.assign(std::span<const float>(Floats{1})), weft::ArgumentError);
  EXPECT_FALSE(x.grad().is_valid());
}

}  // namespace
