// Algebra on tiles in kernels that are differentiated. A product, a factorisation or a solve is a call of a library function
// with a gradient of its own (stdlib/tile_gradients.py), so that nothing of what happens inside is remembered. Its operands
// lie in memory of their own: what the way back needs of them is then a whole array, which differentiation can keep.
#include "sema/tiles.h"

namespace weft::sema {

using ir::OpCode;

Tiles::Window Tiles::alone(const Window& w, const Type* element) {
  const ir::Value* memory = w.data;
  const bool whole = memory->kind == ir::ValueKind::result && memory->op->code == OpCode::local &&
                     memory->op->ints[0] == w.type->count;
  if (whole && w.type->contiguous && w.type->element == element) return w;
  const Window made = make(element, w.type->shape);
  each(w.type->shape, [&](Coords at) { put(made, at, f_.cast(get(w, at), element)); });
  return made;
}

Entity Tiles::cholesky_step(const Window& a, bool upper, bool inplace) {
  const std::int64_t n = a.type->shape[0];
  // The upper triangle is the lower one of the transpose.
  const auto turned = [&](const Window& w) {
    const Shape& s = w.type->strides;
    return upper ? view(w, w.type->shape, {s[1], s[0]}, w.offset) : w;
  };
  const Window work = copy_of(turned(a));
  library_call("_tile_factor", {work.data, work.offset, i32(n), i32(n), make(a.type->element, {4 * n}).data});
  if (inplace) return copy(turned(work), a), Entity::nothing();
  return fresh(upper ? copy_of(turned(work)) : work);
}

void Tiles::pass_system(const Window& w, std::vector<ir::Value*>& args, std::int64_t n, bool square, bool swapped,
                        bool is_upper) {
  const std::size_t first = args.size();
  pass(w, args, swapped);
  if (!is_upper) return;
  const Shape& s = w.type->strides;
  const std::int64_t reach = square ? (n - 1) * (s[0] + s[1]) : (n - 1) * s[0];
  args[first + 1] = plus(w.offset, i32(reach));
  args[first + 2] = i32(-args[first + 2]->as_int());
  if (square) args[first + 3] = i32(-args[first + 3]->as_int());
}

}  // namespace weft::sema
