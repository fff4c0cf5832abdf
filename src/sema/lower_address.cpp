// wp.address_of(place): where an array element lies, or a variable. Variables are values without a place; one whose address
// a function gets lies in memory for as long as that call takes, and has afterwards what the memory holds.
#include "sema/lowering.h"
#include "types/fabric_type.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

ir::Value* FunctionLowering::from_front(ir::Value* index, bool wrap, ir::Value* extent) {
  index = cast(index, types::i64());
  if (!wrap) return index;
  ir::Value* behind = builder_.binary(OpCode::lt, index, builder_.i64(0));
  return builder_.select(behind, builder_.binary(OpCode::add, index, extent), index);
}

ir::Value* FunctionLowering::element_address(const Place& place) {
  ir::Value* array = place.base;
  ir::Value* one = builder_.i64(1);
  for (std::size_t k = 0; k < place.indices.size(); ++k) {
    ir::Value* extent = builder_.dim(array, int(k), types::i64());
    ir::Value* first = from_front(place.indices[k], (place.wrap >> k) & 1u, extent);
    array = builder_.slice(array, int(k), first, builder_.binary(OpCode::add, first, one), one);
  }
  ir::Value* address = builder_.unary(OpCode::data_ptr, array);
  const Type* type = array->type->element();
  std::int64_t fixed = 0;
  std::size_t dynamic = 0;
  for (const ir::PathStep& step : place.path) {
    if (step.kind == ir::PathStep::field) {
      const Field& field = type->fields()[std::size_t(step.value)];
      fixed += std::int64_t(field.offset);
      type = field.type;
      continue;
    }
    const bool rows = type->is_mat();  // a row first, then a component of it
    const std::int64_t stride = std::int64_t(type->element()->size() * (rows ? type->cols() : 1));
    const std::int64_t extent = std::int64_t(rows ? type->rows() : type->component_count());
    type = rows ? types::vec(type->element(), type->cols()) : type->element();
    if (!step.dynamic) {
      fixed += step.value * stride;
      continue;
    }
    ir::Value* index = from_front(place.dynamic[dynamic++], step.wrap, builder_.i64(extent));
    ir::Value* bytes = builder_.binary(OpCode::mul, index, builder_.i64(stride));
    address = builder_.binary(OpCode::add, address, cast(bytes, types::u64()));
  }
  if (fixed) address = builder_.binary(OpCode::add, address, function_.constant_int(types::u64(), fixed));
  return address;
}

Entity FunctionLowering::lower_address(const CallExpr& expr) {
  const bool lent = lendable_ == &expr;
  lendable_ = nullptr;
  if (expr.args.size() != 1 || !expr.keywords.empty())
    return fail(DiagCode::bad_call, expr, "address_of takes one argument: a variable, an array element or part of one");
  const Expr& what = *expr.args[0];
  Place place = place_of(what);
  if (place.root == Place::Root::none) return Entity::failed();
  builder_.set_loc(expr.loc);
  if (place.root == Place::Root::temporary || place.is_run())
    return fail(DiagCode::bad_reference, what, "a temporary value has no address",
                "store the value in a variable first and pass that");
  if (place.root == Place::Root::memory) return Entity::of(element_address(place));
  if (!lent)
    return fail(DiagCode::bad_reference, expr, "a variable has an address only while a function runs that gets it",
                "write wp.address_of(…) as an argument of the call; elements of arrays keep their addresses");
  if (!place.type->is_scalar() && !place.type->is_composite() &&
      !(place.type->is_struct() && !place.type->is_indexed_array() && !fabric_type(place.type)))
    return fail(DiagCode::bad_reference, what, "values of type " + place.type->user_name() + " have no address");
  const std::int64_t shape[] = {1};
  ir::Value* memory = builder_.local(types::array(place.type, 1), shape);
  ir::Value* first[] = {builder_.i32(0)};
  builder_.store(memory, first, 0, {}, {}, read_place(place).value);
  lent_.emplace_back(std::move(place), memory);
  return Entity::of(builder_.unary(OpCode::data_ptr, memory));
}

void FunctionLowering::take_back(std::size_t mark, const Node& at_node) {
  for (; lent_.size() > mark; lent_.pop_back()) {
    ir::Value* first[] = {builder_.i32(0)};
    write_place(lent_.back().first, Entity::of(at(at_node).load(lent_.back().second, first, 0)), at_node);
  }
}

}  // namespace weft::sema
