// A place in a kernel where a check can fail, described in plain strings so that the runtime can speak of it without
// seeing the IR. Site numbers are those of analysis/check_sites.h.
#pragma once
#include <cstdint>
#include <string>

namespace weft::runtime {

/// What the check guards; decides how index and extent read in the message.
enum class CheckSiteKind : std::uint8_t {
  assertion,       // text is the asserted expression or its message
  bounds,          // text is the array; index and extent say what failed
  divide_by_zero,  // text is the expression
  not_finite,      // text is the array element, {} for each index: index and extent hold two, or four of 32 bits
  object,          // text is the kind of object; index is the id that is none of one
  aligned,         // text is what a program promised, {} for the number of bytes, which is the index
  together,        // text is the whole message; index is the thread in its block
};

struct CheckSite {
  CheckSiteKind kind = CheckSiteKind::assertion;
  std::string text;
  std::string file;
  std::int32_t line = 0;
  std::int32_t column = 0;
  std::string function;  // function the check stands in; may differ from the kernel after inlining
};

}  // namespace weft::runtime
