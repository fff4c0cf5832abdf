// Arithmetic on plain numbers.
#include "sema/plain_number.h"

#include <cmath>

namespace weft::sema {

using syntax::BinaryOp;

namespace {

constexpr WideInt kLargest = WideInt(1) << 120;

std::optional<WideInt> bounded(WideInt value) {
  if (value > kLargest || value < -kLargest) return std::nullopt;
  return value;
}

WideInt floor_quotient(WideInt a, WideInt b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

/// By a quotient: what tells of overflow in 128 bits is a function that clang calls and GNU's library does not have.
std::optional<WideInt> product(WideInt a, WideInt b) {
  const auto size = [](WideInt x) { return x < 0 ? -x : x; };
  if (b != 0 && size(a) > kLargest / size(b)) return std::nullopt;
  return a * b;
}

std::optional<WideInt> power(WideInt base, WideInt exponent) {
  if (exponent < 0 || exponent > 128) return std::nullopt;
  std::optional<WideInt> result = 1;
  for (WideInt k = 0; k < exponent && result; ++k) result = product(*result, base);
  return result;
}

}  // namespace

std::optional<WideInt> wide_value(const Constant& constant) {
  if (constant.form != Constant::Form::integer) return std::nullopt;
  return constant.negative ? -WideInt(constant.magnitude) : WideInt(constant.magnitude);
}

std::optional<Constant> narrow(WideInt value) {
  WideInt magnitude = value < 0 ? -value : value;
  if (magnitude >> 64) return std::nullopt;
  Constant c;
  c.negative = value < 0;
  c.magnitude = std::uint64_t(magnitude);
  return c;
}

std::optional<WideInt> fold_integers(BinaryOp op, const std::optional<WideInt>& left,
                                     const std::optional<WideInt>& right, NumberRules rules) {
  if (!left || !right) return std::nullopt;
  const WideInt a = *left, b = *right;
  bool python = rules == NumberRules::python;
  switch (op) {
    case BinaryOp::add: return bounded(a + b);
    case BinaryOp::sub: return bounded(a - b);
    case BinaryOp::mul: return product(a, b);
    case BinaryOp::div:
      if (python || b == 0) return std::nullopt;
      return a / b;
    case BinaryOp::floordiv:
      if (b == 0) return std::nullopt;
      return floor_quotient(a, b);
    case BinaryOp::mod:
      if (b == 0) return std::nullopt;
      return python ? a - floor_quotient(a, b) * b : a % b;
    case BinaryOp::pow: return power(a, b);
    case BinaryOp::lshift:
      if (b < 0 || b > 120) return std::nullopt;
      return product(a, WideInt(1) << int(b));
    case BinaryOp::rshift:
      if (b < 0 || b > 120) return std::nullopt;
      return a >> int(b);
    case BinaryOp::bit_and: return a & b;
    case BinaryOp::bit_or: return a | b;
    case BinaryOp::bit_xor: return a ^ b;
    case BinaryOp::matmul: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> fold_reals(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add: return a + b;
    case BinaryOp::sub: return a - b;
    case BinaryOp::mul: return a * b;
    case BinaryOp::div: return b == 0 ? std::nullopt : std::optional(a / b);
    case BinaryOp::floordiv: return b == 0 ? std::nullopt : std::optional(std::floor(a / b));
    case BinaryOp::mod: {
      if (b == 0) return std::nullopt;
      double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case BinaryOp::pow: {
      if (a == 0 && b < 0) return std::nullopt;
      double power = std::pow(a, b);
      return std::isnan(power) && !std::isnan(a) && !std::isnan(b) ? std::nullopt : std::optional(power);
    }
    default: return std::nullopt;
  }
}

double real_value(const Constant& constant) {
  if (constant.form == Constant::Form::real) return constant.real;
  if (constant.form != Constant::Form::integer) return 0;
  return constant.negative ? -double(constant.magnitude) : double(constant.magnitude);
}

bool is_plain_number(const Constant& constant) {
  return constant.form == Constant::Form::integer || constant.form == Constant::Form::real;
}

}  // namespace weft::sema
