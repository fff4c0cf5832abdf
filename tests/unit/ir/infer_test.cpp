// Typing rules: what each operation rejects, with its words (text_test accepts every operation), and result types.
#include "ir/infer.h"

#include "util.h"

namespace weft::ir {
namespace {

struct Bad {
  const char* line;
  const char* message;
};

class IllTyped : public testing::TestWithParam<Bad> {};

TEST_P(IllTyped, IsRejected) {
  std::string error = parse_error(kernel_text(std::string("  ") + GetParam().line));
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, IllTyped,
    testing::Values(
        Bad{"%r = add %f, %i", "add: operands must have one type, not f32 and i32"},
        Bad{"%r = add %f", "add: takes 2 operands, not 1"}, Bad{"%r = neg %f, %f", "neg: takes 1 operand, not 2"},
        Bad{"%r = add %b, %b", "add: operand 0 must be a number or a composite of numbers, not bool"},
        Bad{"%r = mul %v, %f", "one type, not vec<f32,3> and f32"}, Bad{"%r = sub %p, %p", "not %P"},
        Bad{"%r = min %a, %a", "not array<f32,1>"}, Bad{"%r = abs %b", "abs: operand 0"},
        Bad{"%r = fma %i, %i, %i", "fma: operand 0 must be a float or a composite of floats, not i32"},
        Bad{"%r = fma %f, %v, %f", "fma: operand 1 must be f32, not vec<f32,3>"},
        Bad{"%r = fma %v, %d, %v", "fma: operand 1 must be vec<f32,3> or f32, not f64"},
        Bad{"%r = fma %v, %f, %f", "fma: operand 2 must be vec<f32,3>, not f32"},
        Bad{"%r = bit_and %f, %f", "bit_and: operand 0 must be integers or bool, not f32"},
        Bad{"%r = bit_not %v", "bit_not: operand 0"}, Bad{"%r = shl %b, %b", "shl: operand 0 must be an integer"},
        Bad{"%r = shr %i, %l", "one type, not i32 and i64"},
        Bad{"%r = lt %v, %v", "lt: operand 0 must be an integer or float"}, Bad{"%r = lt %b, %b", "lt: operand 0"},
        Bad{"%r = eq %a, %a", "eq: operand 0 must be a scalar, a composite"}, Bad{"%r = eq %s, %s", "not %Q"},
        Bad{"%r = eq %tu, %tu", "eq: operand 0"},
        Bad{"%r = floor %i", "floor: operand 0 must be a float or a composite of floats, not i32"},
        Bad{"%r = sqrt %w", "sqrt: operand 0"},
        Bad{"%r = sin %v", "sin: operand 0 must be a float scalar, not vec<f32,3>"},
        Bad{"%r = sin %i", "sin: operand 0"}, Bad{"%r = pow %f", "pow: takes 2 operands"},
        Bad{"%r = atan2 %f, %d", "one type, not f32 and f64"}));

INSTANTIATE_TEST_SUITE_P(
    Data, IllTyped,
    testing::Values(
        Bad{"%r = select %i, %f, %g", "select: operand 0 must be bool, not i32"},
        Bad{"%r = select %b, %f, %i", "both choices must have one type, not f32 and i32"},
        Bad{"%r = cast %v : vec<f64,3>", "cast: operand 0 must be a scalar"},
        Bad{"%r = cast %f : vec<f64,3>", "cast: the result must be a scalar"},
        Bad{"%r = bitcast %f : u64", "bitcast: sizes differ: f32 and u64"},
        Bad{"%r = bitcast %b : u8", "bool has no bits to reinterpret"},
        Bad{"%r = construct vec<f32,3> %f, %f", "vec<f32,3> has 3 components, not 2"},
        Bad{"%r = construct transform<f32> %f, %f", "has 7 components"},
        Bad{"%r = construct vec<f32,2> %f, %i", "operand 1 must be f32, not i32"},
        Bad{"%r = construct %P %v", "%P has 3 fields, not 1"},
        Bad{"%r = construct %P %v, %f, %f", "operand 2 must be i32, not f32"},
        Bad{"%r = construct f32 %f", "can't construct f32"}, Bad{"%r = construct array<f32,1> %f", "can't construct"},
        Bad{"%r = splat f32, %f", "the result must be a composite"},
        Bad{"%r = splat vec<f32,2>, %d", "operand 0 must be f32, not f64"},
        Bad{"%r = extract %v", "extract: the path is empty"}, Bad{"%r = extract %v[3]", "vec<f32,3> has no part [3]"},
        Bad{"%r = extract %m[2]", "has no part [2]"}, Bad{"%r = extract %m[0][3]", "vec<f32,3> has no part [3]"},
        Bad{"%r = extract %v.0", "has no part .0"}, Bad{"%r = extract %p[0]", "%P has no part [0]"},
        Bad{"%r = extract %p.3", "%P has no part .3"}, Bad{"%r = extract %p[%i]", "has no part"},
        Bad{"%r = extract %f[0]", "f32 has no part [0]"},
        Bad{"%r = extract %v[%f]", "must be an integer index, not f32"},
        Bad{"%r = insert %v, %i, [0]", "insert: operand 1 must be f32, not i32"},
        Bad{"%r = insert %m, %f, [0]", "operand 1 must be vec<f32,3>"},
        Bad{"%r = scale %v, %d", "scale: operands do not fit"}, Bad{"%r = scale %f, %f", "scale: operands do not fit"},
        Bad{"%r = unscale %v, %b", "unscale: operand 1 must be made of numbers, not bool"},
        Bad{"%r = dot %v, %w", "dot: operands do not fit"}, Bad{"%r = dot %m, %m", "dot: operands do not fit"},
        Bad{"%r = dot %t, %t", "dot: operands do not fit"}, Bad{"%r = matmul %m, %m", "matmul: operands do not fit"},
        Bad{"%r = matmul %v, %v", "matmul: operands do not fit"},
        Bad{"%r = matmul %m, %f", "matmul: operands do not fit"},
        Bad{"%r = transpose %v", "transpose: operand 0 must be a mat"},
        Bad{"%r = outer %v, %m", "outer: operands do not fit"}, Bad{"%r = add(contract) %f, %f", "expected a value"}));

INSTANTIATE_TEST_SUITE_P(
    Memory, IllTyped,
    testing::Values(Bad{"%r = load %f[%i]", "load: operand 0 must be an array, not f32"},
                    Bad{"%r = load %a[%i, %i]", "array<f32,1> takes 1 indices, not 2"},
                    Bad{"%r = load %a[%f]", "operand 1 must be an integer index"},
                    Bad{"%r = load %a[%i].0", "f32 has no part .0"},
                    Bad{"%r = load %a[%b]", "operand 1 must be an integer index"},
                    Bad{"%r = load %ap[%i].0[%f]", "operand 2 must be an integer index"},
                    Bad{"store %a[%i], %i", "store: operand 2 must be f32, not i32"},
                    Bad{"store %a[%i], %f, %f", "store: takes 3 operands, not 4"},
                    Bad{"%r = store %a[%i], %f", "store has 0 results, not 1"},
                    Bad{"%r = atomic add %ap[%i], %p", "add is not defined on %P"},
                    Bad{"%r = atomic bit_or %a[%i], %f", "bit_or is not defined on f32"},
                    Bad{"%r = atomic cas %a[%i], %f", "atomic: takes 4 operands, not 3"},
                    Bad{"%r = atomic add %a[%i], %d", "operand 2 must be f32, not f64"},
                    Bad{"%r = view %a[%i]", "takes fewer than 1 indices here, not 1"},
                    Bad{"%r = slice %a, 1, %l, %l, %l", "slice: dimension 1 does not exist"},
                    Bad{"%r = slice %a, 0, %i, %l, %l", "slice: operand 1 must be i64, not i32"},
                    Bad{"%r = dim %a, 1 : i32", "dim: dimension 1 does not exist"},
                    Bad{"%r = dim %a, 0 : f32", "dim: the result must be i32 or i64, not f32"},
                    Bad{"%r = nonnull %f", "nonnull: operand 0 must be an array"},
                    Bad{"%r = data_ptr %v", "data_ptr: operand 0"},
                    Bad{"%r = from_ptr %l, %l : array<f32,1>", "from_ptr: operand 0 must be u64, not i64"},
                    Bad{"%r = from_ptr %ul : array<f32,1>", "from_ptr: takes 2 operands, not 1"},
                    Bad{"%r = from_ptr %ul, %i : array<f32,1>", "operand 1 must be i64, not i32"},
                    Bad{"%r = from_ptr %ul, %l : f32", "the result must be an array"},
                    Bad{"%r = from_ptr(fixed, runs) %ul, %l : array<f32,1>", "runs are arrays of rank 1 of vectors"},
                    Bad{"%r = from_ptr(fixed, bytes) %ul, %l : array<vec<u8,4>,1>",
                        "numbers that begin at each byte are arrays of rank 1"},
                    Bad{"%r = local : f32 [1]", "local: the result must be an array"},
                    Bad{"%r = local : array<f32,2> [1]", "array<f32,2> needs 2 extents, not 1"},
                    Bad{"%r = local : array<f32,2> [1000000, 1000000]", "local: is larger than"}));

INSTANTIATE_TEST_SUITE_P(
    ControlAndEffects, IllTyped,
    testing::Values(Bad{"if %i { yield } else { yield }", "if: operand 0 must be bool, not i32"},
                    Bad{"for %k = %f to %f step %f { yield }", "for: operand 0 must be i32 or i64, not f32"},
                    Bad{"for %k = %i to %l step %i { yield }", "for: operand 1 must be i32, not i64"},
                    Bad{"for %k = %u to %u step %u { yield }", "for: operand 0 must be i32 or i64"},
                    Bad{"%r = for %k = %i to %i step %i { yield }", "for has 0 results, not 1"},
                    Bad{"while () { test %i } do { yield }", "test: operand 0 must be bool, not i32"},
                    Bad{"call @two(%f)", "call: @two takes 2 arguments, not 1"},
                    Bad{"%x, %y = call @two(%f, %f)", "call: operand 1 must be i32, not f32"},
                    Bad{"%x = call @two(%f, %i)", "call has 2 results, not 1"},
                    Bad{"%r = tid 4", "a dimension must be between 0 and 3"},
                    Bad{"printf \"x\", %v", "printf: operand 0 must be a scalar"},
                    Bad{"assert %i, \"x\"", "assert: operand 0 must be bool"},
                    Bad{"check bounds %i, \"\", %i, %i", "check: operand 0"},
                    Bad{"check bounds %b, \"\", %f, %i", "check: operand 1 must be an integer, not f32"},
                    Bad{"check bounds %b, \"\", %i", "check: takes 3 operands, not 2"},
                    Bad{"check sanity %b, \"\", %i, %i", "the kind of a check"}));

struct Typed {
  const char* line;
  const char* type;
};

class WellTyped : public testing::TestWithParam<Typed> {};

TEST_P(WellTyped, HasThisType) {
  auto module = parsed(kernel_text(std::string("  ") + GetParam().line));
  ASSERT_TRUE(module);
  EXPECT_EQ(short_text(module->functions.back()->body->first->result()->type), GetParam().type);
}

INSTANTIATE_TEST_SUITE_P(
    Results, WellTyped,
    testing::Values(Typed{"%r = add %m, %m", "mat<f32,2,3>"}, Typed{"%r = lt %i, %j", "bool"},
                    Typed{"%r = eq %v, %v", "bool"}, Typed{"%r = extract %m[0]", "vec<f32,3>"},
                    Typed{"%r = extract %m[%i][%j]", "f32"}, Typed{"%r = extract %t[6]", "f32"},
                    Typed{"%r = extract %s.0", "%P"}, Typed{"%r = extract %s.1", "array<f32,1>"},
                    Typed{"%r = insert %s, %i, .0.2", "%Q"}, Typed{"%r = scale %q, %f", "quat<f32>"},
                    Typed{"%r = dot %w, %w", "i32"}, Typed{"%r = matmul %m, %v", "vec<f32,2>"},
                    Typed{"%r = matmul zero vec<f32,2>, %m", "vec<f32,3>"},
                    Typed{"%r = matmul %m, zero mat<f32,3,5>", "mat<f32,2,5>"},
                    Typed{"%r = transpose %m", "mat<f32,3,2>"}, Typed{"%r = outer %v, zero vec<f32,2>", "mat<f32,3,2>"},
                    Typed{"%r = load %ap[%i]", "%P"}, Typed{"%r = load %am[%i][0]", "vec<f32,2>"},
                    Typed{"%r = view %a2[%i]", "array<i32,1>"}, Typed{"%r = slice %a2, 0, %l, %l, %l", "array<i32,2>"},
                    Typed{"%r = data_ptr %a", "u64"}, Typed{"%r = tid 0", "i32"}, Typed{"%r = running", "bool"},
                    Typed{"%r = nonnull %a", "bool"}, Typed{"%r = atomic add %av[%i], %v", "vec<f32,3>"}));

TEST(Paths, TypesAndExtents) {
  const Type* m = types::mat(types::f64(), 2, 5);
  PathStep row{PathStep::index, false, false, 1}, far{PathStep::index, false, false, 2};
  PathStep any{PathStep::index, true, true, 0}, negative{PathStep::index, false, false, -1};
  EXPECT_EQ(step_type(m, row), types::vec(types::f64(), 5));
  EXPECT_EQ(step_type(m, far), nullptr);
  EXPECT_EQ(step_type(m, negative), nullptr);
  PathStep path[] = {any, any};
  EXPECT_EQ(type_at(m, path), types::f64());
  PathStep long_path[] = {any, any, any};
  EXPECT_EQ(type_at(m, long_path), nullptr);
  EXPECT_EQ(step_extent(m), 2u);
  EXPECT_EQ(step_extent(types::quat(types::f32())), 4u);
  EXPECT_EQ(step_extent(types::transform(types::f32())), 7u);
}

TEST(Paths, ProductsThatWouldBeTooLargeAreRejected) {
  std::string text = "func @f(%a: vec<f32,300>) { %r = outer %a, %a return }";
  EXPECT_NE(parse_error(text).find("more than 65536 components"), std::string::npos);
  text = "func @f(%a: mat<f32,300,1>, %b: mat<f32,1,300>) { %r = matmul %a, %b return }";
  EXPECT_NE(parse_error(text).find("more than 65536 components"), std::string::npos);
}

}  // namespace
}  // namespace weft::ir
