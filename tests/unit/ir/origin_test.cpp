// Where descriptors come from, through everything that passes them on.
#include "ir/origin.h"

#include "util.h"

namespace weft::ir {
namespace {

using Kind = Origin::Kind;

/// The origin of %it in a kernel (or function) whose body these lines are.
class OriginTest : public ::testing::Test {
 protected:
  Origin of(const std::string& lines, bool kernel = true) {
    const std::string head = kernel ? "kernel @k(" : "func @k(";
    const std::string text =
        "struct %In { n: i32, b: array<f32,1> }\nstruct %S { a: array<f32,1>, in: %In, c: array<f32,1> }\n"
        "func @give(%x: array<f32,1>) -> (array<f32,1>) {\n  return %x\n}\n" +
        head + "%x: array<f32,1>, %y: array<f32,1>, %m: array<f32,2>, %s: %S, %lists: array<%S,1>, %p: u64, %c: bool)" +
        (kernel ? " form(rank 1)" : "") + " {\n" + lines + "\n  return\n}\n";
    module_ = parsed(text);
    if (!module_) return {};
    function_ = module_->functions.back().get();
    const Value* it = nullptr;
    for (const Op& op : *function_->body)
      for (const Value* result : op.results)
        if (result->name == "it") it = result;
    EXPECT_TRUE(it) << text;
    return it ? origin_of(it) : Origin();
  }
  const Value* param(std::size_t k) const { return function_->params()[k]; }

