// Deep, long and hostile texts: a diagnostic or a tree of bounded height, never a crash, and time linear in the text.
#include <gtest/gtest.h>

#include "helpers.h"
#include "syntax/parser.h"
#include "syntax/parser_impl.h"
#include "syntax/print.h"

namespace weft::syntax::testing {
namespace {

TEST(Limits, DeepNestingIsRefusedOnce) {
  constexpr std::size_t kDeep = 10000;
  const std::string texts[] = {
      "x = " + repeat("(", kDeep) + "1" + repeat(")", kDeep),
      "x = " + repeat("[", kDeep) + repeat("]", kDeep),
      "x = " + repeat("{", kDeep) + repeat("}", kDeep),
      "x = " + repeat("f(", kDeep) + "1" + repeat(")", kDeep),
      "x = " + repeat("a[", kDeep) + "1" + repeat("]", kDeep),
      "x = " + repeat("-", kDeep) + "1",
      "x = " + repeat("not ", kDeep) + "1",
      "x = 2" + repeat("**2", kDeep),
      "x = " + repeat("a if b else ", kDeep) + "c",
      "x = " + repeat("lambda: ", kDeep) + "c",
      "x = " + repeat("(yield ", kDeep) + repeat(")", kDeep),
      "x = " + repeat("(-", kDeep) + "1" + repeat(")", kDeep),
      "x = " + repeat("[a for a in ", kDeep) + "b" + repeat("]", kDeep),
      "x = " + repeat("[*", kDeep) + "a" + repeat("]", kDeep),
      "x = " + repeat("{**", kDeep) + "a" + repeat("}", kDeep),
      "x = " + repeat("(a := ", kDeep) + "b" + repeat(")", kDeep),
      "x = " + repeat("lambda a=", kDeep) + "b" + repeat(": c", kDeep),
      "for " + repeat("(", kDeep) + "a" + repeat(")", kDeep) + " in b: pass",
      "def f(a=" + repeat("(", kDeep) + "a" + repeat(")", kDeep) + "): pass",
      "x = " + repeat("a.b(c)[", kDeep) + "1" + repeat("]", kDeep),
      "x = a" + repeat(".b", 100000),
      "x = a" + repeat("()", 100000),
      "x = a" + repeat("[0]", 100000),
      "x = a" + repeat(" + b", 10000),
  };
  for (const std::string& text : texts) {
    Parsed parsed = parse_text(text + "\ny = 1\n");
    ASSERT_EQ(parsed.sink.error_count(), 1u) << text.substr(0, 40);
    EXPECT_EQ(parsed.sink.all()[0].code, DiagCode::nesting_too_deep) << text.substr(0, 40);
    EXPECT_EQ(parsed.sink.all()[0].notes.size(), 1u) << text.substr(0, 40);
    EXPECT_EQ(parsed.tree->body.size(), 1u) << text.substr(0, 40);
  }
}

TEST(Limits, UnclosedDeepNestingToo) {
  for (const char* piece :
       {"(", "[", "{", "f(", "([{", "(\n", "f(\n  ", "'", "f'{", "f'{\n", "f\"\"\"{", "f\"\"\"{\"\"\"", "\\\n"}) {
    Parsed parsed = parse_text("x = " + repeat(piece, 20001));
    EXPECT_TRUE(parsed.sink.has_errors()) << piece;
  }
}

TEST(Limits, NestingWithinTheLimitIsFine) {
  EXPECT_EQ(errors("x = " + repeat("(", 190) + "1" + repeat(")", 190)), "");
  EXPECT_EQ(errors("x = " + repeat("-", 190) + "1"), "");
  EXPECT_EQ(errors("x = a" + repeat(" + b", 1990)), "");
  EXPECT_EQ(errors("x = a" + repeat(".b", 1990)), "");
  EXPECT_EQ(errors("x = [" + repeat("a, ", 100000) + "]"), "");
  EXPECT_EQ(errors("x = " + repeat("a and ", 100000) + "b"), "");
  EXPECT_EQ(errors("x = " + repeat("a < ", 100000) + "b"), "");
  EXPECT_EQ(errors(repeat("x = ", 100000) + "b"), "");
  EXPECT_EQ(errors(repeat("x;", 100000)), "");
  EXPECT_EQ(errors("f(" + repeat("'a' ", 100000) + ")"), "");
}

// Chains inside brackets inside chains: the height of the whole is bounded, not just each part's.
TEST(Limits, HeightAddsUp) {
  std::string text = "a";
  for (int i = 0; i < 50; ++i) text = "(" + text + repeat(" + b", 100) + ")";
  EXPECT_EQ(errors("x = " + text).substr(0, 16), "nesting_too_deep");
  text = "a";
  for (int i = 0; i < 15; ++i) text = "(" + text + repeat(" + b", 100) + ")";
  Parsed parsed = parse_clean("x = " + text);
  EXPECT_EQ(parsed.stmt().as<AssignStmt>().value->height, 1501);
  EXPECT_FALSE(print(*parsed.tree).empty());
}

TEST(Limits, NestedBlocks) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(i, ' ') + "if a:\n";
  text += std::string(3000, ' ') + "b\nc = 1\n";
  Parsed parsed = parse_text(text);
  ASSERT_EQ(parsed.sink.all().size(), 1u);
  EXPECT_EQ(parsed.sink.all()[0].code, DiagCode::nesting_too_deep);
  EXPECT_EQ(parsed.sink.all()[0].loc.line, unsigned(kMaxNesting + 2));
  EXPECT_EQ(parsed.tree->body.back()->kind, StmtKind::assign);
  std::string skipped = "try:\n";
  for (int i = 1; i < 3000; ++i) skipped += std::string(i, ' ') + "if a:\n";
  EXPECT_EQ(parse_clean(skipped + std::string(3000, ' ') + "b\nfinally: c\n").tree->body.size(), 1u);
}

TEST(Limits, ElifChains) {
  auto chain = [](int n) { return "if a: b\n" + repeat("elif a: b\n", n) + "else: c\nd = 1\n"; };
  EXPECT_EQ(errors(chain(900)), "");
  Parsed parsed = parse_text(chain(5000));
  ASSERT_EQ(parsed.sink.all().size(), 1u);
  EXPECT_EQ(parsed.sink.all()[0].code, DiagCode::nesting_too_deep);
  EXPECT_EQ(parsed.sink.all()[0].loc.line, unsigned(kMaxStmtDepth + 1));
  ASSERT_EQ(parsed.tree->body.size(), 1u);
  // A chain within a chain counts for both.
  std::string inner = "  if a: b\n" + repeat("  elif a: b\n", 600);
  EXPECT_EQ(errors("if a: b\n" + repeat("elif a: b\n", 300) + "else:\n" + inner), "");
  EXPECT_EQ(errors("if a: b\n" + repeat("elif a: b\n", 600) + "else:\n" + inner).substr(0, 16), "nesting_too_deep");
}

TEST(Limits, ManyErrorsAreBounded) {
  Parsed parsed = parse_text(repeat("a b\n", 100000));
  EXPECT_EQ(parsed.sink.error_count(), 100000u);
  EXPECT_LE(parsed.sink.all().size(), 100u);
}

TEST(Limits, HundredThousandLines) {
  std::string text = "@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    i = wp.tid()\n";
  text += repeat("    x[i] = x[i] * 2.0 + wp.sin(x[i + 1], y=3) if i < n else -x[i] ** 2\n", 100000);
  Parsed parsed = parse_clean(text);
  EXPECT_EQ(parsed.stmt().as<FunctionDef>().body.size(), 100001u);
  EXPECT_EQ(parse_clean(repeat("def f(a):\n  return a\n\n", 50000)).tree->body.size(), 50000u);
}

TEST(Limits, LongLiterals) {
  EXPECT_EQ(errors("x = " + std::string(1000000, '9')), "");
  EXPECT_EQ(errors("x = 0." + std::string(1000000, '1')), "");
  EXPECT_EQ(errors("x = '" + std::string(1000000, 'a') + "'"), "");
  EXPECT_EQ(errors(std::string(1000000, 'a')), "");
  EXPECT_EQ(errors(std::string(1000000, '#')), "");
  EXPECT_EQ(errors(std::string(1000000, ' ') + "a"), "");
}

TEST(Limits, AnyBytes) {
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += char(state >> 56);
    }
    Parsed parsed = parse_text(text);
    print(*parsed.tree);
    parsed.sink.render_all();
  }
}

}  // namespace
}  // namespace weft::syntax::testing
