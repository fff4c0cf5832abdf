// Many threads on the public API at once: compiling and launching the same and different kernels, sharing programs,
// failing, and letting go.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "racer.h"
#include "support.h"

namespace weft::agree {
namespace {

/// The process's cache: a folder of its own, set before anything asks for it.
class OwnCache : public testing::Environment {
 public:
  void SetUp() override { ::setenv("WEFT_CACHE_PATH", folder_.path.c_str(), 1); }

 private:
  TempFolder folder_;
};
const testing::Environment* const kOwnCache = testing::AddGlobalTestEnvironment(new OwnCache);

/// Runs the function on several threads that start together; collects what they complain about.
template <class F>
std::string on_threads(int count, F&& work) {
  std::atomic<int> ready{0};
  std::mutex mutex;
  std::string problems;
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      ready.fetch_add(1);
      while (ready.load() < count) std::this_thread::yield();
      std::string problem;
      try {
        problem = work(t);
      } catch (const std::exception& error) {
        problem = error.what();
      }
      if (problem.empty()) return;
      std::lock_guard lock(mutex);
      problems += "thread " + std::to_string(t) + ": " + problem + "\n";
    });
  for (std::thread& thread : threads) thread.join();
  return problems;
}

TEST(Threads, SameTextCompiledByAll) {
  EXPECT_EQ(on_threads(8, [](int) { return run_family(11, 3000); }), "");
}

TEST(Threads, DifferentTexts) {
  EXPECT_EQ(on_threads(6,
                       [](int t) -> std::string {
                         for (int k = 0; k < 3; ++k)
                           if (std::string problem = run_family(20 + t * 3 + k, 500); !problem.empty()) return problem;
                         return {};
                       }),
            "");
}

TEST(Threads, OneProgramSharedByAll) {
  Options options;
  options.cache = false;
  const Program program = Program::compile(family_text(12), "family.py", options);
  EXPECT_EQ(on_threads(8,
                       [&](int t) -> std::string {
                         for (int k = 0; k < 60; ++k)
                           if (std::string problem = run_member(program, 12, (t + k) % kFamily, 1 + 700 * (k % 5));
                               !problem.empty())
                             return problem;
                         return {};
                       }),
            "");
}

TEST(Threads, BuildsAndLaunchesTogether) {
  const Program program = Program::compile(family_text(13), "family.py");
  EXPECT_EQ(on_threads(6,
                       [&](int t) -> std::string {
                         if (t % 2) {
                           program.build();
                           return {};
                         }
                         return run_member(program, 13, t % kFamily, 100'000);
                       }),
            "");
}

TEST(Threads, GenericKernelsRanksAndTypes) {
  const Program program = Program::compile(R"(
import warp as wp
@wp.kernel
def add(x: wp.array(dtype=wp.Any), n: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(n, 0, int(x[0]) + i * 0)
)",
                                           "generic.py");
  EXPECT_EQ(on_threads(8,
                       [&](int t) -> std::string {
                         const char* types[] = {"float32", "float64", "int8", "uint64"};
                         for (int k = 0; k < 20; ++k) {
                           Array x = Array::zeros(types[(t + k) % 4], {1}), n = Array::zeros("int32", {1});
                           const std::vector<std::int64_t> dims((t + k / 4) % 4 + 1, 3);
                           program.kernel("add").launch(dims, x, n);
                           if (n.as<std::int32_t>()[0] != 0) return "a zero was added up to something else";
                         }
                         return {};
                       }),
            "");
}

TEST(Threads, FailuresBelongToTheirLaunch) {
  Options options;
  options.debug = true;
  const Program program = Program::compile(R"(
import warp as wp
@wp.kernel
def check(limit: int, x: wp.array(dtype=int)):
    i = wp.tid()
    assert i != limit, "limit"
    x[i] = i
)",
                                           "fail.py", options);
  EXPECT_EQ(on_threads(6,
                       [&](int t) -> std::string {
                         for (int k = 0; k < 40; ++k) {
                           Array x = Array::zeros("int32", {500});
                           const int limit = k % 2 ? t * 50 + k : -1;
                           try {
                             program.kernel("check").launch({500}, limit, x);
                             if (limit >= 0) return "no error";
                           } catch (const KernelError& error) {
                             if (limit < 0) return std::string("an error that is not ours: ") + error.what();
                             if (error.line() != 6 || error.thread() != std::vector<std::int64_t>{limit})
                               return error.what();
                           }
                         }
                         return {};
                       }),
            "");
}

TEST(Threads, ProgramsComeAndGo) {
  EXPECT_EQ(on_threads(6,
                       [](int t) -> std::string {
                         for (int k = 0; k < 8; ++k) {
                           // The kernel outlives its program's handle.
                           Kernel kernel = Program::compile(family_text(k % 3), "family.py").kernel("k1");
                           Array x = Array::from<float>({1, 2, 3}), y = Array::zeros("float32", {3});
                           kernel.launch({3}, x, y);
                           if (y.as<float>()[2] != 3 * float(k % 3 + 1) + 2)
                             return "thread " + std::to_string(t) + " read a wrong value";
                         }
                         return {};
                       }),
            "");
}

TEST(Threads, CompileErrorsReachEveryThread) {
  const Program program =
      Program::compile("import warp as wp\n@wp.kernel\ndef bad(x: wp.array(dtype=float)):\n    x[0] = 1\n", "bad.py");
  EXPECT_EQ(on_threads(6,
                       [&](int) -> std::string {
                         try {
                           program.kernel("bad").launch({1}, Array::zeros("float32", {1}));
                         } catch (const CompileError& error) {
                           return error.messages().empty() || error.messages()[0].line != 4 ? error.what()
                                                                                            : std::string();
                         }
                         return "compiled";
                       }),
            "");
}

TEST(Threads, InterpreterToo) {
  Options options;
  options.interpret = true;
  EXPECT_EQ(on_threads(4, [&](int t) { return run_family(30 + t % 2, 200, options); }), "");
}

}  // namespace
}  // namespace weft::agree
