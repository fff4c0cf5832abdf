// Tokens: every operator, numbers and strings with their values, line joining, line ends, indentation, foreign bytes.
#include "syntax/lexer.h"

#include <gtest/gtest.h>

#include <limits>

#include "helpers.h"
#include "syntax/literal.h"
#include "syntax/print.h"

namespace weft::syntax::testing {
namespace {

// Spellings of all tokens but the final newline and end.
std::string tokens(const std::string& text) {
  SourceFile source("test.py", text);
  DiagnosticSink sink;
  std::string out;
  for (const Token& token : tokenize(source, sink)) {
    if (!out.empty()) out += ' ';
    bool literal = token.kind >= TokenKind::name && token.kind <= TokenKind::format_string;
    out += literal ? source.text().substr(token.offset, token.length) : spelling(token.kind);
  }
  if (sink.has_errors()) out += " !" + std::to_string(sink.error_count());
  return out;
}

const Expr& value_of(const Parsed& parsed) { return *parsed.stmt().as<ExprStmt>().value; }

std::string string_value(const std::string& text) {
  Parsed parsed = parse_clean(text);
  return std::string(value_of(parsed).as<StringLiteral>().value);
}

TEST(Lexer, KnowsAllPunctuationAndKeywords) {
#define X(id, text) EXPECT_EQ(tokens(text).substr(0, std::string_view(text).size()), text);
  WEFT_SYNTAX_PUNCTUATION(X)
  WEFT_SYNTAX_KEYWORDS(X)
#undef X
  EXPECT_EQ(tokens("a**=b//=c>>=d<<=e@=f->g:=h!=i<=j>=k==l"),
            "a **= b //= c >>= d <<= e @= f -> g := h != i <= j >= k == l <newline> <end>");
  EXPECT_EQ(tokens("a...b..c.d"), "a ... b . . c . d <newline> <end>");
  EXPECT_EQ(tokens("iff if_ If match type case"), "iff if_ If match type case <newline> <end>");
}

TEST(Lexer, PlacesAreExact) {
  DiagnosticSink sink;
  SourceFile source("k.py", "x = f(a,\r\n      'b')  # end\r\n\tif y:\n", 10);
  EXPECT_EQ(print_tokens(source, sink),
            "10:1 name x\n10:3 operator =\n10:5 name f\n10:6 operator (\n10:7 name a\n10:8 operator ,\n"
            "11:7 string 'b'\n11:10 operator )\n11:11 newline\n12:2 indent\n12:2 keyword if\n12:5 name y\n"
            "12:6 operator :\n12:7 newline\n13:1 dedent\n13:1 end\n");
  EXPECT_FALSE(sink.has_errors());
}

TEST(Lexer, EmptyTexts) {
  for (const char* text : {"", "\n", "\r\n\r\n", "# only a comment", "   \n\t\n", "\xEF\xBB\xBF", "\f\n"}) {
    EXPECT_EQ(tokens(text), "<end>") << text;
    EXPECT_TRUE(parse_clean(text).tree->body.empty());
  }
}

TEST(Lexer, AllLineEndsCountAlike) {
  for (const char* end : {"\n", "\r", "\r\n"}) {
    Parsed parsed = parse_clean(std::string("a") + end + "if b:" + end + "  c" + end + end + "d");
    ASSERT_EQ(parsed.tree->body.size(), 3u);
    EXPECT_EQ(parsed.stmt(1).as<IfStmt>().then_body[0]->loc.line, 3u);
    EXPECT_EQ(parsed.stmt(2).loc.line, 5u);
  }
}

TEST(Lexer, ByteOrderMarkAndFormFeed) {
  Parsed parsed = parse_clean("\xEF\xBB\xBFx = 1\n\f\ny = 2\n  \fz = 3\n");
  EXPECT_EQ(parsed.tree->body.size(), 3u);
  EXPECT_EQ(parsed.stmt(0).loc.col, 4u);  // columns count bytes
}

TEST(Lexer, LineJoining) {
  EXPECT_EQ(tokens("a + \\\n  b"), "a + b <newline> <end>");
  EXPECT_EQ(tokens("f(\na,\n\n# note\n  b)\nc"), "f ( a , b ) <newline> c <newline> <end>");
  EXPECT_EQ(tokens("{[(\n)\n]\n}"), "{ [ ( ) ] } <newline> <end>");
  EXPECT_EQ(tokens("if a: \\\n\n  b"), "if a : <newline> <indent> b <newline> <dedent> <end>");
  EXPECT_EQ(errors("x = 1 \\ \ny = 2"), "bad_token 1:7; syntax_error 2:1");
  EXPECT_EQ(
      first_error("x = \\y"),
      "unexpected character after the backslash that continues a line | the backslash must be the last on its line");
  EXPECT_EQ(errors("x = 1 \\"), "bad_token 1:7");
  EXPECT_EQ(errors("x = 1 \\\n"), "bad_token 1:7");
}

TEST(Lexer, Integers) {
  struct {
    const char* text;
    std::uint64_t value;
    bool too_large;
  } cases[] = {
      {"0", 0, false},
      {"00_0", 0, false},
      {"42", 42, false},
      {"1_000_000", 1000000, false},
      {"0xFf", 255, false},
      {"0X_ff", 255, false},
      {"0o17", 15, false},
      {"0O7", 7, false},
      {"0b1_01", 5, false},
      {"18446744073709551615", std::numeric_limits<std::uint64_t>::max(), false},
      {"0xFFFFFFFFFFFFFFFF", std::numeric_limits<std::uint64_t>::max(), false},
      {"18446744073709551616", 0, true},
      {"0x10000000000000000", 0, true},
      {"99999999999999999999999999", 0, true},
  };
  for (const auto& c : cases) {
    Parsed parsed = parse_clean(c.text);
    const auto& literal = value_of(parsed).as<IntLiteral>();
    EXPECT_EQ(literal.value, c.value) << c.text;
    EXPECT_EQ(literal.too_large, c.too_large) << c.text;
  }
}

TEST(Lexer, FloatsRoundCorrectly) {
  struct {
    const char* text;
    double value;
  } cases[] = {
      {"1.", 1.0},
      {".5", 0.5},
      {"0.1", 0.1},
      {"1e3", 1000.0},
      {"1E+3", 1000.0},
      {"1_0.2_5e-1_0", 10.25e-10},
      {"010.5", 10.5},
      {"00e1", 0.0},
      {"1.7976931348623157e308", std::numeric_limits<double>::max()},
      {"4.9406564584124654e-324", std::numeric_limits<double>::denorm_min()},
      {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
      {"9007199254740993.0", 9007199254740992.0},
      {"1e309", std::numeric_limits<double>::infinity()},
      {"1e99999999999999999999", std::numeric_limits<double>::infinity()},
      {"1e-99999999999999999999", 0.0},
      {"0e99999999999999999999", 0.0},
      {"0.00001e-400", 0.0},
      {"3.14159265358979", 3.14159265358979},
  };
  for (const auto& c : cases) {
    Parsed parsed = parse_clean(c.text);
    EXPECT_EQ(value_of(parsed).as<FloatLiteral>().value, c.value) << c.text;
  }
  EXPECT_EQ(float_value(std::string(400, '1') + "e-400"), 0x1.c71c71c71c71cp-4);
}

TEST(Lexer, NumbersBesideOtherThings) {
  EXPECT_EQ(tokens("1if x else 2"), "1 if x else 2 <newline> <end>");
  EXPECT_EQ(tokens("0x1for x"), "0x1f or x <newline> <end>");
  EXPECT_EQ(tokens("1..real"), "1. . real <newline> <end>");
  EXPECT_EQ(tokens("1e5.real"), "1e5 . real <newline> <end>");
  EXPECT_EQ(tokens("1else"), "1 else <newline> <end>");
  EXPECT_EQ(shape("1j"), "<complex literal>");
  EXPECT_EQ(shape("0_1.5e3J"), "<complex literal>");
}

TEST(Lexer, MalformedNumbers) {
  for (const char* text : {"012", "1__0", "1_", "0x", "0xg", "0b2", "0o8", "0b12", "1abc", "1.5f", "1_.5", "1._5",
                           "1e5_", "1e5x", "0x_", "0x1_", "1.real", "5L"}) {
    EXPECT_EQ(errors(std::string("x = ") + text), "bad_literal 1:5") << text;
  }
  EXPECT_EQ(first_error("012"),
            "a decimal number may not begin with 0 | drop the zeros, or write 0o for an octal number");
  EXPECT_EQ(first_error("1.5f"),
            "malformed number | numbers have no type suffix: convert, as in float(…) or wp.int64(…)");
}

TEST(Lexer, Strings) {
  EXPECT_EQ(string_value("'a\"b'"), "a\"b");
  EXPECT_EQ(string_value("\"it's\""), "it's");
  EXPECT_EQ(string_value("''"), "");
  EXPECT_EQ(string_value("''''''"), "");
  EXPECT_EQ(string_value("'''a'b''c'''"), "a'b''c");
  EXPECT_EQ(string_value("\"\"\"one\r\ntwo\rthree\n\"\"\""), "one\ntwo\nthree\n");
  EXPECT_EQ(string_value("'a' \"b\" r'\\c'"), "ab\\c");
  EXPECT_EQ(string_value("('a'\n 'b')"), "ab");
  EXPECT_EQ(string_value("u'x' U'y' R'z'"), "xyz");
  EXPECT_EQ(string_value("r'\\''"), "\\'");
  EXPECT_EQ(string_value("'\xC3\xA9\xE2\x82\xAC'"), "\xC3\xA9\xE2\x82\xAC");
}

TEST(Lexer, StringEscapes) {
  EXPECT_EQ(string_value(R"('\a\b\f\n\r\t\v\\\'\"')"), "\a\b\f\n\r\t\v\\'\"");
  EXPECT_EQ(string_value(R"('\x41\u00e9\U0001F600')"), "A\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(string_value(R"('\0\12\1012\777')"), std::string("\0\nA2\xC7\xBF", 6));
  EXPECT_EQ(string_value(R"('\xff')"), "\xC3\xBF");
  EXPECT_EQ(string_value(R"('\q\ ')"), "\\q\\ ");
  EXPECT_EQ(string_value("'a\\\nb\\\r\nc'"), "abc");
  EXPECT_EQ(shape(R"('\N{BULLET}')"), "<named unicode escape>");
  EXPECT_EQ(errors(R"(x = 'ab\x4')"), "bad_literal 1:8");
  EXPECT_EQ(errors(R"(x = '\u12')"), "bad_literal 1:6");
  EXPECT_EQ(errors(R"(x = '\U00110000')"), "bad_literal 1:6");
  EXPECT_EQ(errors("x = '''a\r\nb \\xg'''"), "bad_literal 2:3");
}

TEST(Lexer, UnclosedStrings) {
  EXPECT_EQ(errors("x = 'abc\ny = 1 1"), "bad_token 1:5; syntax_error 2:7");
  EXPECT_EQ(errors("x = '''abc\ny = 1 1"), "bad_token 1:5");
  EXPECT_EQ(errors("x = \"abc\\"), "bad_token 1:5");
  EXPECT_EQ(
      first_error("x = 'abc"),
      "this string is not closed on its line | add the closing quote; a string over several lines needs three quotes");
}

TEST(Lexer, FormatStringsAreSkippedWhole) {
  for (const char* text : {"f'a'", "F\"{x}\"", "rf'{x!r:>{width}}'", "fR'\\{x}'", "f'{{}}'", "f'{x[\"a\"]}'",
                           "f'{x['a']}'", "f'{f'{f'{1}'}'}'", "f\"{'}'}\"", "f'''{\nx # '\n}'''", "f'{x:%H:%M}'",
                           "f'{x!=y}'", "f'{ {1: 2}[1] }'", "f'\\N{BULLET} {x}'", "f'{x:{'>'}{10}}'"}) {
    EXPECT_EQ(shape(text), "<f-string>") << text;
  }
  EXPECT_EQ(shape("'a' f'{x}' 'b'"), "<f-string>");
  EXPECT_EQ(shape("f('x', f'{y}', \"z\")"), "(call f \"x\" <f-string> \"z\")");
  EXPECT_EQ(errors("x = f'{a'\ny = 1 1"), "bad_token 1:5; syntax_error 2:7");
  EXPECT_EQ(errors("x = f'''{a'''\ny = 1 1"), "bad_token 1:5; syntax_error 2:7");
  EXPECT_EQ(errors("x = f'{a)}'"), "bad_token 1:5");
}

TEST(Lexer, BytesAreUnsupported) {
  EXPECT_EQ(shape("b'abc' Rb'd' bR'e'"), "<bytes literal>");
  EXPECT_EQ(errors("x = b'a' 'b'"), "syntax_error 1:10");
  EXPECT_EQ(tokens("bu'x'"), "bu 'x' <newline> <end>");
}

TEST(Lexer, Names) {
  EXPECT_EQ(tokens("\xCF\x80 _a1 __init__ \xE5\x90\x8D\xE5\x89\x8D"),
            "\xCF\x80 _a1 __init__ \xE5\x90\x8D\xE5\x89\x8D <newline> <end>");
  EXPECT_EQ(errors("x = a \xE2\x80\x93 b"), "bad_token 1:7");
  EXPECT_EQ(first_error("x = a \xE2\x80\x93 b"), "invalid character U+2013 | write - instead");
  EXPECT_EQ(first_error("x =\xC2\xA0y"), "invalid character U+00A0 | replace it by a space");
  EXPECT_EQ(first_error("x = \xE2\x80\x9Chi\xE2\x80\x9D"), "invalid character U+201C | write \" instead");
}

TEST(Lexer, BadCharacters) {
  EXPECT_EQ(first_error("a = !b"), "invalid character '!' | write 'not' for negation and '!=' for inequality");
  EXPECT_EQ(first_error("a = b ? c : d"),
            "invalid character '?' | a conditional expression is written 'a if condition else b'");
  EXPECT_EQ(errors("a = $b\nc = 1 1"), "bad_token 1:5; syntax_error 2:7");
  EXPECT_EQ(errors("a = \xFF\xFE\n"), "bad_token 1:5");
  EXPECT_EQ(errors(std::string("a\0\0b", 4)), "bad_token 1:2");
  EXPECT_EQ(errors(std::string("a = 'x\0y'", 9)), "bad_literal 1:5");
  EXPECT_EQ(errors("a = 'x\xFFy'"), "bad_literal 1:5");
  EXPECT_EQ(errors("# \xFF comments hold anything"), "");
}

TEST(Layout, BlocksAndDedents) {
  EXPECT_EQ(tokens("if a:\n  b\n  if c:\n     d\ne"),
            "if a : <newline> <indent> b <newline> if c : <newline> <indent> d <newline> "
            "<dedent> <dedent> e <newline> <end>");
  EXPECT_EQ(tokens("if a:\n  b\n# outer comment\n\n  c\n"),
            "if a : <newline> <indent> b <newline> c <newline> <dedent> <end>");
}

TEST(Layout, CommonIndentationIsAccepted) {
  Parsed parsed = parse_clean("    @wp.kernel\n    def k():\n        x = 1\n\n# left\n    y = 2\n");
  ASSERT_EQ(parsed.tree->body.size(), 2u);
  EXPECT_EQ(parsed.stmt(0).loc.col, 5u);
  EXPECT_EQ(parsed.stmt(0).as<FunctionDef>().body[0]->loc.col, 9u);
  EXPECT_EQ(errors("    x = 1\n  y = 2\n  z = 3"), "bad_indentation 2:3");
}

TEST(Layout, TabsReachToMultiplesOfEight) {
  EXPECT_EQ(errors("if a:\n\tb\n\tc\n"), "");
  EXPECT_EQ(errors("if a:\n  if b:\n  \tc\n  \td\n"), "");
  EXPECT_EQ(errors("if a:\n        b\n\tc\n"), "bad_indentation 3:2");
  EXPECT_EQ(first_error("if a:\n        b\n\tc\n"),
            "tabs and spaces are mixed in the indentation | indent with spaces only");
}

TEST(Layout, WrongIndentationIsToldOnce) {
  EXPECT_EQ(errors("if a:\n    b\n  c\n  d\ne\n"), "bad_indentation 3:3");
  EXPECT_EQ(errors("a\n    b\n    c\nd\n"), "bad_indentation 2:5");
  EXPECT_EQ(errors("if a:\nb\n"), "bad_indentation 2:1");
  EXPECT_EQ(errors("if a:\n"), "bad_indentation 2:1");
  EXPECT_EQ(errors("def f():\n# nothing\nx = 1\n"), "bad_indentation 3:1");
  EXPECT_EQ(first_error("while a:\nb\n"),
            "expected an indented block after the 'while' header on line 1 | "
            "indent the body, or write 'pass' for an empty one");
}

}  // namespace
}  // namespace weft::syntax::testing
