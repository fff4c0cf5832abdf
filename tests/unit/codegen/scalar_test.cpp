// Every scalar operation on every kind, against src/ir/scalar_eval, at one and at many lanes. The inputs are edge cases
// of each kind crossed with each other, and random bits.
#include "harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "ir/builder.h"
#include "ir/scalar_eval.h"

namespace weft::codegen::test {
namespace {

using ir::OpCode;

const ScalarKind kAllKinds[] = {ScalarKind::boolean, ScalarKind::i8,  ScalarKind::u8,  ScalarKind::i16, ScalarKind::u16,
                                ScalarKind::i32,     ScalarKind::u32, ScalarKind::i64, ScalarKind::u64, ScalarKind::f16,
                                ScalarKind::bf16,    ScalarKind::f32, ScalarKind::f64};

bool is_float(ScalarKind k) { return k >= ScalarKind::f16; }
bool is_int(ScalarKind k) { return k != ScalarKind::boolean && !is_float(k); }

std::vector<std::uint64_t> interesting(ScalarKind kind) {
  std::vector<std::uint64_t> v;
  if (kind == ScalarKind::boolean) return {0, 1};
  unsigned bits = scalar_bits(kind);
  const std::uint64_t all = ~std::uint64_t(0) >> (64 - bits);
  std::mt19937_64 random(7);
  if (is_float(kind)) {
    for (double d : {0.0,
                     -0.0,
                     1.0,
                     -1.0,
                     0.5,
                     -0.5,
                     1.5,
                     2.5,
                     -2.5,
                     3.0,
                     0.1,
                     1e-3,
                     123.456,
                     -7.75,
                     65504.0,
                     65519.9,
                     65520.0,
                     1e10,
                     -1e10,
                     1e30,
                     4294967295.0,
                     4294967296.0,
                     2147483647.0,
                     2147483648.0,
                     -2147483648.0,
                     -2147483649.0,
                     9.3e18,
                     1.9e19,
                     127.0,
                     128.0,
                     -129.0,
                     255.5,
                     256.0,
                     5.9e-8,
                     2.98e-8,
                     2.99e-8,
                     6.1e-5,
                     1e-40,
                     1e-300,
                     8388607.5,
                     4503599627370495.5,
                     0.49999997})
      v.push_back(ir::float_to_bits(kind, d));
    double inf = std::numeric_limits<double>::infinity();
    for (double d : {inf, -inf, std::numeric_limits<double>::quiet_NaN()}) v.push_back(ir::float_to_bits(kind, d));
    v.push_back(1);  // the smallest subnormal
  } else {
    for (std::int64_t k : {0, 1, 2, 3, 7, -1, -2, -7, 100, 127, 128, 255, 1000, 32767, 65535})
      v.push_back(std::uint64_t(k) & all);
    for (std::uint64_t k :
         std::vector<std::uint64_t>{all, all >> 1, (all >> 1) + 1, (all >> 1) - 1, all - 1, 0x123456789abcdef,
                                    0x8000000000000400, 0x20000000000001, 0x1000001})
      v.push_back(k & all);
  }
  for (int k = 0; k < 8; ++k) v.push_back(random() & all);
  return v;
}

bool is_nan(ScalarKind kind, std::uint64_t bits) { return is_float(kind) && std::isnan(ir::bits_to_float(kind, bits)); }

std::uint64_t read(const std::vector<char>& from, std::size_t index, ScalarKind kind) {
  std::uint64_t bits = 0;
  std::size_t bytes = scalar_bits(kind) / 8;
  std::memcpy(&bits, from.data() + index * bytes, bytes);
  return bits;
}

void write(std::vector<char>& to, std::size_t index, ScalarKind kind, std::uint64_t bits) {
  std::memcpy(to.data() + index * (scalar_bits(kind) / 8), &bits, scalar_bits(kind) / 8);
}

std::string text(ScalarKind kind) { return std::string(scalar_text(kind)); }

/// Runs `op` over operand columns and compares each result with `want`.
template <class Want>
void check(const std::string& line, std::vector<ScalarKind> operands, ScalarKind result,
           const std::vector<std::vector<std::uint64_t>>& columns, const Want& want) {
  std::string source = "kernel @k(";
  for (std::size_t k = 0; k < operands.size(); ++k)
    source += "%p" + std::to_string(k) + ": array<" + text(operands[k]) + ",1>, ";
  source += "%out: array<" + text(result) + ",1>) form(no_overlap, rank 1) {\n  %i = tid 0\n";
  for (std::size_t k = 0; k < operands.size(); ++k)
    source += "  %a" + std::to_string(k) + " = load %p" + std::to_string(k) + "[%i]\n";
  source += "  %r = " + line + "\n  store %out[%i], %r\n  return\n}\n";
  Program program(source);
  std::size_t n = columns[0].size();
  std::vector<std::vector<char>> in;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    in.emplace_back(n * scalar_bits(operands[k]) / 8);
    for (std::size_t i = 0; i < n; ++i) write(in[k], i, operands[k], columns[k][i]);
  }
  std::vector<RunOptions> ways = {{.lanes = 1}, {.lanes = 16}};
  for (const TargetSpec& target : runnable_targets()) ways.push_back({.lanes = 4, .target = target});
  for (const RunOptions& way : ways) {
    std::vector<char> out(n * scalar_bits(result) / 8, 0x55);
    Block block(program);
    for (auto& column : in) block.array(column, {std::int64_t(n)});
    block.array(out, {std::int64_t(n)});
    run(program, block, {std::int64_t(n)}, way);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t expected = want(i), got = read(out, i, result);
      if (is_nan(result, expected) && is_nan(result, got)) continue;
      std::string inputs;
      for (auto& column : columns) inputs += " 0x" + (std::ostringstream() << std::hex << column[i]).str();
      ASSERT_EQ(got, expected) << line << " on " << text(operands[0]) << inputs << " with " << way.lanes << " lanes on "
                               << way.target.cpu_name;
    }
  }
}

