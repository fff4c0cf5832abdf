// The public C++ API: programs, kernels, arrays, launches, and what goes wrong with them.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "weft/weft.h"

namespace {

using weft::Array;
using weft::Program;

weft::Options quick() {
  weft::Options options;
  options.cache = false;
  return options;
}

Program compile(const std::string& body, weft::Options options = quick()) {
  return Program::compile("import warp as wp\nfrom typing import Any\n" + body, "test.py", options);
}

const char* kScale = R"(
@wp.kernel
def scale(x: wp.array(dtype=float), s: float = 2.0):
    i = wp.tid()
    x[i] = x[i] * s
)";

TEST(Api, RunsAKernel) {
  Program program = compile(kScale);
  Array x = Array::from<float>({1, 2, 3, 4, 5});
  program.kernel("scale").launch({5}, x, 3.0);
  std::span<float> r = x.as<float>();
  EXPECT_EQ(std::vector<float>(r.begin(), r.end()), (std::vector<float>{3, 6, 9, 12, 15}));
}

TEST(Api, HonoursDefaultArguments) {
  Program program = compile(kScale);
  Array x = Array::from<float>({1, 2});
  program.kernel("scale").launch({2}, x);
  EXPECT_EQ(x.as<float>()[1], 4.0f);
}

TEST(Api, InterpreterGivesTheSame) {
  weft::Options options = quick();
  options.interpret = true;
  Program program = compile(kScale, options);
  Array x = Array::from<float>({1.5f, -2});
  program.kernel("scale").launch({2}, x, 0.5);
  EXPECT_EQ(x.as<float>()[0], 0.75f);
}

TEST(Api, InstantiatesGenericKernelsPerArgumentTypes) {
  Program program = compile(R"(
@wp.kernel
def add(x: wp.array(dtype=Any), v: Any):
    i = wp.tid()
    x[i] = x[i] + v
)");
  Array f = Array::from<float>({1, 2}), i = Array::from<std::int32_t>({1, 2});
  program.kernel("add").launch({2}, f, 0.5);
  program.kernel("add").launch({2}, i, 5);
  EXPECT_EQ(f.as<float>()[1], 2.5f);
  EXPECT_EQ(i.as<std::int32_t>()[1], 7);
}

TEST(Api, PassesCompositesByBytesAndStructs) {
  Program program = compile(R"(
@wp.struct
class Body:
    mass: float
    at: wp.vec3

@wp.kernel
def push(b: wp.array(dtype=Body), v: wp.vec3):
    i = wp.tid()
    b[i].at += v * b[i].mass
)");
  struct Body {
    float mass;
    float at[3];
  };
  weft::DataType type = program.struct_type("Body");
  EXPECT_EQ(type.size(), sizeof(Body));
  Array bodies = Array::zeros(type, {2});
  Body* b = static_cast<Body*>(bodies.data());
  b[1].mass = 2;
  float v[3] = {1, 2, 3};
  program.kernel("push").launch({2}, bodies, weft::Argument("vec3", v));
  EXPECT_EQ(b[1].at[2], 6.0f);
  EXPECT_EQ(b[0].at[2], 0.0f);
}

TEST(Api, OverlappingArgumentsAreExact) {
  // y[i] = x[i] + x[i + 1] with y a view of x: the careful form must reload.
  Program program = compile(R"(
@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    y[i] = a + 1.0
    y[i] = x[i] + 1.0
)");
  Array x = Array::from<float>({1, 2, 3});
  program.kernel("twice").launch({3}, x, x);
  EXPECT_EQ(x.as<float>()[0], 3.0f);
  Array y = Array::zeros("float32", {3}), z = Array::from<float>({1, 2, 3});
  program.kernel("twice").launch({3}, z, y);
  EXPECT_EQ(y.as<float>()[0], 2.0f);
}

