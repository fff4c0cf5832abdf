// Algebra and algorithms on tiles: checks and memory here, the work in src/stdlib/tile_*.py; systems are in tiles_systems.cpp.
#include <algorithm>
#include <limits>

#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

bool Tiles::is_form(std::string_view name) {
  if (name == "tile" || name == "untile" || name == "bvh_query_next_tiled" || name == "mesh_query_aabb_next_tiled")
    return true;
  if (!name.starts_with("tile_")) return false;
  // Queries are made by library functions; only their steps give tiles.
  return name.find("query") == std::string_view::npos || name.ends_with("_next");
}

Entity Tiles::call(std::string_view name, std::vector<Argument> args) {
  for (const Argument& arg : args)
    if (arg.entity.is_error()) return Entity::failed();
  b_.set_loc(at_.loc);
  if (name == "tile") return form_tile(args);
  if (name == "untile") return form_untile(args);
  if (name == "tile_zeros" || name == "tile_ones" || name == "tile_empty" || name == "tile_full" ||
      name == "tile_from_thread")
    return form_fill(name, args);
  if (name == "tile_arange") return form_arange(args);
  if (name == "tile_load") return form_load(args);
  if (name == "tile_store" || name == "tile_atomic_add") return form_store(name, args);
  if (name == "tile_load_indexed" || name == "tile_store_indexed" || name == "tile_atomic_add_indexed")
    return form_indexed(name, args);
  if (name.find("query") != std::string_view::npos) return form_query_next(name, std::move(args));
  if (name == "tile_slice_indexed") return form_slice_indexed(args);
  if (name == "tile_add_inplace" || name == "tile_sub_inplace" || name.starts_with("tile_bit_"))
    return form_element_inplace(name, args);
  if (name == "tile_view") return form_view(args);
  if (name == "tile_assign") return form_assign(args);
  if (name == "tile_extract") return form_extract(args);
  if (name == "tile_reshape") return form_reshape(args);
  if (name == "tile_squeeze") return form_squeeze(args);
  if (name == "tile_transpose") return form_transpose(args);
  if (name == "tile_broadcast") return form_broadcast(args);
  if (name == "tile_scatter_masked" || name == "tile_scatter_add") return form_scatter(name, args);
  if (name == "tile_map") return form_map(args);
  if (name == "tile_astype") return form_astype(args);
  if (name == "tile_reduce" || name == "tile_sum" || name == "tile_min" || name == "tile_max")
    return form_reduce(name, args);
  if (name == "tile_argmin" || name == "tile_argmax") return form_arg_extreme(name, args);
  if (name == "tile_dot") return form_dot(args);
  if (name == "tile_axpy") return form_axpy(args);
  if (name == "tile_matmul") return form_matmul(args);
  if (name == "tile_cholesky" || name == "tile_cholesky_inplace") return form_cholesky(name, args);
  if (name.starts_with("tile_cholesky_solve") || name.starts_with("tile_lower_solve") ||
      name.starts_with("tile_upper_solve"))
    return form_solve(name, args);
  if (name == "tile_diag_add") return form_diag_add(args);
  if (name == "tile_fft" || name == "tile_ifft") return form_fft(name, args);
  if (name.starts_with("tile_scan_")) return form_scan(name, args);
  if (name == "tile_sort") return form_sort(args);
  if (name == "tile_randi" || name == "tile_randf") return form_random(name, args);
  if (name.starts_with("tile_stack")) return form_stack(name, args);
  return fail(DiagCode::unknown_name, at_, "there is no builtin '" + std::string(name) + "'");
}

ir::Value* Tiles::library_call(std::string_view name, std::vector<ir::Value*> values) {
  meet();
  return own_call(name, std::move(values));
}

ir::Value* Tiles::own_call(std::string_view name, std::vector<ir::Value*> values) {
  std::vector<Argument> args;
  for (ir::Value* v : values) args.push_back({{}, Entity::of(v), nullptr, nullptr});
  b_.set_loc(at_.loc);
  const Entity made = f_.call_functions({library_function(name)}, std::move(args), at_);
  return made.is_value() ? made.value : nullptr;
}

