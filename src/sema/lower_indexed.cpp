// Indexed arrays: an array and one index array per dimension, null where the dimension is taken as it is. An access to
// one is an ordinary access to its data with indices that were looked up first, so reads, writes, atomics, component
// paths and gradients need nothing of their own. They come as parameters, and from `a[rows, 2:5]` with an array `rows`.
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;

ir::Value* FunctionLowering::indexed_field(ir::Value* indexed, std::uint32_t number) {
  ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(number)};
  return builder_.extract(indexed, std::span(&step, 1));
}

ir::Value* FunctionLowering::indexed_extent(ir::Value* indexed, std::uint32_t dimension) {
  ir::Value* index_array = indexed_field(indexed, 1 + dimension);
  ir::Value* picked = builder_.dim(index_array, 0, types::i32());
  ir::Value* whole = builder_.dim(indexed_field(indexed, 0), int(dimension), types::i32());
  return builder_.select(builder_.unary(ir::OpCode::nonnull, index_array), picked, whole);
}

ir::Value* FunctionLowering::extent_of(ir::Value* array, std::uint32_t dimension) {
  if (array->type->is_indexed_array()) return indexed_extent(array, dimension);
  return builder_.dim(array, int(dimension), types::i32());
}

ir::Value* FunctionLowering::as_indexed(ir::Value* value, const Type* wanted) {
  if (!wanted->is_indexed_array() || value->type != wanted->fields()[0].type) return value;
  std::vector<ir::Value*> parts = {value};
  for (const Field& field : wanted->fields().subspan(1)) parts.push_back(function_.zero(field.type));
  return builder_.construct(wanted, parts);
}

/// index_array ? index_array[index] : index. The array is only read where it is there.
ir::Value* FunctionLowering::data_index(ir::Value* index_array, ir::Value* index, const Node& at_node) {
  if (!enter_region(at_node)) return nullptr;
  Subscript subscript;
  subscript.index = index;
  const Type* type = index->type == types::i32() ? types::i32() : types::i64();
  ir::Region* outer = builder_.region();
  ir::Value* there = at(at_node).unary(ir::OpCode::nonnull, index_array);
  ir::Op* choice = builder_.if_op(there, std::span(&type, 1));
  builder_.set_place(choice->regions[0]);
  ir::Value* list[] = {index};
  ir::Value* taken[] = {cast(builder_.load(index_array, list, subscript.wraps()), type)};
  builder_.yield(taken);
  builder_.set_place(choice->regions[1]);
  ir::Value* same[] = {cast(index, type)};
  builder_.yield(same);
  builder_.set_place(outer);
  --region_depth_;
  return choice->result();
}

bool FunctionLowering::data_indices(ir::Value* indexed, std::vector<ir::Value*>& indices, const Node& at_node) {
  for (std::size_t k = 0; k < indices.size(); ++k) {
    indices[k] = data_index(indexed_field(indexed, std::uint32_t(1 + k)), indices[k], at_node);
    if (!indices[k]) return false;
  }
  return true;
}

Place FunctionLowering::gathered_place(ir::Value* array, std::span<const Subscript> subscripts,
                                       const SubscriptExpr& expr) {
  std::vector<ir::Value*> parts = {array};  // the data, then an index array for each dimension that stays
  for (std::uint32_t k = 0; k < array->type->rank(); ++k) {
    const Subscript* given = k < subscripts.size() ? &subscripts[k] : nullptr;
    bool gathers = given && given->is_gather();
    if (given && !gathers) parts[0] = narrowed(parts[0], *given, int(parts.size()) - 1, expr);
    if (given && !gathers && !given->is_slice()) continue;
    if (gathers) {  // an array without elements has no memory either: then the dimension is empty, not taken as it is
      ir::Value* there = at(expr).unary(ir::OpCode::nonnull, given->index);
      ir::Value *zero = builder_.i64(0), *one = builder_.i64(1);
      ir::Value* nothing = builder_.slice(parts[0], int(parts.size()) - 1, zero, zero, one);
      parts[0] = builder_.select(there, parts[0], nothing);
    }
    parts.push_back(gathers ? given->index : function_.zero(types::array(types::i32(), 1)));
  }
  Place place;
  place.root = Place::Root::temporary;
  place.type = types::indexed_array(array->type->element(), std::uint32_t(parts.size()) - 1);
  place.base = at(expr).construct(place.type, parts);
  return place;
}

Place FunctionLowering::indexed_place(ir::Value* indexed, const SubscriptExpr& expr) {
  const Type* type = indexed->type;
  const std::uint32_t rank = type->rank();
  std::vector<Subscript> subscripts;
  if (!array_subscripts(expr, type, subscripts)) return {};
  std::size_t integers = 0;
  for (std::size_t k = 0; k < subscripts.size(); ++k) {
    if (subscripts[k].is_gather()) {
      fail(DiagCode::bad_index, *expr.indices[k], "an indexedarray can't be indexed by an array",
           "look the indices up first: a[indices[i]]");
      return {};
    }
    integers += !subscripts[k].is_slice();
  }
  builder_.set_loc(expr.loc);
  Place place;
  ir::Value* data = indexed_field(indexed, 0);
  if (integers == rank) {
    for (const Subscript& s : subscripts) place.indices.push_back(s.index);
    if (!data_indices(indexed, place.indices, expr)) return {};
    place.root = Place::Root::memory;
    place.base = data;
    place.wrap = std::uint8_t((1u << rank) - 1);  // index arrays may hold negative numbers
    place.type = type->element();
    return place;
  }
  std::vector<ir::Value*> parts = {data};
  for (std::uint32_t k = 0; k < rank; ++k) {
    ir::Value* index_array = indexed_field(indexed, 1 + k);
    int dimension = int(parts.size()) - 1;
    if (k < subscripts.size() && subscripts[k].is_slice()) {  // of the index array where there is one, else of the data
      ir::Value* there = builder_.unary(ir::OpCode::nonnull, index_array);
      parts[0] = builder_.select(there, parts[0], narrowed(parts[0], subscripts[k], dimension, expr));
      index_array = narrowed(index_array, subscripts[k], 0, expr);
    } else if (k < subscripts.size()) {
      Subscript found;
      found.index = data_index(index_array, subscripts[k].index, expr);
      if (!found.index) return {};
      parts[0] = narrowed(parts[0], found, dimension, expr);
      continue;
    }
    parts.push_back(index_array);
  }
  place.root = Place::Root::temporary;
  place.type = types::indexed_array(type->element(), std::uint32_t(parts.size()) - 1);
  place.base = builder_.construct(place.type, parts);
  return place;
}

}  // namespace weft::sema
