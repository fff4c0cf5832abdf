// The text form: every operation there and back, names, structs, literals, canonical text, and errors with their
// places.
#include <random>

#include "ir/literal.h"
#include "ir/walk.h"
#include "types/library_struct.h"
#include "util.h"

namespace weft::ir {
namespace {

void expect_round_trip(const std::string& text) {
  auto module = parsed(text);
  ASSERT_TRUE(module);
  std::string once = print(*module);
  auto again = parsed(once);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), once);
  EXPECT_EQ(print(*again, {.names = false}), print(*module, {.names = false}));
}

/// The only line of a kernel, printed.
std::string printed_line(const std::string& line) {
  auto module = parsed(kernel_text("  " + line));
  if (!module) return {};
  return print(*module->functions.back()->body->first);
}

class LineRoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(LineRoundTrip, PrintsAsWritten) {
  EXPECT_EQ(printed_line(GetParam()), GetParam());
  expect_round_trip(kernel_text(std::string("  ") + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Ops, LineRoundTrip,
                         testing::Values("%r = add %f, %g", "%r = sub %v, %v", "%r = mul %m, %m", "%r = div %i, %j",
                                         "%r = floordiv %i, 3i32", "%r = rem %u, %u", "%r = min %q, %q",
                                         "%r = max %t, %t", "%r = neg %w", "%r = abs %h", "%r = fma %v, %f, %v",
                                         "%r = fma %d, %d, 1.0f64", "%r = bit_and %b, true", "%r = bit_or %u, %u",
                                         "%r = bit_xor %w, %w", "%r = bit_not %ul", "%r = shl %i, 1i32",
                                         "%r = shr %w, %w", "%r = eq %p, %p", "%r = ne %v, %v", "%r = lt %f, %g",
                                         "%r = le %i, %j", "%r = gt %l, %l", "%r = ge %u, 0u32", "%r = floor %v",
                                         "%r = ceil %f", "%r = trunc %d", "%r = round %h", "%r = rint %f",
                                         "%r = sqrt %f", "%r = sin %f", "%r = cos %f", "%r = tan %f", "%r = asin %f",
                                         "%r = acos %f", "%r = atan %f", "%r = atan2 %f, %g", "%r = sinh %f",
                                         "%r = cosh %f", "%r = tanh %f", "%r = exp %f", "%r = exp2 %f", "%r = log %f",
                                         "%r = log2 %f", "%r = log10 %f", "%r = pow %f, %g", "%r = cbrt %f"));

INSTANTIATE_TEST_SUITE_P(
    MoreOps, LineRoundTrip,
    testing::Values("%r = erf %f", "%r = erfc %d", "%r = select %b, %a, %a", "%r = cast %i : f64",
                    "%r = bitcast %f : u32", "%r = construct vec<f32,3> %f, %g, 0.0f32",
                    "%r = construct quat<f32> %f, %f, %f, %f",
                    "%r = construct transform<f32> %f, %f, %f, %f, %f, %f, %f", "%r = construct %P %v, %f, %i",
                    "%r = construct tuple<f32,i32> %f, %i", "%r = construct mat<f32,1,2> %f, %g",
                    "%r = splat vec<f32,5>, %f", "%r = extract %v[0]", "%r = extract %m[%i~][1]", "%r = extract %m[%i]",
                    "%r = extract %s.0.0[2]", "%r = extract %tu.1", "%r = extract %v[2i32]", "%r = insert %v, %f, [2]",
                    "%r = insert %s, %f, .0.0[%i~]", "%r = scale %v, %f", "%r = unscale %m, 2.0f32", "%r = dot %v, %v",
                    "%r = dot(contract) %q, %q", "%r = matmul(contract) %m, %v", "%r = transpose %m",
                    "%r = outer %v, %v", "%r = load %a[%i]", "%r = load %a2[%i~, %l]", "%r = load %ap[%i].0[%j~]",
                    "%r = load %am[0i32][1][%i]", "store %a[%i], %f", "store %ap[%i].0[2], %f",
                    "store %am[%i~][%j][0], 1.5f32", "%r = atomic add %a[%i], %f", "%r = atomic min %av[%i], %v",
                    "%r = atomic max %a2[%i, %j], %i", "%r = atomic exch %a2[%i, %j], 1i32",
                    "%r = atomic cas %a2[%i~, %j~], %i, %j", "%r = atomic bit_and %a2[%i, %j], %i",
                    "%r = atomic bit_or %ap[%i].2, %i", "%r = atomic bit_xor %ap[%i].2, -1i32", "%r = view %a2[%i~]",
                    "%r = view %a2[]", "%r = slice %a2, 1, %l, 9i64, 1i64", "%r = dim %a2, 1 : i64"));

INSTANTIATE_TEST_SUITE_P(
    EvenMoreOps, LineRoundTrip,
    testing::Values("%r = nonnull %a", "%r = data_ptr %a", "%r = from_ptr %ul, %l, 3i64 : array<%Q,2>",
                    "%r = from_ptr(fixed, runs) %ul, %l : array<vec<f32,2>,1>",
                    "%r = from_ptr(fixed, bytes) %ul, %l : array<u64,1>", "%r = local : array<f32,2> [16, 4]",
                    "%x, %y = call @two(%f, %i)", "call @none()", "%r = tid 3",
                    "print \"a \\\"b\\\" \\\\ \\n\\t\\x01 \xc3\xa9\", %v, %p", "print \"\"",
                    "printf \"%d %f\\n\", %i, %f", "assert %b, \"no good\"", "check bounds %b, \"a\", %i, %l",
                    "check divide_by_zero %b, \"\", 0i64, 0i64", "check not_finite %b, \"x\", 0i64, 0i64",
                    "%r = running", "%r = add %f, inff32", "%r = add %f, -inff32", "%r = add %f, nanf32",
                    "%r = add %f, 0x7fc00001f32", "%r = add %f, -0.0f32", "%r = add %d, 1e+300f64",
                    "%r = add %f, 0.1f32", "%r = add %h, 0.1f16", "%r = add %h, 65500.0f16",
                    "%r = add %l, -9223372036854775808i64", "%r = add %ul, 18446744073709551615u64",
                    "%r = add %v, zero vec<f32,3>", "%r = select false, %p, zero %P", "%r = nonnull zero array<%P,1>"));

TEST(Text, ControlRoundTrips) {
  std::string lines =
      "  %r, %e = if %b : f32, i32 {\n    %x = add %f, %g\n    yield %x, %i\n  } else {\n    yield %f, 0i32\n  }\n"
      "  if %b {\n    yield\n  } else {\n    yield\n  }\n"
      "  %t1 = for %k = 0i32 to %i step 1i32 (%acc = 0.0f32) {\n    %n = add %acc, %r\n    yield %n\n  }\n"
      "  for %k_1 = 0i64 to %l step -1i64 {\n    yield\n  }\n"
      "  %c, %on = while (%c1 = %i, %on1 = true) {\n    %more = lt %c1, %j\n    %run = bit_and %on1, %more\n"
      "    test %run\n  } do {\n    %c2 = add %c1, 1i32\n    yield %c2, %on1\n  }\n"
      "  while () {\n    %go = running\n    test %go\n  } do {\n    yield\n  }";
  std::string text = kernel_text(lines);
  auto module = parsed(text);
  ASSERT_TRUE(module);
  std::string once = print(*module);
  EXPECT_NE(once.find(lines), std::string::npos) << once;
  expect_round_trip(text);
}

TEST(Text, HeadersRoundTrip) {
  expect_round_trip("kernel @a() form(no_overlap, taped, rank 4) {\n  return\n}\n");
  expect_round_trip(
      "func @\"odd <name>\"(%x: f32) -> (f32) library {\n  return %x\n}\n"
      "func @g(%x: f32) -> (f32) {\n  %y = call @\"odd <name>\"(%x)\n  return %y\n}\n");
  auto module = parsed("kernel @a() form(no_overlap, taped, rank 4) {\n  return\n}\n");
  Form form = module->functions[0]->form;
  EXPECT_TRUE(form.no_overlap && form.taped && form.rank == 4);
  EXPECT_EQ(parsed("kernel @a() { return }")->functions[0]->form.rank, 1);
  EXPECT_TRUE(parsed("func @a() library { return }")->functions[0]->from_library);
  EXPECT_TRUE(parsed("")->functions.empty());
  EXPECT_TRUE(parsed("// only a remark")->functions.empty());
}

TEST(Text, HintsAreMadeUnique) {
  Module module;
  Function* f = module.add("f", FunctionKind::function);
  Builder b(*f, f->body);
  Value* x = f->add_argument(f->body, types::i32(), "x");
  const char* hints[] = {"s", "s", "s_1", "", "1st", "a b", "s", ""};
  for (const char* hint : hints) {
    x = b.binary(OpCode::add, x, x);
    x->name = hint;
  }
  f->result_types = {types::i32()};
  b.ret(std::span<Value* const>(&x, 1));
  std::string text = print(module);
  EXPECT_EQ(text,
            "func @f(%x: i32) -> (i32) {\n  %s = add %x, %x\n  %s_1 = add %s, %s\n  %s_1_1 = add %s_1, %s_1\n"
            "  %0 = add %s_1_1, %s_1_1\n  %_1st = add %0, %0\n  %a_b = add %_1st, %_1st\n  %s_2 = add %a_b, %a_b\n"
            "  %1 = add %s_2, %s_2\n  return %1\n}\n");
  expect_round_trip(text);
}

TEST(Text, StructsOfOneNameAreToldApart) {
  Field a{"x", types::f32(), 0};
  Field b{"x", types::i32(), 0};
  const Type* first = types::structure("S", {&a, 1});
  const Type* second = types::structure("S", {&b, 1});
  const Type* odd = types::structure("odd name", {&b, 1});
  Field outer_field{"odd field", types::array(second, 2), 0};
  const Type* outer = types::structure("Outer", {&outer_field, 1});
  const Type* empty = types::structure("Empty", {});
  Module module;
  Function* f = module.add("f", FunctionKind::function);
  for (const Type* t : {first, outer, odd, empty}) f->add_argument(f->body, t);
  Builder builder(*f, f->body);
  builder.construct(empty, {});
  builder.ret({});
  std::string text = print(module);
  EXPECT_EQ(text,
            "struct %S { x: f32 }\nstruct %S.1 as \"S\" { x: i32 }\nstruct %Outer { \"odd field\": array<%S.1,2> }\n"
            "struct %struct as \"odd name\" { x: i32 }\nstruct %Empty {}\n"
            "func @f(%0: %S, %1: %Outer, %2: %struct, %3: %Empty) {\n  %4 = construct %Empty\n  return\n}\n");
  auto again = parsed(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), text);
  EXPECT_EQ(again->functions[0]->params()[0]->type, first);
  EXPECT_EQ(again->functions[0]->params()[1]->type, outer);
  EXPECT_EQ(again->functions[0]->params()[2]->type, odd);
  EXPECT_EQ(again->functions[0]->params()[3]->type, empty);
}

TEST(Text, StructsOfTheLibraryKeepTheirNames) {
  Field a{"x", types::f32(), 0};
  const Type* own = types::structure("S", {&a, 1});
  const Type* library = types::library_structure("S", {&a, 1});
  Module module;
  Function* f = module.add("f", FunctionKind::function);
  for (const Type* t : {library, own}) f->add_argument(f->body, t);
  Builder(*f, f->body).ret({});
  std::string text = print(module);
  EXPECT_EQ(text,
            "struct %S as \"wp.S\" { x: f32 }\nstruct %S.1 as \"S\" { x: f32 }\n"
            "func @f(%0: %S, %1: %S.1) {\n  return\n}\n");
  auto again = parsed(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->functions[0]->params()[0]->type, library);
  EXPECT_EQ(again->functions[0]->params()[1]->type, own);
}

TEST(Text, CanonicalTextForgetsNamesAndPlaces) {
  auto a = parsed(
      "func @g(%x: f32) -> (f32) { %y = sin %x return %y }\n"
      "kernel @k(%a: array<f32,1>) { %i = tid 0 %v = load %a[%i] %w = call @g(%v) store %a[%i], %w return }");
  auto b = parsed(
      "func @other(%p: f32) -> (f32) {\n\n %q = sin %p\n return %q }\n"
      "kernel @name(%z: array<f32,1>) {\n %t = tid 0 %r = load %z[%t]\n %s = call @other(%r)\n"
      "store %z[%t], %s return }");
  EXPECT_NE(print(*a), print(*b));
  PrintOptions canonical{.names = false};
  EXPECT_EQ(print(*a, canonical), print(*b, canonical));
  EXPECT_EQ(print(*a, canonical),
            "func @f0(%0: f32) -> (f32) {\n  %1 = sin %0\n  return %1\n}\n"
            "kernel @f1(%0: array<f32,1>) form(rank 1) {\n  %1 = tid 0\n  %2 = load %0[%1]\n  %3 = call @f0(%2)\n"
            "  store %0[%1], %3\n  return\n}\n");
  EXPECT_EQ(print(*a->functions[1], canonical).substr(0, 10), "kernel @f0");
  auto c = parsed("kernel @k(%a: array<f32,1>) { print \"a\" return }");
  auto d = parsed("kernel @k(%a: array<f32,1>) { print \"b\" return }");
  EXPECT_NE(print(*c, canonical), print(*d, canonical));
}

TEST(Text, LocationsAreComments) {
  auto module = parsed("kernel @k(%b: bool) {\n  if %b { yield } else { yield }\n  return\n}\n");
  std::string text = print(*module, {.locations = true});
  EXPECT_NE(text.find("  if %b {  // test.ir:2:3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  return  // test.ir:3:3\n"), std::string::npos) << text;
  EXPECT_EQ(print(*parsed(text)), print(*module));
}

TEST(Text, PlainNumbersAreNotHints) {
  auto module = parsed("func @f(%5: i32, %7x: i32) -> (i32) { %9 = add %5, %7x return %9 }");
  EXPECT_TRUE(module->functions[0]->params()[0]->name.empty());
  EXPECT_EQ(print(*module), "func @f(%0: i32, %_7x: i32) -> (i32) {\n  %1 = add %0, %_7x\n  return %1\n}\n");
}

TEST(Literals, EveryHalfRoundTrips) {
  std::string error;
  for (ScalarKind kind : {ScalarKind::f16, ScalarKind::bf16}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      std::string text = literal_text(kind, bits);
      auto read = read_literal(text, error);
      ASSERT_TRUE(read) << text << ": " << error;
      ASSERT_EQ(read->bits, bits) << text;
      ASSERT_EQ(read->type, types::scalar(kind)) << text;
    }
  }
}

