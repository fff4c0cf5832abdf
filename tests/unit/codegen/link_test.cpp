// The linker of small objects: it takes what kernels usually are, leaves the rest to the general one, and survives damage.
#include "harness.h"

#include <cmath>
#include <random>

#include "codegen/load/small_link.h"
#include "runtime/print_buffer.h"

namespace weft::codegen::test {
namespace {

const char* const kPlain = R"(
kernel @k(%x: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %a = mul %v, 3.25f32
  %b = add %a, 0.1f32
  %c = sqrt %b
  store %x[%i], %c
  return
}
)";

Emitted object_of(const Program& program, int lanes) {
  EmitOptions options;
  options.lanes = lanes;
  return emit(*program.module, program.kernel(), host_target(), options, Output::object);
}

TEST(SmallLink, TakesPlainKernels) {
  Program program(kPlain);
  for (int lanes : {1, 4, natural_lanes(host_target())}) {
    Emitted code = object_of(program, lanes);
    auto small = SmallObject::read(code.bytes, code.entry);
    ASSERT_TRUE(small) << lanes << " lanes";
    EXPECT_LT(small->entry(), small->size());
    std::vector<std::uint8_t> memory(small->size());
    EXPECT_TRUE(small->place(memory.data(), 0x10000));
  }
}

TEST(SmallLink, LeavesReferencesToTheOutsideToOthers) {
  Program program(R"(
kernel @k(%x: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  print "v ", %v
  return
}
)");
  Emitted code = object_of(program, 1);
  EXPECT_FALSE(SmallObject::read(code.bytes, code.entry));
  EXPECT_NE(load_object(code.bytes, code.entry)->entry(), nullptr);
}

TEST(SmallLink, RefusesAnotherEntry) {
  Program program(kPlain);
  Emitted code = object_of(program, 1);
  EXPECT_FALSE(SmallObject::read(code.bytes, code.entry + "x"));
  EXPECT_FALSE(SmallObject::read(code.bytes, code.entry.substr(1)));
}

TEST(SmallLink, SurvivesDamage) {
  Program program(kPlain);
  const Emitted code = object_of(program, natural_lanes(host_target()));
  std::mt19937 random(1);
  auto try_it = [&](const std::vector<char>& bytes) {
    auto small = SmallObject::read(bytes, code.entry);
    if (!small) return;
    std::vector<std::uint8_t> memory(small->size());
    small->place(memory.data(), 0x10000);
  };
  const std::vector<char> whole(code.bytes.begin(), code.bytes.end());
  for (std::size_t size = 0; size < whole.size(); size += 3)
    try_it(std::vector<char>(whole.begin(), whole.begin() + std::ptrdiff_t(size)));
  for (int round = 0; round < 20'000; ++round) {
    std::vector<char> damaged = whole;
    for (unsigned k = random() % 4 + 1; k > 0; --k) damaged[random() % damaged.size()] = char(random());
    try_it(damaged);
  }
}

const char* const kCaller = R"(
func @f(%x: f32, %n: i32) -> (f32) lanewise {
  %c = cast %n : f32
  %r = fma %x, %c, 0.5f32
  return %r
}
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %r = call @f(%v, %i)
  %b = gt %r, 100.0f32
  if %b {
    TOLD
    store %y[%i], %r
    yield
  } else {
    yield
  }
  return
}
)";

/// The kernel and the function that it calls, each in an object of its own.
void run_apart(const std::string& told, int lanes) {
  std::string text = kCaller;
  text.replace(text.find("TOLD"), 4, told);
  Program program(text);
  const ir::Function& function = *program.module->functions.front();
  const FunctionsApart apart = {{&function, "apart"}};
  EmitOptions options;
  options.lanes = lanes;
  const Emitted callee = emit_apart(*program.module, function, "apart", host_target(), options);
  options.apart = &apart;
  const Emitted caller = emit(*program.module, program.kernel(), host_target(), options, Output::object);
  EXPECT_FALSE(SmallObject::read(caller.bytes, caller.entry)) << "it lacks a function";
  const std::span<const char> objects[] = {caller.bytes, callee.bytes};
  EXPECT_EQ(SmallObject::read(objects, caller.entry).has_value(), told.empty());
  const auto loaded = load_objects(objects, caller.entry);
  std::vector<float> x(37), y(37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i) + 0.25f;
  Block block(program);
  block.array(x).array(y);
  runtime::LaunchContext context;
  context.dims[0] = std::int64_t(x.size());
  context.rank = 1;
  std::string printed;
  {
    runtime::PrintSink sink = [&](std::string_view piece) { printed += piece; };
    runtime::PrintBuffer buffer(1, &sink);
    context.print = &buffer;
    loaded->entry()(0, std::int64_t(x.size()), block.data(), &context);
  }
  EXPECT_EQ(printed.find("r ") != std::string::npos, !told.empty()) << printed;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float r = std::fma(x[i], float(i), 0.5f);
    EXPECT_EQ(y[i], r > 100 ? r : 0) << i;
  }
}

TEST(SmallLink, JoinsObjectsThatCallEachOther) {
  for (int lanes : {1, 4, 8}) run_apart("", lanes);
}

TEST(Link, JoinsObjectsThatAlsoCallTheRuntime) {
  for (int lanes : {1, 4}) run_apart("print \"r \", %r", lanes);
}

}  // namespace
}  // namespace weft::codegen::test
