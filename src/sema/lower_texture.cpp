// Textures in kernels: texture_sample, whose forms differ in rank and in how coordinates are written, and what library code
// says about texels, by the type that is wanted of them: a number, two or four.
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

namespace {

/// The end of a library function's name for values of this type; empty for types that textures don't give.
std::string_view shape_of(const Type* type) {
  if (type == types::f32()) return "number";
  if (type == types::vec(types::f32(), 2)) return "pair";
  if (type == types::vec(types::f32(), 4)) return "four";
  return {};
}

/// 1 to 3 for the struct of a texture, else 0.
std::size_t rank_of_texture(const Type* type) {
  if (!is_library_struct(type)) return 0;
  const std::string name = type->user_name();
  return name.size() == 9 && name.starts_with("Texture") && name[8] == 'D' ? std::size_t(name[7] - '0') : 0;
}

Argument argument(Entity entity, const Expr* expr) { return {{}, std::move(entity), expr, nullptr}; }

}  // namespace

bool FunctionLowering::is_texture_form(std::string_view name) {
  for (std::string_view form :
       {"texture_sample", "_texel", "_texel_corners", "_texel_slice", "_texel_rows", "_texel_pairs", "_texel_row",
        "_byte_texel", "_texel_add", "_texture_part", "_texture_slope", "_texture_sum", "_texture_read",
        "_gradient_of_texels", "_half_gradient_of_texels"})
    if (name == form) return true;
  return false;
}

Entity FunctionLowering::special_texture(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  if (name == "texture_sample") return special_texture_sample(std::move(args), at_node);
  if (name == "_texture_read") return special_texture_read(args, at_node);
  if (args.empty()) return fail(DiagCode::bad_call, at_node, std::string(name) + "() takes arguments");
  if (name == "_gradient_of_texels" || name == "_half_gradient_of_texels") {
    ir::Value* operands[] = {value_of(args[0].entity, *args[0].expr),
                             function_.constant(types::i64(), std::uint64_t(INT32_MAX))};
    if (!operands[0]) return Entity::failed();
    const ScalarKind kind = name == "_gradient_of_texels" ? ScalarKind::f32 : ScalarKind::f16;
    const Type* type = types::array(types::scalar(kind), 1);
    return Entity::of(at(at_node).op_typed(OpCode::from_ptr, operands, std::span(&type, 1))->result());
  }
  ir::Value* like = value_of(args.back().entity, *args.back().expr);
  if (!like) return Entity::failed();
  const std::string_view shape = shape_of(like->type);
  if (shape.empty()) return fail(DiagCode::bad_call, at_node, "no texel is " + like->type->user_name());
  if (name == "_texture_sum") {
    ir::Value* other = value_of(args[0].entity, *args[0].expr);
    if (!other) return Entity::failed();
    return Entity::of(at(at_node).op(shape == "number" ? OpCode::mul : OpCode::dot, std::array{other, like})->result());
  }
  const std::string_view start = name == "_texel"           ? "_texel_"
                                 : name == "_texel_corners" ? "_corners_"
                                 : name == "_texel_slice"   ? "_slice_"
                                 : name == "_texel_rows"    ? "_rows_"
                                 : name == "_texel_pairs"   ? "_pairs_"
                                 : name == "_texel_row"     ? "_row_"
                                 : name == "_byte_texel"    ? "_byte_"
                                 : name == "_texel_add"     ? "_add_"
                                 : name == "_texture_slope" ? "_slope_"
                                                            : "_part_";
  return call_functions({library_function(std::string(start) + std::string(shape))}, std::move(args), at_node);
}

Entity FunctionLowering::special_texture_read(const std::vector<Argument>& args, const Node& at_node) {
  if (args.size() < 4 || args.size() > 6 || args[0].entity.kind != Entity::Kind::string)
    return fail(DiagCode::bad_call, at_node, "_texture_read() takes a kind, an object, coordinates and a level");
  std::vector<ir::Value*> operands;
  for (std::size_t k = 1; k < args.size(); ++k) {
    ir::Value* value = value_of(args[k].entity, *args[k].expr);
    if (!value) return Entity::failed();
    operands.push_back(value);
  }
  const bool whole = args[0].entity.symbol->constant.text == "whole";
  const Type* type = types::vec(whole ? types::i32() : types::f32(), 4);
  ir::Op* op = at(at_node).op_typed(OpCode::texture, operands, std::span(&type, 1));
  op->imm = std::int64_t(operands.size()) - 2 + (whole ? ir::kTextureWhole : 0);
  return Entity::of(op->result());
}

