// nvPTXCompiler by a table of plain functions: when it is asked, what it is told, and who compiles where it can't.
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/module.h"
#include "fake_driver.h"

namespace weft::cuda {
namespace {

struct FakeCompiler {
  unsigned major = 13, minor = 4;
  int create = 0, compile = 0, size = 0, program = 0;  // what the calls give
  std::string log, ptx;
  std::vector<std::string> options;
  int alive = 0;
} now;

PtxCompilerTable table() {
  now = {};
  PtxCompilerTable t;
  t.version = [](unsigned* major, unsigned* minor) { return *major = now.major, *minor = now.minor, 0; };
  t.create = [](PtxCompilerHandle* made, std::size_t size, const char* ptx) {
    if (now.create) return now.create;
    now.ptx.assign(ptx, size);
    ++now.alive;
    *made = reinterpret_cast<PtxCompilerHandle>(&now);
    return 0;
  };
  t.destroy = [](PtxCompilerHandle*) { return --now.alive, 0; };
  t.compile = [](PtxCompilerHandle, int count, const char* const* options) {
    now.options.assign(options, options + count);
    return now.compile;
  };
  t.program_size = [](PtxCompilerHandle, std::size_t* size) { return *size = now.ptx.size() + 6, now.size; };
  t.program = [](PtxCompilerHandle, void* image) {
    std::memcpy(image, ("cubin " + now.ptx).data(), now.ptx.size() + 6);
    return now.program;
  };
  t.log_size = [](PtxCompilerHandle, std::size_t* size) { return *size = now.log.size(), 0; };
  t.log = [](PtxCompilerHandle, char* text) { return std::strcpy(text, now.log.c_str()), 0; };
  return t;
}

TEST(PtxCompilers, OneThatIsLinkedInTakesTheDriversPlace) {
  System system(fake::open(), table());
  ASSERT_TRUE(system.ptx_compiler());
  EXPECT_EQ(system.ptx_compiler()->version(), 13040);
  EXPECT_EQ(compile_ptx(system.device(0), "text", "k"), "cubin text");
  EXPECT_EQ(now.options, (std::vector<std::string>{"--gpu-name=sm_90", "--opt-level=3"}));
  EXPECT_EQ(compile_ptx(system.device(0), "text", "k", {1, true}), "cubin text");
  EXPECT_EQ(now.options, (std::vector<std::string>{"--gpu-name=sm_90", "--opt-level=1", "--generate-line-info"}));
  EXPECT_EQ(now.alive, 0);
  EXPECT_EQ(fake::state().count("link_create"), 0);
}

TEST(PtxCompilers, NoneIsLinkedInByDefault) {
  System system(fake::open());
  EXPECT_FALSE(system.ptx_compiler());
  EXPECT_EQ(compile_ptx(system.device(0), "text", "k"), "machine code of text");
}

TEST(PtxCompilers, OlderDriversCompileThemselves) {
  OpenedDriver driver = fake::open();
  driver.version = 12080;
  System system(driver, table());
  EXPECT_FALSE(system.ptx_compiler());
  EXPECT_EQ(compile_ptx(system.device(0), "text", "k"), "machine code of text");
  driver.version = 14000;
  EXPECT_TRUE(System(driver, table()).ptx_compiler());
}

TEST(PtxCompilers, UnknownArchitecturesAndVersionsAreLeftToTheDriver) {
  System system(fake::open(), table());
  now.compile = kPtxUnsupportedVersion;
  EXPECT_EQ(compile_ptx(system.device(0), "text", "k"), "machine code of text");
  now.compile = kPtxCompilationFailure;
  now.log = "ptxas fatal   : Value 'sm_90' is not defined for option 'gpu-name'\n";
  EXPECT_EQ(compile_ptx(system.device(0), "text", "k"), "machine code of text");
  EXPECT_EQ(now.alive, 0);
}

TEST(PtxCompilers, ErrorsCarryTheLog) {
  System system(fake::open(), table());
  auto fails = [&](const std::string& call, const std::string& text) {
    try {
      compile_ptx(system.device(0), "text", "k");
      ADD_FAILURE() << call;
    } catch (const DriverError& error) {
      EXPECT_EQ(error.call(), call);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
    EXPECT_EQ(now.alive, 0);
  };
  now.compile = kPtxCompilationFailure;
  now.log = "ptxas application ptx input, line 5; error : no such thing\n";
  fails("nvPTXCompilerCompile", "'k' for Fake GPU (sm_90):\nptxas application ptx input, line 5");
  now.log.clear();
  fails("nvPTXCompilerCompile", "gave error 3; while compiling 'k' for Fake GPU (sm_90)");
  now.compile = 0;
  now.program = 4;
  fails("nvPTXCompilerGetCompiledProgram", "error 4");
  now.size = 6;
  fails("nvPTXCompilerGetCompiledProgramSize", "error 6");
  now.create = 5;
  fails("nvPTXCompilerCreate", "error 5");
}

TEST(PtxCompilers, TheOneOfThisBuildCompiles) {
  const PtxCompiler linked(linked_ptx_compiler());
  if (linked.version() == 0) GTEST_SKIP() << "nvPTXCompiler is not linked in";
  const std::string ptx = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }";
  const std::optional<std::string> made = linked.compile(ptx, 90, {}, "'k'");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->substr(0, 4), "\177ELF");
  EXPECT_FALSE(linked.compile(ptx, 12, {}, "'k'"));
  EXPECT_THROW(linked.compile(ptx + "x", 90, {}, "'k'"), DriverError);
}

}  // namespace
}  // namespace weft::cuda
