// The compiled form of print and printf: one string that says how to turn the operands' bytes into text. The emitter and
// the interpreter make it from the operation with the functions below, so that they print the same characters.
//
// It is NUL-terminated text without embedded NULs. Everything stands for itself except '%', which opens an item:
//   %%                     a percent sign
//   %z                     a NUL character
//   %<offset>:<k><r>x<c><style>    r × c scalars of kind k at a byte offset in the values; style p: scalars of a row
//                          joined by spaces, rows by "; "; v: a space after every scalar; m: the same, and a line end
//                          after every row
//   %<offset>:a            shape of an array descriptor, "null" without data
//   %<offset>:<k>=<spec>;  printf conversion of one scalar, spec as in C without length modifier
// In front of everything kOncePerLaunch may stand (support/print_marks.h), which is no text.
// k is a letter: 'A' + ScalarKind. Operands lie one after the other, each at the next multiple of 8 bytes.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "types/type.h"

namespace weft::runtime {

/// print: the literal text, then each value, then a line end. Floats as by %g, bool as True/False, vectors and
/// quaternions "x y z ", matrices one row per line, transforms "(p) (q)", structs "Name(field=value, …)", arrays as a
/// summary. Throws std::invalid_argument for operands that have no memory form (strings, tuples, functions).
std::string compile_print_format(std::string_view text, std::span<const Type* const> operands);

/// printf: C's conversions d i u o x X c f F e E g G a A p % with flags, width and precision; length modifiers are
/// accepted and ignored, since the operand's type is known. Throws std::invalid_argument, in words for the user, when
/// the format does not match the operands.
std::string compile_printf_format(std::string_view format, std::span<const Type* const> operands);

/// Byte offset of each operand in the values block, followed by the block's size.
std::vector<std::uint32_t> operand_offsets(std::span<const Type* const> operands);

/// The text that a compiled format gives for the operands' bytes, appended to `out`. Independent of the locale; NaN
/// prints without a sign.
void format_values(const char* format, const void* values, std::string& out);
std::string format_values(const std::string& format, const void* values);

}  // namespace weft::runtime
