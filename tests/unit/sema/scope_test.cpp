// The Resolver: a host that answers names, closures and wp.static itself.
#include "front_end.h"

#include <map>

#include "ir/text.h"

namespace weft {
namespace {

using namespace weft::sema;

/// A host like the Python binding: names from a table, wp.static by a callback.
class HostScope final : public Scope {
 public:
  std::map<std::string, Symbol, std::less<>> symbols;
  std::function<std::optional<Symbol>(std::string_view, std::span<const std::pair<std::string, Constant>>)> eval;

  std::optional<Symbol> lookup(std::string_view name) override {
    if (name == "wp") return Symbol::of_scope(warp_scope());
    auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<Symbol> eval_static(std::string_view text,
                                    std::span<const std::pair<std::string, Constant>> locals) override {
    return eval ? eval(text, locals) : std::nullopt;
  }
};

std::string lower(const std::string& text, std::shared_ptr<HostScope> scope, DiagnosticSink& sink) {
  auto kernel = testing::declare(text, scope);
  auto module = lower_kernel(*kernel, {}, {}, sink);
  return module ? ir::print(*module) : testing::messages(sink);
}

TEST(Scope, ClosureValuesAndFunctions) {
  auto scope = std::make_shared<HostScope>();
  scope->symbols["n"] = Symbol::of(Constant::of_int(7));
  scope->symbols["twice"] =
      Symbol::of_functions({testing::declare("def twice(x: float):\n    return x * 2.0\n", scope)});
  scope->symbols["thing"] = Symbol::of_other("the list 'thing'");
  DiagnosticSink sink;
  std::string ir = lower("def k(out: wp.array(dtype=float)):\n    f = twice\n    out[n] = f(1.5)\n", scope, sink);
  EXPECT_NE(ir.find("store %out[7i32]"), std::string::npos) << ir;
  EXPECT_NE(ir.find("func @twice"), std::string::npos) << ir;
  EXPECT_EQ(lower("def k(out: wp.array(dtype=float)):\n    out[0] = thing\n", scope, sink), "2:14 bad_call");
  scope->symbols.clear();  // the function holds its scope, which held the function
}

TEST(Scope, EqualNamesOfDifferentClosuresAreDifferentFunctions) {
  // Two functions of one text and name, made by a factory with different constants.
  auto outer = std::make_shared<HostScope>();
  for (int n : {1, 2}) {
    auto inner = std::make_shared<HostScope>();
    inner->symbols["n"] = Symbol::of(Constant::of_real(n));
    auto f = testing::declare("def f(x: float):\n    return x + n\n", inner);
    f->key = "f" + std::to_string(n);
    outer->symbols["f" + std::to_string(n)] = Symbol::of_functions({f});
  }
  DiagnosticSink sink;
  std::string ir = lower("def k(out: wp.array(dtype=float)):\n    out[0] = f1(0.0) + f2(0.0)\n", outer, sink);
  EXPECT_NE(ir.find("add %x, 1.0f32"), std::string::npos) << ir;
  EXPECT_NE(ir.find("add %x, 2.0f32"), std::string::npos) << ir;
}

TEST(Static, TheHostGetsTextAndCompileTimeVariables) {
  auto scope = std::make_shared<HostScope>();
  std::vector<std::string> asked;
  scope->eval = [&](std::string_view text, std::span<const std::pair<std::string, Constant>> locals) {
    std::string line(text);
    for (const auto& [name, constant] : locals) line += "; " + name + "=" + std::to_string(constant.magnitude);
    asked.push_back(line);
    return std::optional(Symbol::of(Constant::of_real(double(asked.size()))));
  };
  DiagnosticSink sink;
  std::string ir = lower(
      "def k(out: wp.array(dtype=float), n: int):\n"
      "    for i in range(2):\n"
      "        out[i] = wp.static([x for x in range(i)][-1])\n"
      "    out[n] = wp.static(sum(\n        weights))\n",
      scope, sink);
  EXPECT_EQ(sink.all().size(), 0u) << sink.render_all();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0], "[x for x in range(i)][-1]; i=0");
  EXPECT_EQ(asked[1], "[x for x in range(i)][-1]; i=1");
  EXPECT_EQ(asked[2], "(sum(\n        weights))");
  EXPECT_NE(ir.find("store %out[1i32], 2.0f32"), std::string::npos) << ir;
}

TEST(Static, HostResultsOfEveryKind) {
  auto scope = std::make_shared<HostScope>();
  auto twice = testing::declare("def twice(x: float):\n    return x * 2.0\n", scope);
  Constant vec;
  vec.form = Constant::Form::typed;
  vec.type = types::vec(types::f32(), 2);
  vec.bits = {ir::float_to_bits(ScalarKind::f32, 3), 0};
  scope->eval = [&](std::string_view text, auto) -> std::optional<Symbol> {
    if (text == "pick()") return Symbol::of_functions({twice});
    if (text == "vec()") return Symbol::of(vec);
    if (text == "name()") return Symbol::of(Constant::of_text("fast"));
    if (text == "kind()") return Symbol::of_type(types::f64());
    if (text == "bad()") throw StaticError("ValueError: no");
    return std::nullopt;
  };
  DiagnosticSink sink;
  std::string ir = lower(
      "def k(out: wp.array(dtype=float)):\n"
      "    out[0] = wp.static(pick())(1.0) + wp.static(vec())[0]\n"
      "    if wp.static(name()) == \"fast\":\n        out[1] = float(wp.static(kind())(2))\n"
      "    else:\n        out[1] = undefined\n",
      scope, sink);
  EXPECT_EQ(sink.all().size(), 0u) << sink.render_all();
  EXPECT_NE(ir.find("call @twice"), std::string::npos) << ir;
  EXPECT_EQ(lower("def k(out: wp.array(dtype=float)):\n    out[0] = wp.static(bad())\n", scope, sink),
            "2:24 bad_static");
  EXPECT_NE(sink.render_all().find("ValueError: no"), std::string::npos);
}

TEST(Static, WithoutAHostPythonsRulesHold) {
  auto scope = std::make_shared<HostScope>();
  scope->symbols["N"] = Symbol::of(Constant::of_int(3));
  DiagnosticSink sink;
  std::string ir = lower("def k(out: wp.array(dtype=float)):\n    out[0] = wp.static(N / 2 + 0.25)\n", scope, sink);
  EXPECT_NE(ir.find("1.75f32"), std::string::npos) << ir;
}

TEST(FileScope, LaterDefinitionsReplaceEarlierOnes) {
  testing::File file(
      "@wp.func\ndef f(x: float):\n    return 1.0\n@wp.func\ndef f(x: float):\n    return 2.0\n"
      "@wp.func\ndef f(x: int):\n    return 3.0\n"
      "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    out[0] = f(0.0)\n"
      "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    out[1] = f(0.0)\n");
  EXPECT_EQ(file.symbol("f")->functions.size(), 2u);
  auto module = file.must_lower();
  std::string ir = ir::print(*module);
  EXPECT_NE(ir.find("return 2.0f32"), std::string::npos) << ir;
  EXPECT_NE(ir.find("store %out[1i32]"), std::string::npos) << ir;
}

TEST(FileScope, StatementsThatAreNoKernelsArePassedOver) {
  testing::File file(
      "import os\nwp.init()\nfor i in range(3):\n    print(i)\nx = os.path\n\"\"\"text\"\"\"\n@property\ndef g():\n    pass\n");
  EXPECT_FALSE(file.sink.has_errors()) << file.sink.render_all();
  EXPECT_EQ(testing::messages(file.sink), "3:1 ignored_statement, 4:1 ignored_statement");
  EXPECT_EQ(file.scope->kernels().size(), 0u);
  EXPECT_EQ(file.scope->find_kernel("g"), nullptr);
}

TEST(FileScope, ManyRemarksDoNotHideAnError) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "print(" + std::to_string(i) + ")\n";
  testing::File file(text + "@wp.kernel\ndef k(x: float):\n    y = x + 1\n");
  EXPECT_EQ(file.lower(), nullptr);
  EXPECT_NE(testing::messages(file.sink).find("304:9 type_mismatch"), std::string::npos);
}

}  // namespace
}  // namespace weft
