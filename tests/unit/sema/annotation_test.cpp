// Annotations of parameters, fields and results.
#include "front_end.h"

namespace weft {
namespace {

using testing::File;

std::string annotation(const std::string& text, const std::string& before = "") {
  File file(before + "@wp.kernel\ndef k(a: " + text + "):\n    pass\n");
  auto params = sema::kernel_params(*file.scope->find_kernel("k"), file.sink);
  if (params.empty()) return testing::messages(file.sink);
  return builtins::to_string(params[0].pattern);
}

TEST(Annotation, Types) {
  EXPECT_EQ(annotation("float"), "float32");
  EXPECT_EQ(annotation("int"), "int32");
  EXPECT_EQ(annotation("wp.bool"), "bool");
  EXPECT_EQ(annotation("wp.bfloat16"), "bfloat16");
  EXPECT_EQ(annotation("wp.vec3"), "vec3f");
  EXPECT_EQ(annotation("wp.vec4ub"), "vec4ub");
  EXPECT_EQ(annotation("vec2d"), "vec2d");
  EXPECT_EQ(annotation("wp.mat44d"), "mat44d");
  EXPECT_EQ(annotation("wp.quatd"), "quatd");
  EXPECT_EQ(annotation("wp.transform"), "transformf");
  EXPECT_EQ(annotation("wp.spatial_vector"), "vector(length=6, dtype=float32)");
  EXPECT_EQ(annotation("wp.types.matrix(shape=(2, 3), dtype=wp.float64)"), "matrix(shape=(2, 3), dtype=float64)");
  EXPECT_EQ(annotation("wp.types.vector(5)"), "vector(length=5, dtype=float32)");
  EXPECT_EQ(annotation("\"wp.vec3\""), "vec3f");
  EXPECT_EQ(annotation("S", "@wp.struct\nclass S:\n    x: float\n"), "S");
  EXPECT_EQ(annotation("V", "V = wp.types.vector(length=5, dtype=int)\n"), "vector(length=5, dtype=int32)");
}

TEST(Annotation, Arrays) {
  EXPECT_EQ(annotation("wp.array(dtype=float)"), "array(dtype=float32)");
  EXPECT_EQ(annotation("wp.array(dtype=wp.vec3, ndim=3)"), "array3d(dtype=vec3f)");
  EXPECT_EQ(annotation("wp.array2d(dtype=int)"), "array2d(dtype=int32)");
  EXPECT_EQ(annotation("wp.array(float, 2)"), "array2d(dtype=float32)");
  EXPECT_EQ(annotation("wp.array[float]"), "array(dtype=float32)");
  EXPECT_EQ(annotation("wp.array[float, 2]"), "array2d(dtype=float32)");
  EXPECT_EQ(annotation("wp.array(dtype=wp.Float, ndim=N)", "N = 2\n"), "array[Float,2]");
  EXPECT_EQ(annotation("wp.array(dtype=float, ndim=0)"), "3:37 bad_annotation");
}

TEST(Annotation, Generic) {
  EXPECT_EQ(annotation("Any", "from typing import Any\n"), "Any");
  EXPECT_EQ(annotation("wp.Scalar"), "Scalar");
  EXPECT_EQ(annotation("wp.array(dtype=Any)"), "array[Any,1]");
  EXPECT_EQ(annotation("wp.types.vector(length=3, dtype=wp.Float)"), "vec[3,Float]");
  EXPECT_EQ(annotation("wp.types.vector(length=Any, dtype=float)"), "vec[Any,float32]");
  EXPECT_EQ(annotation("wp.types.vector(length=0)"), "vec0_float32");
  EXPECT_EQ(annotation("wp.types.matrix(shape=(Any, 2), dtype=Any)"), "mat[Any,2,Any]");
  EXPECT_EQ(annotation("wp.ref[float]"), "ref[float32]");
}

TEST(Annotation, Refused) {
  EXPECT_EQ(annotation("nosuch"), "3:10 bad_annotation");
  EXPECT_EQ(annotation("\"no such\""), "3:10 bad_annotation");
  EXPECT_EQ(annotation("\"'float'\""), "3:10 bad_annotation");
  EXPECT_EQ(annotation("1 + 2"), "3:10 bad_annotation");
  EXPECT_EQ(annotation("wp.types.vector()"), "3:10 bad_annotation");
  EXPECT_EQ(annotation("wp.types.vector(length=-1)"), "3:10 bad_annotation");
  EXPECT_EQ(annotation("wp.types.vector(length=70000)"), "3:10 bad_annotation");
  EXPECT_EQ(annotation("wp.types.quaternion(dtype=int)"), "3:10 bad_annotation");
}

TEST(Annotation, Defaults) {
  File file(
      "@wp.kernel\ndef k(a: float = 1, b: int = -2, c: wp.vec2 = wp.vec2(1.0, 2.0), d: bool = True, e: wp.uint64 = 2**64 - 1):\n    pass\n");
  auto params = sema::kernel_params(*file.scope->find_kernel("k"), file.sink);
  ASSERT_EQ(params.size(), 5u) << file.sink.render_all();
  for (const auto& p : params) EXPECT_TRUE(p.has_default) << p.name;
  EXPECT_EQ(params[1].default_value, sema::Constant::of_int(-2));
  EXPECT_EQ(params[2].default_value.bits.size(), 2u);
  EXPECT_EQ(params[4].default_value.magnitude, ~0ULL);
}

TEST(Annotation, StructsHaveCLayoutAndLimits) {
  File file("@wp.struct\nclass S:\n    a: wp.int8\n    b: wp.float64\n    c: wp.array(dtype=float)\n");
  const Type* type = file.symbol("S")->pattern.type;
  EXPECT_EQ(type->fields()[1].offset, 8u);
  EXPECT_EQ(type->size(), 16u + sizeof(ArrayDesc));

  std::string nested = "@wp.struct\nclass S0:\n    a: float\n";
  for (int i = 1; i < 40; ++i)
    nested += "@wp.struct\nclass S" + std::to_string(i) + ":\n    a: S" + std::to_string(i - 1) + "\n";
  File deep(nested);
  EXPECT_EQ(deep.sink.error_count(), 1u) << deep.sink.render_all();
  EXPECT_EQ(deep.sink.all()[0].code, DiagCode::bad_struct);

  std::string wide = "V = wp.types.vector(length=65536, dtype=wp.float64)\n@wp.struct\nclass S:\n";
  for (int i = 0; i < 200; ++i) wide += "    f" + std::to_string(i) + ": V\n";
  File large(wide);
  EXPECT_EQ(testing::messages(large.sink), "4:7 bad_struct");
}

}  // namespace
}  // namespace weft
