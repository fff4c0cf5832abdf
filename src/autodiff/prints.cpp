// `print(x)` in a backward pass: the value again, and a line with the adjoint that has come back to it so far. Both are
// written by a printf of their numbers, so no executor knows of it.
#include "autodiff/reverse.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Value;

namespace {

constexpr std::string_view kLibrary = "stdlib/";  // what names of the library's files begin with

/// Text as a printf format has it.
std::string literal(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

}  // namespace

bool is_users_print(const Op& op) {
  return op.code == OpCode::print && !(op.loc.file && op.loc.file->name().starts_with(kLibrary));
}

bool prints(const ir::Function& function) {
  // Each function once: a tree in which everything calls the next one twice would take exponential time.
  std::unordered_set<const ir::Function*> seen;
  auto look = [&](const ir::Function& at, auto& self) -> bool {
    bool any = false;
    if (seen.insert(&at).second)
      ir::walk(*at.body, [&](const Op& op) {
        any = any || is_users_print(op) || (op.code == OpCode::call && self(*op.callee, self));
      });
    return any;
  };
  return look(function, look);
}

/// Writes the numbers of a value into a printf: as print shows them, or, `adjoint`, without spaces at the ends of lines
/// and with the later rows of a matrix below the first. Null: zeros of that type.
void Reverser::append_numbers(const Type* type, Value* value, bool adjoint, Line& line) {
  auto number = [&](std::span<const ir::PathStep> path) {
    if (!value) {
      line.format += type->is_bool() ? "False" : "0";
      return;
    }
    const ScalarKind kind = type->scalar_kind();
    const bool is_signed = (type->is_scalar() ? type : type->element())->is_signed_int();
    line.format += kind >= ScalarKind::f16 ? "%g" : is_signed ? "%d" : "%u";
    line.numbers.push_back(path.empty() ? value : b_.extract(value, path));
  };
  auto step = [](std::uint32_t k) { return ir::PathStep{ir::PathStep::index, false, false, std::int32_t(k)}; };
  if (type->is_scalar()) return number({});
  const std::uint32_t count = type->component_count(), cols = type->is_mat() ? type->cols() : count;
  const bool pose = type->is_transform();  // (p) (q)
  if (pose) line.format += "(";
  for (std::uint32_t k = 0; k < count; ++k) {
    if (pose && k == 3)
      line.format += ") (";
    else if (k && (adjoint || pose))
      line.format += k % cols ? " " : "\n     ";
    const ir::PathStep path[] = {step(type->is_mat() ? k / cols : k), step(k % cols)};
    number(std::span(path, type->is_mat() ? 2 : 1));
    if (!adjoint && !pose) line.format += type->is_mat() && (k + 1) % cols == 0 ? " \n" : " ";
  }
  if (pose) line.format += ")";
}

void Reverser::reverse_print(const Op& op) {
  if (!options_.prints || !is_users_print(op)) return;
  // A printf of more numbers than that would be a longer line than anybody reads, and each is an operand.
  constexpr std::uint32_t kMost = 1024;
  auto has_numbers = [&](const Type* type) { return type->is_numeric() && type->component_count() <= kMost; };
  // Value and adjoint in one piece where printf knows both: lanes print one after another.
  bool together = true;
  for (const Value* value : op.operands) together = together && has_numbers(value->type) && !value->type->is_bool();
  Line line;
  if (together) {
    line.format = literal(op.text);
    for (const Value* value : op.operands) {
      append_numbers(value->type, map(const_cast<Value*>(value)), false, line);
      const bool separated = value->type->is_composite() && !value->type->is_transform();
      if (value != op.operands.back() && !separated) line.format += " ";
    }
    if (op.operands.empty() || !op.operands.back()->type->is_mat()) line.format += "\n";
  } else {
    // What printf has no conversion for (bools as words, structs, arrays) is
    // printed as ever, in an operation of its own.
    std::vector<Value*> values = mapped_all(op.operands);
    ir::copy_attributes(op, target_, *b_.op(OpCode::print, values));
  }
  line.format += "adj: " + literal(op.text);
  for (std::size_t k = 0; k < op.operands.size(); ++k) {
    const Value* value = op.operand(k);
    if (k) line.format += " ";
    if (!has_numbers(value->type))
      line.format += "<type without print implementation>";
    else
      // The adjoint so far: operations before the print have not been gone back
      // over yet, and what they add comes later.
      append_numbers(value->type, has_floats(value->type) ? adjoint_or_zero(value) : adjoint(value), true, line);
  }
  b_.op(OpCode::printf, line.numbers)->text = target_.arena.copy(line.format + "\n");
}

}  // namespace weft::autodiff
