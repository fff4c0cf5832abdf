// Operators as they are written.
#include "syntax/ast.h"

namespace weft::syntax {

std::string_view text_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::neg: return "-";
    case UnaryOp::pos: return "+";
    case UnaryOp::invert: return "~";
    case UnaryOp::logical_not: return "not";
  }
  WEFT_UNREACHABLE();
}

std::string_view text_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return "+";
    case BinaryOp::sub: return "-";
    case BinaryOp::mul: return "*";
    case BinaryOp::div: return "/";
    case BinaryOp::floordiv: return "//";
    case BinaryOp::mod: return "%";
    case BinaryOp::pow: return "**";
    case BinaryOp::matmul: return "@";
    case BinaryOp::bit_and: return "&";
    case BinaryOp::bit_or: return "|";
    case BinaryOp::bit_xor: return "^";
    case BinaryOp::lshift: return "<<";
    case BinaryOp::rshift: return ">>";
  }
  WEFT_UNREACHABLE();
}

std::string_view text_of(CompareOp op) {
  switch (op) {
    case CompareOp::eq: return "==";
    case CompareOp::ne: return "!=";
    case CompareOp::lt: return "<";
    case CompareOp::le: return "<=";
    case CompareOp::gt: return ">";
    case CompareOp::ge: return ">=";
    case CompareOp::in: return "in";
    case CompareOp::not_in: return "not in";
    case CompareOp::is: return "is";
    case CompareOp::is_not: return "is not";
  }
  WEFT_UNREACHABLE();
}

std::string_view text_of(LogicalOp op) { return op == LogicalOp::and_ ? "and" : "or"; }

}  // namespace weft::syntax
