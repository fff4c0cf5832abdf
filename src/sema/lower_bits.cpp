// cast() and reinterpret(): the bits of a value as another type of the same size. Numbers, vectors, matrices, quaternions
// and transforms are runs of components in memory (the first one in the lowest bytes); where components of both types
// differ in size, those of one are put together from those of the other by shifts. Structs of such are runs of numbers at
// the places of C's layout; bytes between them are zero.
#include "sema/lowering.h"

#include <algorithm>

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

/// A number, several of them without padding, or a struct of such.
bool has_plain_bits(const Type* type) {
  if (!type->is_struct()) return type->is_numeric() && type->scalar_kind() != ScalarKind::boolean;
  return !type->fields().empty() &&
         std::ranges::all_of(type->fields(), [](const Field& f) { return has_plain_bits(f.type); });
}

/// One of the numbers that a value is made of: its type, the byte it begins at, and the way to it.
struct Number {
  const Type* type;
  std::size_t offset;
  std::vector<PathStep> path;
};

void collect_numbers(const Type* type, std::size_t offset, std::vector<PathStep>& path, std::vector<Number>& out) {
  if (type->is_scalar()) return out.push_back({type, offset, path});
  const std::size_t many = type->is_struct() ? type->fields().size() : type->component_count();
  for (std::size_t k = 0; k < many; ++k) {
    const std::size_t depth = path.size();
    if (type->is_struct()) {
      path.push_back({PathStep::field, false, false, std::int32_t(k)});
      collect_numbers(type->fields()[k].type, offset + type->fields()[k].offset, path, out);
    } else {
      if (type->is_mat()) path.push_back({PathStep::index, false, false, std::int32_t(k / type->cols())});
      path.push_back({PathStep::index, false, false, std::int32_t(type->is_mat() ? k % type->cols() : k)});
      collect_numbers(type->element(), offset + k * type->element()->size(), path, out);
    }
    path.resize(depth);
  }
}

std::vector<Number> numbers_of(const Type* type) {
  std::vector<Number> out;
  std::vector<PathStep> path;
  collect_numbers(type, 0, path, out);
  return out;
}

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
                "both must be numbers, vectors, matrices or structs of them, of the same size");
  builder_.set_loc(at_node.loc);
  if (value->type->is_scalar() && to->is_scalar()) return Entity::of(builder_.bitcast(value, to));
  const bool structs = value->type->is_struct() || to->is_struct();
  return Entity::of(structs ? reinterpreted_struct(value, to) : reinterpreted(value, to));
}

ir::Value* FunctionLowering::reinterpreted_struct(ir::Value* value, const Type* to) {
  auto bits = [&](ir::Value* number, const Type* type) {
    return number->type == type ? number : builder_.bitcast(number, type);
  };
  const std::vector<Number> given = numbers_of(value->type);
  std::vector<ir::Value*> words;  // the bits of each
  for (const Number& one : given) {
    ir::Value* number = one.path.empty() ? value : builder_.extract(value, one.path);
    words.push_back(cast(bits(number, unsigned_of_size(one.type->size())), types::u64()));
  }
  ir::Value* result = function_.zero(to);
  for (const Number& wanted : numbers_of(to)) {
    ir::Value* whole = builder_.constant(types::u64(), 0);
    for (std::size_t k = 0; k < given.size(); ++k) {
      const std::size_t begin = given[k].offset, size = given[k].type->size();
      if (begin + size <= wanted.offset || begin >= wanted.offset + wanted.type->size()) continue;
      ir::Value* part = words[k];
      if (begin > wanted.offset)
        part = fold(OpCode::shl, part, builder_.constant(types::u64(), 8 * (begin - wanted.offset)));
      if (begin < wanted.offset)
        part = fold(OpCode::shr, part, builder_.constant(types::u64(), 8 * (wanted.offset - begin)));
      whole = fold(OpCode::bit_or, whole, part);
    }
    ir::Value* number = bits(cast(whole, unsigned_of_size(wanted.type->size())), wanted.type);
    result = wanted.path.empty() ? number : builder_.insert(result, number, wanted.path);
  }
  return result;
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
