// The comparisons that every hand-written case goes through, and ptxas.
#include "agree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "codegen/codegen.h"

namespace weft::agree {
namespace {

void compare(const Case& kernel_case, const Outcome& expected, const std::string& reference, const Executor& executor) {
  Prepared prepared(kernel_case, executor);
  auto check = [&](const Grid& grid, const char* how) {
    const std::string difference = first_difference(kernel_case, expected, prepared.run(grid));
    EXPECT_EQ(difference, "") << executor.name() << how << " differs from " << reference << "\n" << kernel_case.text();
  };
  check({}, "");
  if (executor.kind == Executor::Kind::interpreter) return;
  check({true, 5}, ", cut into chunks of 5,");
  // Two threads that fail race for the record.
  if (!kernel_case.is_serial_only() && expected.error.empty()) {
    check({false, 3}, ", parallel in chunks of 3,");
    check({false, 0}, ", parallel,");
  }
}

void check_ptx(const Case& kernel_case) {
  for (int sm : {75, 90}) {
    std::string ptx = emit_ptx(kernel_case, sm);
    if (ptxas_path().empty()) continue;
    EXPECT_EQ(assemble(ptx, sm), "") << "sm_" << sm << "\n" << kernel_case.text();
  }
}

}  // namespace

Outcome expect_agreement(const Case& kernel_case, Effort effort) {
  Outcome result;
  try {
    const int natural = codegen::natural_lanes(codegen::host_target());
    result = Prepared(kernel_case, Executor::interpreter()).run();
    std::vector<int> lanes = {1};
    if (!kernel_case.is_one_lane_only()) {
      lanes.push_back(natural);
      if (effort == Effort::full)
        for (int w : {4, 8, 16, 32})
          // 32 are taken with AVX-512 alone.
          if (w != natural && (w < 32 || natural == 16)) lanes.push_back(w);
    }
    for (int w : lanes) {
      const int level = w == natural && effort == Effort::full ? 2 : 1;
      compare(kernel_case, result, "the interpreter", Executor::native(w, level));
      if (testing::Test::HasFailure()) return result;
    }

    if (lanes.size() > 1) {
      compare(kernel_case, result, "the interpreter", Executor::native(natural, 1).with_free_masks());
      if (testing::Test::HasFailure()) return result;
    }

    const Executor plain = Executor::interpreter(false).unfused();
    const Outcome unfused = Prepared(kernel_case, plain).run();
    compare(kernel_case, unfused, plain.name(), Executor::interpreter().unfused());
    if (effort == Effort::full)
      compare(kernel_case, unfused, plain.name(), Executor::native(lanes.back(), 1).unfused());
    if (testing::Test::HasFailure()) return result;

    const Outcome debug = Prepared(kernel_case, Executor::interpreter().debug()).run();
    if (effort == Effort::full)
      compare(kernel_case, debug, "the interpreter in debug mode", Executor::native(1, 1).debug());
    compare(kernel_case, debug, "the interpreter in debug mode", Executor::native(lanes.back(), 1).debug());
    if (testing::Test::HasFailure()) return result;

    check_ptx(kernel_case);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << kernel_case.text();
  }
  return result;
}

std::string with_type(std::string text, std::string_view type) {
  for (std::size_t at = 0; (at = text.find("$T", at)) != std::string::npos; at += type.size())
    text.replace(at, 2, type);
  return text;
}

const std::string& ptxas_path() {
  static const std::string found = [] {
    const char* path = std::getenv("PATH");
    std::stringstream list(path ? path : "");
    for (std::string folder; std::getline(list, folder, ':');) {
      std::error_code ignored;
      if (std::filesystem::is_regular_file(folder + "/ptxas", ignored)) return folder + "/ptxas";
    }
    return std::string();
  }();
  return found;
}

std::string assemble(const std::string& ptx, int sm) {
  const std::string base = testing::TempDir() + "/weft_agree_" + std::to_string(::getpid());
  std::ofstream(base + ".ptx") << ptx;
  const std::string command =
      ptxas_path() + " -O0 -arch=sm_" + std::to_string(sm) + " -o /dev/null " + base + ".ptx > " + base + ".log 2>&1";
  const int code = std::system(command.c_str());
  std::stringstream log;
  log << std::ifstream(base + ".log").rdbuf();
  std::filesystem::remove(base + ".ptx");
  std::filesystem::remove(base + ".log");
  return code == 0 ? "" : "ptxas exit code " + std::to_string(code) + ": " + log.str();
}

TEST(Harness, SeesDifferences) {
  Case c(R"(
@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x[i] = float(i)
    y[i] = wp.vec3(float(i), wp.nan, 0.0)
)",
         {5});
  c.array("float32", {5}).array("vec3", {5});
  const Outcome good = expect_agreement(c);
  auto changed = [&](std::size_t buffer, std::size_t byte, int bit) {
    Outcome bad = good;
    bad.memory[buffer].bytes[byte] ^= std::byte(1 << bit);
    return first_difference(c, good, bad);
  };
  EXPECT_EQ(first_difference(c, good, good), "");
  EXPECT_NE(changed(0, 16, 0), "");
  EXPECT_NE(changed(1, 8, 0), "") << "a zero that is no longer one";
  EXPECT_EQ(changed(1, 4, 0), "") << "another NaN";
  EXPECT_NE(changed(0, 20, 3), "") << "behind the end";
  Outcome failed = good;
  failed.error = "index 7";
  EXPECT_NE(first_difference(c, good, failed), "");
}

TEST(Ptx, AssemblerIsThere) {
  if (ptxas_path().empty()) GTEST_SKIP() << "no ptxas on the path: PTX of the cases is emitted but not assembled";
}

}  // namespace weft::agree