TEST(Literals, RandomBitsRoundTrip) {
  std::mt19937_64 random(1);
  std::string error;
  for (int n = 0; n < 50000; ++n) {
    for (int k = 0; k < kScalarKinds; ++k) {
      std::uint64_t bits = random();
      std::uint32_t width = k == 0 ? 1 : scalar_bits(ScalarKind(k));
      if (width < 64) bits &= (std::uint64_t(1) << width) - 1;
      std::string text = literal_text(ScalarKind(k), bits);
      auto read = read_literal(text, error);
      ASSERT_TRUE(read && read->bits == bits && read->type == types::scalar(ScalarKind(k))) << text << error;
    }
  }
}

TEST(Literals, Forms) {
  EXPECT_EQ(literal_text(ScalarKind::f32, 0x3f800000), "1.0f32");
  EXPECT_EQ(literal_text(ScalarKind::f16, 0x2e66), "0.1f16");
  EXPECT_EQ(literal_text(ScalarKind::f32, 0xffc00000), "0xffc00000f32");
  EXPECT_EQ(literal_text(ScalarKind::bf16, 0x7fc1), "0x7fc1bf16");
  EXPECT_EQ(literal_text(ScalarKind::i8, 0x80), "-128i8");
  std::string error;
  for (const char* bad :
       {"128i8", "-1u8", "1e400f64", "1e39f32", "65520.0f16", "1.5i32", "f32", "-f32", "1", "", "0xf32", "0x12f32",
        "1.2.3f32", "--1i32", "infi32", "-nanf32", "1ef32", "0x0123456789abcdefi64"})
    EXPECT_FALSE(read_literal(bad, error)) << bad;
  EXPECT_TRUE(read_literal("1f32", error));
  EXPECT_TRUE(read_literal(".5f32", error));
}

