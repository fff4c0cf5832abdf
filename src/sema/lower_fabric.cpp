// Arrays over buckets (types/fabric_type.h). An access looks for the bucket first; what follows is an ordinary access to an array
// at the bucket's address, so reads, writes, atomics and component paths need nothing of their own. Such memory has no gradient.
#include "sema/lowering.h"
#include "types/fabric_type.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

ir::Value* FunctionLowering::fabric_size(ir::Value* fabric) {
  if (!fabric_type(fabric->type)->indexed) return indexed_field(fabric, 0);
  return builder_.dim(indexed_field(fabric, 1), 0, types::i32());
}

ir::Value* FunctionLowering::array_at(ir::Value* address, ir::Value* count, const Type* element) {
  ir::Value* operands[] = {address, cast(count, types::i64())};
  const Type* type = types::array(element, 1);
  return builder_.op_typed(OpCode::from_ptr, operands, std::span(&type, 1))->result();
}

std::optional<FunctionLowering::BucketPlace> FunctionLowering::bucket_place(ir::Value* fabric, ir::Value* index,
                                                                            const Node& at_node) {
  const FabricType& type = *fabric_type(fabric->type);
  Subscript subscript;
  subscript.index = index;
  builder_.set_loc(at_node.loc);
  auto entry = [&](ir::Value* array, ir::Value* at_index, bool wrap = false) {
    return builder_.load(array, std::span(&at_index, 1), wrap);
  };
  bool wraps = subscript.wraps();
  if (type.indexed) {
    index = entry(indexed_field(fabric, 1), index, wraps);
    fabric = indexed_field(fabric, 0);
    wraps = true;
  }
  ir::Value* size = indexed_field(fabric, 0);
  ir::Value* place = cast(index, types::i32());
  ir::Value* zero = builder_.i32(0);
  if (wraps)
    place = builder_.select(builder_.binary(OpCode::lt, place, zero), builder_.binary(OpCode::add, place, size), place);
  if (module_.options().debug) {
    ir::Value* inside = builder_.binary(OpCode::bit_and, builder_.binary(OpCode::le, zero, place),
                                        builder_.binary(OpCode::lt, place, size));
    ir::Value* operands[] = {inside, cast(index, types::i64()), cast(size, types::i64())};
    ir::Op* check = builder_.op(OpCode::check, operands);
    check->check = ir::CheckKind::bounds;
    check->text = function_.arena.copy(type.type->user_name());
  }
  ir::Value *starts = indexed_field(fabric, 1), *pointers = indexed_field(fabric, 2);
  std::vector<Argument> args = {{{}, Entity::of(starts), nullptr, nullptr}, {{}, Entity::of(place), nullptr, nullptr}};
  const Entity found = call_functions({library_function("_fabric_bucket")}, std::move(args), at_node);
  if (!found.is_value()) return std::nullopt;
  builder_.set_loc(at_node.loc);
  ir::Value* bucket = found.value;
  ir::Value* start = entry(starts, bucket);
  ir::Value* count =
      builder_.binary(OpCode::sub, entry(starts, builder_.binary(OpCode::add, bucket, builder_.i32(1))), start);
  ir::Value* here = builder_.binary(OpCode::sub, place, start);
  ir::Value* address = entry(pointers, bucket);
  if (type.rank == 1) return BucketPlace{array_at(address, count, type.element), here};
  ir::Value* rows = array_at(address, count, types::u64());
  ir::Value* lengths = array_at(entry(indexed_field(fabric, 3), bucket), count, types::u64());
  return BucketPlace{array_at(entry(rows, here), entry(lengths, here), type.element), nullptr};
}

Place FunctionLowering::fabric_place(ir::Value* fabric, const SubscriptExpr& expr) {
  const FabricType& type = *fabric_type(fabric->type);
  std::vector<Subscript> subscripts;
  if (expr.indices.size() > type.rank) {
    fail(DiagCode::bad_index, *expr.indices[type.rank],
         "too many indices: " + fabric->type->user_name() + " takes " + std::to_string(type.rank) + ", got " +
             std::to_string(expr.indices.size()));
    return {};
  }
  for (std::size_t k = 0; k < expr.indices.size(); ++k) {
    const Expr& given = *expr.indices[k];
    if (const auto* slice = given.as_if<SliceExpr>(); slice && k > 0) {
      auto read = slice_subscript(*slice);
      if (!read) return {};
      subscripts.push_back(*read);
      continue;
    }
    if (given.kind == ExprKind::slice) {
      fail(DiagCode::bad_index, given, fabric->type->user_name() + " can't be sliced: its elements lie in buckets",
           "take elements by their numbers");
      return {};
    }
    Subscript one;
    one.index = index_value(given);
    if (!one.index) return {};
    subscripts.push_back(one);
  }
  const auto found = bucket_place(fabric, subscripts[0].index, expr);
  if (!found) return {};
  Place place;
  place.base = found->row;
  if (type.rank == 1) {
    place.indices = {found->index};
  } else if (subscripts.size() == 2 && !subscripts[1].is_slice()) {
    place.indices = {subscripts[1].index};
    place.wrap = subscripts[1].wraps();
  } else if (subscripts.size() == 2) {
    place.base = narrowed(found->row, subscripts[1], 0, expr);
  }
  place.root = place.indices.empty() ? Place::Root::temporary : Place::Root::memory;
  place.type = place.indices.empty() ? place.base->type : type.element;
  return place;
}

}  // namespace weft::sema