void Tiles::pass(const Window& w, std::vector<ir::Value*>& args, bool swapped) {
  args.push_back(w.data);
  args.push_back(w.offset);
  const Shape& strides = w.type->strides;
  const std::int64_t rows = strides[0], cols = strides.size() > 1 ? strides[1] : 0;
  args.push_back(i32(swapped ? cols : rows));
  args.push_back(i32(swapped ? rows : cols));
}

bool Tiles::float_tile(std::string_view form, const Window& w, const Node& at, bool halves) {
  const Type* t = w.type->element;
  if (t->is_float() && (halves || t->size() >= 4)) return true;
  const bool complex = t->is_vec() && t->rows() == 2;
  fail(DiagCode::tile_operand, at,
       std::string(form) + "() takes tiles of " + (halves ? "floats" : "float32 or float64") + ", not of " +
           t->user_name() + (complex ? "; it does not support complex tiles" : ""));
  return false;
}

void Tiles::in_packed(const Window& w, const std::function<void(const Window&)>& work) {
  const Window memory = packed(w);
  work(memory);
  if (memory.data != w.data) copy(memory, w);
}

Entity Tiles::form_matmul(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a", "b", "out", "alpha", "beta", "precision"};
  // (a, b, alpha) is a form of its own: a third argument that is no tile is the factor.
  std::vector<Argument> given = args;
  std::size_t positional = 0;
  for (const Argument& arg : given) positional += arg.keyword.empty();
  const bool third = positional >= 3 && given[2].entity.is_value() && tile_type(given[2].entity.type());
  if (positional >= 3 && !third) {
    if (positional > 4) return fail(DiagCode::bad_call, at_, "tile_matmul(a, b, alpha, precision) takes 4 arguments");
    given[2].keyword = "alpha";
    if (positional == 4) given[3].keyword = "precision";
  }
  const auto bound = bind("tile_matmul", kParams, 2, given);
  const Window a = bound ? whole_argument("tile_matmul", "a", *(*bound)[0]) : Window{};
  const Window b = a ? whole_argument("tile_matmul", "b", *(*bound)[1]) : Window{};
  if (!b) return Entity::failed();
  const auto precision = word_argument((*bound)[5], "precision", "default", {"default", "tf32"});
  if (!precision) return Entity::failed();
  if (a.type->rank() != 2 || b.type->rank() != 2)
    return fail(DiagCode::bad_call, at_,
                "tile_matmul() takes tiles of 2 dimensions, not " + shape_text(a.type->shape) + " and " +
                    shape_text(b.type->shape));
  if (!float_tile("tile_matmul", a, at_, true) || !float_tile("tile_matmul", b, at_, true)) return Entity::failed();
  const std::int64_t m = a.type->shape[0], p = a.type->shape[1], n = b.type->shape[1];
  if (b.type->shape[0] != p)
    return fail(DiagCode::type_mismatch, at_,
                "tile_matmul(): shapes " + shape_text(a.type->shape) + " and " + shape_text(b.type->shape) +
                    " don't fit: " + std::to_string(p) + " columns, " + std::to_string(b.type->shape[0]) + " rows");
  const Argument* out_arg = (*bound)[2];
  Window out = out_arg ? whole_argument("tile_matmul", "out", *out_arg) : make(a.type->element, {m, n});
  if (!out) return Entity::failed();
  if (out.type->shape != Shape{m, n})
    return fail(
        DiagCode::type_mismatch, node(*out_arg),
        "tile_matmul(): out has shape " + shape_text(out.type->shape) + ", the product " + shape_text(Shape{m, n}));
  if (!float_tile("tile_matmul", out, at_, true)) return Entity::failed();
  const Window* const operands[] = {&a, &b, &out};
  for (const Window* w : operands)
    if (*precision == "tf32" && w->type->element != types::f32())
      return fail(DiagCode::tile_operand, node(*(*bound)[5]),
                  "precision \"tf32\" is for tiles of float32, not of " + w->type->element->user_name(),
                  "leave the precision out, or convert: wp.tile_astype(t, wp.float32)");
  if (is_broadcast(out)) return fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
  // 16-bit numbers are summed in float32 and rounded once.
  const Type* result = out.type->element;
  const Type* sum = result->size() < 4 ? types::f32() : result;
  const auto factor = [&](const Argument* arg) -> ir::Value* {
    if (!arg) return f_.function_.constant_float(sum, 1.0);
    if (arg->entity.is_literal()) return f_.literal_as(arg->entity, sum, node(*arg));
    ir::Value* v = f_.value_of(arg->entity, node(*arg));
    if (v && !v->type->is_scalar())
      return fail(DiagCode::type_mismatch, node(*arg), "alpha and beta are numbers"), nullptr;
    return v ? f_.cast(v, sum) : nullptr;
  };
  ir::Value *alpha = factor((*bound)[3]), *beta = factor((*bound)[4]);
  if (!alpha || !beta) return Entity::failed();
  agree(alpha, "alpha");
  agree(beta, "beta");
  if (!out_arg && (*bound)[4])
    return fail(DiagCode::bad_call, node(*(*bound)[4]), "beta scales 'out', which is not given");
  const auto is = [](const ir::Value* v, double n) { return v->is_constant() && v->as_float() == n; };
  // In place the operands are read before anything is written.
  Window left = a, right = b;
  if (out_arg && may_overlap(out, a)) left = copy_of(a);
  if (out_arg && may_overlap(out, b)) right = copy_of(b);
  Window target = out;
  if (sum != result) {
    target = make(sum, {m, n});
    if (out_arg) each({m, n}, [&](Coords at) { put(target, at, f_.cast(get(out, at), sum)); });
  }
  std::vector<ir::Value*> values;
  pass(left, values);
  pass(right, values);
  pass(target, values);
  for (std::int64_t k : {m, n, p}) values.push_back(i32(k));
  const bool fresh_out = !out_arg || is(beta, 0);
  const bool one = is(alpha, 1) || is(alpha, -1);
  if (threads_ > 1) {
    const bool tf32 = *precision == "tf32", plain = one && (fresh_out || is(beta, 1));
    if (plain && multiply_fragments(left, right, target, fresh_out, is(alpha, 1), tf32)) {
      if (sum != result) each({m, n}, [&](Coords at) { put(out, at, f_.cast(get(target, at), result)); });
      return out_arg ? Entity::nothing() : fresh(out);
    }
    multiply_shared(values, {m, n, p}, alpha, beta, fresh_out);
    if (sum != result) each({m, n}, [&](Coords at) { put(out, at, f_.cast(get(target, at), result)); });
    return out_arg ? Entity::nothing() : fresh(out);
  }
  if (n > 3 && (!writes_once() || is_step(m * n * p)) && one && (fresh_out || is(beta, 1))) {
    multiply_rows(left, right, target, fresh_out, is(alpha, 1));
    if (sum != result) each({m, n}, [&](Coords at) { put(out, at, f_.cast(get(target, at), result)); });
    return out_arg ? Entity::nothing() : fresh(out);
  }
  if (fresh_out && one) {
    library_call(is(alpha, 1) ? "_tile_matmul_new" : "_tile_matmul_negative", values);
  } else if (fresh_out) {
    values.push_back(alpha);
    library_call("_tile_matmul_times", values);
  } else if (is(beta, 1) && one) {
    library_call(is(alpha, 1) ? "_tile_matmul_add" : "_tile_matmul_sub", values);
  } else {
    values.push_back(alpha);
    values.push_back(beta);
    library_call("_tile_matmul_scaled", values);
  }
  if (sum != result) each({m, n}, [&](Coords at) { put(out, at, f_.cast(get(target, at), result)); });
  return out_arg ? Entity::nothing() : fresh(out);
}