struct BadText {
  const char* text;
  const char* message;
};

class BadModule : public testing::TestWithParam<BadText> {};

TEST_P(BadModule, IsRejectedWithItsPlace) {
  std::string error = parse_error(GetParam().text);
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
  EXPECT_EQ(error.substr(0, 8), "test.ir:") << error;
}

INSTANTIATE_TEST_SUITE_P(
    Text, BadModule,
    testing::Values(
        BadText{"hello", "expected 'struct', 'kernel' or 'func', found 'hello'"},
        BadText{"\x01", "unexpected character"}, BadText{"func", "expected a function name, found the end"},
        BadText{"func @f", "expected '('"}, BadText{"func @\"x", "the string does not end"},
        BadText{"func @\"\\q\"", "unknown escape"}, BadText{"func @\"\\xg0\"", "two hexadecimal digits"},
        BadText{"func @f(%: f32)", "a name must follow %"}, BadText{"func @f(%a: f33)", "unknown type 'f33'"},
        BadText{"func @f(%a: vec<f32,0>)", "an extent must be at least 1"},
        BadText{"func @f(%a: vec<f32,65537>)", "an extent must be between 0 and 65536"},
        BadText{"func @f(%a: vec<f32,99999999999999999999>)", "an extent must be between 0 and 65536"},
        BadText{"func @f(%a: mat<f32,300,300>)", "too many components"},
        BadText{"func @f(%a: vec<%b,3>)", "expected a scalar type"},
        BadText{"func @f(%a: quat<i32>)", "made of floats"}, BadText{"func @f(%a: array<f32,5>)", "between 0 and 4"},
        BadText{"func @f(%a: %S)", "unknown struct %S"}, BadText{"func @f(%a: f32, %a: f32)", "%a is defined twice"},
        BadText{"struct %S {} struct %S {}", "struct %S is defined twice"},
        BadText{"struct %S { x f32 }", "unknown type 'x'"},
        BadText{"func @f() { return } func @f() { return }", "@f is defined twice"},
        BadText{"func @f() { call @f() return }", "no function @f stands before this"},
        BadText{"func @f() { %x = add %y, 1i32 return }", "test.ir:1:22: error: unknown value %y"},
        BadText{"func @f() { %x = nosuch return }", "expected an operation, found 'nosuch'"},
        BadText{"func @f() { %x = neg 5 return }", "does not end in the name of its type"},
        BadText{"func @f() { %x = neg 300i8 return }", "300 does not fit i8"},
        BadText{"func @f() { %x = neg 1e99f32 return }", "out of the range of f32"},
        BadText{"func @f() { %x, %y = neg 1i8 return }", "neg has 1 result, not 2"},
        BadText{"func @f() { neg 1i8 return }", "neg has 1 result, not 0"},
        BadText{"func @f() { %x = add 1i8, 1i16 return }", "operands must have one type, not i8 and i16"},
        BadText{"kernel @f() form(rank 5) { return }", "between 0 and 4"},
        BadText{"kernel @f() form(rank 0) { return }", "at least 1"},
        BadText{"kernel @f() form(fast) { return }", "expected 'no_overlap'"},
        BadText{"kernel @f(%a: array<f32,1>) { %x = load %a[0i32, 0i32, 0i32, 0i32, 0i32] return }",
                "at most 4 indices"},
        BadText{"kernel @f(%a: array<f32,1>) { %x = atomic mul %a[0i32], 1.0f32 return }", "the kind of an atomic"}));

