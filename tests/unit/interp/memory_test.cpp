// Arrays: addressing, atomics, views, slices, locals, and the refusal to leave an array.
#include <array>

#include "interp_text.h"

namespace weft::testing {
namespace {

const Type* ints(std::uint32_t rank) { return types::array(types::i32(), rank); }

TEST(InterpMemory, IndicesWrapOnlyWhereMarked) {
  std::vector<std::int32_t> data = {1, 2, 3, 4, 5, 6};
  auto array = datum(ints(2), describe(data, {2, 3}));
  std::string text = "func @f(%x: array<i32,2>, %i: i32) -> (i32) {\n%1 = load %x[1u8, %i~]\nreturn %1\n}\n";
  EXPECT_EQ(as<std::int32_t>(call(text, {array, datum(-1)})[0]), 6);
  EXPECT_EQ(as<std::int32_t>(call(text, {array, datum(0)})[0]), 4);
  for (std::int32_t bad : {3, -4}) EXPECT_THROW(call(text, {array, datum(bad)}), interp::Error);
}

TEST(InterpMemory, ErrorsNamePlaceIndexAndExtent) {
  std::vector<std::int32_t> data = {1, 2, 3};
  try {
    call("func @f(%x: array<i32,1>) {\nstore %x[7i32], 1i32\nreturn\n}\n", {datum(ints(1), describe(data))});
    FAIL();
  } catch (const interp::Error& error) {
    std::string what = error.what();
    EXPECT_NE(what.find("test.wir:2"), std::string::npos) << what;
    EXPECT_NE(what.find("index 7"), std::string::npos) << what;
    EXPECT_NE(what.find("extent 3"), std::string::npos) << what;
    EXPECT_EQ(error.loc().line, 2u);
  }
}

TEST(InterpMemory, NullArraysAreRefused) {
  auto null = datum(ints(1), ArrayDesc{});
  EXPECT_THROW(call("func @f(%x: array<i32,1>) {\nstore %x[0i32], 1i32\nreturn\n}\n", {null}), interp::Error);
  EXPECT_THROW(call("func @f() {\n%x = from_ptr 0u64, 4i64 : array<i32,1>\nstore %x[0i32], 1i32\nreturn\n}\n", {}),
               interp::Error);
  auto r = call("func @f(%x: array<i32,1>) -> (bool, i32) {\n%1 = nonnull %x\n%2 = dim %x, 0 : i32\nreturn %1, %2\n}\n",
                {null});
  EXPECT_FALSE(as<bool>(r[0]));
  EXPECT_EQ(as<std::int32_t>(r[1]), 0);
}

TEST(InterpMemory, ViewsOutOfBoundsAreHarmlessUntilUsed) {
  std::vector<std::int32_t> data = {1, 2, 3, 4, 5, 6};
  auto array = datum(ints(2), describe(data, {2, 3}));
  auto r =
      call("func @f(%x: array<i32,2>) -> (i32) {\n%v = view %x[5i32]\n%1 = dim %v, 0 : i32\nreturn %1\n}\n", {array});
  EXPECT_EQ(as<std::int32_t>(r[0]), 3);
  EXPECT_THROW(
      call("func @f(%x: array<i32,2>) -> (i32) {\n%v = view %x[5i32]\n%1 = load %v[0i32]\nreturn %1\n}\n", {array}),
      interp::Error);
  r = call("func @f(%x: array<i32,2>) -> (i32) {\n%v = view %x[-1i32~]\n%1 = load %v[2i32]\nreturn %1\n}\n", {array});
  EXPECT_EQ(as<std::int32_t>(r[0]), 6);
}

TEST(InterpMemory, SlicesFollowPython) {
  std::vector<std::int32_t> data = {0, 1, 2, 3, 4, 5, 6, 7};
  auto array = datum(ints(1), describe(data));
  std::string text =
      "func @f(%x: array<i32,1>, %a: i64, %b: i64, %s: i64) -> (i32, i32) {\n%v = slice %x, 0, %a, %b, %s\n"
      "%n = dim %v, 0 : i32\n%c = gt %n, 0i32\n%r = if %c : i32 {\n %1 = load %v[-1i32~]\n yield %1\n"
      "} else {\n yield -1i32\n}\n"
      "return %n, %r\n}\n";
  auto run = [&](std::int64_t a, std::int64_t b, std::int64_t s) {
    auto r = call(text, {array, datum(a), datum(b), datum(s)});
    return std::pair(as<std::int32_t>(r[0]), as<std::int32_t>(r[1]));
  };
  EXPECT_EQ(run(2, 6, 1), std::pair(4, 5));
  EXPECT_EQ(run(-3, 100, 1), std::pair(3, 7));
  EXPECT_EQ(run(0, -1, 3), std::pair(3, 6));
  EXPECT_EQ(run(6, 2, 1), std::pair(0, -1));
  EXPECT_EQ(run(INT64_MIN, INT64_MAX, INT64_MAX), std::pair(1, 0));
  EXPECT_EQ(run(1, 4, 0), std::pair(3, 3));
}

TEST(InterpMemory, NegativeAndZeroStrides) {
  std::vector<std::int32_t> data = {1, 2, 3};
  ArrayDesc desc = describe(data);
  desc.data = &data[2];
  desc.strides[0] = -4;
  std::string text = "func @f(%x: array<i32,1>) -> (i32) {\n%1 = load %x[2i32]\nreturn %1\n}\n";
  EXPECT_EQ(as<std::int32_t>(call(text, {datum(ints(1), desc)})[0]), 1);
  desc.strides[0] = 0;
  EXPECT_EQ(as<std::int32_t>(call(text, {datum(ints(1), desc)})[0]), 3);
}

TEST(InterpMemory, PathsTouchOnlyTheirBytes) {
  struct Point {
    float x;
    std::int32_t k;
    float v[3];
  };
  std::vector<Point> data = {{1, 2, {3, 4, 5}}};
  Field fields[] = {{"x", types::f32(), 0}, {"k", types::i32(), 0}, {"v", types::vec(types::f32(), 3), 0}};
  const Type* array = types::array(types::structure("P", fields), 1);
  auto r = call(
      "struct %P { x: f32, k: i32, v: vec<f32,3> }\nfunc @f(%p: array<%P,1>, %i: i32) -> (f32) {\n"
      "store %p[0i32].2[%i~], 9.0f32\nstore %p[0i32].2[%i], 8.0f32\n%1 = load %p[0i32].2[%i]\nreturn %1\n}\n",
      {datum(array, describe(data)), datum(-1)});
  EXPECT_EQ(as<float>(r[0]), 0.0f);
  EXPECT_EQ(data[0].v[2], 9.0f);
  EXPECT_EQ(data[0].v[0], 3.0f);
  EXPECT_EQ(data[0].k, 2);
}

TEST(InterpMemory, AtomicsReturnTheOldValue) {
  std::vector<std::int32_t> data = {5, 5, 5, 5, 5, 12};
  auto r = call(
      "func @f(%x: array<i32,1>) -> (i32, i32) {\n%1 = atomic add %x[0i32], 3i32\n%2 = atomic max %x[1i32], 9i32\n"
      "%3 = atomic exch %x[2i32], 1i32\n%4 = atomic cas %x[3i32], 5i32, 6i32\n%5 = atomic cas %x[4i32], 4i32, 6i32\n"
      "%6 = atomic bit_xor %x[5i32], 10i32\nreturn %1, %6\n}\n",
      {datum(ints(1), describe(data))});
  EXPECT_EQ(data, (std::vector<std::int32_t>{8, 9, 1, 6, 5, 6}));
  EXPECT_EQ(as<std::int32_t>(r[0]), 5);
  EXPECT_EQ(as<std::int32_t>(r[1]), 12);
}

TEST(InterpMemory, CompositeAtomicsWorkByComponent) {
  using Vec = std::array<float, 2>;
  std::vector<Vec> data = {{1, 2}};
  const Type* vec = types::vec(types::f32(), 2);
  auto r = call(
      "func @f(%x: array<vec<f32,2>,1>) -> (vec<f32,2>) {\n%v = construct vec<f32,2> 10.0f32, 20.0f32\n"
      "%1 = atomic add %x[0i32], %v\nreturn %1\n}\n",
      {datum(types::array(vec, 1), describe(data))});
  EXPECT_EQ(data[0], (Vec{11, 22}));
  EXPECT_EQ(as<Vec>(r[0]), (Vec{1, 2}));
}

TEST(InterpMemory, LocalsAreFreshAndZeroEachTime) {
  auto r = call(
      "func @f() -> (i32) {\n%s = for %k = 0i32 to 3i32 step 1i32 (%p = 0i32) {\n %l = local : array<i32,1> [4]\n"
      " %1 = load %l[%k]\n %2 = add %p, %1\n store %l[0i32], 7i32\n store %l[1i32], 7i32\n"
      " store %l[2i32], 7i32\n yield %2\n}\nreturn %s\n}\n",
      {});
  EXPECT_EQ(as<std::int32_t>(r[0]), 0);
}

TEST(InterpMemory, ALocalMayTravelThroughCalls) {
  auto r = call(
      "func @make(%v: i32) -> (array<i32,1>) {\n%l = local : array<i32,1> [2]\nstore %l[1i32], %v\nreturn %l\n}\n"
      "func @f() -> (i32) {\n%a = call @make(3i32)\n%b = call @make(4i32)\n%1 = load %a[1i32]\n%2 = load %b[1i32]\n"
      "%3 = mul %1, %2\nreturn %3\n}\n",
      {});
  EXPECT_EQ(as<std::int32_t>(r[0]), 12);
}

TEST(InterpMemory, KernelsReadTheParameterBlock) {
  auto module = parse_ir(
      "kernel @k(%s: i8, %x: array<f32,2>, %a: f64) form(rank 2) {\n%i = tid 0\n%j = tid 1\n%k = tid 2\n"
      "%1 = mul %i, 10i32\n%2 = add %1, %j\n%3 = add %2, %k\n%4 = cast %3 : f64\n%5 = add %4, %a\n"
      "%6 = cast %s : f64\n%7 = add %5, %6\n%8 = cast %7 : f32\nstore %x[%i, %j], %8\nreturn\n}\n");
  std::vector<float> data(6);
  struct {
    std::int8_t s = 100;
    ArrayDesc x;
    double a = 0.5;
  } block;
  block.x = describe(data, {2, 3});
  runtime::LaunchContext context;
  context.rank = 2;
  context.dims[0] = 2, context.dims[1] = 3;
  interp::run_kernel(*module, *module->functions.back(), &block, context, 1, 6);
  EXPECT_EQ(data, (std::vector<float>{0, 101.5f, 102.5f, 110.5f, 111.5f, 112.5f}));
}

}  // namespace
}  // namespace weft::testing
