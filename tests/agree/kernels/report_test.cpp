// What kernels say: print and printf in the order of threads, asserts and failed checks with line, thread and index.
#include "agree.h"

namespace weft::agree {
namespace {

TEST(Report, PrintInSerialOrder) {
  Case c(R"(
@wp.struct
class S:
    n: int
    x: float

@wp.kernel
def k(a: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    if i % 3 == 0:
        print(i)
        wp.printf("thread %d: %g\n", i, a[i])
    elif i % 3 == 1:
        print(v[i])
        print("plain text")
    for j in range(i % 4):
        wp.printf("%d.%d ", i, j)
    print(a[i] > 0.0)
)",
         {21});
  c.array("float32", {21}).array("vec3", {21}).serial_only();
  const Outcome got = expect_agreement(c);
  EXPECT_TRUE(got.printed.starts_with("0\nthread 0: ")) << got.printed;
}

TEST(Report, PrintEveryType) {
  std::string text = "\n@wp.kernel\ndef k(", body = "\n    i = wp.tid()\n";
  const std::vector<std::string> types = {"bool",    "int8",  "uint8",  "int16",   "uint16",   "int32",
                                          "uint32",  "int64", "uint64", "float16", "bfloat16", "float32",
                                          "float64", "vec3",  "vec2i",  "mat22",   "quat",     "transform"};
  for (std::size_t k = 0; k < types.size(); ++k) {
    text += (k ? ", a" : "a") + std::to_string(k) + ": wp.array(dtype=wp." + types[k] + ")";
    body += "    print(a" + std::to_string(k) + "[i])\n";
  }
  Case c(text + "):" + body, {5});
  for (const std::string& type : types) c.array(type, {5});
  c.serial_only();
  expect_agreement(c, Effort::brief);
}

/// The message of the interpreter in debug mode, after all executors agreed on it.
std::string debug_error(const Case& c) {
  expect_agreement(c);
  return Prepared(c, Executor::interpreter().debug()).run().error;
}

TEST(Report, AssertNamesLineAndThread) {
  Case c(R"(
@wp.kernel
def k(a: wp.array2d(dtype=int)):
    i, j = wp.tid()
    x = a[i, j]
    assert i * 10 + j != 23, "not twenty-three"
    a[i, j] = x + 1
)",
         {5, 7});
  c.array("int32", {5, 7});
  const std::string error = debug_error(c);
  EXPECT_NE(error.find("case.py:6"), std::string::npos) << error;
  EXPECT_NE(error.find("thread (2, 3)"), std::string::npos) << error;
  EXPECT_NE(error.find("not twenty-three"), std::string::npos) << error;
}

TEST(Report, DivisionByZero) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = 100 / (a[i] - 12)
)",
         {30});
  c.array("int32", {30}, Fill::counting).array("int32", {30}, Fill::zeros);
  const std::string error = debug_error(c);
  EXPECT_NE(error.find("case.py:5"), std::string::npos) << error;
  EXPECT_NE(error.find("thread (11,)"), std::string::npos) << error;
  EXPECT_NE(error.find("division by zero"), std::string::npos) << error;
}

/// Out of bounds is undefined without debug mode: only the debug executors are compared.
std::string bounds_error(const Case& c) {
  const Outcome expected = Prepared(c, Executor::interpreter().debug()).run();
  for (int lanes : {1, 4, 8, 16}) {
    const Outcome got = Prepared(c, Executor::native(lanes, 1).debug()).run();
    EXPECT_EQ(first_difference(c, expected, got), "") << lanes << " lanes\n" << c.text();
    const Outcome cut = Prepared(c, Executor::native(lanes, 1).debug()).run({false, 3});
    EXPECT_EQ(first_difference(c, expected, cut), "") << lanes << " lanes, cut\n" << c.text();
  }
  return expected.error;
}

TEST(Report, BoundsNameIndexAndExtent) {
  struct Row {
    const char *line, *thread, *index;
  };
  const Row rows[] = {
      {"out[i] = a[i + (50 if i == 7 else 0)]", "thread (7,)", "index 57"},
      {"out[i] = a[i - (60 if i == 19 else 0)]", "thread (19,)", "index -41"},
      {"out[i + (1000 if i == 3 else 0)] = a[i]", "thread (3,)", "index 1003"},
      {"out[i] += a[wp.int64(i) + (wp.int64(5000000000) if i == 11 else wp.int64(0))]", "thread (11,)",
       "index 5000000011"},
      {"wp.atomic_add(out, i * (21 if i == 1 else 1), 1.0)", "thread (1,)", "index 21"},
  };
  for (const Row& row : rows) {
    Case c(std::string(R"(
@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    )") + row.line +
               "\n",
           {20});
    c.array("float32", {20}).array("float32", {20});
    const std::string error = bounds_error(c);
    EXPECT_NE(error.find(row.index), std::string::npos) << error << "\n" << row.line;
    EXPECT_NE(error.find(row.thread), std::string::npos) << error;
    EXPECT_NE(error.find("extent 20"), std::string::npos) << error;
    EXPECT_NE(error.find("case.py:5"), std::string::npos) << error;
  }
}

