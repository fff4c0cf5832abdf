// The short bodies of elementary functions that GPU code takes for all but rare numbers give the same bits as the whole
// ones, as far as they are said to.
#include <bit>
#include <cmath>
#include <random>

#include "harness.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/walk.h"
#include "math/library.h"

namespace weft::codegen::test {
namespace {

std::string kernel_of(const std::string& op) {
  return "kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n  %a = load %x[%i]\n"
         "  %r = " +
         op + " %a\n  store %y[%i], %r\n  return\n}\n";
}

std::vector<float> results(const Program& program, std::vector<float>& x) {
  std::vector<float> y(x.size());
  RunOptions options;
  options.lanes = 4;
  run(program, Block(program).array(x).array(y), {std::int64_t(x.size())}, options);
  return y;
}

void expect_same(ir::OpCode code, std::vector<float> x) {
  Program whole(kernel_of(std::string(ir::name_of(code)))), core(kernel_of(std::string(ir::name_of(code))));
  ir::Function& kernel = *core.module->functions.back();
  const ir::Function& body = *math::math_core(code);
  ir::Rewriter rewriter(kernel);
  rewriter.run(*kernel.body, [&](ir::Op& op) {
    if (op.code != code) return;
    ir::ValueMap map;
    map[body.params()[0]] = op.operand(0);
    ir::clone_ops(*body.body, kernel, op.parent, map, /*skip_terminator=*/true, nullptr, &op);
    rewriter.replace(op.result(), ir::mapped(kernel, map, body.body->last->operand(0)));
    ir::remove_op(&op);
  });
  std::vector<float> expected = results(whole, x), found = results(core, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i])) << x[i];
}

TEST(MathCore, ExpIsTheSame) {
  std::vector<float> x = {0.0f, -0.0f, 1e-30f, -1e-40f, 0.34657359f, -0.34657359f};
  float end = std::nextafterf(math::kExpCore, 0.0f);
  for (int k = 0; k < 1000; ++k, end = std::nextafterf(end, 0.0f)) x.push_back(end), x.push_back(-end);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> inside(-86.99999f, 86.99999f), small(-1, 1);
  for (int k = 0; k < 200'000; ++k) x.push_back(inside(random)), x.push_back(small(random));
  expect_same(ir::OpCode::exp, x);
}

TEST(MathCore, LogIsTheSame) {
  std::vector<float> x;
  for (std::uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 7919) x.push_back(std::bit_cast<float>(bits));
  for (std::uint32_t k = 0; k < 1000; ++k) {
    x.push_back(std::bit_cast<float>(0x00800000 + k));
    x.push_back(std::bit_cast<float>(0x7f7fffff - k));
    x.push_back(std::bit_cast<float>(0x3f800000 - 500 + k));
  }
  expect_same(ir::OpCode::log, x);
}

TEST(MathCore, OthersHaveNone) {
  for (ir::OpCode code : {ir::OpCode::sin, ir::OpCode::pow, ir::OpCode::erf}) EXPECT_EQ(math::math_core(code), nullptr);
}

/// What GPU kernels of mathematics spend their time on: no change may make these longer unseen.
TEST(MathCore, BodiesStayShort) {
  auto length = [](const ir::Function& body) {
    int count = 0;
    for (const ir::Op& op : *body.body) count += ir::class_of(op.code) == ir::OpClass::arith;
    return count;
  };
  EXPECT_LE(length(*math::math_core(ir::OpCode::exp)), 11);
  EXPECT_LE(length(*math::math_core(ir::OpCode::log)), 16);
  EXPECT_LE(length(math::math_function(ir::OpCode::erf, ScalarKind::f32)), 23);
}

}  // namespace
}  // namespace weft::codegen::test
