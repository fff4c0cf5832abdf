// Which kernels' tangents depend on the order of threads, and which of them two launches settle.
#include "autodiff/tangent_order.h"

#include <gtest/gtest.h>

#include "sema/file_scope.h"
#include "sema/sema.h"
#include "syntax/parser.h"

namespace weft::autodiff {
namespace {

using Leaves = std::vector<std::size_t>;

struct Order {
  Leaves settled;
  std::string why;
};

/// Of a kernel of the arrays x, a, b (floats) and n (integers).
Order order_of(const std::string& body, bool no_overlap = true) {
  std::string text =
      "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float), a: wp.array(dtype=float), "
      "b: wp.array(dtype=float), n: wp.array(dtype=int)):\n    i = wp.tid()\n    ";
  for (char c : body) text += c == '\n' ? std::string("\n    ") : std::string(1, c);
  DiagnosticSink sink;
  auto tree = syntax::parse(std::make_shared<SourceFile>("test.py", text + "\n"), sink);
  auto scope = sema::FileScope::make(tree, sink);
  auto module = sema::lower_kernel(*scope->find_kernel("k"), {}, {}, sink);
  EXPECT_TRUE(module) << sink.render_all();
  if (!module) return {};
  ir::Function& kernel = *module->functions.back();
  kernel.form.rank = 1;
  kernel.form.no_overlap = no_overlap;
  Order order;
  DiagnosticSink ordered;
  order.settled = tangent_order(kernel, ordered);
  order.why = ordered.render_all();
  return order;
}

void expect_none(const std::string& body) {
  const Order order = order_of(body);
  EXPECT_EQ(order.settled, Leaves{}) << body;
  EXPECT_EQ(order.why, "") << body;
}

void expect_order(const std::string& body, const std::string& line) {
  const Order order = order_of(body);
  EXPECT_EQ(order.settled, Leaves{}) << body;
  EXPECT_NE(order.why.find("depends on the order of the threads"), std::string::npos) << body;
  EXPECT_NE(order.why.find(line), std::string::npos) << order.why;
}

TEST(TangentOrder, SumsAndStoresHaveNone) {
  expect_none("a[i] = x[i]\nb[0] += x[i]\nwp.atomic_sub(b, 1, x[i])\nwp.atomic_max(n, 0, i)");
}

TEST(TangentOrder, ResultsThatDecideNothingHaveNone) {
  expect_none("if wp.atomic_add(a, 0, x[i]) > 1.0:\n    n[i] = 1");
  expect_none("j = wp.atomic_add(n, 0, 1)\na[j] = x[i]");
}

TEST(TangentOrder, ElementsOfOneThreadHaveNone) {
  expect_none("b[i] = wp.atomic_add(a, i, x[i])\nwp.atomic_max(a, i, x[i])\nb[i] = wp.atomic_exch(a, i, x[i])");
}

TEST(TangentOrder, ResultsOfFloatAtomicsHaveOne) {
  expect_order("b[i] = wp.atomic_add(a, 0, x[i])", "b[i] = wp.atomic_add");
  expect_order("b[i] = wp.atomic_exch(a, 0, x[i])", "wp.atomic_exch");
  expect_order("b[i] = wp.atomic_max(a, 0, x[i])", "wp.atomic_max");
  expect_order("wp.atomic_cas(a, 0, 1.0, x[i])", "wp.atomic_cas");
}

TEST(TangentOrder, ExtremesAreSettled) {
  EXPECT_EQ(order_of("wp.atomic_max(a, 0, x[i])").settled, Leaves{1});
  EXPECT_EQ(order_of("wp.atomic_max(a, 0, x[i])\nwp.atomic_min(b, n[i], x[i])").settled, (Leaves{1, 2}));
  EXPECT_EQ(order_of("x[i] = x[i] * 2.0\nfor j in range(n[i]):\n    wp.atomic_max(a, j, x[i])").settled, Leaves{1});
  // Those of one thread need nothing, and must not be touched.
  EXPECT_EQ(order_of("wp.atomic_max(a, 0, x[i])\nwp.atomic_max(b, i, x[i])\nx[i] = b[i]").settled, Leaves{1});
}

TEST(TangentOrder, ExtremesOfArraysThatAreUsedOtherwiseAreNot) {
  expect_order("wp.atomic_max(a, 0, x[i])\nb[i] = a[1]", "wp.atomic_max");
  expect_order("wp.atomic_max(a, 0, x[i])\nwp.atomic_min(a, 1, x[i])", "wp.atomic_min");
  expect_order("wp.atomic_max(a, 0, x[i])\na[0] += x[i]", "wp.atomic_max");
  EXPECT_NE(order_of("wp.atomic_max(a, 0, x[i])\nb[i] = x[i]", false).why, "");  // which may be the same memory
}

TEST(TangentOrder, WhatCannotBeRunTwiceIsNotSettled) {
  expect_order("wp.atomic_max(a, 0, x[i])\nprint(i)", "wp.atomic_max");
  expect_order("j = wp.atomic_add(n, 0, 1)\nwp.atomic_max(a, 0, x[j])", "wp.atomic_max");
  expect_order("if wp.atomic_max(a, 0, x[i]) > 1.0:\n    n[i] = 1", "wp.atomic_max");
  expect_order("wp.atomic_max(a, 0, x[i])\nb[i] = wp.atomic_add(b, 0, x[i])", "wp.atomic_add");
}

}  // namespace
}  // namespace weft::autodiff
