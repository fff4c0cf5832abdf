// cast() and reinterpret(): the bits of a value as another type of the same size. Numbers, vectors, matrices, quaternions
// and transforms are runs of components in memory (the first one in the lowest bytes); where components of both types
// differ in size, those of one are put together from those of the other by shifts.
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;
using ir::PathStep;

namespace {

const Type* unsigned_of_size(std::size_t bytes) {
  switch (bytes) {
    case 1: return types::scalar(ScalarKind::u8);
    case 2: return types::scalar(ScalarKind::u16);
    case 4: return types::u32();
    default: return types::u64();
  }
}

/// A number, or several of them, without padding.
bool has_plain_bits(const Type* type) { return type->is_numeric() && type->scalar_kind() != ScalarKind::boolean; }

PathStep index_step(std::uint32_t k) { return {PathStep::index, false, false, std::int32_t(k)}; }

}  // namespace

Entity FunctionLowering::special_cast(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  constexpr std::string_view params[] = {"a", "dtype"};
  if (!order_arguments(name, params, args, at_node)) return Entity::failed();
  if (args.size() != 2 || args[1].entity.kind != Entity::Kind::type ||
      args[1].entity.symbol->pattern.kind != builtins::Pattern::Kind::exact)
    return fail(DiagCode::bad_call, at_node, std::string(name) + "() takes a value and a type");
  ir::Value* value = value_of(args[0].entity, at_node);
  if (!value) return Entity::failed();
  const Type* to = args[1].entity.symbol->pattern.type;
  if (value->type == to) return Entity::of(value);
  if (!has_plain_bits(value->type) || !has_plain_bits(to) || value->type->size() != to->size())
    return fail(DiagCode::type_mismatch, at_node,
                "can't reinterpret " + value->type->user_name() + " as " + to->user_name(),
                "both must be numbers, vectors or matrices of the same size");
  builder_.set_loc(at_node.loc);
  if (value->type->is_scalar() && to->is_scalar()) return Entity::of(builder_.bitcast(value, to));
  return Entity::of(reinterpreted(value, to));
}

ir::Value* FunctionLowering::reinterpreted(ir::Value* value, const Type* to) {
  const Type* from = value->type;
  auto scalar_of = [](const Type* type) { return type->is_scalar() ? type : type->element(); };
  const Type* given = unsigned_of_size(scalar_of(from)->size());
  const Type* wanted = unsigned_of_size(scalar_of(to)->size());
  auto bits = [&](ir::Value* number, const Type* type) {
    return number->type == type ? number : builder_.bitcast(number, type);
  };
  std::vector<ir::Value*> words;
  if (from->is_scalar()) words.push_back(bits(value, given));
  for (std::uint32_t k = 0; !from->is_scalar() && k < from->component_count(); ++k) {
    PathStep steps[] = {index_step(k / from->cols()), index_step(k % from->cols())};
    std::span<const PathStep> path = from->is_mat() ? std::span<const PathStep>(steps) : std::span(steps, 1);
    words.push_back(bits(builder_.extract(value, path), given));
  }
  std::vector<ir::Value*> parts;
  std::uint64_t width = 8 * std::min(given->size(), wanted->size());
  if (wanted->size() <= given->size()) {
    for (ir::Value* word : words)
      for (std::uint64_t shift = 0; shift < 8 * given->size(); shift += width)
        parts.push_back(cast(shift ? fold(OpCode::shr, word, builder_.constant(given, shift)) : word, wanted));
  } else {
    std::size_t many = wanted->size() / given->size();
    for (std::size_t k = 0; k < words.size(); k += many) {
      ir::Value* whole = cast(words[k], wanted);
      for (std::size_t j = 1; j < many; ++j) {
        ir::Value* moved = fold(OpCode::shl, cast(words[k + j], wanted), builder_.constant(wanted, j * width));
        whole = fold(OpCode::bit_or, whole, moved);
      }
      parts.push_back(whole);
    }
  }
  for (ir::Value*& part : parts) part = bits(part, scalar_of(to));
  return to->is_scalar() ? parts[0] : builder_.construct(to, parts);
}

}  // namespace weft::sema
