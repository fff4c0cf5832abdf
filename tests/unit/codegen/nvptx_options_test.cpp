// Options of GPU code: libdevice, approximations under fast_math, line tables; and atomic operations on arrays that may be
// private. What is written is accepted by ptxas.
#include "harness.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "ptxas.h"

namespace weft::codegen::test {
namespace {

const char* kFunctions[] = {"sin",  "cos", "tan",  "asin",  "acos", "atan", "sinh", "cosh",   "tanh",   "exp",
                            "exp2", "log", "log2", "log10", "cbrt", "erf",  "erfc", "erfinv", "erfcinv"};

std::string kernel_of(const std::string& op, const std::string& type, bool binary) {
  return "kernel @k(%x: array<" + type + ",1>, %y: array<" + type +
         ",1>) form(no_overlap, rank 1) {\n  %i = tid 0\n  %a = load %x[%i]\n  %b = load %y[%i]\n  %r = " + op +
         (binary ? " %a, %b" : " %a") + "\n  store %y[%i], %r\n  return\n}\n";
}

EmitOptions checked() {
  EmitOptions options;
  options.verify = true;
  return options;
}

std::string ptx(const std::string& text, const EmitOptions& options, int sm = 80) {
  Program program(text);
  return emit(*program.module, program.kernel(), nvptx_target(sm), options, Output::ptx).bytes;
}

TEST(NvptxLibdevice, EveryFunctionIsAccepted) {
  EmitOptions options = checked();
  options.libdevice = find_libdevice();
  if (options.libdevice.empty()) GTEST_SKIP() << "there is no libdevice";
  for (int sm : {75, 90}) {
    for (const char* type : {"f32", "f64", "f16", "bf16"}) {
      std::string text =
          "kernel @k(%x: array<" + std::string(type) + ",1>) form(rank 1) {\n  %i = tid 0\n  %a0 = load %x[%i]\n";
      int k = 0;
      auto value = [](int n) { return "%a" + std::to_string(n); };
      for (const char* op : kFunctions) {
        text += "  " + value(k + 1) + " = " + op + " " + value(k) + "\n";
        ++k;
      }
      text += "  %p = pow " + value(k) + ", %a0\n  %q = atan2 %p, %a1\n  store %x[%i], %q\n  return\n}\n";
      std::string code = ptx(text, options, sm);
      EXPECT_EQ(code.find("__nv_"), std::string::npos) << "all of it is linked and inlined";
      EXPECT_EQ(code.find("m.sin"), std::string::npos);
      assemble(code, sm);
      if (HasFailure() || IsSkipped()) return;
    }
  }
}

TEST(NvptxLibdevice, LanesAndLevels) {
  EmitOptions options = checked();
  options.libdevice = find_libdevice();
  if (options.libdevice.empty()) GTEST_SKIP() << "there is no libdevice";
  for (int level : {0, 1, 2, 3}) {
    options.opt_level = level;
    assemble(ptx(kernel_of("pow", "f32", true), options, 80), 80);
    assemble(ptx(kernel_of("sin", "f64", false), options, 80), 80);
  }
}

TEST(NvptxLibdevice, UnreadableFilesAreErrors) {
  EmitOptions options = checked();
  options.libdevice = "/nowhere/libdevice.10.bc";
  EXPECT_THROW(ptx(kernel_of("sin", "f32", false), options), Error);
  EXPECT_NO_THROW(ptx(kernel_of("sqrt", "f32", false), options)) << "nothing is needed of it";
  std::string path = testing::TempDir() + "weft_no_bitcode_" + std::to_string(::getpid());
  std::ofstream(path) << "this is no bitcode";
  options.libdevice = path;
  EXPECT_THROW(ptx(kernel_of("sin", "f32", false), options), Error);
  EXPECT_EQ(find_libdevice(path), path);
  EXPECT_EQ(find_libdevice("/nowhere"), "");
  std::filesystem::remove(path);
}

TEST(NvptxFastMath, Approximations) {
  struct Row {
    const char *op, *instruction;
    bool binary = false;
  };
  EmitOptions options = checked();
  options.fast_math = true;
  for (Row row : {Row{"sin", "sin.approx.ftz.f32"}, Row{"cos", "cos.approx.ftz.f32"}, Row{"tan", "sin.approx.ftz.f32"},
                  Row{"exp", "ex2.approx.ftz.f32"}, Row{"exp2", "ex2.approx.ftz.f32"}, Row{"log", "lg2.approx.ftz.f32"},
                  Row{"log2", "lg2.approx.ftz.f32"}, Row{"log10", "lg2.approx.ftz.f32"}, Row{"tanh", "tanh.approx.f32"},
                  Row{"pow", "ex2.approx.ftz.f32", true}, Row{"sqrt", "sqrt.approx.ftz.f32"},
                  Row{"div", "div.approx.ftz.f32", true}}) {
    std::string code = ptx(kernel_of(row.op, "f32", row.binary), options);
    EXPECT_NE(code.find(row.instruction), std::string::npos) << row.op << "\n" << code;
    assemble(code, 80);
  }
  assemble(ptx(kernel_of("tanh", "f32", false), options, 70), 70);
  for (const char* op : {"sin", "exp", "log"})
    EXPECT_EQ(ptx(kernel_of(op, "f64", false), options).find("approx"), std::string::npos) << op;
}

TEST(NvptxFastMath, OffMeansExact) {
  for (const char* op : {"sin", "exp", "log", "tanh", "sqrt"}) {
    std::string code = ptx(kernel_of(op, "f32", false), checked());
    // Reciprocals begin with one and are then made exact (roots.cpp).
    constexpr std::string_view kBegin = "rcp.approx.ftz.f32";
    for (std::size_t at = 0; (at = code.find(kBegin)) != std::string::npos;) code.erase(at, kBegin.size());
    EXPECT_EQ(code.find(".approx."), std::string::npos) << op;
  }
}

TEST(NvptxLines, AreWrittenIfAskedFor) {
  Program program(kernel_of("add", "f32", true));
  SourceFile file("program.py", "");
  for (ir::Op& op : *program.module->functions.back()->body) op.loc = {&file, 7, 3};
  EmitOptions options = checked();
  auto text = [&] { return emit(*program.module, program.kernel(), nvptx_target(80), options, Output::ptx).bytes; };
  EXPECT_EQ(text().find(".loc"), std::string::npos);
  options.line_info = true;
  std::string code = text();
  EXPECT_NE(code.find(" 7 3\n"), std::string::npos) << code;
  EXPECT_NE(code.find("program.py"), std::string::npos);
  EXPECT_EQ(code.find(".debug_info"), std::string::npos) << "lines, and no other debug information";
  assemble(code, 80);
}

TEST(NvptxEarlyStarts, KernelsWaitBeforeAnythingElse) {
  Program program(kernel_of("add", "f32", true));
  SourceFile file("program.py", "");
  for (ir::Op& op : *program.module->functions.back()->body) op.loc = {&file, 7, 3};
  for (const bool lines : {false, true}) {
    EmitOptions options = checked();
    options.line_info = lines;
    auto of = [&](int sm) { return emit(*program.module, program.kernel(), nvptx_target(sm), options, Output::ptx); };
    const Emitted before = of(80), now = of(90);
    EXPECT_FALSE(before.waits_first);
    EXPECT_EQ(before.bytes.find("griddepcontrol"), std::string::npos);
    EXPECT_TRUE(now.waits_first);
    const std::string& code = now.bytes;
    const std::size_t wait = code.find("griddepcontrol.wait;"), allow = code.find("griddepcontrol.launch_dependents;");
    const std::size_t read = code.find("ld.param");
    ASSERT_NE(read, std::string::npos) << code;
    EXPECT_LT(code.find(".entry"), wait) << code;
    EXPECT_LT(wait, allow) << code;
    EXPECT_LT(allow, read) << "nothing is read before";
    assemble(code, 90);
  }
}

std::string chosen_atomic(const std::string& type, const std::string& value, const std::string& first,
                          const std::string& op) {
  return "kernel @k(%x: array<" + type + ",1>, %y: array<" + type + R"(,1>, %n: i32) form(rank 1) {
  %i = tid 0
  %a = local : array<)" +
         type + R"(,1> [4]
  %b = local : array<)" +
         type + R"(,1> [4]
  %c = lt %i, %n
  %l = select %c, )" +
         first + R"(, %b
  %k = bit_and %n, 3i32
  %v = load %x[%i]
  %o = atomic )" +
         op + " %l[%k], " + value + R"(
  %w = load %l[%k]
  %s = )" +
         (type == "f16" || type == "bf16" ? std::string("add") : std::string("bit_or")) + R"( %o, %w
  store %y[%i], %s
  return
}
)";
}

TEST(NvptxAtomics, OnPrivateArraysAreAccepted) {
  for (const char* type : {"f16", "bf16", "i16", "u16", "i32", "i8"})
    for (const char* array : {"%a", "%x"})
      for (const char* op : {"add", "max", "exch"})
        for (int level : {1, 2, 3}) {
          EmitOptions options = checked();
          options.opt_level = level;
          std::string code = ptx(chosen_atomic(type, "%v", array, op), options);
          const bool own = std::string(array) == "%a";
          EXPECT_EQ(code.find("atom") == std::string::npos, own) << type << " " << op << "\n" << code;
          if (level == 2) assemble(code, 80);
          if (HasFailure() || IsSkipped()) return;
        }
}

}  // namespace
}  // namespace weft::codegen::test
