// Where loops keep what they carry: among their operands, and among the arguments of their bodies.
#pragma once
#include "ir/ir.h"

namespace weft::autodiff {

inline bool is_loop(const ir::Op& op) { return op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_; }
/// The first operand that starts a carried value; bounds and step come before.
inline std::size_t first_init(const ir::Op& op) { return op.code == ir::OpCode::for_ ? 3 : 0; }
/// The first argument of the body that is a carried value; the counter comes before.
inline std::size_t first_carried(const ir::Op& op) { return op.code == ir::OpCode::for_ ? 1 : 0; }

}  // namespace weft::autodiff
