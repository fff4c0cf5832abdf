// Stacks that a block shares, and tiles of random numbers.
#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

namespace {

/// A stack is a struct {data, count}: its memory, and one number. Its name is its type.
const Type* stack_type(const Type* element, std::int64_t capacity) {
  const Field fields[] = {{"data", types::array(element, 1), 0}, {"count", types::array(types::i32(), 1), 0}};
  return types::structure("tile_stack(" + element->user_name() + ", " + std::to_string(capacity) + ")", fields);
}

std::optional<std::int64_t> capacity_of(const Type* type) {
  const std::string name = type->is_struct() ? type->user_name() : std::string();
  if (!name.starts_with("tile_stack(") || type->fields().size() != 2) return std::nullopt;
  return std::stoll(name.substr(name.rfind(' ') + 1));
}

ir::Value* field_of(ir::Builder& b, ir::Value* stack, std::int32_t k) {
  const ir::PathStep step{ir::PathStep::field, false, false, k};
  return b.extract(stack, std::span(&step, 1));
}

}  // namespace

Entity Tiles::form_stack(std::string_view name, const std::vector<Argument>& args) {
  if (name == "tile_stack") {
    static constexpr std::string_view kParams[] = {"capacity", "dtype"};
    const auto bound = bind(name, kParams, 2, args);
    const Type* element = bound ? dtype_argument((*bound)[1], nullptr) : nullptr;
    const auto shape = element ? shape_argument(*(*bound)[0], element) : std::nullopt;
    if (!shape) return Entity::failed();
    if (shape->size() != 1) return fail(DiagCode::bad_call, at_, "the capacity of a stack is one number");
    const Window data = make(element, *shape), count = make(types::i32(), {1});
    ir::Value* first[] = {i32(0)};
    once([&] { put(count, first, i32(0)); });
    ir::Value* parts[] = {data.data, count.data};
    return Entity::of(b_.construct(stack_type(element, (*shape)[0]), parts));
  }
  static constexpr std::string_view kPush[] = {"s", "value", "has_value"};
  const bool push = name == "tile_stack_push";
  const auto bound = bind(name, std::span(kPush).first(push ? 3 : 1), push ? 2 : 1, args);
  if (!bound) return Entity::failed();
  ir::Value* stack = f_.value_of((*bound)[0]->entity, node(*(*bound)[0]));
  if (!stack) return Entity::failed();
  const auto capacity = capacity_of(stack->type);
  if (!capacity)
    return fail(DiagCode::bad_call, node(*(*bound)[0]),
                std::string(name) + "() takes a stack, not " + stack->type->user_name(),
                "make one: wp.tile_stack(capacity, dtype)");
  ir::Value *data = field_of(b_, stack, 0), *counter = field_of(b_, stack, 1);
  ir::Value* first[] = {i32(0)};
  ir::Value* count = b_.load(counter, first, 0);
  const auto set = [&](ir::Value* n) { once([&] { b_.store(counter, first, 0, {}, {}, n); }); };
  if (name == "tile_stack_count") return Entity::of(count);
  if (name == "tile_stack_clear") {
    set(i32(0));
    return Entity::nothing();
  }
  const Type* element = data->type->element();
  if (push) {
    const Argument& given = *(*bound)[1];
    const bool adapts = given.entity.kind == Entity::Kind::integer || element->is_float();
    ir::Value* value = given.entity.is_literal() && element->is_scalar() && adapts
                           ? f_.literal_as(given.entity, element, node(given))
                           : f_.value_of(given.entity, node(given));
    ir::Value* wanted = (*bound)[2] ? f_.truth((*bound)[2]->entity, node(*(*bound)[2])) : b_.boolean(true);
    if (!value || !wanted) return Entity::failed();
    if (value->type != element)
      return fail(
          DiagCode::tile_operand, node(given),
          "the value is " + value->type->user_name() + ", which does not match the stack's " + element->user_name());
    if (threads_ > 1) return push_all(data, count, value, wanted, *capacity, set);
    ir::Value* room = b_.binary(OpCode::bit_and, wanted, b_.binary(OpCode::lt, count, i32(*capacity)));
    guarded(room, [&] {
      ir::Value* at[] = {count};
      b_.store(data, at, 0, {}, {}, value);
      set(b_.binary(OpCode::add, count, i32(1)));
    });
    return Entity::of(b_.select(room, count, i32(-1)));
  }
  // Each thread takes one, the first the topmost.
  meet();
  ir::Value* top = b_.binary(OpCode::sub, count, plus(i32(1), own_place()));
  ir::Value* any = b_.binary(OpCode::ge, top, i32(0));
  ir::Value* at[] = {b_.select(any, top, i32(0))};
  ir::Value* read = b_.load(data, at, 0);
  ir::Value* value = b_.select(any, read, f_.function_.zero(element));
  ir::Value* left = threads_ > 1 ? b_.binary(OpCode::sub, count, thread_count()) : top;
  set(b_.binary(OpCode::max, left, i32(0)));
  return Entity::of_tuple({Entity::of(value), Entity::of(b_.select(any, top, i32(-1)))});
}

