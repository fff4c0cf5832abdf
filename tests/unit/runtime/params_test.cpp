// Argument packing: values land where the layout says, and every mistake names its cure.
#include "runtime/params.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace weft::runtime {
namespace {

struct Inner {
  float mass;
  ArrayDesc points;
};

const Type* inner_type() {
  const Field fields[] = {{"mass", types::f32()}, {"points", types::array(types::vec(types::f32(), 3), 1)}};
  return types::structure("Inner", fields);
}

ParamLayout make_layout() {
  const Field args[] = {{"count", types::scalar(ScalarKind::u8)}, {"inner", inner_type()}};
  ParamLayout layout;
  layout.add("x", types::array(types::f32(), 2));
  layout.add("n", types::i32());
  layout.add("flag", types::boolean());
  layout.add("small", types::scalar(ScalarKind::i8));
  layout.add("half", types::scalar(ScalarKind::f16));
  layout.add("scale", types::f32());
  layout.add("v", types::vec(types::f32(), 3));
  layout.add("args", types::structure("Args", args));
  return layout;
}

template <class T>
T read(const ParamBlock& block, std::size_t index, std::size_t extra = 0) {
  T value;
  std::memcpy(&value, static_cast<const char*>(block.data()) + block.layout().params[index].offset + extra,
              sizeof value);
  return value;
}

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "no error";
}

TEST(ParamBlock, packsEveryKindOfValue) {
  const ParamLayout layout = make_layout();
  ParamBlock block("k", layout);
  const Array x = Array::zeros(types::f32(), {2, 3}, true);
  const float v[3] = {1, 2, 3};
  block.set("x", x);
  block.set(1, 7);
  block.set("flag", true);
  block.set("small", -128);
  block.set("half", 0.5);
  block.set(5, 2);
  block.set("v", types::vec(types::f32(), 3), v);
  block.set("args.count", 255u);
  block.set("args.inner.mass", 1.5f);
  block.set("args.inner.points", Array::zeros(types::vec(types::f32(), 3), {4}));
  block.check_complete();
  EXPECT_EQ(read<ArrayDesc>(block, 0).data, x.data());
  EXPECT_EQ(read<ArrayDesc>(block, 0).grad, x.desc().grad);
  EXPECT_EQ(read<std::int32_t>(block, 1), 7);
  EXPECT_EQ(read<std::uint8_t>(block, 2), 1);
  EXPECT_EQ(read<std::int8_t>(block, 3), -128);
  EXPECT_EQ(read<std::uint16_t>(block, 4), 0x3800);
  EXPECT_EQ(read<float>(block, 5), 2);
  EXPECT_EQ(read<float>(block, 6, 8), 3);
  EXPECT_EQ(read<std::uint8_t>(block, 7), 255);
  const auto inner = read<Inner>(block, 7, 8);
  EXPECT_EQ(inner.mass, 1.5f);
  EXPECT_EQ(inner.points.shape[0], 4);
  static_cast<float*>(inner.points.data)[11] = 1;  // the block keeps the array alive
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 8, 0u);
}

TEST(ParamBlock, nullArraysKeepTheirRank) {
  const ParamLayout layout = make_layout();
  ParamBlock block("k", layout);
  block.set_null("x");
  EXPECT_EQ(read<ArrayDesc>(block, 0).data, nullptr);
  EXPECT_EQ(read<ArrayDesc>(block, 0).ndim, 2);
  block.set_null("args.inner.points");
  EXPECT_NE(message([&] { block.set_null("n"); }).find("expects an int32, got a null array"), std::string::npos);
}