void Tiles::multiply_shared(std::vector<ir::Value*>& values, const Shape& extents, ir::Value* alpha, ir::Value* beta,
                            bool fresh_out) {
  const auto is = [](const ir::Value* v, double n) { return v->is_constant() && v->as_float() == n; };
  const bool one = is(alpha, 1) || is(alpha, -1), keep = one && !fresh_out && is(beta, 1);
  const bool plain = one && (fresh_out || keep);
  const Type* type = alpha->type;
  values.push_back(f_.function_.constant_float(type, plain && is(alpha, -1) ? -1.0 : 1.0));
  values.push_back(i32(keep));
  values.push_back(alpha);
  values.push_back(beta);
  values.push_back(i32(plain ? 0 : fresh_out ? 1 : 2));
  values.push_back(thread());
  values.push_back(thread_count());
  // Pieces of 8 by 4, 4 by 4, 2 by 2 or 1, the largest for which all threads have something to do.
  const auto fits = [&](std::int64_t rows, std::int64_t columns) {
    return extents[0] % rows == 0 && extents[1] % columns == 0 && extents[0] * extents[1] >= rows * columns * threads_;
  };
  library_call(fits(8, 4)   ? "_tile_matmul_block_8"
               : fits(4, 4) ? "_tile_matmul_block_4"
               : fits(2, 2) ? "_tile_matmul_block_2"
                            : "_tile_matmul_block",
               values);
}