Entity Tiles::push_all(ir::Value* data, ir::Value* count, ir::Value* value, ir::Value* wanted, std::int64_t capacity,
                       const std::function<void(ir::Value*)>& set) {
  // Slots in the order of threads.
  meet();
  const Window totals = make(types::i32(), {(threads_ + 31) / 32});
  const Entity both = f_.call_functions({library_function("_tile_rank_block")},
                                        {{{}, Entity::of(wanted), nullptr, nullptr},
                                         {{}, Entity::of(totals.data), nullptr, nullptr},
                                         {{}, Entity::of(thread()), nullptr, nullptr},
                                         {{}, Entity::of(thread_count()), nullptr, nullptr}},
                                        at_);
  if (both.kind != Entity::Kind::tuple || both.elements->size() != 2) return Entity::failed();
  ir::Value *before = (*both.elements)[0].value, *all = (*both.elements)[1].value;
  ir::Value* slot = b_.binary(OpCode::add, count, before);
  ir::Value* room = b_.binary(OpCode::bit_and, wanted, b_.binary(OpCode::lt, slot, i32(capacity)));
  guarded(room, [&] {
    ir::Value* at[] = {slot};
    b_.store(data, at, 0, {}, {}, value);
  });
  set(b_.binary(OpCode::min, b_.binary(OpCode::add, count, all), i32(capacity)));
  return Entity::of(b_.select(room, slot, i32(-1)));
}

Entity Tiles::form_random(std::string_view name, const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"shape", "rng", "min", "max", "storage"};
  std::vector<Argument> given = args;  // (shape, rng, storage) has no bounds
  if (given.size() == 3 && given[2].keyword.empty() && given[2].entity.kind == Entity::Kind::string)
    given[2].keyword = "storage";
  const auto bound = bind(name, kParams, 2, given);
  if (!bound || !check_storage((*bound)[4])) return Entity::failed();
  const bool whole = name == "tile_randi";
  const Type* element = whole ? types::i32() : types::f32();
  const auto shape = shape_argument(*(*bound)[0], element);
  ir::Value* state = shape ? f_.value_of((*bound)[1]->entity, node(*(*bound)[1])) : nullptr;
  if (!state) return Entity::failed();
  if (state->type != types::u32())
    return fail(DiagCode::type_mismatch, node(*(*bound)[1]),
                "rng is uint32, as wp.rand_init gives it, not " + state->type->user_name());
  std::vector<ir::Value*> bounds;
  for (std::size_t p : {2, 3}) {
    if (!(*bound)[p]) continue;
    const Argument& arg = *(*bound)[p];
    ir::Value* v =
        arg.entity.is_literal() ? f_.literal_as(arg.entity, element, node(arg)) : f_.value_of(arg.entity, node(arg));
    if (!v) return Entity::failed();
    if (v->type != element) return fail(DiagCode::type_mismatch, node(arg), "the bounds are " + element->user_name());
    bounds.push_back(v);
  }
  if (bounds.size() == 1) return fail(DiagCode::bad_call, at_, std::string(name) + "() takes both bounds or none");
  const Window made = make(element, *shape);
  const Window all = flat(made);
  each(all.type->shape, [&](Coords at) {  // each element has a generator of its own: the same numbers on all devices
    std::vector<ir::Value*> values = {state, at[0]};
    values.insert(values.end(), bounds.begin(), bounds.end());
    ir::Value* number =
        library_call(bounds.empty() ? "_" + std::string(name) : "_" + std::string(name) + "_within", values);
    if (number) put(all, at, number);
  });
  return fresh(made);
}

}  // namespace weft::sema
