// Labels for switches over operations: `WEFT_CASES(LIST)` stands for the `case` of every operation of a list of ops.def.
// A switch that treats one class names the operations of that class one by one and takes the others by
// WEFT_OPS_BUT_…; it needs no `default`, so the compiler names it when an operation joins the class.
#pragma once
#include "ir/ir.h"
#include "ir/op_cases.h"

#define WEFT_CASE_OF(name, ...) case ::weft::ir::OpCode::name:
#define WEFT_CASES(LIST) LIST(WEFT_CASE_OF)

/// Operations on numbers alone: what they give is a function of their operands' bits.
#define WEFT_NUMBER_OPS(OP) \
  WEFT_ARITH_OPS(OP) WEFT_BITS_OPS(OP) WEFT_COMPARE_OPS(OP) WEFT_ROUND_OPS(OP) WEFT_MATH_OPS(OP) WEFT_WHOLE_OPS(OP)
/// Operations on whatever values.
#define WEFT_OTHER_OPS(OP) WEFT_DATA_OPS(OP) WEFT_MEMORY_OPS(OP) WEFT_CONTROL_OPS(OP) WEFT_EFFECT_OPS(OP)

/// Operations of class memory that touch no element: they make descriptors and ask for what is in them.
#define WEFT_DESCRIPTOR_OPS(OP) \
  OP(view) OP(slice) OP(dim) OP(nonnull) OP(data_ptr) OP(from_ptr) OP(gradient) OP(with_gradient) OP(recall)

/// All operations but those of one class.
#define WEFT_OPS_BUT_ARITH(OP) \
  WEFT_BITS_OPS(OP) WEFT_COMPARE_OPS(OP) WEFT_ROUND_OPS(OP) WEFT_MATH_OPS(OP) WEFT_WHOLE_OPS(OP) WEFT_OTHER_OPS(OP)
#define WEFT_OPS_BUT_BITS(OP) \
  WEFT_ARITH_OPS(OP) WEFT_COMPARE_OPS(OP) WEFT_ROUND_OPS(OP) WEFT_MATH_OPS(OP) WEFT_WHOLE_OPS(OP) WEFT_OTHER_OPS(OP)
#define WEFT_OPS_BUT_COMPARE(OP) \
  WEFT_ARITH_OPS(OP) WEFT_BITS_OPS(OP) WEFT_ROUND_OPS(OP) WEFT_MATH_OPS(OP) WEFT_WHOLE_OPS(OP) WEFT_OTHER_OPS(OP)
#define WEFT_OPS_BUT_ROUND(OP) \
  WEFT_ARITH_OPS(OP) WEFT_BITS_OPS(OP) WEFT_COMPARE_OPS(OP) WEFT_MATH_OPS(OP) WEFT_WHOLE_OPS(OP) WEFT_OTHER_OPS(OP)
#define WEFT_OPS_BUT_MATH(OP) \
  WEFT_ARITH_OPS(OP) WEFT_BITS_OPS(OP) WEFT_COMPARE_OPS(OP) WEFT_ROUND_OPS(OP) WEFT_WHOLE_OPS(OP) WEFT_OTHER_OPS(OP)
#define WEFT_OPS_BUT_WHOLE(OP) \
  WEFT_ARITH_OPS(OP) WEFT_BITS_OPS(OP) WEFT_COMPARE_OPS(OP) WEFT_ROUND_OPS(OP) WEFT_MATH_OPS(OP) WEFT_OTHER_OPS(OP)
#define WEFT_OPS_BUT_DATA(OP) WEFT_NUMBER_OPS(OP) WEFT_MEMORY_OPS(OP) WEFT_CONTROL_OPS(OP) WEFT_EFFECT_OPS(OP)
#define WEFT_OPS_BUT_MEMORY(OP) WEFT_NUMBER_OPS(OP) WEFT_DATA_OPS(OP) WEFT_CONTROL_OPS(OP) WEFT_EFFECT_OPS(OP)
#define WEFT_OPS_BUT_CONTROL(OP) WEFT_NUMBER_OPS(OP) WEFT_DATA_OPS(OP) WEFT_MEMORY_OPS(OP) WEFT_EFFECT_OPS(OP)
#define WEFT_OPS_BUT_EFFECT(OP) WEFT_NUMBER_OPS(OP) WEFT_DATA_OPS(OP) WEFT_MEMORY_OPS(OP) WEFT_CONTROL_OPS(OP)