std::vector<std::vector<std::uint64_t>> cross(ScalarKind kind) {
  std::vector<std::vector<std::uint64_t>> out(2);
  for (std::uint64_t a : interesting(kind))
    for (std::uint64_t b : interesting(kind)) out[0].push_back(a), out[1].push_back(b);
  return out;
}

class ScalarKinds : public testing::TestWithParam<ScalarKind> {};

TEST_P(ScalarKinds, Binary) {
  ScalarKind kind = GetParam();
  std::vector<OpCode> ops = {OpCode::add,      OpCode::sub, OpCode::mul, OpCode::div,
                             OpCode::floordiv, OpCode::rem, OpCode::min, OpCode::max};
  if (is_int(kind)) ops.insert(ops.end(), {OpCode::bit_and, OpCode::bit_or, OpCode::bit_xor, OpCode::shl, OpCode::shr});
  if (kind == ScalarKind::boolean) ops = {OpCode::bit_and, OpCode::bit_or, OpCode::bit_xor};
  auto columns = cross(kind);
  for (OpCode op : ops)
    check(std::string(ir::name_of(op)) + " %a0, %a1", {kind, kind}, kind, columns,
          [&](std::size_t i) { return ir::eval_binary(op, kind, columns[0][i], columns[1][i]); });
}

TEST_P(ScalarKinds, Unary) {
  ScalarKind kind = GetParam();
  std::vector<OpCode> ops = {OpCode::neg, OpCode::abs};
  if (is_int(kind)) ops.push_back(OpCode::bit_not);
  if (is_float(kind))
    ops.insert(ops.end(), {OpCode::floor, OpCode::ceil, OpCode::trunc, OpCode::round, OpCode::rint, OpCode::sqrt});
  if (kind == ScalarKind::boolean) ops = {OpCode::bit_not};
  std::vector<std::vector<std::uint64_t>> columns = {interesting(kind)};
  for (OpCode op : ops)
    check(std::string(ir::name_of(op)) + " %a0", {kind}, kind, columns,
          [&](std::size_t i) { return ir::eval_unary(op, kind, columns[0][i]); });
}

TEST_P(ScalarKinds, Compare) {
  ScalarKind kind = GetParam();
  std::vector<OpCode> ops = {OpCode::eq, OpCode::ne, OpCode::lt, OpCode::le, OpCode::gt, OpCode::ge};
  if (kind == ScalarKind::boolean) ops = {OpCode::eq, OpCode::ne};
  auto columns = cross(kind);
  for (OpCode op : ops)
    check(std::string(ir::name_of(op)) + " %a0, %a1", {kind, kind}, ScalarKind::boolean, columns,
          [&](std::size_t i) { return std::uint64_t(ir::eval_compare(op, kind, columns[0][i], columns[1][i])); });
}