TEST(Api, NullArraysAreFalse) {
  Program program = compile(R"(
@wp.kernel
def maybe(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x:
        y[i] = x[i]
    else:
        y[i] = -1.0
)");
  Array y = Array::zeros("float32", {2});
  program.kernel("maybe").launch({2}, nullptr, y);
  EXPECT_EQ(y.as<float>()[1], -1.0f);
}

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

TEST(ApiErrors, SyntaxErrorsComeWithPlaceAndCaret) {
  std::string text = message_of<weft::CompileError>([] { compile("@wp.kernel\ndef f(:\n    pass\n"); });
  EXPECT_NE(text.find("test.py:4:7: error:"), std::string::npos) << text;
  EXPECT_NE(text.find("^"), std::string::npos);
}

TEST(ApiErrors, TypeErrorsComeAtFirstUseWithAllOfThem) {
  Program program = compile(R"(
@wp.kernel
def f(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 1
    x[i] = nothing
)");
  Array x = Array::zeros("float32", {1});
  try {
    program.kernel("f").launch({1}, x);
    FAIL();
  } catch (const weft::CompileError& e) {
    ASSERT_EQ(e.messages().size(), 2u);
    EXPECT_EQ(e.messages()[0].code, "type_mismatch");
    EXPECT_EQ(e.messages()[0].line, 7u);
    EXPECT_EQ(e.messages()[1].code, "unknown_name");
  }
}

TEST(ApiErrors, ArgumentsAreCheckedAndNamed) {
  Program program = compile(kScale);
  weft::Kernel kernel = program.kernel("scale");
  Array wrong = Array::zeros("float64", {2});
  std::string text = message_of<weft::ArgumentError>([&] { kernel.launch({2}, wrong, 1.0); });
  EXPECT_NE(text.find("'x'"), std::string::npos) << text;
  EXPECT_NE(text.find("float64"), std::string::npos) << text;
  Array matrix = Array::zeros("float32", {2, 2});
  EXPECT_THROW(kernel.launch({2}, matrix, 1.0), weft::ArgumentError);
  EXPECT_THROW(kernel.launch({2}), weft::ArgumentError);
  Array x = Array::zeros("float32", {2});
  EXPECT_THROW(kernel.launch({2}, x, 1.0, 2.0), weft::ArgumentError);
  EXPECT_THROW(program.kernel("nothing"), weft::ArgumentError);
  EXPECT_THROW(weft::DataType("vec99q"), weft::ArgumentError);
}

TEST(ApiErrors, DimensionsAreChecked) {
  Program program = compile(kScale);
  weft::Kernel kernel = program.kernel("scale");
  Array x = Array::zeros("float32", {2});
  EXPECT_THROW(kernel.launch({-1}, x), weft::LaunchError);
  EXPECT_THROW(kernel.launch({}, x), weft::LaunchError);
  EXPECT_THROW(kernel.launch({1, 1, 1, 1, 1}, x), weft::LaunchError);
  EXPECT_THROW(kernel.launch({std::int64_t(1) << 40, std::int64_t(1) << 40}, x), weft::LaunchError);
  std::string text = message_of<weft::LaunchError>([&] { kernel.launch({std::int64_t(1) << 32}, x); });
  EXPECT_NE(text.find("dimension"), std::string::npos) << text;
  kernel.launch({0}, x);  // nothing to do
}

TEST(ApiErrors, DebugModeNamesLineThreadAndIndex) {
  weft::Options options = quick();
  options.debug = true;
  Program program = compile(R"(
@wp.kernel
def out(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i + 2] = 1.0
)",
                            options);
  Array x = Array::zeros("float32", {4});
  try {
    program.kernel("out").launch({4}, x);
    FAIL();
  } catch (const weft::KernelError& e) {
    EXPECT_EQ(e.line(), 7);
    ASSERT_EQ(e.thread().size(), 1u);
    EXPECT_GE(e.thread()[0], 2);
    EXPECT_NE(std::string(e.what()).find("extent 4"), std::string::npos) << e.what();
  }
}

TEST(Api, BuildCompilesAllKernelsAndHandlesOutliveThePrograms) {
  std::string text;
  for (int k = 0; k < 20; ++k)
    text += "@wp.kernel\ndef k" + std::to_string(k) +
            "(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = float(" + std::to_string(k) + ")\n";
  weft::Kernel kept = [&] {
    Program program = compile(text);
    program.build();
    return program.kernel("k7");
  }();
  Array x = Array::zeros("float32", {3});
  kept.launch({3}, x);
  EXPECT_EQ(x.as<float>()[2], 7.0f);
}

TEST(Api, SerialModeKeepsThreadsInStrictOrder) {
  weft::Options options = quick();
  options.serial = true;
  Program program = compile(R"(
@wp.kernel
def running_sum(x: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0:
        x[i] = x[i] + x[i - 1]
)",
                            options);
  Array x = Array::from<float>(std::vector<float>(100, 1.0f));
  program.kernel("running_sum").launch({100}, x);
  EXPECT_EQ(x.as<float>()[99], 100.0f);
}

TEST(Api, ManyThreadsShareAProgram) {
  Program program = compile(kScale);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        Array x = Array::from<float>({float(t), 1, 2});
        program.kernel("scale").launch({3}, x, 2.0);
        if (x.as<float>()[0] != 2.0f * float(t)) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Api, ArraysOverTwoToThe31ElementsAndInt64Indices) {
  constexpr std::int64_t n = (std::int64_t(1) << 31) + 64;
  Array x;
  try {
    x = Array::empty("uint8", {n});
  } catch (const weft::Error&) {
    GTEST_SKIP() << "not enough memory for an array of 2 GiB";
  }
  Program program = compile(R"(
@wp.kernel
def last(x: wp.array(dtype=wp.uint8), base: wp.int64):
    i = wp.tid()
    x[base + wp.int64(i)] = wp.uint8(i)
)");
  program.kernel("last").launch({64}, x, std::int64_t(1) << 31);
  const auto* bytes = static_cast<const std::uint8_t*>(x.data());
  EXPECT_EQ(bytes[n - 1], 63);
  EXPECT_EQ(bytes[std::int64_t(1) << 31], 0);
}

TEST(Api, TotalsOver32BitsRunInTwoDimensions) {
  // The grid has 2^33 threads, all but a few of which leave at once; only the plan and the indices are of interest here.
  Program program = compile(R"(
@wp.kernel
def corner(out: wp.array(dtype=wp.int64)):
    i, j = wp.tid()
    if i == 1 and j == 5:
        out[0] = wp.int64(i) * wp.int64(1000) + wp.int64(j)
)");
  Array out = Array::zeros("int64", {1});
  program.kernel("corner").launch({2, std::int64_t(1) << 20}, out);
  EXPECT_EQ(out.as<std::int64_t>()[0], 1005);
}

}  // namespace
