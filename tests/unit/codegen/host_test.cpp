// The host's features: what Linux says of an aarch64 processor, and what LLVM makes of the list.
#include "codegen/cpu/host.h"
#include "codegen/target.h"

#include <gtest/gtest.h>

#include <regex>
#include <thread>

#include "harness.h"

namespace weft::codegen::test {
namespace {

// AT_HWCAP of a Cortex-A72: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid; nothing after Armv8.0.
constexpr std::uint64_t kCortexA72 = 0x8ff;
// Of a Neoverse V1 under a hypervisor that hides SVE (bit 22); AT_HWCAP2 with i8mm and bf16.
constexpr std::uint64_t kHiddenSve = 0xffbfffff, kHiddenSve2 = 0x6001;

TEST(Host, PlainProcessorHasNoExtension) {
  for (const auto& [name, present] : aarch64_features(kCortexA72, 0)) EXPECT_EQ(present, name == "crc") << name;
}

TEST(Host, HiddenExtensionIsAbsent) {
  auto features = aarch64_features(kHiddenSve, kHiddenSve2);
  for (const char* name : {"lse", "fullfp16", "dotprod", "rdm", "i8mm", "bf16"}) EXPECT_TRUE(features.at(name)) << name;
  for (const char* name : {"sve", "sve2", "sme"}) EXPECT_FALSE(features.at(name)) << name;
}

// Half floats count only where scalars and vectors both have them, SVE2 only with SVE.
TEST(Host, ExtensionNeedsAllItsBits) {
  const std::uint64_t scalar = 1u << 9, vector = 1u << 10, sve = 1u << 22, sve2 = 1u << 1;
  EXPECT_FALSE(aarch64_features(scalar, 0).at("fullfp16"));
  EXPECT_FALSE(aarch64_features(vector, 0).at("fullfp16"));
  EXPECT_TRUE(aarch64_features(scalar | vector, 0).at("fullfp16"));
  EXPECT_FALSE(aarch64_features(0, sve2).at("sve2"));
  EXPECT_TRUE(aarch64_features(sve, sve2).at("sve2"));
}

TEST(Host, AbsentFeaturesComeLast) {
  EXPECT_EQ(feature_list({{"a", false}, {"b", true}, {"c", false}, {"d", true}}), "+b,+d,-a,-c");
  EXPECT_EQ(feature_list({}), "");
}

// LLVM only warns of a name that it does not know, on standard error; and once per target machine, of which every thread
// has its own.
TEST(Host, LlvmKnowsEveryFeature) {
  Program program("kernel @k(%x: array<f32,1>) form(rank 1) {\n  return\n}\n");
  testing::internal::CaptureStderr();
  std::thread([&] { emit(*program.module, program.kernel(), host_target(), {}, Output::object); }).join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// AVX2's gathers are taken where LLVM makes instructions of them; where the microcode makes these slow, lanes load one by one.
TEST(Host, GathersWhereTheyAreWorthIt) {
  TargetSpec target = host_target();
  if (!target.triple.starts_with("x86_64")) GTEST_SKIP() << "about x86-64";
  struct Case {
    const char* name;
    bool wide, gathers, quick;
  };
  for (const Case& c : {Case{"haswell", false, false, false}, Case{"znver3", false, false, false},
                        Case{"skylake", false, true, false}, Case{"alderlake", false, true, true},
                        Case{"cascadelake", true, true, false}, Case{"icelake-server", true, true, false},
                        Case{"sapphirerapids", true, true, true}, Case{"znver4", true, true, false}}) {
    target.cpu_name = c.name;
    target.features = c.wide ? "+avx2,+fma,+f16c,+bmi2,+avx512f,+avx512vl" : "+avx2,+fma,+f16c,+bmi2";
    EXPECT_EQ(traits_of(target).gathers, c.gathers) << c.name;
    EXPECT_EQ(traits_of(target).quick_gathers, c.quick) << c.name;
    EXPECT_EQ(traits_of(target).scatters, c.wide) << c.name;
  }
}

// A tile that is turned reads places apart: by gathers where these are quick, and one after the other where they are slow.
TEST(Host, TilesAreTurnedWithoutSlowGathers) {
  TargetSpec target = host_target();
  if (!target.triple.starts_with("x86_64")) GTEST_SKIP() << "about x86-64";
  Program program(R"(kernel @turned(%x: array<f32,2>, %y: array<f32,2>) form(no_overlap, rank 1) {
  %t = local(tile) : array<f32,1> [256]
  for %r = 0i32 to 16i32 step 1i32 {
    %f = mul %r, 16i32
    for %c = 0i32 to 16i32 step 1i32 {
      %v = load %x[%r, %c]
      %k = add %f, %c
      store %t[%k], %v
      yield
    }
    yield
  }
  for %r1 = 0i32 to 16i32 step 1i32 {
    for %c1 = 0i32 to 16i32 step 1i32 {
      %g = mul %c1, 16i32
      %j = add %g, %r1
      %w = load %t[%j]
      store %y[%r1, %c1], %w
      yield
    }
    yield
  }
  return
}
)");
  auto gathers = [&](const char* name) {
    target.cpu_name = name;
    target.features = "+avx2,+fma,+f16c,+bmi2,+avx512f,+avx512vl,+avx512dq,+avx512bw,+fast-gather";
    return emit(*program.module, program.kernel(), target, {}, Output::assembly).bytes.find("gather") !=
           std::string::npos;
  };
  EXPECT_TRUE(gathers("sapphirerapids"));
  EXPECT_FALSE(gathers("cascadelake"));
}

// A product of consecutive elements is one instruction for all lanes; on NEON so is the conversion to integers, which
// saturates as the contract asks.
TEST(Host, LanesShareInstructions) {
  Program program(R"(
kernel @k(%a: f32, %x: array<f32,1>, %y: array<f32,1>, %n: array<i32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %w = mul %v, %a
  store %y[%i], %w
  %c = cast %w : i32
  store %n[%i], %c
  return
}
)");
  EmitOptions options;
  options.lanes = 4;
  const std::string text = emit(*program.module, program.kernel(), host_target(), options, Output::assembly).bytes;
  const bool is_arm = host_target().triple.starts_with("aarch64");
  for (const char* pattern :
       is_arm ? std::vector{R"(\bfmul\s+v\d+\.4s)", R"(\bfcvtzs\s+v\d+\.4s)"} : std::vector{R"(\bv?mulps\b)"})
    EXPECT_TRUE(std::regex_search(text, std::regex(pattern))) << pattern << "\n" << text;
}

}  // namespace
}  // namespace weft::codegen::test
