// Where a descriptor comes from: the one place that knows which operations make descriptors, pass them on, take them apart
// or find them in memory. It looks at one function and goes back from a value; analysis/alias gathers sets over loops and
// calls with the same knowledge. Lies with the IR because the front end asks too.
#pragma once
#include <cstdint>

#include "ir/ir.h"

namespace weft::ir {

/// A value of this type holds an array descriptor somewhere.
bool has_array(const Type* type);
/// How many descriptors are in a value of this type.
std::size_t count_arrays(const Type* type);

/// What the descriptors in an operation's results are made of.
enum class Descent : std::uint8_t {
  nothing,   // there are none
  operand,   // memory of the first operand
  operands,  // of one of the operands, or of several
  regions,   // what regions yield, and what loops begin with
  made,      // memory of its own: `local`
  gradient,  // the gradient of the first operand
  memory,    // found in the memory of the first operand
  fixed,     // memory that nothing writes while kernels run: `from_ptr(fixed)`
  anywhere,  // an address, a function's result
};
Descent descent_of(const Op& op);

/// The memory that a descriptor (or the descriptors in a value) describes, as far as its function tells.
struct Origin {
  enum class Kind : std::uint8_t {
    none,       // no array: the null descriptor
    parameter,  // an array that the function was given
    local,      // private memory
    fixed,      // memory that nothing writes while kernels run
    shared,     // an array found in the memory of arrays that all threads see: anybody's, but no thread's own
    unknown,
  };
  Kind kind = Kind::unknown;
  bool gradient = false;         // parameter, shared, unknown: not the array, but its gradient
  bool in_kernel = false;        // parameter: of a kernel, so that all threads see it
  const Value* param = nullptr;  // parameter: which; null if it is one of several
  std::uint32_t offset = 0;      // parameter: the byte in it where the descriptor lies
  std::uint32_t array = 0;       // parameter: how many descriptors of it lie before this one
  const Op* local = nullptr;     // local: which; null if it is one of several
  bool of_object = false;        // shared: found in fixed memory, where objects have the descriptors of their arrays

  /// It is that parameter, or a part of it, and not its gradient.
  bool is_parameter() const { return kind == Kind::parameter && param && !gradient; }
  bool operator==(const Origin&) const = default;
};
Origin origin_of(const Value* value);

/// The descriptor behind views and slices of it.
inline Value* whole_array(Value* array) {
  while (array->kind == ValueKind::result && (array->op->code == OpCode::view || array->op->code == OpCode::slice))
    array = array->op->operand(0);
  return array;
}

}  // namespace weft::ir
