// Default values as bytes: every form of constant, and integers that do not fit.
#include "driver/default_argument.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/errors.h"

namespace weft::driver {
namespace {

template <class T>
T written(const Type* type, sema::Constant value) {
  sema::KernelParam param;
  param.name = "p";
  param.has_default = true;
  param.default_value = std::move(value);
  T out{};
  EXPECT_EQ(type->size(), sizeof out);
  write_default("k", param, type, &out);
  return out;
}

TEST(DefaultArgument, NumbersTakeTheParametersType) {
  EXPECT_EQ(written<std::int32_t>(types::i32(), sema::Constant::of_int(-7)), -7);
  EXPECT_EQ(written<float>(types::f32(), sema::Constant::of_int(-7)), -7.0f);
  EXPECT_EQ(written<double>(types::f64(), sema::Constant::of_real(0.1)), 0.1);
  EXPECT_EQ(written<float>(types::f32(), sema::Constant::of_real(0.1)), 0.1f);
  EXPECT_EQ(written<std::uint64_t>(types::scalar(ScalarKind::u64), sema::Constant::of_uint(UINT64_MAX)), UINT64_MAX);
  EXPECT_EQ(written<std::int64_t>(types::scalar(ScalarKind::i64), sema::Constant::of_int(INT64_MIN)), INT64_MIN);
  EXPECT_EQ(written<bool>(types::boolean(), sema::Constant::of_bool(true)), true);
}

TEST(DefaultArgument, TypedValuesAreCopiedByComponent) {
  const Type* vec3 = types::vec(types::f32(), 3);
  sema::Constant value;
  value.form = sema::Constant::Form::typed;
  value.type = vec3;
  const float numbers[] = {1.0f, -2.0f, 3.5f};
  for (float n : numbers) {
    std::uint32_t bits;
    std::memcpy(&bits, &n, sizeof bits);
    value.bits.push_back(bits);
  }
  struct Three {
    float v[3];
  };
  const Three three = written<Three>(vec3, value);
  EXPECT_EQ(std::memcmp(three.v, numbers, sizeof numbers), 0);
}

TEST(DefaultArgument, IntegersMustFit) {
  const Type* u8 = types::scalar(ScalarKind::u8);
  const Type* i8 = types::scalar(ScalarKind::i8);
  EXPECT_EQ(written<std::uint8_t>(u8, sema::Constant::of_int(255)), 255);
  EXPECT_EQ(written<std::int8_t>(i8, sema::Constant::of_int(-128)), -128);
  EXPECT_THROW(written<std::uint8_t>(u8, sema::Constant::of_int(256)), runtime::ArgumentError);
  EXPECT_THROW(written<std::uint8_t>(u8, sema::Constant::of_int(-1)), runtime::ArgumentError);
  EXPECT_THROW(written<std::int8_t>(i8, sema::Constant::of_int(128)), runtime::ArgumentError);
  EXPECT_THROW(written<std::int8_t>(i8, sema::Constant::of_int(-129)), runtime::ArgumentError);
}

}  // namespace
}  // namespace weft::driver
