// Expressions: precedence and associativity as in Python, calls, subscripts, places, and what kernels may not use.
#include <gtest/gtest.h>

#include "helpers.h"
#include "syntax/parser.h"

namespace weft::syntax::testing {
namespace {

TEST(Expr, Precedence) {
  EXPECT_EQ(shape("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(shape("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(shape("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(shape("a / b // c % d @ e"), "(@ (% (// (/ a b) c) d) e)");
  EXPECT_EQ(shape("a | b ^ c & d << e + f * g"), "(| a (^ b (& c (<< d (+ e (* f g))))))");
  EXPECT_EQ(shape("a * b + c << d & e ^ f | g"), "(| (^ (& (<< (+ (* a b) c) d) e) f) g)");
  EXPECT_EQ(shape("a << b >> c"), "(>> (<< a b) c)");
  EXPECT_EQ(shape("a < b | c"), "(a < (| b c))");
  EXPECT_EQ(shape("a or b and not c == d"), "(or a (and b (not (c == d))))");
  EXPECT_EQ(shape("not a == b"), "(not (a == b))");
  EXPECT_EQ(shape("not not a"), "(not (not a))");
  EXPECT_EQ(shape("a and b or c and d"), "(or (and a b) (and c d))");
}

TEST(Expr, PowerAndUnary) {
  EXPECT_EQ(shape("-x**2"), "(- (** x 2))");
  EXPECT_EQ(shape("(-x)**2"), "(** (- x) 2)");
  EXPECT_EQ(shape("2**-x"), "(** 2 (- x))");
  EXPECT_EQ(shape("a**b**c"), "(** a (** b c))");
  EXPECT_EQ(shape("-a**-b**c"), "(- (** a (- (** b c))))");
  EXPECT_EQ(shape("--~+x"), "(- (- (~ (+ x))))");
  EXPECT_EQ(shape("-a * b"), "(* (- a) b)");
  EXPECT_EQ(shape("a.b**c[d]"), "(** (. a b) ([] c d))");
  EXPECT_EQ(shape("await a ** b"), "(** <await> b)");
}

TEST(Expr, Comparisons) {
  EXPECT_EQ(shape("a < b <= c"), "(a < b <= c)");
  EXPECT_EQ(shape("a == b != c > d >= e"), "(a == b != c > d >= e)");
  EXPECT_EQ(shape("(a < b) < c"), "((a < b) < c)");
  EXPECT_EQ(shape("a < (b < c)"), "(a < (b < c))");
  EXPECT_EQ(shape("a in b not in c is d is not e"), "(a in b not in c is d is not e)");
  EXPECT_EQ(shape("a is not b"), "(a is not b)");
  EXPECT_EQ(shape("a is (not b)"), "(a is (not b))");
}

TEST(Expr, LogicalChainsStayFlat) {
  EXPECT_EQ(shape("a and b and c"), "(and a b c)");
  EXPECT_EQ(shape("a and (b and c)"), "(and a (and b c))");
  EXPECT_EQ(shape("(a or b) or c"), "(or (or a b) c)");
}

TEST(Expr, Ternaries) {
  EXPECT_EQ(shape("a if c else b if d else e"), "(? c a (? d b e))");
  EXPECT_EQ(shape("(a if c else b) if d else e"), "(? d (? c a b) e)");
  EXPECT_EQ(shape("a or b if c and d else e + f"), "(? (and c d) (or a b) (+ e f))");
  EXPECT_EQ(shape("x, a if c else b"), "(tuple x (? c a b))");
  EXPECT_EQ(shape("a if b"),
            "expected 'else' and a second value in the conditional expression, found the end of the line");
}

TEST(Expr, Calls) {
  EXPECT_EQ(shape("f()"), "(call f)");
  EXPECT_EQ(shape("f(a, *b, c=d, *e, **g)"), "(call f a (* b) (* e) c=d **g)");
  EXPECT_EQ(shape("f(a,)(b)[c].d(e)"), "(call (. ([] (call (call f a) b) c) d) e)");
  EXPECT_EQ(shape("f(*a or b)"), "(call f (* (or a b)))");
  EXPECT_EQ(shape("f(a if b else c, d=lambda: 0)"), "(call f (? b a c) d=<lambda>)");
  EXPECT_EQ(shape("f(x for x in y)"), "(call f <generator expression>)");
  EXPECT_EQ(shape("f(x := 1, (y := 2))"), "(call f <walrus assignment> <walrus assignment>)");
  EXPECT_EQ(errors("f(a=1, b)"), "syntax_error 1:8");
  EXPECT_EQ(errors("f(**a, b)"), "syntax_error 1:8");
  EXPECT_EQ(errors("f(**a, *b)"), "syntax_error 1:8");
  EXPECT_EQ(errors("f(a=1, a=2)"), "syntax_error 1:8");
  EXPECT_EQ(errors("f(a.b=1)"), "syntax_error 1:6");
  EXPECT_EQ(errors("f(x for x in y, 1)"), "syntax_error 1:3");
  EXPECT_EQ(errors("f(a b)"), "syntax_error 1:5");
  EXPECT_EQ(errors("f(,)"), "syntax_error 1:3");
}

TEST(Expr, Subscripts) {
  EXPECT_EQ(shape("a[i]"), "([] a i)");
  EXPECT_EQ(shape("a[i, j]"), "([] a i j)");
  EXPECT_EQ(shape("a[(i, j)]"), "([] a i j)");
  EXPECT_EQ(shape("a[i,]"), "([] a i)");
  EXPECT_EQ(shape("a[(i, j),]"), "([] a (tuple i j))");
  EXPECT_EQ(shape("a[()]"), "([] a)");
  EXPECT_EQ(shape("a[:]"), "([] a (: _ _ _))");
  EXPECT_EQ(shape("a[1:]"), "([] a (: 1 _ _))");
  EXPECT_EQ(shape("a[:2]"), "([] a (: _ 2 _))");
  EXPECT_EQ(shape("a[::3]"), "([] a (: _ _ 3))");
  EXPECT_EQ(shape("a[1:2:3, ::, ..., i + 1]"), "([] a (: 1 2 3) (: _ _ _) ... (+ i 1))");
  EXPECT_EQ(shape("a[*b]"), "([] a (* b))");
  EXPECT_EQ(shape("a[b[c[d]]][e]"), "([] ([] a ([] b ([] c d))) e)");
  EXPECT_EQ(shape("wp.array[float]"), "([] (. wp array) float)");
  EXPECT_EQ(errors("a[]"), "syntax_error 1:3");
  EXPECT_EQ(errors("a[1:2:3:4]"), "syntax_error 1:8");
}

TEST(Expr, TuplesAndLists) {
  EXPECT_EQ(shape("()"), "(tuple)");
  EXPECT_EQ(shape("(a)"), "a");
  EXPECT_EQ(shape("(a,)"), "(tuple a)");
  EXPECT_EQ(shape("a,"), "(tuple a)");
  EXPECT_EQ(shape("a, *b, (c, d)"), "(tuple a (* b) (tuple c d))");
  EXPECT_EQ(shape("[]"), "(list)");
  EXPECT_EQ(shape("[a, *b, [c],]"), "(list a (* b) (list c))");
  EXPECT_EQ(errors("(*a)"), "syntax_error 1:2");
  EXPECT_EQ(errors("*a"), "syntax_error 1:1");
  EXPECT_EQ(errors("x = *a"), "syntax_error 1:5");
  EXPECT_EQ(errors("[a b]"), "syntax_error 1:4");
  EXPECT_EQ(errors("(,)"), "syntax_error 1:2");
}

TEST(Expr, Constants) {
  EXPECT_EQ(shape("True, False, None, ..., 1, 2.5, 'x'"), "(tuple True False None ... 1 2.5 \"x\")");
}

TEST(Expr, UnsupportedConstructsAreNamed) {
  EXPECT_EQ(shape("lambda: 0"), "<lambda>");
  EXPECT_EQ(shape("lambda a, /, b=1, *c, d, **e: a + b"), "<lambda>");
  EXPECT_EQ(shape("lambda *, k: lambda: k"), "<lambda>");
  EXPECT_EQ(shape("(x := 1) + 2"), "(+ <walrus assignment> 2)");
  EXPECT_EQ(shape("[x for x in y]"), "<list comprehension>");
  EXPECT_EQ(shape("[x for x, *z in y if x if z for q in x]"), "<list comprehension>");
  EXPECT_EQ(shape("[x async for x in y]"), "<list comprehension>");
  EXPECT_EQ(shape("{x for x in y}"), "<set comprehension>");
  EXPECT_EQ(shape("{k: v for k, v in y}"), "<dict comprehension>");
  EXPECT_EQ(shape("(x for x in y)"), "<generator expression>");
  EXPECT_EQ(shape("{}"), "<dict display>");
  EXPECT_EQ(shape("{a: b, **c, d: e,}"), "<dict display>");
  EXPECT_EQ(shape("{a, *b}"), "<set display>");
  EXPECT_EQ(shape("await f()"), "<await>");
  EXPECT_EQ(shape("(yield)"), "<yield>");
  EXPECT_EQ(shape("(yield a, b)"), "<yield>");
  EXPECT_EQ(shape("(yield from a)"), "<yield from>");
  EXPECT_EQ(shape("a + [x for x in {1: 2}][0]"), "(+ a ([] <list comprehension> 0))");
  EXPECT_EQ(errors("{a: b, c}"), "syntax_error 1:9");
  EXPECT_EQ(errors("{a, b: c}"), "syntax_error 1:6");
  EXPECT_EQ(errors("[x for 1 in y]"), "syntax_error 1:8");
  EXPECT_EQ(errors("[*a for a in b]"), "syntax_error 1:2");
  EXPECT_EQ(errors("{**a for a in b}"), "syntax_error 1:2");
  EXPECT_EQ(errors("f(*a for a in b)"), "syntax_error 1:3");
  EXPECT_EQ(errors("lambda a, a: 0"), "syntax_error 1:11");
}

TEST(Expr, PlacesAndEnds) {
  Parsed parsed = parse_clean("y = (a +\n     b) * c.d[0]\n");
  const auto& product = parsed.stmt().as<AssignStmt>().value->as<BinaryExpr>();
  EXPECT_EQ(product.loc.line, 1u);
  EXPECT_EQ(product.loc.col, 5u);  // the parenthesis belongs to the product
  EXPECT_EQ(product.end_line, 2u);
  EXPECT_EQ(product.end_col, 17u);
  EXPECT_EQ(product.op_loc.col, 9u);
  EXPECT_EQ(product.left->loc.col, 6u);
  EXPECT_EQ(product.left->end_col, 7u);
  const auto& subscript = product.right->as<SubscriptExpr>();
  EXPECT_EQ(subscript.loc.col, 11u);
  EXPECT_EQ(subscript.underline(), 6u);
  EXPECT_EQ(subscript.object->as<AttributeExpr>().name_loc.col, 13u);
  EXPECT_EQ(parsed.stmt().end_line, 2u);
  EXPECT_EQ(parsed.stmt().end_col, 17u);
}

TEST(Expr, HeightIsRecorded) {
  Parsed parsed = parse_clean("a\na + b\nf(x, y=-z)\n(a + b)[c] if d else e\n[x for x in y]\n");
  int heights[] = {1, 2, 3, 4, 1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(parsed.stmt(i).as<ExprStmt>().value->height, heights[i]) << i;
}

TEST(ParseExpression, TakesTheWholeText) {
  EXPECT_EQ(shape("  a + b  # note\n"), "(+ a b)");
  EXPECT_EQ(shape("f(a,\n  b)"), "(call f a b)");
  EXPECT_EQ(shape(""), "expected an expression, found the end of the text");
  EXPECT_EQ(shape("a b"), "expected the end of the expression, found name 'b'");
  EXPECT_EQ(shape("a = b"), "expected the end of the expression, found '='");
  EXPECT_EQ(shape("a\nb"), "expected the end of the expression, found name 'b'");
  EXPECT_EQ(shape("a $"), "invalid character '$'");
  EXPECT_EQ(shape("return"), "expected an expression, found keyword 'return'");
}

}  // namespace
}  // namespace weft::syntax::testing
