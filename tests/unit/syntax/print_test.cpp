// The printed tree, and expressions back to source: minimal parentheses, and parsing the text gives the same tree.
#include "syntax/print.h"

#include <gtest/gtest.h>

#include "helpers.h"
#include "syntax/parser.h"

namespace weft::syntax::testing {
namespace {

std::string source_of(const std::string& text) {
  Tree tree;
  tree.source = std::make_shared<SourceFile>("test.py", text);
  DiagnosticSink sink;
  const Expr* expr = parse_expression(tree, sink);
  return expr ? to_source(*expr) : sink.render_all();
}

TEST(ToSource, RoundTripsAndIsMinimal) {
  // Texts in the form that to_source gives them.
  for (const char* text : {"a",
                           "a + b * c",
                           "(a + b) * c",
                           "a - b - c",
                           "a - (b - c)",
                           "a * (b / c)",
                           "-x ** 2",
                           "(-x) ** 2",
                           "2 ** -x",
                           "a ** b ** c",
                           "(a ** b) ** c",
                           "--x",
                           "~+x",
                           "not a == b",
                           "not (a and b)",
                           "(not a) == b",
                           "a and b or c",
                           "a and (b or c)",
                           "a and (b and c)",
                           "(a and b) and c",
                           "(a or b) or c",
                           "a < b <= c",
                           "(a < b) < c",
                           "a < (b < c)",
                           "a | b ^ c & d << e + f * g",
                           "(a | b) & c",
                           "a if b else c",
                           "a if b else c if d else e",
                           "(a if b else c) if d else e",
                           "a if (b if c else d) else e",
                           "(a if b else c) + d",
                           "f(a, *b, c=d, **e)",
                           "f()",
                           "f((a, b))",
                           "f(*(a or b))",
                           "a.b.c[d](e)",
                           "(a + b).c",
                           "(-a)[b]",
                           "(1).real",
                           "(1.5).real",
                           "a[i, j]",
                           "a[()]",
                           "a[(i, j),]",
                           "a[(i, j), k]",
                           "a[:]",
                           "a[1:]",
                           "a[:2]",
                           "a[::3]",
                           "a[1:2:3, ...]",
                           "a[*b]",
                           "()",
                           "(a,)",
                           "(a, b)",
                           "(a, *b)",
                           "[]",
                           "[a, *b]",
                           "[(a, b), [c]]",
                           "True",
                           "None",
                           "...",
                           "1.0",
                           "0.1",
                           "1e+22",
                           "1e-07",
                           "1e999",
                           "123456789012345678901234567890",
                           "18446744073709551615",
                           "\"\"",
                           "\"a\\\"b\\\\c\"",
                           "\"\\n\\t\\r\\x00\\x7f\"",
                           "\"\xC3\xA9\"",
                           "\"\\ud800\"",
                           "a @ b",
                           "a // b % c",
                           "a << (b << c)",
                           "a is not b",
                           "a not in (b, c)",
                           "f'{x}'",
                           "b'x'",
                           "1j",
                           "{a: b}",
                           "[x for x in y]",
                           "(lambda: 0)",
                           "(x := 1)",
                           "(lambda: 0) + 1",
                           "f(x=(lambda: 0))",
                           "a[(x := 1)]",
                           "(yield)",
                           "(await x) ** 2"}) {
    EXPECT_EQ(source_of(text), text);
    EXPECT_EQ(shape(source_of(text)), shape(text)) << text;
  }
}

TEST(ToSource, Normalises) {
  EXPECT_EQ(source_of("((a))+(b)"), "a + b");
  EXPECT_EQ(source_of("a,b"), "(a, b)");
  EXPECT_EQ(source_of("'it' \"'s\""), "\"it's\"");
  EXPECT_EQ(source_of("0xff"), "255");
  EXPECT_EQ(source_of("1_0.50"), "10.5");
  EXPECT_EQ(source_of("100000000000000000000.0"), "1e+20");
  EXPECT_EQ(source_of("0x1_0000_0000_0000_0000"), "0x1_0000_0000_0000_0000");
  EXPECT_EQ(source_of("f(x for x in y)"), "f((x for x in y))");
  EXPECT_EQ(source_of("(f'a'\n  f'b')"), "(f'a'\n  f'b')");
  EXPECT_EQ(source_of("a[b,]"), "a[b]");
}

TEST(Print, OneNodePerLine) {
  Parsed parsed = parse_clean(
      "import warp as wp\n"
      "@wp.kernel\n"
      "def k(x: wp.array(dtype=float), /, *a, n: int = -1, **kw) -> None:\n"
      "  i, j = wp.tid()\n"
      "  y: float = x[i, 1:] if i < n <= 3 else 1.5\n"
      "  if y and not True:\n"
      "    x.a += 'q\"'\n"
      "  elif f'':\n"
      "    pass\n"
      "  for _ in [*a]:\n"
      "    continue\n"
      "  else: assert ..., None\n"
      "  while 1: break\n"
      "  return\n"
      "class S(B):\n"
      "  with x: y\n");
  EXPECT_EQ(print(*parsed.tree),
            "Import warp as wp 1:1\n"
            "FunctionDef k 3:1\n"
            "  decorator: Attribute kernel 2:2\n"
            "    Name wp 2:2\n"
            "  Param x 3:7\n"
            "    annotation: Call 3:10\n"
            "      callee: Attribute array 3:10\n"
            "        Name wp 3:10\n"
            "      keyword dtype: Name float 3:25\n"
            "  StarParam a 3:37\n"
            "  KeywordOnlyParam n 3:40\n"
            "    annotation: Name int 3:43\n"
            "    default: Unary - 3:49\n"
            "      Int 1 3:50\n"
            "  StarStarParam kw 3:55\n"
            "  returns: None 3:62\n"
            "  body: Assign 4:3\n"
            "    target: Tuple 4:3\n"
            "      Name i 4:3\n"
            "      Name j 4:6\n"
            "    value: Call 4:10\n"
            "      callee: Attribute tid 4:10\n"
            "        Name wp 4:10\n"
            "  body: AnnotatedAssign 5:3\n"
            "    target: Name y 5:3\n"
            "    annotation: Name float 5:6\n"
            "    value: Ternary 5:14\n"
            "      condition: Compare <, <= 5:26\n"
            "        Name i 5:26\n"
            "        Name n 5:30\n"
            "        Int 3 5:35\n"
            "      then: Subscript 5:14\n"
            "        object: Name x 5:14\n"
            "        index: Name i 5:16\n"
            "        index: Slice 5:19\n"
            "          lower: Int 1 5:19\n"
            "      else: Float 1.5 5:42\n"
            "  body: If 6:3\n"
            "    condition: Logical and 6:6\n"
            "      Name y 6:6\n"
            "      Unary not 6:12\n"
            "        Bool True 6:16\n"
            "    then: AugmentedAssign += 7:5\n"
            "      target: Attribute a 7:5\n"
            "        Name x 7:5\n"
            "      value: String \"q\\\"\" 7:12\n"
            "    else: If 8:3\n"
            "      condition: Unsupported \"f-string\" 8:8\n"
            "      then: Pass 9:5\n"
            "  body: For 10:3\n"
            "    target: Name _ 10:7\n"
            "    in: List 10:12\n"
            "      Starred 10:13\n"
            "        Name a 10:14\n"
            "    body: Continue 11:5\n"
            "    else: Assert 12:9\n"
            "      condition: Ellipsis 12:16\n"
            "      message: None 12:21\n"
            "  body: While 13:3\n"
            "    condition: Int 1 13:9\n"
            "    body: Break 13:12\n"
            "  body: Return 14:3\n"
            "ClassDef S 15:1\n"
            "  base: Name B 15:9\n"
            "  body: UnsupportedStmt \"with\" 16:3\n");
}

}  // namespace
}  // namespace weft::syntax::testing