Entity FunctionLowering::special_texture_sample(std::vector<Argument> args, const Node& at_node) {
  const Argument* first = nullptr;
  for (const Argument& arg : args)
    if (arg.keyword == "tex" || (arg.keyword.empty() && !first)) first = &arg;
  const std::size_t rank = first && first->entity.is_value() ? rank_of_texture(first->entity.type()) : 0;
  if (rank == 0)
    return fail(DiagCode::no_overload, at_node,
                "texture_sample() takes a Texture1D, Texture2D or Texture3D first, got (" + describe(args) + ")");
  // Coordinates are one vector or numbers: the second argument, or a name, tells.
  bool apart = rank == 1;
  std::size_t positional = 0;
  for (const Argument& arg : args) {
    if (arg.keyword == "u" || arg.keyword == "v" || arg.keyword == "w") apart = true;
    if (!arg.keyword.empty()) continue;
    if (positional++ == 1 && rank > 1) apart = !(arg.entity.is_value() && arg.entity.type()->is_vec());
  }
  std::vector<std::string_view> params = {"tex"};
  const std::string_view numbers[] = {"u", "v", "w"};
  if (apart)
    params.insert(params.end(), numbers, numbers + rank);
  else
    params.push_back(rank == 2 ? "uv" : "uvw");
  const std::size_t coordinates = params.size() - 1;
  params.insert(params.end(), {"dtype", "lod", "exact"});
  // What is left out at the end.
  const auto has = [&](std::string_view name) {
    for (const Argument& arg : args)
      if (arg.keyword == name) return true;
    return positional > std::size_t(std::find(params.begin(), params.end(), name) - params.begin());
  };
  if (!has("lod")) args.push_back({"lod", Entity::of(function_.constant_float(types::f32(), -1.0)), nullptr, nullptr});
  if (!has("exact")) args.push_back({"exact", Entity::of(function_.constant_bool(false)), nullptr, nullptr});
  if (!order_arguments("texture_sample", params, args, at_node)) return Entity::failed();
  if (args.size() != params.size())
    return fail(DiagCode::bad_call, at_node,
                "texture_sample() takes a texture, coordinates and a dtype (float, vec2 or vec4), got (" +
                    describe(args) + ")");

  const auto node_of = [&](const Argument& arg) -> const Node& {
    return arg.expr ? static_cast<const Node&>(*arg.expr) : at_node;
  };
  const auto float_of = [&](const Argument& arg, std::string_view param) -> ir::Value* {
    const bool literal = arg.entity.kind == Entity::Kind::integer || arg.entity.kind == Entity::Kind::real;
    ir::Value* value =
        literal ? literal_as(arg.entity, types::f32(), node_of(arg)) : value_of(arg.entity, node_of(arg));
    if (value && value->type != types::f32()) {
      fail(DiagCode::no_overload, node_of(arg),
           "texture_sample() takes '" + std::string(param) + "' as float32, not as " + value->type->user_name());
      return nullptr;
    }
    return value;
  };

  ir::Value* texture = value_of(args[0].entity, node_of(args[0]));
  if (!texture) return Entity::failed();
  std::vector<Argument> passed = {argument(Entity::of(builder_.extract(texture, 0)), args[0].expr)};
  for (std::size_t k = 1; k <= coordinates; ++k) {
    if (apart) {
      ir::Value* value = float_of(args[k], params[k]);
      if (!value) return Entity::failed();
      passed.push_back(argument(Entity::of(value), args[k].expr));
      continue;
    }
    ir::Value* place = value_of(args[k].entity, node_of(args[k]));
    if (!place) return Entity::failed();
    const Type* wanted = types::vec(types::f32(), std::uint32_t(rank));
    if (place->type != wanted)
      return fail(DiagCode::no_overload, node_of(args[k]),
                  "texture_sample() takes '" + std::string(params[k]) + "' of a " + texture->type->user_name() +
                      " as " + wanted->user_name() + ", not as " + place->type->user_name());
    for (std::size_t axis = 0; axis < rank; ++axis)
      passed.push_back(argument(Entity::of(builder_.extract(place, std::int32_t(axis))), args[k].expr));
  }
  const Argument& dtype = args[coordinates + 1];
  const bool named =
      dtype.entity.kind == Entity::Kind::type && dtype.entity.symbol->pattern.kind == builtins::Pattern::Kind::exact;
  const Type* type = named ? dtype.entity.symbol->pattern.type : nullptr;
  if (!type || shape_of(type).empty())
    return fail(DiagCode::bad_call, node_of(dtype),
                "texture_sample() takes a dtype of float, vec2 or vec4" +
                    (type ? ", not " + type->user_name() : ", got " + describe(dtype.entity)));
  ir::Value* lod = float_of(args[coordinates + 2], "lod");
  if (!lod) return Entity::failed();
  passed.push_back(argument(Entity::of(lod), args[coordinates + 2].expr));
  const Argument& exact = args[coordinates + 3];
  ir::Value* wanted = value_of(exact.entity, node_of(exact));
  if (!wanted) return Entity::failed();
  if (!wanted->type->is_bool() || !wanted->is_constant())
    return fail(DiagCode::bad_call, node_of(exact),
                "texture_sample() takes 'exact' as True or False, known at compile time");
  passed.push_back(argument(Entity::of(function_.zero(type)), dtype.expr));
  const std::string function = (wanted->bits != 0 ? "_texture_sample_exact" : "_texture_sample") + std::to_string(rank);
  return call_functions({library_function(function)}, std::move(passed), at_node);
}

}  // namespace weft::sema
