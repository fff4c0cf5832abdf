// The linker of small objects: it takes what kernels usually are, leaves the rest to the general one, and survives damage.
#include "harness.h"

#include <random>

#include "codegen/load/small_link.h"

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

}  // namespace
}  // namespace weft::codegen::test