bool Tiles::writes_once() const { return f_.module_.options().gradients; }

void Tiles::multiply_rows(const Window& a, const Window& b, const Window& c, bool fresh_out, bool plus_sign) {
  const auto has_rows = [](const Window& w) { return w.type->strides[1] == 1; };
  const bool differentiated = writes_once();
  const Type* element = c.type->element;
  const Window left = differentiated ? alone(a, element) : a;
  const Window right = differentiated ? alone(b, element) : has_rows(b) ? b : copy_of(b);
  const Window target = has_rows(c) ? c : fresh_out ? make(element, c.type->shape) : copy_of(c);
  if (fresh_out) fill(target, f_.function_.zero(element));
  std::vector<ir::Value*> values;
  pass(left, values);
  if (differentiated) values.pop_back();  // a step from column to column is one
  for (const Window* w : {&right, &target}) {
    pass(*w, values);
    values.pop_back();
  }
  const Shape &rows = a.type->shape, &columns = b.type->shape;
  for (std::int64_t k : {rows[0], columns[1], rows[1]}) values.push_back(i32(k));
  values.push_back(f_.function_.constant_float(element, plus_sign ? 1.0 : -1.0));
  if (differentiated) values.push_back(make(element, {b.type->count}).data);
  library_call(differentiated ? "_tile_product" : "_tile_matmul_rows", values);
  if (!has_rows(c)) copy(target, c);
}

Entity Tiles::form_diag_add(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a", "d"};
  const auto bound = bind("tile_diag_add", kParams, 2, args);
  const Window a = bound ? tile_argument("tile_diag_add", "a", *(*bound)[0]) : Window{};
  const Window d = a ? tile_argument("tile_diag_add", "d", *(*bound)[1]) : Window{};
  if (!d) return Entity::failed();
  if (a.type->rank() != 2 || a.type->shape[0] != a.type->shape[1] || d.type->rank() != 1 ||
      d.type->shape[0] != a.type->shape[0] || d.type->element != a.type->element)
    return fail(DiagCode::type_mismatch, at_,
                "tile_diag_add() takes a square tile and as many numbers of the same dtype, not " +
                    a.type->type->user_name() + " and " + d.type->type->user_name());
  const Window made = copy_of(a);
  loop(d.type->shape[0], [&](ir::Value* i) {
    ir::Value *diagonal[] = {i, i}, *at[] = {i};
    put(made, diagonal, b_.binary(OpCode::add, get(made, diagonal), get(d, at)));
  });
  return fresh(made);
}

