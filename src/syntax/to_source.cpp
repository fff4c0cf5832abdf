// Expressions back to text: parentheses only where the tree needs them, so that parsing the text gives the same tree.
// What the tree does not hold (constructs outside the language, integers over 64 bits) is copied from the source.
#include <charconv>
#include <cmath>

#include "syntax/print.h"
#include "syntax/unicode.h"

namespace weft::syntax {
namespace {

// How tightly a form binds. An operand is parenthesised if it binds looser than its place demands.
enum Binding : int {
  kLoosest,  // what may only stand in parentheses: walrus, yield, lambda…
  kTernary,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
  kPostfix,
  kAtom,
};

Binding binding(BinaryOp op) {
  switch (op) {
    case BinaryOp::bit_or: return kBitOr;
    case BinaryOp::bit_xor: return kBitXor;
    case BinaryOp::bit_and: return kBitAnd;
    case BinaryOp::lshift:
    case BinaryOp::rshift: return kShift;
    case BinaryOp::add:
    case BinaryOp::sub: return kSum;
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::floordiv:
    case BinaryOp::mod:
    case BinaryOp::matmul: return kProduct;
    case BinaryOp::pow: return kPower;
  }
  WEFT_UNREACHABLE();
}

Binding next(Binding b) { return Binding(int(b) + 1); }

class SourceWriter {
 public:
  std::string take() { return std::move(out_); }

  void write(const Expr& expr, Binding least = kTernary) {
    bool parens = binding_of(expr) < least;
    if (parens) out_ += '(';
    write_bare(expr);
    if (parens) out_ += ')';
  }

 private:
  static Binding binding_of(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::unary: return expr.as<UnaryExpr>().op == UnaryOp::logical_not ? kNot : kUnary;
      case ExprKind::binary: return binding(expr.as<BinaryExpr>().op);
      case ExprKind::compare: return kCompare;
      case ExprKind::logical: return expr.as<LogicalExpr>().op == LogicalOp::and_ ? kAnd : kOr;
      case ExprKind::ternary: return kTernary;
      case ExprKind::int_literal:
      case ExprKind::float_literal:
      case ExprKind::call:
      case ExprKind::attribute:
      case ExprKind::subscript: return kPostfix;
      case ExprKind::unsupported: return is_closed(expr) ? kAtom : kLoosest;
      case ExprKind::name:
      case ExprKind::bool_literal:
      case ExprKind::none_literal:
      case ExprKind::string_literal:
      case ExprKind::ellipsis:
      case ExprKind::slice:
      case ExprKind::tuple:
      case ExprKind::list:
      case ExprKind::starred: return kAtom;
    }
    WEFT_UNREACHABLE();
  }

  // Constructs whose text is bracketed; the others stand between parentheses, which also lets them span lines.
  static bool is_closed(const Expr& expr) {
    std::string_view construct = expr.as<UnsupportedExpr>().construct;
    if (construct.ends_with(" literal") || construct.ends_with("-string") || construct == "named unicode escape") {
      return expr.loc.line == expr.end_line;  // literals on several lines may be adjacent ones
    }
    return construct.ends_with(" display") || construct.ends_with(" comprehension") ||
           construct == "generator expression" || construct == "class keyword argument";
  }

  void write_bare(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::name: out_ += expr.as<NameExpr>().name; break;
      case ExprKind::int_literal: write_int(expr.as<IntLiteral>()); break;
      case ExprKind::float_literal: write_float(expr.as<FloatLiteral>().value); break;
      case ExprKind::bool_literal: out_ += expr.as<BoolLiteral>().value ? "True" : "False"; break;
      case ExprKind::none_literal: out_ += "None"; break;
      case ExprKind::string_literal: write_string(expr.as<StringLiteral>().value); break;
      case ExprKind::ellipsis: out_ += "..."; break;
      case ExprKind::unary: write_unary(expr.as<UnaryExpr>()); break;
      case ExprKind::binary: write_binary(expr.as<BinaryExpr>()); break;
      case ExprKind::compare: write_compare(expr.as<CompareExpr>()); break;
      case ExprKind::logical: write_logical(expr.as<LogicalExpr>()); break;
      case ExprKind::ternary: write_ternary(expr.as<TernaryExpr>()); break;
      case ExprKind::call: write_call(expr.as<CallExpr>()); break;
      case ExprKind::attribute:
        write_object(*expr.as<AttributeExpr>().object);
        out_ += '.';
        out_ += expr.as<AttributeExpr>().name;
        break;
      case ExprKind::subscript: write_subscript(expr.as<SubscriptExpr>()); break;
      case ExprKind::slice: write_slice(expr.as<SliceExpr>()); break;
      case ExprKind::tuple: write_tuple(expr.as<TupleExpr>()); break;
      case ExprKind::list:
        out_ += '[';
        write_list(expr.as<ListExpr>().elements);
        out_ += ']';
        break;
      case ExprKind::starred:
        out_ += '*';
        write(*expr.as<StarredExpr>().value, kBitOr);
        break;
      case ExprKind::unsupported: write_original(expr); break;
    }
  }

  // What stands before '.', '(' or '['. A number takes parentheses: "1.x" would be a float.
  void write_object(const Expr& expr) {
    bool number = expr.kind == ExprKind::int_literal || expr.kind == ExprKind::float_literal;
    write(expr, number ? kAtom : kPostfix);
  }