  std::unique_ptr<Module> module_;
  Function* function_ = nullptr;
};

TEST_F(OriginTest, ParametersThroughViewsAndSlices) {
  Origin row = of("%v = view %m[0i32]\n%it = slice %v, 0, 0i64, 4i64, 1i64");
  EXPECT_TRUE(row.is_parameter());
  EXPECT_EQ(row.param, param(2));
  EXPECT_TRUE(row.in_kernel);
  EXPECT_FALSE(of("%it = view %m[0i32]", false).in_kernel);
}

TEST_F(OriginTest, FieldsOfStructsHavePlaces) {
  Origin inner = of("%in = extract %s.1\n%it = extract %in.1");
  EXPECT_EQ(inner.param, param(3));
  EXPECT_EQ(inner.array, 1u);
  const Type* outer = param(3)->type;
  EXPECT_EQ(inner.offset, outer->fields()[1].offset + outer->fields()[1].type->fields()[1].offset);
  EXPECT_EQ(of("%it = extract %s.2").array, 2u);
  Origin at_once = of("%it = extract %s.1.1");
  EXPECT_EQ(at_once.offset, inner.offset);
  EXPECT_EQ(at_once.array, inner.array);
}

TEST_F(OriginTest, WhatLoopsCarry) {
  const auto loop = [&](const std::string& begin, const std::string& next) {
    return of(
        "%l = local : array<f32,1> [4]\n%o = local : array<f32,1> [4]\n%it = for %i = 0i32 to 4i32 step 1i32 (%v = " +
        begin + ") {\n%g = gradient %v\nyield " + next + "\n}");
  };
  const Origin own = loop("%x", "%v");  // before anybody asks for its parameters
  EXPECT_EQ(own.param, param(0));
  const Origin again = loop("%x", "%x");
  EXPECT_EQ(again.param, param(0));
  const Origin several = loop("%x", "%y");
  EXPECT_EQ(several.kind, Kind::parameter);
  EXPECT_EQ(several.param, nullptr);
  // Of which turn, nobody knows.
  EXPECT_EQ(loop("%l", "%o").kind, Kind::local);
  EXPECT_EQ(loop("%l", "%l").local, nullptr);
  EXPECT_EQ(loop("%x", "%l").kind, Kind::unknown);
  EXPECT_EQ(loop("%x", "%g").kind, Kind::unknown);
}

TEST_F(OriginTest, Gradients) {
  Origin own = of("%v = view %m[0i32]\n%it = gradient %v");
  EXPECT_EQ(own.kind, Kind::parameter);
  EXPECT_TRUE(own.gradient);
  EXPECT_FALSE(own.is_parameter());
  Origin given = of("%w = with_gradient %x, %y\n%v = slice %w, 0, 0i64, 4i64, 1i64\n%it = gradient %v");
  EXPECT_EQ(given.param, param(1));
  EXPECT_FALSE(given.gradient) << "it was given the data of another array";
  Origin with_own = of("%it = with_gradient %x, %y");
  EXPECT_EQ(with_own.param, param(0));
  EXPECT_EQ(of("%g = gradient %x\n%it = gradient %g").kind, Kind::none) << "gradients have none";
  EXPECT_EQ(of("%l = local : array<f32,1> [4]\n%it = gradient %l").kind, Kind::none);
}

TEST_F(OriginTest, PrivateMemory) {
  Origin one = of("%it = local : array<f32,1> [4]");
  EXPECT_EQ(one.kind, Kind::local);
  EXPECT_EQ(one.local->code, OpCode::local);
  Origin either = of("%l = local : array<f32,1> [4]\n%k = local : array<f32,1> [4]\n%it = select %c, %l, %k");
  EXPECT_EQ(either.kind, Kind::local);
  EXPECT_EQ(either.local, nullptr);
}

TEST_F(OriginTest, ChoicesAreJoined) {
  Origin with_own = of("%it = select %c, %x, %x");
  EXPECT_EQ(with_own.param, param(0));
  Origin either = of("%it = if %c : array<f32,1> {\n  yield %x\n} else {\n  yield %y\n}");
  EXPECT_EQ(either.kind, Kind::parameter);
  EXPECT_EQ(either.param, nullptr);
  EXPECT_FALSE(either.is_parameter());
  EXPECT_EQ(of("%l = local : array<f32,1> [4]\n%it = select %c, %x, %l").kind, Kind::unknown);
  Origin or_none = of("%it = select %c, %x, zero array<f32,1>");
  EXPECT_EQ(or_none.param, param(0)) << "no array is no other array";
  std::string deep = "%v0 = select %c, %x, %x\n";
  for (int k = 1; k < 40; ++k)
    deep +=
        "%v" + std::to_string(k) + " = select %c, %v" + std::to_string(k - 1) + ", %v" + std::to_string(k - 1) + "\n";
  EXPECT_EQ(of(deep + "%it = slice %v39, 0, 0i64, 4i64, 1i64").kind, Kind::unknown)
      << "choices inside of choices have an end";
}

TEST_F(OriginTest, MemoryAddressesAndCalls) {
  EXPECT_EQ(of("%it = load %lists[0i32].0").kind, Kind::shared);
  EXPECT_EQ(of("%it = load %lists[0i32].0", false).kind, Kind::unknown) << "the caller's private array, perhaps";
  EXPECT_EQ(of("%l = local : array<%S,1> [4]\n%it = load %l[0i32].0").kind, Kind::unknown);
  EXPECT_EQ(of("%it = from_ptr %p, 4i64 : array<f32,1>").kind, Kind::unknown);
  EXPECT_EQ(of("%it = call @give(%x)").kind, Kind::unknown);
}

TEST_F(OriginTest, FixedMemory) {
  EXPECT_EQ(of("%f = from_ptr(fixed) %p, 4i64 : array<f32,1>\n%it = slice %f, 0, 0i64, 2i64, 1i64").kind, Kind::fixed);
  EXPECT_EQ(of("%f = from_ptr(fixed) %p, 4i64 : array<%S,1>\n%it = load %f[0i32].0").kind, Kind::shared)
      << "what it points to may be written";
  EXPECT_EQ(of("%f = from_ptr(fixed) %p, 4i64 : array<f32,1>\n%it = select %c, %f, %x").kind, Kind::unknown);
}

TEST_F(OriginTest, LongWaysHaveAnEnd) {
  std::string lines = "%v0 = slice %x, 0, 0i64, 4i64, 1i64\n";
  for (int k = 1; k < 5000; ++k)
    lines += "%v" + std::to_string(k) + " = slice %v" + std::to_string(k - 1) + ", 0, 0i64, 4i64, 1i64\n";
  EXPECT_EQ(of(lines + "%it = slice %v4999, 0, 0i64, 4i64, 1i64").kind, Kind::unknown);
}

}  // namespace
}  // namespace weft::ir