Entity Tiles::form_arg_extreme(std::string_view name, const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a"};
  const auto bound = bind(name, kParams, 1, args);
  const Window w = bound ? whole_argument(name, "a", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  if (!w.type->element->is_int() && !w.type->element->is_float())
    return fail(DiagCode::bad_call, at_,
                std::string(name) + "() takes tiles of numbers, not of " + w.type->element->user_name());
  const Window memory = packed(w);
  ir::Value* place = threads_ > 1 ? extreme_place(memory, name == "tile_argmax")
                                  : library_call(name == "tile_argmin" ? "_tile_argmin" : "_tile_argmax",
                                                 {memory.data, memory.offset, i32(w.type->count)});
  if (!place) return Entity::failed();
  const Window made = make(types::i32(), {1});
  ir::Value* at[] = {i32(0)};
  once([&] { put(made, at, place); });
  return fresh(made);
}

ir::Value* Tiles::least_or_most(const Type* type, bool most) {
  if (type->is_float()) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return f_.function_.constant_float(type, most ? kInfinity : -kInfinity);
  }
  const int bits = int(type->size()) * 8;
  const bool is_signed = type->is_signed_int();
  const std::uint64_t all = ~std::uint64_t(0) >> (64 - bits), sign = std::uint64_t(1) << (bits - 1);
  if (is_signed) return b_.constant(type, most ? all & ~sign : sign);
  return b_.constant(type, most ? all : 0);
}

