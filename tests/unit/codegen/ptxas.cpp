// Finding and running ptxas.
#include "ptxas.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::codegen::test {

namespace {

std::string tool(const char* name) {
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "";
  for (std::size_t at = 0; at <= rest.size();) {
    std::size_t end = std::min(rest.find(':', at), rest.size());
    std::filesystem::path file = std::filesystem::path(rest.substr(at, end - at)) / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return file.string();
    at = end + 1;
  }
  return {};
}

}  // namespace

void assemble(const std::string& ptx, int sm) {
  std::string ptxas = tool("ptxas");
  if (ptxas.empty()) GTEST_SKIP() << "ptxas is not on the path";
  std::filesystem::path base =
      std::filesystem::path(testing::TempDir()) / ("weft_ptx_" + std::to_string(::getpid()) + "_" + std::to_string(sm));
  std::string source = base.string() + ".ptx", log = base.string() + ".log";
  std::ofstream(source) << ptx;
  // CUDA 13's assembler knows no GPU before sm_75.
  std::string command =
      ptxas + " -arch=sm_" + std::to_string(std::max(sm, 75)) + " -o /dev/null " + source + " 2> " + log;
  int code = std::system(command.c_str());
  std::string text((std::istreambuf_iterator<char>(std::ifstream(log).rdbuf())), {});
  EXPECT_EQ(code, 0) << text << "\n" << ptx;
  std::filesystem::remove(source);
  std::filesystem::remove(log);
}

}  // namespace weft::codegen::test