  void write_list(std::span<Expr* const> items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i) out_ += ", ";
      write(*items[i]);
    }
  }

  void write_tuple(const TupleExpr& tuple) {
    out_ += '(';
    write_list(tuple.elements);
    out_ += tuple.elements.size() == 1 ? ",)" : ")";
  }

  void write_unary(const UnaryExpr& unary) {
    out_ += text_of(unary.op);
    if (unary.op == UnaryOp::logical_not) out_ += ' ';
    write(*unary.operand, unary.op == UnaryOp::logical_not ? kNot : kUnary);
  }

  void write_binary(const BinaryExpr& binary) {
    Binding own = binding(binary.op);
    bool power = binary.op == BinaryOp::pow;
    write(*binary.left, power ? kPostfix : own);
    out_ += ' ';
    out_ += text_of(binary.op);
    out_ += ' ';
    write(*binary.right, power ? kUnary : next(own));
  }

  void write_compare(const CompareExpr& compare) {
    for (std::size_t i = 0; i < compare.operands.size(); ++i) {
      if (i) {
        out_ += ' ';
        out_ += text_of(compare.ops[i - 1]);
        out_ += ' ';
      }
      write(*compare.operands[i], kBitOr);
    }
  }

  void write_logical(const LogicalExpr& logical) {
    for (std::size_t i = 0; i < logical.operands.size(); ++i) {
      if (i) {
        out_ += ' ';
        out_ += text_of(logical.op);
        out_ += ' ';
      }
      write(*logical.operands[i], next(logical.op == LogicalOp::and_ ? kAnd : kOr));
    }
  }

  void write_ternary(const TernaryExpr& ternary) {
    write(*ternary.then_value, kOr);
    out_ += " if ";
    write(*ternary.condition, kOr);
    out_ += " else ";
    write(*ternary.else_value, kTernary);
  }

  void write_call(const CallExpr& call) {
    write_object(*call.callee);
    out_ += '(';
    write_list(call.args);
    bool first = call.args.empty();
    for (const Keyword& keyword : call.keywords) {
      if (!first) out_ += ", ";
      first = false;
      out_ += keyword.name.empty() ? "**" : std::string(keyword.name) + "=";
      write(*keyword.value);
    }
    out_ += ')';
  }

  void write_subscript(const SubscriptExpr& subscript) {
    write_object(*subscript.object);
    out_ += '[';
    if (subscript.indices.empty()) out_ += "()";
    write_list(subscript.indices);
    // A single index that is itself a tuple would be flattened.
    if (subscript.indices.size() == 1 && subscript.indices[0]->kind == ExprKind::tuple) out_ += ',';
    out_ += ']';
  }

  void write_slice(const SliceExpr& slice) {
    if (slice.lower) write(*slice.lower);
    out_ += ':';
    if (slice.upper) write(*slice.upper);
    if (!slice.step) return;
    out_ += ':';
    write(*slice.step);
  }

  void write_int(const IntLiteral& literal) {
    if (literal.too_large) return write_original(literal);
    out_ += std::to_string(literal.value);
  }

  void write_float(double value) {
    if (std::isinf(value)) {
      out_ += "1e999";
      return;
    }
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    std::string_view text(buffer, std::size_t(end - buffer));
    out_ += text;
    if (text.find_first_of(".en") == text.npos) out_ += ".0";
  }

  void write_string(std::string_view value) {
    static constexpr char kHex[] = "0123456789abcdef";
    auto escape = [&](char letter, std::uint32_t code, int digits) {
      out_ += '\\';
      out_ += letter;
      for (int i = digits - 1; i >= 0; --i) out_ += kHex[code >> (4 * i) & 15];
    };
    out_ += '"';
    for (std::size_t i = 0; i < value.size();) {
      unsigned char c = static_cast<unsigned char>(value[i]);
      if (c >= 0x80) {
        DecodedChar decoded = decode_utf8(value, i);
        if (decoded.valid) {
          out_ += value.substr(i, decoded.length);
          i += decoded.length;
        } else {  // a lone surrogate, in three bytes
          std::uint32_t code = 0xFFFD;
          if (value.size() - i >= 3) {
            code = std::uint32_t(c & 0x0F) << 12 | std::uint32_t(value[i + 1] & 0x3F) << 6 |
                   std::uint32_t(value[i + 2] & 0x3F);
          }
          escape('u', code, 4);
          i += 3;
        }
        continue;
      }
      ++i;
      switch (c) {
        case '"': out_ += "\\\""; break;
        case '\\': out_ += "\\\\"; break;
        case '\n': out_ += "\\n"; break;
        case '\r': out_ += "\\r"; break;
        case '\t': out_ += "\\t"; break;
        default:
          if (c < 0x20 || c == 0x7F) {
            escape('x', c, 2);
          } else {
            out_ += char(c);
          }
      }
    }
    out_ += '"';
  }

  void write_original(const Expr& expr) {
    const SourceFile* file = expr.loc.file;
    if (!file) {
      if (const UnsupportedExpr* unsupported = expr.as_if<UnsupportedExpr>()) out_ += unsupported->construct;
      return;
    }
    for (std::uint32_t number = expr.loc.line; number <= expr.end_line; ++number) {
      std::string_view line = file->line(number);
      if (number == expr.end_line) line = line.substr(0, std::min<std::size_t>(line.size(), expr.end_col - 1));
      if (number == expr.loc.line) line.remove_prefix(std::min<std::size_t>(line.size(), expr.loc.col - 1));
      if (number != expr.loc.line) out_ += '\n';
      out_ += line;
    }
  }

  std::string out_;
};

}  // namespace

std::string to_source(const Expr& expr) {
  SourceWriter writer;
  writer.write(expr);
  return writer.take();
}

}  // namespace weft::syntax