TEST(ParamBlock, mistakesNameKernelParameterTypesAndCure) {
  const ParamLayout layout = make_layout();
  ParamBlock block("integrate", layout);
  EXPECT_EQ(
      message([&] { block.set("x", Array::zeros(types::f64(), {2})); }),
      "kernel 'integrate': parameter 'x' expects an array2d(dtype=float32), got an array(dtype=float64): make the "
      "array with element type float32 and of 2 dimensions, e.g. by reshaping it");
  EXPECT_EQ(message([&] { block.set("x", Array::zeros(types::f32(), {2})); }),
            "kernel 'integrate': parameter 'x' expects an array2d(dtype=float32), got an array(dtype=float32): pass an "
            "array of 2 dimensions, e.g. by reshaping it");
  EXPECT_EQ(message([&] { block.set("small", 128); }),
            "kernel 'integrate': parameter 'small' expects an int8, got the integer 128: it must lie in -128 to 127");
  EXPECT_EQ(message([&] { block.set("n", 2.5); }),
            "kernel 'integrate': parameter 'n' expects an int32, got the float 2.5: convert it to an integer first");
  EXPECT_EQ(message([&] { block.set("args.inner.weight", 1); }),
            "kernel 'integrate': struct Inner of 'args.inner' has no field 'weight': it has 'mass', 'points'");
  EXPECT_EQ(message([&] { block.set("n.x", 1); }),
            "kernel 'integrate': 'n' is an int32 and has no field 'x': only structs have fields");
  EXPECT_NE(message([&] { block.set("y", 1); }).find("has no parameter 'y': it has 'x', 'n'"), std::string::npos);
  EXPECT_NE(message([&] { block.set(8, 1); }).find("has 8 parameters, there is no parameter 8"), std::string::npos);
  EXPECT_NE(message([&] { block.set("x", 1); }).find("got the integer 1: pass an array"), std::string::npos);
  EXPECT_NE(message([&] { block.set("n", true); }).find("got the bool true"), std::string::npos);
  EXPECT_NE(message([&] { block.set("flag", 2); }).find("pass true or false"), std::string::npos);
  const double d = 1;
  EXPECT_NE(message([&] { block.set("scale", types::f64(), &d); }).find("expects a float32, got a float64"),
            std::string::npos);
  for (const char* path : {"", ".", "args.", "args..inner", "args.inner.mass.x", ".args"})
    EXPECT_NE(message([&] { block.set(path, 1); }), "no error") << path;
}

TEST(ParamBlock, integerRangesOfEveryWidth) {
  ParamLayout layout;
  for (int k = int(ScalarKind::i8); k <= int(ScalarKind::u64); ++k) layout.add("p", types::scalar(ScalarKind(k)));
  ParamBlock block("k", layout);
  for (std::size_t i = 0; i < layout.params.size(); ++i) {
    const bool is_signed = layout.params[i].type->is_signed_int();
    const std::uint32_t bits = scalar_bits(layout.params[i].type->scalar_kind());
    const std::uint64_t high = is_signed ? (UINT64_MAX >> (65 - bits)) : (UINT64_MAX >> (64 - bits));
    const std::int64_t low = is_signed ? -std::int64_t(high) - 1 : 0;
    EXPECT_NO_THROW(block.set(i, high));
    EXPECT_NO_THROW(block.set(i, low));
    if (high != UINT64_MAX) {
      EXPECT_THROW(block.set(i, high + 1), ArgumentError);
    }
    if (low != INT64_MIN) {
      EXPECT_THROW(block.set(i, low - 1), ArgumentError);
    }
  }
}

TEST(ParamBlock, missingParametersAreNamed) {
  const ParamLayout layout = make_layout();
  ParamBlock block("k", layout);
  for (const char* name : {"n", "small", "half", "scale"}) block.set(name, 1);
  block.set_null("x");
  block.set("flag", false);
  EXPECT_EQ(
      message([&] { block.check_complete(); }),
      "kernel 'k': 'v' (vec3f) and 'args' (Args) have not been set: every parameter needs a value before a launch");
  const float v[3] = {};
  block.set("v", types::vec(types::f32(), 3), v);
  block.set("args.count", 1);
  block.set("args.inner.mass", 1);
  EXPECT_EQ(
      message([&] { block.check_complete(); }),
      "kernel 'k': 'args.inner.points' (array(dtype=vec3f)) has not been set: every parameter needs a value before "
      "a launch");
}

}  // namespace
}  // namespace weft::runtime