TEST_P(ScalarKinds, Casts) {
  ScalarKind kind = GetParam();
  std::vector<std::vector<std::uint64_t>> columns = {interesting(kind)};
  for (ScalarKind to : kAllKinds)
    check("cast %a0 : " + text(to), {kind}, to, columns,
          [&](std::size_t i) { return ir::eval_cast(kind, to, columns[0][i]); });
}

/// The ends of every integer type, their neighbours among the floats, and what rounds towards them.
TEST_P(ScalarKinds, SaturatingCasts) {
  ScalarKind kind = GetParam();
  if (!is_float(kind)) return;
  std::vector<std::vector<std::uint64_t>> columns(1);
  for (int power : {0, 7, 8, 15, 16, 31, 32, 63, 64})
    for (double sign : {1.0, -1.0})
      for (double off : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        std::uint64_t bits = ir::float_to_bits(kind, sign * (std::ldexp(1.0, power) + off));
        for (std::int64_t step : {-1, 0, 1})
          if (bits != 0 || step >= 0) columns[0].push_back(bits + std::uint64_t(step));
      }
  for (ScalarKind to : kAllKinds)
    if (is_int(to))
      check("cast %a0 : " + text(to), {kind}, to, columns,
            [&](std::size_t i) { return ir::eval_cast(kind, to, columns[0][i]); });
}

TEST_P(ScalarKinds, Fma) {
  ScalarKind kind = GetParam();
  if (!is_float(kind)) return;
  auto columns = cross(kind);
  columns.push_back(columns[0]);
  std::mt19937 random(3);
  std::shuffle(columns[2].begin(), columns[2].end(), random);
  check("fma %a0, %a1, %a2", {kind, kind, kind}, kind, columns,
        [&](std::size_t i) { return ir::eval_fma(kind, columns[0][i], columns[1][i], columns[2][i]); });
}

INSTANTIATE_TEST_SUITE_P(Kinds, ScalarKinds, testing::ValuesIn(kAllKinds),
                         [](const auto& info) { return std::string(scalar_text(info.param)); });

// A target without F16C takes the integer forms of the f16 conversions; all bit patterns must agree with the contract.
TEST(HalfConversions, WithoutHardware) {
  Program program(R"(
kernel @k(%h: array<f16,1>, %f: array<f32,1>, %back: array<f16,1>, %x: array<f32,1>, %y: array<f16,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %h[%i]
  %b = cast %a : f32
  store %f[%i], %b
  %c = cast %b : f16
  store %back[%i], %c
  %v = load %x[%i]
  %w = cast %v : f16
  store %y[%i], %w
  return
}
)");
  TargetSpec plain = host_target();
  if (!plain.triple.starts_with("x86_64")) GTEST_SKIP() << "only x86 has targets without f16 conversions";
  plain.cpu_name = "x86-64";
  plain.features = "+sse4.2";
  std::vector<std::uint16_t> h(65536), back(65536), y(65536);
  std::vector<float> f(65536), x(65536);
  std::mt19937 random(11);
  for (std::size_t k = 0; k < h.size(); ++k) {
    h[k] = std::uint16_t(k);
    // Around every boundary: an f16 value, half-way points and their neighbours.
    std::uint32_t bits = 0;
    float exact = float(ir::bits_to_float(ScalarKind::f16, k));
    std::memcpy(&bits, &exact, 4);
    bits += (random() & 3) == 0 ? 0x1000 : (random() & 1) ? 0x0fff : 0x1001;
    std::memcpy(&x[k], &bits, 4);
  }
  for (int lanes : {1, 4}) {
    run(program, Block(program).array(h).array(f).array(back).array(x).array(y), {65536},
        {.lanes = lanes, .target = plain});
    for (std::size_t k = 0; k < h.size(); ++k) {
      double want = ir::bits_to_float(ScalarKind::f16, k);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(f[k]));
        ASSERT_TRUE(is_nan(ScalarKind::f16, back[k]));
      } else {
        ASSERT_EQ(f[k], float(want)) << k;
        ASSERT_EQ(back[k], k);
      }
      if (!std::isnan(x[k])) {
        ASSERT_EQ(y[k], ir::float_to_bits(ScalarKind::f16, x[k])) << x[k];
      }
    }
  }
}

}  // namespace
}  // namespace weft::codegen::test
