// Volumes in kernels: the forms that take a dtype, which decides how a grid is walked, and what library code says about
// voxels. `_voxels(address, dtype)` is memory that kernels write by volume_store alone: in a kernel without such a store it
// is fixed for as long as the kernel runs, in others anybody's.
#include "ir/walk.h"
#include "sema/lowering.h"
#include "types/grid_layout.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

namespace {

// More elements than a leaf has.
constexpr std::int64_t kVoxelExtent = INT32_MAX;
// Until all of a kernel has been seen: memory that is fixed unless the kernel writes voxels. A file puts vectors where it likes.
constexpr std::int64_t kPerhapsFixed = 2;

constexpr const char* kVoxelTypes = "int32, int64, uint32, float32, float64, vec3f, vec3d, vec4f and vec4d";

const Type* type_argument(const Argument& arg) {
  if (arg.entity.kind != Entity::Kind::type || arg.entity.symbol->pattern.kind != builtins::Pattern::Kind::exact)
    return nullptr;
  return arg.entity.symbol->pattern.type;
}

}  // namespace

void ModuleLowering::settle_voxels(ir::Function& kernel) {
  const auto settle = [&](ir::Function& function) {
    ir::walk(*function.body, [&](ir::Op& op) {
      if (op.code == OpCode::from_ptr && op.imm == kPerhapsFixed) op.imm = voxels_written_ ? 0 : ir::kFixedLoose;
    });
  };
  for (auto& function : module_->functions) settle(*function);
  settle(kernel);
}

Entity FunctionLowering::special_voxels(const std::vector<Argument>& args, const Node& at_node) {
  const Type* element = args.size() >= 2 ? type_argument(args[1]) : nullptr;
  if (!element || args.size() > 3) return fail(DiagCode::bad_call, at_node, "_voxels() takes an address and a dtype");
  ir::Value* address = value_of(args[0].entity, *args[0].expr);
  if (!address) return Entity::failed();
  if (address->type != types::u64())
    return fail(DiagCode::type_mismatch, *args[0].expr, "an address must be uint64, not " + address->type->user_name());
  ir::Value* operands[] = {address, function_.constant(types::i64(), std::uint64_t(kVoxelExtent))};
  const Type* type = types::array(element, 1);
  ir::Op* op = at(at_node).op_typed(OpCode::from_ptr, operands, std::span(&type, 1));
  const bool written = args.size() == 3;
  if (written) module_.note_voxels_written();
  op->imm = written ? 0 : kPerhapsFixed;
  return Entity::of(op->result());
}

Entity FunctionLowering::special_grid_layout(const std::vector<Argument>& args, const Node& at_node) {
  const Type* element = args.size() == 2 ? type_argument(args[1]) : nullptr;
  const GridType grid = grid_type_of(element);
  const bool named = args.size() == 2 && args[0].entity.kind == Entity::Kind::string;
  if (!named || grid == GridType::unknown)
    return fail(DiagCode::bad_call, at_node, "_grid_layout() takes the name of a part and a dtype of voxels");
  const std::string& part = args[0].entity.symbol->constant.text;
  const auto number = part == "type" ? std::optional(std::uint32_t(grid)) : grid_layout_part(*grid_layout(grid), part);
  if (!number) return fail(DiagCode::bad_call, at_node, "a grid has no part '" + part + "'");
  return Entity::of(function_.constant(types::u32(), std::uint64_t(*number)));
}

bool FunctionLowering::is_volume_form(std::string_view name) {
  for (std::string_view form : {"volume_sample", "volume_sample_grad", "volume_lookup", "volume_store",
                                "volume_sample_index", "volume_sample_grad_index", "_volume_slope"})
    if (name == form) return true;
  return false;
}

/// The sum of products of components, without those whose adjoint is zero: slopes may be endless there.
static ir::Value* guarded_sum(ir::Function& function, ir::Builder& b, ir::Value* slope, ir::Value* adjoint) {
  const bool vectors = adjoint->type->is_vec();
  ir::Value* zero = function.zero(types::scalar(adjoint->type->scalar_kind()));
  ir::Value* sum = nullptr;
  for (std::int32_t k = 0; k < std::int32_t(adjoint->type->component_count()); ++k) {
    ir::Value* weight = vectors ? b.extract(adjoint, k) : adjoint;
    ir::Value* product = b.op(OpCode::mul, std::array{vectors ? b.extract(slope, k) : slope, weight})->result();
    ir::Value* term = b.select(b.op(OpCode::eq, std::array{weight, zero})->result(), zero, product);
    sum = sum ? b.op(OpCode::add, std::array{sum, term})->result() : term;
  }
  return sum;
}

