// Statements: every kind, suites on one line, definitions with all parameter forms, and what is skipped by name.
#include <gtest/gtest.h>

#include "helpers.h"

namespace weft::syntax::testing {
namespace {

std::string construct(const std::string& text) {
  Parsed parsed = parse_clean(text + "\nafter\n");
  EXPECT_EQ(parsed.tree->body.size(), 2u) << text;
  if (parsed.tree->body.size() != 2) return {};
  const auto* statement = parsed.stmt().as_if<UnsupportedStmt>();
  return statement ? std::string(statement->construct) : "?";
}

TEST(Stmt, Assignments) {
  Parsed parsed = parse_clean("a = b = c, d = 1\n(x.y), [z[0], *w] = v\nq = yield\n");
  const auto& chain = parsed.stmt(0).as<AssignStmt>();
  ASSERT_EQ(chain.targets.size(), 3u);
  EXPECT_EQ(shape(*chain.targets[2]), "(tuple c d)");
  EXPECT_EQ(shape(*chain.value), "1");
  EXPECT_EQ(shape(*parsed.stmt(1).as<AssignStmt>().targets[0]), "(tuple (. x y) (list ([] z 0) (* w)))");
  EXPECT_EQ(shape(*parsed.stmt(2).as<AssignStmt>().value), "<yield>");
}

TEST(Stmt, AugmentedAssignments) {
  const char* ops[] = {"+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"};
  for (const char* op : ops) {
    Parsed parsed = parse_clean(std::string("a[i].b ") + op + "= c, d");
    const auto& statement = parsed.stmt().as<AugmentedAssignStmt>();
    EXPECT_EQ(text_of(statement.op), op);
    EXPECT_EQ(shape(*statement.target), "(. ([] a i) b)");
    EXPECT_EQ(shape(*statement.value), "(tuple c d)");
  }
}

TEST(Stmt, AnnotatedAssignments) {
  Parsed parsed = parse_clean("x: wp.vec3\ny: 'float' = 1.0\n(z): int = 2\na.b: c\nd[0]: e = *f, g\n");
  EXPECT_EQ(parsed.stmt(0).as<AnnotatedAssignStmt>().value, nullptr);
  EXPECT_EQ(shape(*parsed.stmt(1).as<AnnotatedAssignStmt>().annotation), "\"float\"");
  EXPECT_EQ(shape(*parsed.stmt(2).as<AnnotatedAssignStmt>().target), "z");
  EXPECT_EQ(shape(*parsed.stmt(4).as<AnnotatedAssignStmt>().value), "(tuple (* f) g)");
}

TEST(Stmt, SimpleStatementsAndSemicolons) {
  Parsed parsed = parse_clean("pass; break;continue\nreturn\nreturn a, *b\nassert x\nassert x, 'text';\n'doc'; f()\n");
  StmtKind kinds[] = {StmtKind::pass_stmt,   StmtKind::break_stmt,  StmtKind::continue_stmt,
                      StmtKind::return_stmt, StmtKind::return_stmt, StmtKind::assert_stmt,
                      StmtKind::assert_stmt, StmtKind::expr,        StmtKind::expr};
  ASSERT_EQ(parsed.tree->body.size(), std::size(kinds));
  for (std::size_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(parsed.stmt(i).kind, kinds[i]) << i;
  EXPECT_EQ(parsed.stmt(1).loc.col, 7u);
  EXPECT_EQ(parsed.stmt(3).as<ReturnStmt>().value, nullptr);
  EXPECT_EQ(shape(*parsed.stmt(6).as<AssertStmt>().message), "\"text\"");
}

TEST(Stmt, IfElifElse) {
  Parsed parsed = parse_clean("if a:\n  b\nelif c: d; e\nelif f:\n  g\nelse:\n  h\n");
  const auto& first = parsed.stmt().as<IfStmt>();
  EXPECT_EQ(first.then_body.size(), 1u);
  ASSERT_EQ(first.else_body.size(), 1u);
  const auto& second = first.else_body[0]->as<IfStmt>();
  EXPECT_EQ(second.loc.line, 3u);
  EXPECT_EQ(second.then_body.size(), 2u);
  const auto& third = second.else_body[0]->as<IfStmt>();
  EXPECT_EQ(shape(*third.condition), "f");
  ASSERT_EQ(third.else_body.size(), 1u);
  EXPECT_EQ(first.end_line, 7u);
  EXPECT_EQ(third.end_col, 4u);
  EXPECT_EQ(shape(*parse_clean("if (n := f()) > 1: pass").stmt().as<IfStmt>().condition), "(<walrus assignment> > 1)");
}

TEST(Stmt, Loops) {
  Parsed parsed = parse_clean(
      "while a < b:\n  c\nelse:\n  d\nfor i, (j, k) in e, f:\n  g\nelse: h\nfor x in y: z\nfor a[0], *b in c: d");
  EXPECT_EQ(parsed.stmt(0).as<WhileStmt>().else_body.size(), 1u);
  const auto& loop = parsed.stmt(1).as<ForStmt>();
  EXPECT_EQ(shape(*loop.target), "(tuple i (tuple j k))");
  EXPECT_EQ(shape(*loop.iterable), "(tuple e f)");
  EXPECT_EQ(loop.else_body.size(), 1u);
  EXPECT_TRUE(parsed.stmt(2).as<ForStmt>().else_body.empty());
  EXPECT_EQ(shape(*parsed.stmt(3).as<ForStmt>().target), "(tuple ([] a 0) (* b))");
}

TEST(Stmt, Functions) {
  Parsed parsed = parse_clean(
      "@wp.kernel\n@wp.func(module='unique')\n"
      "def k(a, b: wp.array(dtype=float), /, c: int = 1, *args: t, d, e=2, **kw) -> 'x':\n"
      "  \"\"\"doc\"\"\"\n  def inner(): return 1\n");
  const auto& function = parsed.stmt().as<FunctionDef>();
  EXPECT_EQ(function.name, "k");
  EXPECT_EQ(function.loc.line, 3u);
  EXPECT_EQ(function.name_loc.col, 5u);
  ASSERT_EQ(function.decorators.size(), 2u);
  EXPECT_EQ(shape(*function.decorators[1]), "(call (. wp func) module=\"unique\")");
  ASSERT_EQ(function.params.size(), 7u);
  Param::Kind kinds[] = {Param::positional,   Param::positional,   Param::positional, Param::star_args,
                         Param::keyword_only, Param::keyword_only, Param::star_kwargs};
  const char* names[] = {"a", "b", "c", "args", "d", "e", "kw"};
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(function.params[i].kind, kinds[i]) << i;
    EXPECT_EQ(function.params[i].name, names[i]);
  }
  EXPECT_EQ(function.params[0].annotation, nullptr);
  EXPECT_EQ(shape(*function.params[1].annotation), "(call (. wp array) dtype=float)");
  EXPECT_EQ(shape(*function.params[2].default_value), "1");
  EXPECT_EQ(function.params[3].loc.col, 52u);
  EXPECT_EQ(shape(*function.returns), "\"x\"");
  ASSERT_EQ(function.body.size(), 2u);
  EXPECT_EQ(function.body[0]->as<ExprStmt>().value->kind, ExprKind::string_literal);
  EXPECT_EQ(function.body[1]->as<FunctionDef>().name, "inner");
  EXPECT_EQ(parse_clean("def f(*, a, **b,): pass").stmt().as<FunctionDef>().params[0].kind, Param::keyword_only);
}

TEST(Stmt, Classes) {
  Parsed parsed =
      parse_clean("@wp.struct\nclass S(Base, metaclass=M):\n  a: int\n  b: wp.vec3\nclass T: pass\nclass U(): x = 1\n");
  const auto& type = parsed.stmt(0).as<ClassDef>();
  EXPECT_EQ(type.name, "S");
  EXPECT_EQ(shape(*type.decorators[0]), "(. wp struct)");
  ASSERT_EQ(type.bases.size(), 2u);
  EXPECT_EQ(shape(*type.bases[1]), "<class keyword argument>");
  EXPECT_EQ(type.body.size(), 2u);
  EXPECT_TRUE(parsed.stmt(1).as<ClassDef>().bases.empty());
}

TEST(Stmt, Imports) {
  Parsed parsed = parse_clean(
      "import warp as wp, a.b.c, d\nfrom m import x as y, z\nfrom .. a . b import (c, d as e,)\nfrom ... import *\n");
  const auto& plain = parsed.stmt(0).as<ImportStmt>();
  EXPECT_TRUE(plain.from.empty());
  ASSERT_EQ(plain.names.size(), 3u);
  EXPECT_EQ(plain.names[0].alias, "wp");
  EXPECT_EQ(plain.names[1].name, "a.b.c");
  EXPECT_EQ(plain.names[1].alias, "a");
  EXPECT_EQ(plain.names[2].alias, "d");
  const auto& from = parsed.stmt(1).as<ImportStmt>();
  EXPECT_EQ(from.from, "m");
  EXPECT_EQ(from.names[0].alias, "y");
  const auto& relative = parsed.stmt(2).as<ImportStmt>();
  EXPECT_EQ(relative.from, "..a.b");
  EXPECT_EQ(relative.names[1].alias, "e");
  EXPECT_EQ(parsed.stmt(3).as<ImportStmt>().from, "...");
  EXPECT_EQ(parsed.stmt(3).as<ImportStmt>().names[0].name, "*");
}

TEST(Stmt, UnsupportedStatementsAreSkippedWhole) {
  EXPECT_EQ(construct("try:\n  a\n  if b:\n    c\nexcept E as e:\n  d\nexcept* (F, G): h\nelse:\n  i\nfinally:\n  j"),
            "try");
  EXPECT_EQ(construct("try: a\nfinally: b"), "try");
  EXPECT_EQ(construct("with a as b, (c) as d:\n  e\n\n  f"), "with");
  EXPECT_EQ(construct("with a: b"), "with");
  EXPECT_EQ(construct("raise"), "raise");
  EXPECT_EQ(construct("raise a from b"), "raise");
  EXPECT_EQ(construct("del a, b[0]"), "del");
  EXPECT_EQ(construct("global a, b"), "global");
  EXPECT_EQ(construct("nonlocal a"), "nonlocal");
  EXPECT_EQ(construct("async def f(x):\n  await y"), "async");
  EXPECT_EQ(construct("@d\nasync def f(x): pass"), "async");
  EXPECT_EQ(construct("async for a in b:\n  c\nelse:\n  d"), "async");
  EXPECT_EQ(construct("async with a: b"), "async");
  EXPECT_EQ(construct("match a, b:\n  case 1:\n    c\n  case {'x': y, **z} if d:\n    e\n  case _: pass"), "match");
  EXPECT_EQ(construct("match (a):\n  case [x, *_]: pass"), "match");
  EXPECT_EQ(construct("type X[T] = list[T]"), "type alias");
  EXPECT_EQ(construct("type X = int"), "type alias");
  EXPECT_EQ(construct("def f[T: int, *U](x: T) -> T:\n  return x"), "type parameters");
  EXPECT_EQ(construct("class C[T](B): pass"), "type parameters");
}

TEST(Stmt, SkippedStatementsKeepTheirEnds) {
  Parsed parsed = parse_clean("with a:\n  b\n  c\nd; raise e; f");
  EXPECT_EQ(parsed.stmt(0).end_line, 3u);
  EXPECT_EQ(parsed.stmt(0).end_col, 4u);
  EXPECT_EQ(parsed.stmt(2).loc.col, 4u);
  EXPECT_EQ(parsed.stmt(3).loc.col, 13u);
}

TEST(Stmt, SoftKeywordsAreNames) {
  Parsed parsed = parse_clean(
      "match = 1\nmatch(x)\nmatch[x]: int\nmatch.case = type\ntype(x)(y)\ncase: int = match\n"
      "type = match\n_ = 1\nmatch: int\n");
  EXPECT_EQ(parsed.tree->body.size(), 9u);
  for (const Stmt* statement : parsed.tree->body) EXPECT_NE(statement->kind, StmtKind::unsupported);
}

TEST(Stmt, NamesAreListedOnce) {
  Parsed parsed = parse_clean(
      "@wp.func\ndef f(x: wp.vec3, n: int = m.k):\n  y = wp.vec3(x.y, a[0].b, c().d)\n  return wp . sin(y)\n");
  std::string names, dotted;
  for (std::string_view name : parsed.tree->names) (names += name) += ' ';
  EXPECT_EQ(names, "wp f x n int m y a c ");
  for (const DottedName& words : parsed.tree->dotted_names)
    for (std::string_view word : words) (dotted += word) += word.data() == words.back().data() ? ' ' : '.';
  EXPECT_EQ(dotted, "wp.func wp.vec3 m.k x.y wp.sin ");
  EXPECT_TRUE(parse_clean("1 + 2\n").tree->names.empty());
}

TEST(Stmt, LineNumbersStartWhereTheSourceSays) {
  Parsed parsed = parse_text("def k():\n  x = = 1\n", 100);
  ASSERT_EQ(parsed.sink.all().size(), 1u);
  EXPECT_EQ(parsed.sink.all()[0].loc.line, 101u);
  EXPECT_EQ(parsed.stmt().loc.line, 100u);
}

}  // namespace
}  // namespace weft::syntax::testing