Entity Tiles::form_scan(std::string_view name, const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a"};
  static constexpr std::string_view kNames[] = {"tile_scan_inclusive", "tile_scan_exclusive", "tile_scan_max_inclusive",
                                                "tile_scan_min_inclusive"};
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return fail(DiagCode::unknown_name, at_, "there is no builtin '" + std::string(name) + "'");
  const auto bound = bind(name, kParams, 1, args);
  const Window w = bound ? whole_argument(name, "a", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  if (!w.type->element->is_int() && !w.type->element->is_float())
    return fail(DiagCode::bad_call, at_,
                std::string(name) + "() takes tiles of numbers, not of " + w.type->element->user_name());
  const OpCode code = name == "tile_scan_max_inclusive"   ? OpCode::max
                      : name == "tile_scan_min_inclusive" ? OpCode::min
                                                          : OpCode::add;
  constexpr std::int64_t kGroup = kScanGroup;
  // Inside of 32 neighbours each element takes in the one 1, 2, 4… before it; then the totals of such groups do the same.
  const std::function<Window(Window)> scan = [&](Window from) {
    if (cooperates()) return scan_shared(from, code);
    const std::int64_t n = from.type->count, groups = (n + kGroup - 1) / kGroup;
    for (std::int64_t d = 1; d < std::min(n, kGroup); d *= 2) {
      const Window to = make(from.type->element, {n});
      const auto pass_over = [&](ir::Value* start, std::int64_t length) {
        loop(std::min(d, length), [&](ir::Value* i) {
          ir::Value* at[] = {plus(start, i)};
          put(to, at, get(from, at));
        });
        if (length > d)
          loop(length - d, [&](ir::Value* i) {
            ir::Value *before[] = {plus(start, i)}, *at[] = {plus(before[0], i32(d))};
            put(to, at, b_.binary(code, get(from, before), get(from, at)));
          });
      };
      if (n / kGroup) loop(n / kGroup, [&](ir::Value* g) { pass_over(times(g, kGroup), kGroup); });
      if (n % kGroup) pass_over(i32(n - n % kGroup), n % kGroup);
      from = to;
    }
    if (groups == 1) return from;
    Window totals = make(from.type->element, {groups - 1});
    loop(groups - 1, [&](ir::Value* g) {
      ir::Value *to[] = {g}, *at[] = {plus(times(g, kGroup), i32(kGroup - 1))};
      put(totals, to, get(from, at));
    });
    totals = scan(totals);
    const Window to = make(from.type->element, {n});
    loop(kGroup, [&](ir::Value* i) {
      ir::Value* at[] = {i};
      put(to, at, get(from, at));
    });
    const auto add_total = [&](ir::Value* group, ir::Value* i) {  // `group` counts from the second one
      ir::Value *total[] = {group}, *at[] = {plus(plus(times(group, kGroup), i32(kGroup)), i)};
      put(to, at, b_.binary(code, get(totals, total), get(from, at)));
    };
    if (n / kGroup > 1)
      loop(n / kGroup - 1, [&](ir::Value* g) { loop(kGroup, [&](ir::Value* i) { add_total(g, i); }); });
    if (n % kGroup) loop(n % kGroup, [&](ir::Value* i) { add_total(i32(n / kGroup - 1), i); });
    return to;
  };
  Window source = flat(packed(w));
  if (w.by_thread && code != OpCode::add) {  // what is missing in one row must not be found by the next
    const Window given = source;
    source = make(w.type->element, {w.type->count});
    loop(w.type->count, [&](ir::Value* i) {
      ir::Value* at[] = {i};
      put(source, at, b_.select(is_there(i), get(given, at), least_or_most(w.type->element, code == OpCode::min)));
    });
  }
  Window result = scan(source);
  if (name == "tile_scan_exclusive" || result.data == w.data) {
    const bool shift = name == "tile_scan_exclusive";
    const Window moved = make(w.type->element, {w.type->count});
    ir::Value* first[] = {i32(0)};
    if (shift) once([&] { put(moved, first, f_.function_.zero(w.type->element)); });
    if (w.type->count > (shift ? 1 : 0))
      loop(w.type->count - (shift ? 1 : 0), [&](ir::Value* i) {
        ir::Value *from[] = {i}, *to[] = {plus(i, i32(shift ? 1 : 0))};
        put(moved, to, get(result, from));
      });
    result = moved;
  }
  return fresh(view(result, w.type->shape, w.type->packed().strides, result.offset));
}

Entity Tiles::form_sort(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"keys", "values"};
  const auto bound = bind("tile_sort", kParams, 2, args);
  const Window keys = bound ? whole_argument("tile_sort", "keys", *(*bound)[0]) : Window{};
  const Window values = keys ? whole_argument("tile_sort", "values", *(*bound)[1]) : Window{};
  if (!values) return Entity::failed();
  const Type* key = keys.type->element;
  if ((!key->is_int() && !key->is_float()) || key->size() < 4)
    return fail(DiagCode::bad_call, at_, "tile_sort() takes keys of 32 or 64 bits, not " + key->user_name(),
                "keys are int32, uint32, int64, uint64, float32 or float64");
  if (keys.type->count != values.type->count)
    return fail(DiagCode::type_mismatch, at_,
                "tile_sort() takes as many values as keys, not " + shape_text(keys.type->shape) + " and " +
                    shape_text(values.type->shape));
  if (is_broadcast(keys) || is_broadcast(values))
    return fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
  const std::int64_t n = keys.type->count;
  const Type* whole = key->is_float() ? types::scalar(key->size() == 8 ? ScalarKind::i64 : ScalarKind::i32) : key;
  const Window order = make(types::i32(), {n}), sorted = make(whole, {n}), more_order = make(types::i32(), {n}),
               more = make(whole, {n});
  const Window old_keys = flat(copy_of(keys)), old_values = flat(copy_of(values));
  loop(n, [&](ir::Value* i) {
    ir::Value* at[] = {i};
    ir::Value* k = get(old_keys, at);
    if (key->is_float()) {  // by the order of their bits: -NaN, -inf, …, -0, 0, …, inf, NaN
      ir::Value* bits = b_.bitcast(k, whole);
      ir::Value* sign =
          b_.binary(OpCode::shr, bits, f_.function_.constant_int(whole, std::int64_t(whole->size()) * 8 - 1));
      ir::Value* all = f_.function_.constant_int(whole, whole->size() == 8 ? INT64_MAX : INT32_MAX);
      k = b_.binary(OpCode::bit_xor, bits, b_.binary(OpCode::bit_and, sign, all));
    }
    put(sorted, at, k);
    put(order, at, i);
  });
  std::vector<ir::Value*> memories = {sorted.data, order.data, more.data, more_order.data, i32(n)};
  if (threads_ > 1) memories.insert(memories.end(), {thread(), thread_count()});
  library_call(threads_ > 1 ? "_tile_sort_block" : "_tile_sort", memories);
  const auto bring = [&](const Window& from, const Window& to) {
    in_packed(to, [&](const Window& memory) {
      const Window target = flat(memory);
      loop(n, [&](ir::Value* i) {
        ir::Value* at[] = {i};
        ir::Value* source[] = {get(order, at)};
        put(target, at, get(from, source));
      });
    });
  };
  bring(old_keys, keys);
  bring(old_values, values);
  return Entity::nothing();
}

}  // namespace weft::sema