TEST(Text, DepthAndSizeLimits) {
  std::string open, close;
  for (int i = 0; i < 5000; ++i) open += "if true {\n", close += "} else { yield }\n";
  EXPECT_NE(parse_error("kernel @k() {\n" + open + "yield\n" + close + "return }").find("nested too deeply"),
            std::string::npos);
  std::string type = "f32";
  for (int i = 0; i < 5000; ++i) type = "array<" + type + ",1>";
  EXPECT_NE(parse_error("func @f(%a: " + type + ") { return }").find("nested too deeply"), std::string::npos);
  std::string chain = "struct %S0 { x: f32 }\n";
  for (int i = 1; i < 100; ++i) chain += "struct %S" + std::to_string(i) + " { a: %S" + std::to_string(i - 1) + " }\n";
  EXPECT_NE(parse_error(chain).find("nested too deeply"), std::string::npos);
  std::string doubling = "struct %S0 { x: f32 }\n";
  for (int i = 1; i < 40; ++i) {
    std::string inner = "%S" + std::to_string(i - 1);
    doubling += "struct %S" + std::to_string(i) + " { a: " + inner + ", b: " + inner + " }\n";
  }
  EXPECT_NE(parse_error(doubling).find("too large"), std::string::npos);
  std::string fat = "struct %S {";
  for (int i = 0; i < 200; ++i) fat += std::string(i ? "," : "") + " x" + std::to_string(i) + ": vec<f64,65536>";
  EXPECT_NE(parse_error(fat + " }").find("too large"), std::string::npos);
}

