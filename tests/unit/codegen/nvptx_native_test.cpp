// Functions in C++ on GPUs, by every clang of the machine: what versions of it make differs, atomics above all. What is
// written has no calls left, and ptxas accepts it.
#include "harness.h"

#include <filesystem>
#include <set>

#include "ptxas.h"

namespace weft::codegen::test {
namespace {

/// Uses one clang while it lives.
class Compiler {
 public:
  explicit Compiler(const std::string& clang) { set_native_compiler(clang); }
  ~Compiler() { set_native_compiler(""); }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;
};

std::vector<std::string> clangs() {
  std::vector<std::string> found;
  std::set<std::filesystem::path> known;  // `clang` is one of the others as a rule
  for (const char* name : {"clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang"}) {
    const Compiler chosen(name);
    if (const std::string path = find_clang(); !path.empty() && known.insert(std::filesystem::canonical(path)).second)
      found.emplace_back(name);
  }
  return found;
}

/// A kernel that calls `body` for floats: `x` a number, `a` an array, `i` an index, `r` for the result.
std::string kernel_with(std::string body) {
  for (std::size_t at = 0; (at = body.find_first_of("\"\n", at)) != std::string::npos; at += 2)
    body.replace(at, 1, body[at] == '"' ? "\\\"" : "\\n");
  const std::string head =
      "extern \\\"C\\\" void weft_native(const float* x, const wp::array_t<float>* a, const int* i, float* r)";
  return "func @f(%x: f32, %a: array<f32,1>, %i: i32) -> (f32) native \"" + head + " { " + body + R"( }" {
  return 0.0f32
}
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %r = call @f(%v, %y, %i)
  store %x[%i], %r
  return
}
)";
}

std::string ptx(const std::string& body, int sm) {
  EmitOptions options;
  options.verify = true;
  options.libdevice = find_libdevice();
  Program program(kernel_with(body));
  return emit(*program.module, program.kernel(), nvptx_target(sm), options, Output::ptx).bytes;
}

class NvptxNative : public ::testing::TestWithParam<std::string> {
 protected:
  /// Compiles for the oldest and a new GPU, or some.
  void accept(const std::string& body, std::initializer_list<int> gpus = {75, 90}) {
    for (int sm : gpus) {
      code_ = ptx(body, sm);
      EXPECT_EQ(code_.find("__nv_"), std::string::npos) << "all of it is linked and inlined";
      EXPECT_EQ(code_.find("__atomic"), std::string::npos);
      assemble(code_, sm);
      if (HasFailure()) return;
    }
  }
  std::string code_;
  Compiler chosen_{GetParam()};
};

TEST_P(NvptxNative, FunctionsInCppAreAccepted) {
  if (find_libdevice().empty()) GTEST_SKIP() << "there is no libdevice";
  accept(
      "static int calls = 0; ++calls; atomic_add(*a, *i, wp::pow(*x, 2.5f)); printf(\"%d\", *i); "
      "*r = wp::sin(*x) + float(wp::exp(double(*x))) + wp::sqrt(*x) + float(wp::half(wp::floor(*x))) + calls;");
  EXPECT_EQ(code_.find("ld.global.nc"), std::string::npos) << "the call may write to any array";
}

TEST_P(NvptxNative, EveryTypeIsAddedTo) {
  for (const char* type :
       {"int8",  "uint8",  "int16", "uint16", "int32", "uint32", "int64",  "uint64", "half",       "bfloat16",
        "float", "double", "bool",  "vec3",   "vec2h", "vec3ub", "mat22d", "quat",   "transformd", "spatial_vectorh"}) {
    SCOPED_TRACE(type);
    const std::string t = type;
    accept("array_t<" + t + ">& b = *(array_t<" + t + ">*)a; " + t + " v = *(" + t +
           "*)a->data; atomic_add(b, *i, v); atomic_add(b, *i, 1, v); atomic_add(adjoint_t<" + t + ">(b), *i, v); *(" +
           t + "*)a->grad = atomic_add((" + t + "*)a->data, v); *r = 0.0f;");
    if (HasFailure()) return;
  }
}

TEST_P(NvptxNative, NumbersAreAddedByOneInstruction) {
  for (const auto& [type, instruction] : {std::pair("float", "add.f32"),
                                          {"double", "add.f64"},
                                          {"int", "add.u32"},
                                          {"uint32", "add.u32"},
                                          {"uint64", "add.u64"}}) {
    SCOPED_TRACE(type);
    const std::string t = type;
    accept("*r = float(atomic_add((" + t + "*)a->data, " + t + "(*x)));");
    if (HasFailure()) return;
    EXPECT_EQ(code_.find("atom.cas"), std::string::npos) << code_;
    EXPECT_NE(code_.find(instruction), std::string::npos) << code_;
  }
}