TEST(Report, BoundsInFunctionsViewsAndLocals) {
  const char* lines[] = {
      "out[i] = get(a, i)",
      "row = g[i + (5 if i == 6 else 0)]\n    out[i] = row[0]",
      "l = wp.zeros(shape=4, dtype=float)\n    l[i % 4 + (4 if i == 6 else 0)] = 1.0\n    out[i] = l[0]",
      "v = wp.vec3(1.0, 2.0, 3.0)\n    out[i] = v[3 if i == 6 else 0]",
      "out[i] = g[i, i % 2 + (2 if i == 6 else 0)]",
      "for j in range(3):\n        out[i + (20 if i == 6 and j == 1 else 0)] = a[i]",
  };
  for (const char* line : lines) {
    Case c(std::string(R"(
@wp.func
def get(x: wp.array(dtype=float), i: int):
    return x[i + (99 if i == 6 else 0)]

@wp.kernel
def k(a: wp.array(dtype=float), g: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    )") + line +
               "\n",
           {9});
    c.array("float32", {9}).array("float32", {9, 2}).array("float32", {9});
    const std::string error = bounds_error(c);
    EXPECT_NE(error.find("out of bounds"), std::string::npos) << error << "\n" << line;
    EXPECT_NE(error.find("thread (6,)"), std::string::npos) << error;
  }
}

TEST(Report, VerifyFp) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 1.0 / (a[i] - 5.0)
)",
         {20});
  c.array("float32", {20}, Fill::counting).array("float32", {20});
  Executor reference = Executor::interpreter().debug();
  reference.options.verify_fp = true;
  const std::string error = Prepared(c, reference).run().error;
  EXPECT_NE(error.find("not finite"), std::string::npos) << error;
  EXPECT_NE(error.find("thread (4,)"), std::string::npos) << error;
  for (int lanes : {1, 8}) {
    Executor native = Executor::native(lanes, 1).debug();
    native.options.verify_fp = true;
    EXPECT_EQ(Prepared(c, native).run().error, error);
  }
}

TEST(Report, VerifyFpPrintsOutsideOfDebugMode) {
  Case c(R"(
@wp.func
def inverse(x: float):
    return 1.0 / x

@wp.kernel
def k(a: wp.array(dtype=float), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    v = wp.vec2(inverse(a[i] - 5.0), wp.sqrt(a[i] - 2.0))
    for j in range(i):
        v = v * 2.0
    out[i] = v
)",
         {20});
  c.array("float32", {20}, Fill::counting).array("vec2", {20});
  Executor reference = Executor::interpreter();
  reference.options.verify_fp = true;
  const std::string printed = Prepared(c, reference).run().printed;
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 3) << printed;
  EXPECT_NE(printed.find(": not finite: inf\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find(": not finite: nan\n"), std::string::npos) << printed;
  EXPECT_EQ(printed.find('\x01'), std::string::npos);
  for (int lanes : {1, 8}) {
    Executor native = Executor::native(lanes, 1);
    native.options.verify_fp = true;
    const Outcome outcome = Prepared(c, native).run();
    EXPECT_EQ(std::count(outcome.printed.begin(), outcome.printed.end(), '\n'), 3) << outcome.printed;
    EXPECT_EQ(outcome.error, "");
  }
}

TEST(Report, EndlessLoopsStopAfterAFailure) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=int)):
    i = wp.tid()
    assert i < 0, "at once"
    while a[i] >= 0:
        a[i] = 1
)",
         {4});
  c.array("int32", {4}, Fill::counting);
  EXPECT_NE(Prepared(c, Executor::native(8, 1).debug()).run().error.find("at once"), std::string::npos);
  EXPECT_NE(Prepared(c, Executor::interpreter().debug()).run().error.find("at once"), std::string::npos);
}

}  // namespace
}  // namespace weft::agree
