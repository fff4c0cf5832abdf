// Syntax errors: code, line, column and words of each, the cure it offers, and that parsing goes on after it.
#include <gtest/gtest.h>

#include "helpers.h"

namespace weft::syntax::testing {
namespace {

TEST(SyntaxError, Table) {
  struct {
    const char* text;
    const char* where;
    const char* message;
  } cases[] = {
      {"x = ", "1:4", "expected an expression, found the end of the line"},
      {"x = 1 2", "1:7", "expected the end of the statement, found number '2'"},
      {"x y", "1:3", "expected the end of the statement, found name 'y'"},
      {"a b = 1", "1:3", "expected the end of the statement, found name 'b'"},
      {"print x", "1:7", "expected the end of the statement, found name 'x' | call it: print(…)"},
      {"x := 1", "1:3", "expected the end of the statement, found ':=' | assign with '='"},
      {"if x = 3: pass", "1:6", "expected ':' after the 'if' header, found '=' | did you mean '=='?"},
      {"while x = 3:\n  pass", "1:9", "expected ':' after the 'while' header, found '=' | did you mean '=='?"},
      {"if x\n  y", "1:5",
       "expected ':' after the 'if' header, found the end of the line | add ':' at the end of the line"},
      {"if x:\n  y\nelse if z:\n  w", "3:6", "expected ':' after the 'else' header, found keyword 'if' | write 'elif'"},
      {"else:\n  x", "1:1",
       "'else' without a matching 'if', 'for', 'while' or 'try' | "
       "check that it is indented like the statement it belongs to"},
      {"elif x:\n  y", "1:1",
       "'elif' without a matching 'if' | check that it is indented like the statement it belongs to"},
      {"for i range(3): pass", "1:7", "expected 'in' after the loop variable, found name 'range'"},
      {"for 1 in x: pass", "1:5", "can't loop over a literal"},
      {"for f() in x: pass", "1:5", "can't loop over a function call"},
      {"x = (1, 2", "1:10", "expected ')', found the end of the line | '(' is never closed"},
      {"x = (1, 2]", "1:10", "closing ']' does not match '(' | '(' is never closed"},
      {"x = [(1, 2]", "1:11", "closing ']' does not match '(' | '(' is never closed"},
      {"x = (1 2)", "1:8", "expected ',' or ')', found number '2' | '(' is opened here"},
      {"x = 1)", "1:6", "unmatched ')' | nothing opens this bracket"},
      {"]", "1:1", "unmatched ']' | nothing opens this bracket"},
      {"x = (1 + )", "1:10", "expected an expression, found ')'"},
      {"f(a = )", "1:7", "expected an expression, found ')'"},
      {"f(a == b, c = d = e)", "1:17", "expected ',' or ')', found '=' | did you mean '=='? | '(' is opened here"},
      {"x = a && b", "1:8", "expected an expression, found '&' | write 'and' for '&&'"},
      {"x = a || b", "1:8", "expected an expression, found '|' | write 'or' for '||'"},
      {"x = a <> b", "1:8", "expected an expression, found '>' | write '!=' for '<>'"},
      {"x++", "1:4", "expected an expression, found the end of the line | there is no '++': write '+= 1'"},
      {"x--\n", "1:4", "expected an expression, found the end of the line | there is no '--': write '-= 1'"},
      {"1 = x", "1:1", "can't assign to a literal | did you mean '=='?"},
      {"f() = 2", "1:1", "can't assign to a function call | did you mean '=='?"},
      {"a + b = c", "1:1", "can't assign to an operation | did you mean '=='?"},
      {"a < b = c", "1:1", "can't assign to a comparison | did you mean '=='?"},
      {"None = 1", "1:1", "can't assign to None | did you mean '=='?"},
      {"True = 1", "1:1", "can't assign to True | did you mean '=='?"},
      {"... = 1", "1:1", "can't assign to '...' | did you mean '=='?"},
      {"a if b else c = 1", "1:1", "can't assign to a conditional expression | did you mean '=='?"},
      {"a, 1 = b", "1:4", "can't assign to a literal | did you mean '=='?"},
      {"[a, (b, f())] = c", "1:9", "can't assign to a function call | did you mean '=='?"},
      {"x = 1 = y", "1:5", "can't assign to a literal | did you mean '=='?"},
      {"[x for x in y] = z", "1:1", "can't assign to list comprehension"},
      {"*a = b", "1:1", "a starred target must stand in a tuple or list | write '*x, = …'"},
      {"*a, *b = c", "1:5", "a second starred target | only one can take the rest"},
      {"a, b += c", "1:1", "a tuple can't be the target of '+=' | it must be a name, an attribute or a subscript"},
      {"f() += c", "1:1",
       "a function call can't be the target of '+=' | it must be a name, an attribute or a subscript"},
      {"a, b: int = c", "1:1", "a tuple can't be an annotated target | it must be a name, an attribute or a subscript"},
      {"1: int", "1:1", "a literal can't be an annotated target | it must be a name, an attribute or a subscript"},
      {"a += b = c", "1:8", "expected the end of the statement, found '='"},
      {"class = 1", "1:7", "expected the class's name, found '='"},
      {"in = 1", "1:1", "expected a statement, found keyword 'in' | a keyword can't be used as a name; choose another"},
      {"x.if", "1:3",
       "expected an attribute name after '.', found keyword 'if' | "
       "a keyword can't be used as a name; choose another"},
      {"x = 1; if y: z", "1:8", "'if' must begin on a line of its own"},
      {"if x: if y: z", "1:7", "'if' must begin on a line of its own"},
      {"def f:\n  x", "1:6", "expected '(' after the function's name, found ':'"},
      {"def (x):\n  y", "1:5", "expected the function's name, found '('"},
      {"def f(x\n  y = 1\n", "2:3", "expected ',' or ')', found name 'y' | '(' is never closed"},
      {"def f(a=1, b): pass", "1:12",
       "parameter 'b' without default value follows one with a default value | "
       "give it a default value, or move it to the front"},
      {"def f(a, a): pass", "1:10", "parameter 'a' appears twice"},
      {"def f(*): pass", "1:7", "a named parameter must follow '*'"},
      {"def f(*, **k): pass", "1:7", "a named parameter must follow '*'"},
      {"def f(*a, *b): pass", "1:11", "'*' may appear only once"},
      {"def f(/, a): pass", "1:7", "at least one parameter must stand before '/'"},
      {"def f(a, /, b, /): pass", "1:16", "'/' may appear only once"},
      {"def f(*a, /): pass", "1:11", "'/' must stand before '*'"},
      {"def f(**k, a): pass", "1:12", "nothing may follow the parameter with '**'"},
      {"def f(*a=1): pass", "1:9", "a parameter with '*' can't have a default value"},
      {"def f(1): pass", "1:7", "expected a parameter name, found number '1'"},
      {"def f() -> : pass", "1:12", "expected an expression, found ':'"},
      {"lambda x 1", "1:10", "expected ',' or ':' in the lambda, found number '1'"},
      {"@d\nx = 1", "2:1", "expected a function or class after the decorator, found name 'x'"},
      {"@d e\ndef f(): pass", "1:4", "expected the end of the line after the decorator, found name 'e'"},
      {"import 1", "1:8", "expected a module name, found number '1'"},
      {"import a.", "1:10", "expected a module name after '.', found the end of the line"},
      {"from a import", "1:14", "expected a name to import, found the end of the line"},
      {"from import x", "1:6",
       "expected a module name, found keyword 'import' | "
       "a keyword can't be used as a name; choose another"},
      {"from a import (b c)", "1:18", "expected ',' or ')', found name 'c' | '(' is opened here"},
      {"assert", "1:7", "expected an expression, found the end of the line"},
      {"return = 1", "1:8", "expected an expression, found '=' | did you mean '=='?"},
      {"try:\n  x\ny", "3:1", "expected 'except' or 'finally' after the 'try' block, found name 'y'"},
      {"try\n  x\nexcept: y", "1:4",
       "expected ':' after the 'try' header, found the end of the line | "
       "add ':' at the end of the line"},
      {"async x", "1:7", "expected 'def', 'for' or 'with' after 'async', found name 'x'"},
      {"f(x):\n  y", "1:5",
       "unexpected ':' at the end of the statement | only 'if', 'for', 'def' and the like open a block"},
      {"{1: 2, 3}", "1:9", "expected ':' between key and value, found '}'"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(errors(c.text), std::string("syntax_error ") + c.where) << c.text;
    EXPECT_EQ(first_error(c.text), c.message) << c.text;
  }
}

TEST(SyntaxError, UnclosedBracketNotesItsOpening) {
  Parsed parsed = parse_text("a = 1\nx = f(a,\n      b\ny = 2 2\n");
  ASSERT_EQ(parsed.sink.all().size(), 2u);
  const Diagnostic& d = parsed.sink.all()[0];
  EXPECT_EQ(d.loc.line, 3u);
  EXPECT_EQ(d.loc.col, 8u);
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_EQ(d.notes[0].loc.line, 2u);
  EXPECT_EQ(d.notes[0].loc.col, 6u);
  EXPECT_EQ(parsed.sink.all()[1].loc.line, 4u);
}

TEST(Recovery, OneRunTellsAll) {
  EXPECT_EQ(
      errors("x = = 1\ny = 2\nz = 3 3\nif a = b:\n  c d\nelse:\n  e f\ng h\n"),
      "syntax_error 1:5; syntax_error 3:7; syntax_error 4:6; syntax_error 5:5; syntax_error 7:5; syntax_error 8:3");
  EXPECT_EQ(errors("a b; c d; e\n"), "syntax_error 1:3; syntax_error 1:8");
  EXPECT_EQ(errors("def f(a a):\n  b b\n\ndef g():\n  c c\n"), "syntax_error 1:9; syntax_error 2:5; syntax_error 5:5");
  EXPECT_EQ(errors("class C(:\n  a: int int\n"), "syntax_error 1:9; syntax_error 2:10");
}

TEST(Recovery, GoodStatementsSurvive) {
  Parsed parsed =
      parse_text("a = 1\nb = = 2\nc = 3; d = = 4; e = 5\ndef f():\n  g = 6\n  h h\n  i = 7\nwhile x y:\n  j\nk = 8\n");
  ASSERT_EQ(parsed.tree->body.size(), 5u);
  EXPECT_EQ(parsed.stmt(3).as<FunctionDef>().body.size(), 2u);
  EXPECT_EQ(parsed.sink.error_count(), 4u);
}

TEST(Recovery, UnclosedBracketsStopAtStatements) {
  EXPECT_EQ(errors("x = (1,\n\ndef f():\n  return [2\n\ny = 3 3\n"),
            "syntax_error 1:8; syntax_error 4:12; syntax_error 6:7");
  EXPECT_EQ(errors("x = foo(a, b\ny = 3\nz = 4 4\n"), "syntax_error 1:13; syntax_error 3:7");
  EXPECT_EQ(errors("if f(a:\n  x x\ny y\n"), "syntax_error 1:7; syntax_error 2:5; syntax_error 3:3");
  EXPECT_EQ(errors("f(\n  a b,\n  c\n)\nd d\n"), "syntax_error 2:5; syntax_error 5:3");
}

TEST(Recovery, UnexpectedIndentationKeepsTheStatements) {
  Parsed parsed = parse_text("a = 1\n    b = 2\n    c c\nd = 3\n");
  EXPECT_EQ(parsed.tree->body.size(), 3u);
  EXPECT_EQ(parsed.sink.error_count(), 2u);
}

TEST(Recovery, FailedHeadersTakeTheirClausesAlong) {
  EXPECT_EQ(errors("if a b:\n  c\nelif d:\n  e\nelse:\n  f\ng\n"), "syntax_error 1:6");
  EXPECT_EQ(errors("for i on x:\n  c\nelse:\n  f\ng\n"), "syntax_error 1:7");
  EXPECT_EQ(errors("fi x:\n  y\nz\n"), "syntax_error 1:4");
}

TEST(Recovery, LongNamesAreCutInMessages) {
  std::string message = first_error("x " + std::string(100000, 'y'));
  EXPECT_LT(message.size(), 200u);
}

}  // namespace
}  // namespace weft::syntax::testing