Entity FunctionLowering::special_volume(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  if (name == "_volume_slope") {
    ir::Value* values[2] = {};
    for (std::size_t k = 0; k < 2 && args.size() == 2; ++k) values[k] = value_of(args[k].entity, *args[k].expr);
    if (!values[0] || !values[1] || values[0]->type != values[1]->type)
      return fail(DiagCode::bad_call, at_node, "_volume_slope() takes a slope and an adjoint of its type");
    return Entity::of(guarded_sum(function_, at(at_node), values[0], values[1]));
  }
  const bool slopes = name.starts_with("volume_sample_grad"), indexed = name.ends_with("_index");
  const bool by_voxel = name == "volume_lookup" || name == "volume_store";
  std::vector<std::string_view> params;
  if (by_voxel)
    params = {"id", "i", "j", "k"};
  else if (indexed)
    params = {"id", "uvw", "sampling_mode", "voxel_data", "background"};
  else
    params = {"id", "uvw", "sampling_mode"};
  if (slopes) params.push_back("grad");
  if (name == "volume_store") params.push_back("value");
  if (!indexed && name != "volume_store") params.push_back("dtype");
  if (!order_arguments(name, params, args, at_node)) return Entity::failed();
  if (args.size() != params.size())
    return fail(
        DiagCode::bad_call, at_node,
        std::string(name) + "() takes " + std::to_string(params.size()) + " arguments, got (" + describe(args) + ")");

  // What comes first has one type each.
  const std::size_t fixed = by_voxel ? 4 : 3;
  std::vector<Argument> passed;
  for (std::size_t k = 0; k < fixed; ++k) {
    const Type* wanted = k == 0 ? types::u64() : by_voxel || k == 2 ? types::i32() : types::vec(types::f32(), 3);
    const Node& node = args[k].expr ? static_cast<const Node&>(*args[k].expr) : at_node;
    ir::Value* value = args[k].entity.kind == Entity::Kind::integer && wanted->is_int()
                           ? literal_as(args[k].entity, wanted, node)
                           : value_of(args[k].entity, node);
    if (!value) return Entity::failed();
    if (value->type != wanted)
      return fail(DiagCode::no_overload, node,
                  std::string(name) + "() takes '" + std::string(params[k]) + "' as " + wanted->user_name() +
                      ", not as " + value->type->user_name());
    passed.push_back({{}, Entity::of(value), args[k].expr, nullptr});
  }

  // The type of voxels, by an example.
  ir::Value* example = nullptr;
  const Argument& last = args.back();
  const Argument* grad = slopes ? &args[indexed ? 5 : 3] : nullptr;
  if (indexed) {
    const Argument& rows = args[3];
    if (!rows.entity.is_value() || !rows.entity.type()->is_array() || rows.entity.type()->rank() != 1)
      return fail(
          DiagCode::no_overload, at_node,
          std::string(name) + "() takes 'voxel_data' as an array of one dimension, not " + describe(rows.entity));
    const Type* element = rows.entity.type()->element();
    Entity background = storable(args[4].entity, element, *args[4].expr, "the background");
    if (!background.is_value()) return Entity::failed();
    example = background.value;
    passed.push_back({{}, rows.entity, rows.expr, nullptr});
  } else if (name == "volume_store") {
    example = value_of(last.entity, *last.expr);
    if (!example) return Entity::failed();
  } else if (const Type* type = type_argument(last)) {
    example = function_.zero(type);
  } else {
    return fail(DiagCode::bad_call, at_node, std::string(name) + "() takes a dtype last, not " + describe(last.entity));
  }
  const Type* type = example->type;
  const bool grouped = type->is_vec() || type->is_scalar();
  if (indexed ? !grouped : grid_type_of(type) == GridType::unknown)
    return fail(DiagCode::bad_call, at_node,
                indexed ? std::string(name) + "() takes rows that are numbers or vectors, not " + type->user_name()
                        : "no volume has voxels of " + type->user_name() + ": there are " + kVoxelTypes);
  const bool whole = type->scalar_kind() < ScalarKind::f16;
  if (whole && slopes)
    return fail(DiagCode::bad_call, at_node, std::string(name) + "() takes voxels of floats, not " + type->user_name());
  passed.push_back({{}, Entity::of(example), last.expr, nullptr});

  std::string function = "_" + std::string(name);
  if (whole && !by_voxel) function = indexed ? "_volume_sample_index_whole" : "_volume_sample_whole";
  if (slopes && type->is_vec()) function += "_each";
  if (name != "volume_store") {
    // The type that weights are of.
    const Type* unit = whole ? types::f32() : types::scalar(type->scalar_kind());
    passed.push_back({{}, Entity::of(function_.zero(unit)), last.expr, nullptr});
  }
  Entity result = call_functions({library_function(function)}, std::move(passed), at_node);
  if (!slopes || result.kind != Entity::Kind::tuple) return result;
  const Node& node = grad->expr ? static_cast<const Node&>(*grad->expr) : at_node;
  if (!grad->place)
    return fail(DiagCode::bad_reference, node,
                "'" + std::string(name) + "' updates its argument 'grad', so it needs a variable here",
                "store the value in a variable first and pass that");
  const Entity slope = (*result.elements)[1];
  if (grad->entity.is_value() && grad->entity.type() != slope.type())
    return fail(DiagCode::type_mismatch, node,
                "the slopes of " + type->user_name() + " are " + slope.type()->user_name() + ", not " +
                    grad->entity.type()->user_name());
  write_place(*grad->place, slope, node);
  return (*result.elements)[0];
}

}  // namespace weft::sema
