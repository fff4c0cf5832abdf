// Arithmetic on plain numbers: compile-time integers and floats that have no type yet. Integers are exact on the way, so
// that 2**64 - 1 works although 2**64 itself has no type that could hold it.
#pragma once
#include <optional>

#include "sema/symbol.h"

namespace weft::sema {

/// Python's rules hold at module level and in wp.static: 1/2 is 0.5, the remainder has the divisor's sign. In kernels
/// integer division truncates and the remainder has the dividend's sign.
enum class NumberRules : std::uint8_t { python, kernel };

using WideInt = __int128;

/// The exact value of an integer constant; nullopt for other forms.
std::optional<WideInt> wide_value(const Constant& constant);
/// A constant of that value; nullopt if the magnitude needs more than 64 bits.
std::optional<Constant> narrow(WideInt value);
/// Nullopt: an operand is missing, no integer results (a zero divisor, Python's true division, a negative exponent), or
/// it is beyond 2^120.
std::optional<WideInt> fold_integers(syntax::BinaryOp op, const std::optional<WideInt>& left,
                                     const std::optional<WideInt>& right, NumberRules rules);
/// Float arithmetic in double precision; nullopt where Python would raise.
std::optional<double> fold_reals(syntax::BinaryOp op, double a, double b);
/// The number as a double; 0 for forms that are no plain number.
double real_value(const Constant& constant);
bool is_plain_number(const Constant& constant);

}  // namespace weft::sema