TEST_P(NvptxNative, AtomicsOfTheLanguageAreAccepted) {
  for (const char* type : {"int8", "uint16", "int32", "uint64"}) {
    SCOPED_TRACE(type);
    accept("typedef " + std::string(type) +
           " T; T* p = (T*)a->data; T v = T(*i), w = v; "
           "v += __atomic_fetch_add(p, v, 0) + __atomic_sub_fetch(p, v, 5) + __atomic_fetch_and(p, v, 2); "
           "v += __atomic_fetch_or(p, v, 3) + __atomic_fetch_xor(p, v, 4) + __atomic_exchange_n(p, v, 5); "
           "v += __atomic_load_n(p, 2) + __atomic_compare_exchange_n(p, &w, v, true, 0, 0); "
           "v += __atomic_compare_exchange_n(p, &w, v, false, 5, 2); __atomic_store_n(p, v, 3); "
           "__atomic_thread_fence(5); *r = float(v) + float(w);");
    if (HasFailure()) return;
  }
}

TEST_P(NvptxNative, OrderIsKept) {
  auto fences = [&](const std::string& body) {
    accept("int* p = (int*)a->data; int v = *i; " + body + " *r = float(v);");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = code_.find("membar.sys", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(fences("atomic_add(p, v);"), 0u);
  EXPECT_EQ(fences("v += __atomic_fetch_add(p, v, __ATOMIC_RELAXED);"), 0u);
  EXPECT_EQ(fences("v = __atomic_load_n(p, __ATOMIC_RELAXED);"), 0u);
  EXPECT_EQ(fences("__atomic_store_n(p, v, __ATOMIC_RELAXED);"), 0u);
  EXPECT_GE(fences("v = __atomic_load_n(p, __ATOMIC_ACQUIRE);"), 1u);
  EXPECT_GE(fences("__atomic_store_n(p, v, __ATOMIC_RELEASE);"), 1u);
  EXPECT_GE(fences("__atomic_thread_fence(__ATOMIC_SEQ_CST);"), 1u);
  EXPECT_EQ(fences("__atomic_signal_fence(__ATOMIC_SEQ_CST);"), 0u);
  EXPECT_EQ(fences("v += __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);"), 2u);
  EXPECT_EQ(fences("v = __atomic_compare_exchange_n(p, &v, 3, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);"), 2u);
  EXPECT_EQ(fences("v = __sync_val_compare_and_swap(p, v, 3);"), 2u);
}

TEST_P(NvptxNative, EveryFunctionOfThePreludeIsAccepted) {
  if (find_libdevice().empty()) GTEST_SKIP() << "there is no libdevice";
  accept(
      "float s = *x; double d = *x;\n"
      "#define ONE(f) s += wp::f(s); d += wp::f(d);\n"
      "ONE(cbrt) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh) ONE(exp) "
      "ONE(exp2) ONE(log) ONE(log2) ONE(log10) ONE(erf) ONE(erfc) ONE(sqrt) ONE(floor) ONE(ceil) ONE(trunc) ONE(round) "
      "ONE(rint) ONE(fabs) ONE(abs) ONE(isnan) ONE(isinf) ONE(isfinite)\n"
      "#define TWO(f) s += wp::f(s, *x); d += wp::f(d, double(*x));\n"
      "TWO(atan2) TWO(pow) TWO(fmod) TWO(hypot) TWO(fmin) TWO(fmax) TWO(copysign) TWO(min) TWO(max)\n"
      "s += fma(s, s, s) + clamp(s, 0.0f, 1.0f); d += fma(d, d, d); "
      "vec3 v(s, s, 1.0f), w = cross(v, v + v) * s / 2.0f - -v; w -= s * cw_mul(v, normalize(w)); "
      "mat33d m(d); m = transpose(m * m + m * d); vec3d u = m * vec3d(d, d, d); "
      "half h(s); bfloat16 b(s); vec3h g(h, h, half(2.0f)); g += cross(g, g) * h - g / h; g -= h * normalize(-g); "
      "mat22h n(h); g[0] = (transpose(n * n + n * h) * vec2h(h, h))[1]; h = abs(min(dot(g, cw_mul(g, g)), length(g))); "
      "*r = s + float(d) + dot(v, w) + length(w) + float(u[1]) + float(h) + float(b) + float(g[0]) + (v != w);",
      {75});
}

INSTANTIATE_TEST_SUITE_P(Clangs, NvptxNative, ::testing::ValuesIn(clangs()), [](const auto& one) {
  std::string name = one.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NvptxNative);

TEST(NvptxNativeErrors, AtomicsWithoutAnInstruction) {
  if (clangs().empty()) GTEST_SKIP() << "there is no clang";
  const Compiler chosen(clangs().front());
  try {
    ptx("__int128 v = *i; __atomic_fetch_add((__int128*)a->data, v, 0); *r = 0.0f;", 90);
    FAIL() << "it was compiled";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("wp.config.native_compiler"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace weft::codegen::test
