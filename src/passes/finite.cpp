// One comparison for each float of a value.
#include "passes/finite.h"

#include <limits>

namespace weft::passes {

using ir::OpCode;
using ir::Value;

Value* all_finite(ir::Builder& build, Value* value, Value* ok) {
  const Type* type = value->type;
  if (!has_floats(type)) return ok;
  if (type->is_struct()) {
    for (std::size_t k = 0; k < type->fields().size(); ++k)
      if (has_floats(type->fields()[k].type)) {
        ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
        ok = all_finite(build, build.extract(value, {&step, 1}), ok);
      }
    return ok;
  }
  if (!type->is_numeric()) return ok;
  Value* infinity =
      build.function().constant_float(types::scalar(type->scalar_kind()), std::numeric_limits<double>::infinity());
  auto look = [&](Value* part) {
    // One comparison finds infinities of both signs and NaN, which is below nothing.
    Value* finite = build.binary(OpCode::lt, build.unary(OpCode::abs, part), infinity);
    ok = ok ? build.binary(OpCode::bit_and, ok, finite) : finite;
  };
  if (type->is_scalar()) {
    look(value);
    return ok;
  }
  for (std::uint32_t i = 0; i < type->rows(); ++i)
    for (std::uint32_t j = 0; j < type->cols(); ++j) {
      ir::PathStep path[] = {{ir::PathStep::index, false, false, std::int32_t(i)},
                             {ir::PathStep::index, false, false, std::int32_t(j)}};
      look(build.extract(value, std::span(path, type->is_mat() ? 2 : 1)));
    }
  return ok;
}

}  // namespace weft::passes
