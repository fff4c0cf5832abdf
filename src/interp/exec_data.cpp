// Choosing, converting, building and taking apart values.
#include "interp/executor.h"
#include "ir/infer.h"
#include "ir/op_cases.h"
#include "ir/scalar_eval.h"

namespace weft::interp {

using ir::OpCode;

Executor::Place Executor::resolve(const Type* type, std::span<const ir::PathStep> path,
                                  std::span<ir::Value* const> dynamic) {
  Place place{0, type, true};
  std::size_t next = 0;
  for (const ir::PathStep& step : path) {
    const Type* part = ir::step_type(place.type, step);
    if (step.kind == ir::PathStep::field) {
      place.offset += field_offset(place.type, std::size_t(step.value));
    } else {
      std::uint32_t extent = ir::step_extent(place.type);
      // Constant steps are in range, which typing has checked; dynamic ones may be anything.
      std::int64_t i = step.value;
      if (step.dynamic) {
        const ir::Value* value = dynamic[next++];
        i = integer(value);
        // From 2⁶³ on, which an i64 shows as negative: out of range, and not counted from the end.
        if (value->type->scalar_kind() == ScalarKind::u64 && i < 0) i = extent;
        if (step.wrap && i < 0) i += extent;
      }
      if (i < 0 || i >= std::int64_t(extent)) {
        // The walk goes on at component 0, so that the type of the part comes out
        // right: zeros of that type are what is read.
        place.inside = false;
        i = 0;
      }
      place.offset += std::size_t(i) * part->size();
    }
    place.type = part;
  }
  return place;
}

void Executor::data(const ir::Op& op) {
  const Type* type = op.result()->type;
  std::byte* to = at(op.result());
  switch (op.code) {
    case OpCode::select: std::memcpy(to, at(op.operand(bits(op.operand(0)) ? 1 : 2)), value_size(type)); return;
    case OpCode::cast:
      return set_bits(op.result(),
                      ir::eval_cast(op.operand(0)->type->scalar_kind(), type->scalar_kind(), bits(op.operand(0))));
    // Both have the same size, and places have no type.
    case OpCode::bitcast: return set_bits(op.result(), bits(op.operand(0)));
    case OpCode::construct:
      std::memset(to, 0, value_size(type));  // padding compares and prints the same everywhere
      for (std::size_t i = 0; i < op.operands.size(); ++i) {
        const Type* part = op.operand(i)->type;
        std::size_t offset = type->is_composite() ? i * part->size() : field_offset(type, i);
        std::memcpy(to + offset, at(op.operand(i)), value_size(part));
      }
      return;
    case OpCode::splat:
      for (std::size_t i = 0; i < type->component_count(); ++i)
        std::memcpy(to + i * type->element()->size(), at(op.operand(0)), type->element()->size());
      return;
    case OpCode::extract: {
      Place place = resolve(op.operand(0)->type, op.path, op.operands.subspan(1));
      if (place.inside)
        std::memcpy(to, at(op.operand(0)) + place.offset, value_size(type));
      else
        std::memset(to, 0, value_size(type));
      return;
    }
    case OpCode::insert: {
      Place place = resolve(type, op.path, op.operands.subspan(2));
      // A copy with one part replaced: values don't change, and the operand may be used again.
      std::memcpy(to, at(op.operand(0)), value_size(type));
      if (place.inside) std::memcpy(to + place.offset, at(op.operand(1)), value_size(place.type));
      return;
    }
    WEFT_CASES(WEFT_OPS_BUT_DATA) WEFT_UNREACHABLE("not a data operation");
  }
}

}  // namespace weft::interp