TEST(Text, DeepButAllowedNestingWorks) {
  std::string open, close;
  for (int i = 0; i < kMaxRegionDepth; ++i) open += "if true {\n", close += "yield } else { yield }\n";
  expect_round_trip("kernel @k() {\n" + open + close + "return }");
}

TEST(Text, TruncatedAndMutatedTextNeverCrashes) {
  std::string good = print(*parsed(
      kernel_text("  %r = if %b : f32 { yield %f } else { yield %g }\n"
                  "  %t1 = for %k = 0i32 to %i step 1i32 (%acc = 0.0f32) { yield %acc }\n"
                  "  %c = while (%c1 = %i) { %more = lt %c1, %j test %more } do { yield %c1 }\n  print \"x\", %v\n"
                  "  store %ap[%i~].0[%j~], %r\n  %l1 = local : array<f32,2> [3, 4]")));
  for (std::size_t n = 0; n < good.size(); ++n) {
    DiagnosticSink sink;
    auto module = parse_module(std::make_shared<SourceFile>("t", good.substr(0, n)), sink);
    ASSERT_EQ(module == nullptr, sink.has_errors());
  }
  std::mt19937 random(7);
  for (int n = 0; n < 20000; ++n) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) {
      std::size_t at = random() % bad.size();
      switch (random() % 3) {
        case 0: bad[at] = char(random()); break;
        case 1: bad.erase(at, random() % 8); break;
        default: bad.insert(at, good.substr(random() % good.size(), random() % 20));
      }
      if (bad.empty()) bad = " ";
    }
    DiagnosticSink sink;
    auto module = parse_module(std::make_shared<SourceFile>("t", bad), sink);
    ASSERT_EQ(module == nullptr, sink.has_errors());
    if (!module) continue;
    std::string once = print(*module);
    ASSERT_EQ(print(*parsed(once)), once);
  }
}

TEST(Text, OperationsWithoutTheirOperandsAreShown) {
  Function function("f", FunctionKind::function);
  for (int code = 0; code < kOpCodes; ++code) {
    Op* op = function.make_op(OpCode(code), {}, {});
    EXPECT_NE(print(*op).find(name_of(OpCode(code))), std::string::npos) << "messages show what is broken";
  }
}

}  // namespace
}  // namespace weft::ir
