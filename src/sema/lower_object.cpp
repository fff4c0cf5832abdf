// What library code says about objects that kernels reach by ids: `_handle("mesh", id)` is the id itself, with the mark by
// which launches know whose it is, and what is wanted of it (a third word: "winding" for meshes with moments, "written" for
// volumes that the kernel changes); `_fixed(address, dtype)` is memory of such an object, which no kernel writes.
#include "ir/fixed_memory.h"
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

namespace {
// More elements than any index structure has; indices stay within 31 bits.
constexpr std::int64_t kFixedExtent = INT32_MAX;
}  // namespace

Entity FunctionLowering::special_handle(const std::vector<Argument>& args, const Node& at_node) {
  std::optional<HandleKind> kind;
  HandleUse use(HandleKind::mesh);
  if ((args.size() == 2 || args.size() == 3) && args[0].entity.kind == Entity::Kind::string)
    kind = handle_from_text(args[0].entity.symbol->constant.text);
  if (args.size() == 3 && args[2].entity.kind == Entity::Kind::string) {
    const std::string_view wanted = args[2].entity.symbol->constant.text;
    use.winding = wanted == "winding";
    use.written = wanted == "written";
    if (!use.winding && !use.written) kind.reset();
  }
  if (!kind) return fail(DiagCode::bad_call, at_node, "_handle() takes the name of a kind of object and an id");
  ir::Value* id = value_of(args[1].entity, *args[1].expr);
  if (!id) return Entity::failed();
  if (id->type != types::u64())
    return fail(DiagCode::type_mismatch, *args[1].expr,
                "the id of a " + std::string(handle_user_name(*kind)) + " is uint64, not " + id->type->user_name());
  ir::Op* op = at(at_node).op_typed(OpCode::handle, std::span(&id, 1), std::span(&id->type, 1));
  use.kind = *kind;
  op->imm = use.number();
  return module_.options().debug ? checked_object(op->result(), *kind, at_node) : Entity::of(op->result());
}

/// Debug mode: ids may come out of memory, where no launch has looked at them. What is no id becomes that of no object.
Entity FunctionLowering::checked_object(ir::Value* id, HandleKind kind, const Node& at_node) {
  ir::Value* number = function_.constant(types::u32(), std::uint64_t(kind));
  const Entity alive =
      call_functions({library_function("_is_object")},
                     {{{}, Entity::of(id), nullptr, nullptr}, {{}, Entity::of(number), nullptr, nullptr}}, at_node);
  if (!alive.is_value()) return alive;
  ir::Value* operands[] = {alive.value, builder_.bitcast(id, types::i64()), builder_.i64(0)};
  ir::Op* check = at(at_node).op(OpCode::check, operands);
  check->check = ir::CheckKind::object;
  check->text = function_.arena.copy(handle_user_name(kind));
  return Entity::of(builder_.select(alive.value, id, function_.zero(types::u64())));
}

Entity FunctionLowering::special_fixed(const std::vector<Argument>& args, const Node& at_node) {
  const bool more = args.size() == 3 && args[2].entity.kind == Entity::Kind::string;
  const std::string_view form = more ? std::string_view(args[2].entity.symbol->constant.text) : "";
  if ((args.size() != 2 && !more) || args[1].entity.kind != Entity::Kind::type ||
      args[1].entity.symbol->pattern.kind != builtins::Pattern::Kind::exact)
    return fail(DiagCode::bad_call, at_node,
                "_fixed() takes an address, a dtype and perhaps \"loose\", \"runs\" or \"bytes\"");
  ir::Value* address = value_of(args[0].entity, *args[0].expr);
  if (!address) return Entity::failed();
  if (address->type != types::u64())
    return fail(DiagCode::type_mismatch, *args[0].expr, "an address must be uint64, not " + address->type->user_name());
  ir::Value* operands[] = {address, function_.constant(types::i64(), std::uint64_t(kFixedExtent))};
  const Type* type = types::array(args[1].entity.symbol->pattern.type, 1);
  ir::Op* op = at(at_node).op_typed(OpCode::from_ptr, operands, std::span(&type, 1));
  op->imm = form == "runs" ? ir::kFixedRuns : form == "bytes" ? ir::kFixedBytes : more ? ir::kFixedLoose : ir::kFixed;
  return Entity::of(op->result());
}

}  // namespace weft::sema
