// Builtins by row: every row parses and lowers for some types; calls from outside kernels give the right values.
#include "front_end.h"

#include <cmath>

#include "builtins/row.h"
#include "ir/verify.h"
#include "types/library_struct.h"

namespace weft {
namespace {

using namespace weft::testing;
using builtins::Pattern;

/// A type that the pattern takes, with this scalar where it is free.
const Type* sample_type(const Pattern& pattern, const Type* scalar) {
  const Type* element =
      pattern.element && pattern.kind != Pattern::Kind::array ? sample_type(*pattern.element, scalar) : scalar;
  auto extent = [](const builtins::Extent& e) { return e.fixed ? e.fixed : 3u; };
  switch (pattern.kind) {
    case Pattern::Kind::exact: return pattern.type;
    case Pattern::Kind::integer: return scalar->is_int() ? scalar : types::i64();
    case Pattern::Kind::floating: return scalar->is_float() ? scalar : types::f64();
    case Pattern::Kind::vec: return types::vec(element, extent(pattern.rows));
    case Pattern::Kind::mat: return types::mat(element, extent(pattern.rows), extent(pattern.cols));
    case Pattern::Kind::quat: return types::quat(element);
    case Pattern::Kind::transform: return types::transform(element);
    case Pattern::Kind::array:
      return types::array(pattern.element ? sample_type(*pattern.element, scalar) : scalar,
                          pattern.rows.fixed ? pattern.rows.fixed : 1);
    case Pattern::Kind::library_struct: return sema::library_struct(pattern.variable)->type;
    default: return scalar;
  }
}

TEST(Builtin, RowsNameStructsOfTheLibrary) {
  builtins::Row row =
      builtins::parse_row("f(a: ref[Triangle], b: T2, c: array[Side,1], d: float = inf) -> Triangle\n  lib\n");
  ASSERT_EQ(row.params.size(), 4u);
  EXPECT_EQ(row.params[0].pattern.kind, Pattern::Kind::library_struct);
  EXPECT_TRUE(row.params[0].pattern.by_reference);
  EXPECT_EQ(builtins::to_string(row.params[0].pattern), "ref[Triangle]");
  EXPECT_EQ(row.params[1].pattern.kind, Pattern::Kind::any);
  EXPECT_EQ(builtins::to_string(row.params[2].pattern), "array[Side,1]");
  Field field{"_x", types::f32(), 0};
  const Type* ours = types::library_structure("Triangle", {&field, 1});
  const Type* theirs = types::structure("Triangle", {&field, 1});
  EXPECT_NE(ours, theirs);
  EXPECT_EQ(ours->user_name(), "Triangle");
  builtins::Bindings bindings;
  EXPECT_TRUE(builtins::match(row.params[0].pattern, ours, bindings));
  EXPECT_FALSE(builtins::match(row.params[0].pattern, theirs, bindings));
  EXPECT_FALSE(builtins::match(row.params[0].pattern, types::library_structure("Side", {&field, 1}), bindings));
  EXPECT_TRUE(is_private(ours, ours->fields()[0]));
  EXPECT_FALSE(is_private(theirs, theirs->fields()[0]));
  Field inside{"t", ours, 0};
  EXPECT_TRUE(holds_private(types::structure("Pair", {&inside, 1})));
  EXPECT_FALSE(holds_private(theirs));
  EXPECT_EQ(sema::library_struct("Triangle"), nullptr);  // the shipped library has none
  EXPECT_EQ(sema::library_struct(ours), nullptr);
}

TEST(Builtin, EveryRowLowers) {
  std::size_t lowered = 0;
  for (std::string_view name : builtins::builtin_names())
    for (const builtins::Row& row : builtins::rows(name)) {
      EXPECT_FALSE(row.doc.empty()) << row.signature;
      EXPECT_FALSE(row.sample.empty()) << row.signature;
      EXPECT_FALSE(row.result.empty()) << row.signature;
      if (row.definition == builtins::Row::Definition::special) continue;
      for (const Type* scalar :
           {types::f32(), types::f64(), types::i32(), types::scalar(ScalarKind::u8), types::scalar(ScalarKind::f16)}) {
        std::vector<const Type*> args;
        for (const builtins::RowParam& param : row.params) args.push_back(sample_type(param.pattern, scalar));
        DiagnosticSink sink;
        auto module = sema::lower_builtin(name, args, {}, sink);
        ASSERT_NE(module, nullptr) << row.signature << " with " << scalar->user_name() << "\n" << sink.render_all();
        EXPECT_EQ(ir::verify(*module), "") << row.signature;
        EXPECT_TRUE(sink.all().empty()) << sink.render_all();
        ++lowered;
      }
    }
  EXPECT_GT(lowered, 500u);
}

template <class... Args>
interp::Datum evaluate(std::string_view name, Args... args) {
  std::vector<interp::Datum> data = {args...};
  std::vector<const Type*> types;
  for (const auto& d : data) types.push_back(d.type);
  DiagnosticSink sink;
  auto module = sema::lower_builtin(name, types, {}, sink);
  if (!module) {
    ADD_FAILURE() << sink.render_all();
    return {};
  }
  return interp::call(*module->functions.back(), data)[0];
}

using V3 = std::array<float, 3>;
using M3 = std::array<float, 9>;
interp::Datum vec3(V3 v) { return datum(types::vec(types::f32(), 3), v); }
interp::Datum mat33(M3 m) { return datum(types::mat(types::f32(), 3, 3), m); }

TEST(Builtin, Values) {
  EXPECT_EQ(as<float>(evaluate("length", vec3({2, 3, 6}))), 7);
  EXPECT_EQ(as<V3>(evaluate("cross", vec3({1, 0, 0}), vec3({0, 1, 0}))), (V3{0, 0, 1}));
  EXPECT_EQ(as<V3>(evaluate("normalize", vec3({0, 0, 0}))), (V3{0, 0, 0}));
  EXPECT_EQ(as<V3>(evaluate("sign", vec3({-2, 0, 5}))), (V3{-1, 1, 1}));
  EXPECT_EQ(as<M3>(evaluate("inverse", mat33({2, 0, 0, 0, 4, 0, 0, 0, 8}))),
            (M3{0.5f, 0, 0, 0, 0.25f, 0, 0, 0, 0.125f}));
  EXPECT_EQ(as<M3>(evaluate("inverse", mat33({1, 2, 3, 2, 4, 6, 1, 1, 1}))), (M3{}));
  EXPECT_EQ(as<float>(evaluate("determinant", mat33({2, 0, 0, 0, 3, 0, 0, 0, 4}))), 24);
  EXPECT_EQ(as<float>(evaluate("trace", mat33({1, 2, 3, 4, 5, 6, 7, 8, 9}))), 15);
  EXPECT_EQ(as<float>(evaluate("ddot", mat33({1, 2, 3, 4, 5, 6, 7, 8, 9}), mat33({1, 0, 0, 0, 1, 0, 0, 0, 2}))),
            1 + 5 + 18);
  EXPECT_EQ(as<float>(evaluate("round", datum(2.5f))), 3);
  EXPECT_EQ(as<float>(evaluate("clamp", datum(5.0f), datum(0.0f), datum(2.0f))), 2);
  EXPECT_EQ(as<float>(evaluate("max", vec3({1, 9, 3}))), 9);
  EXPECT_EQ(as<std::uint32_t>(evaluate("rand_init", datum(42))), 1223963391u);
  EXPECT_EQ(as<std::uint32_t>(evaluate("rand_init", datum(42), datum(7))), 3115480925u);
  EXPECT_FLOAT_EQ(as<float>(evaluate("randf", datum(std::uint32_t(1223963391)))), 0.64850521f);
}

TEST(Builtin, NanAndInfinity) {
  float nan = std::nanf(""), inf = INFINITY;
  EXPECT_TRUE(as<bool>(evaluate("isnan", datum(nan))));
  EXPECT_FALSE(as<bool>(evaluate("isinf", datum(nan))));
  EXPECT_TRUE(as<bool>(evaluate("isinf", datum(-inf))));
  EXPECT_FALSE(as<bool>(evaluate("isfinite", datum(inf))));
  EXPECT_TRUE(as<bool>(evaluate("isnan", vec3({0, nan, 0}))));
  EXPECT_FALSE(as<bool>(evaluate("isnan", vec3({0, inf, 0}))));
  EXPECT_TRUE(as<bool>(evaluate("isinf", mat33({0, 0, 0, 0, 0, inf, 0, 0, 0}))));
  EXPECT_TRUE(as<bool>(evaluate("isfinite", mat33({}))));
  EXPECT_FALSE(as<bool>(evaluate("isfinite", vec3({inf, 0, 0}))));
}

TEST(Builtin, ErrorsOfCallsFromOutside) {
  DiagnosticSink sink;
  const Type* args[] = {types::i32()};
  EXPECT_EQ(sema::lower_builtin("sin", args, {}, sink), nullptr);
  EXPECT_EQ(sema::lower_builtin("no_such_builtin", args, {}, sink), nullptr);
  EXPECT_EQ(sema::lower_builtin("sin(", args, {}, sink), nullptr);
  const Type* floats[] = {types::f32()};
  EXPECT_NE(sema::lower_builtin("sin", floats, {}, sink), nullptr);  // earlier errors in the sink are not its own
}

}  // namespace
}  // namespace weft
