// Random expressions: for a wanted type, one of the ways to make a value of it.
#include "random_kernel.h"

namespace weft::agree::detail {

std::uint64_t Dice::next() {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string spell(const Type* type) {
  if (type->is_struct()) return type->name();
  if (type->is_vec() && type->rows() > 4) return "vec" + std::to_string(type->rows()) + "f";  // named by the program
  if (type->is_mat() && type->rows() != type->cols())
    return "wp.mat" + std::to_string(type->rows()) + std::to_string(type->cols()) +
           (type->scalar_kind() == ScalarKind::f64 ? "d" : "f");
  return "wp." + type->user_name();
}

const std::vector<const Type*>& scalar_types() {
  // The usual ones are listed more than once: they are what kernels are made of.
  static const std::vector<const Type*> list = [] {
    std::vector<const Type*> out;
    for (int k = 0; k < kScalarKinds; ++k) out.push_back(types::scalar(ScalarKind(k)));
    for (const Type* often : {types::i32(), types::f32(), types::f32(), types::i32(), types::boolean(), types::f64()})
      out.push_back(often);
    return out;
  }();
  return list;
}

std::vector<const Type*> composite_types() {
  const Type *f32 = types::f32(), *f64 = types::f64(), *f16 = types::scalar(ScalarKind::f16);
  return {types::vec(f32, 3),
          types::vec(f32, 2),
          types::vec(f32, 4),
          types::vec(types::i32(), 4),
          types::vec(f64, 4),
          types::vec(f16, 3),
          types::vec(types::i32(), 3),
          types::vec(types::scalar(ScalarKind::u8), 4),
          types::vec(types::i64(), 2),
          types::vec(f32, 5),
          types::mat(f32, 3, 3),
          types::mat(f64, 2, 2),
          types::mat(f32, 2, 3),
          types::mat(f32, 3, 2),
          types::quat(f32)};
}

const Type* Values::any_type() {
  if (!arrays.empty() && dice_.chance(30)) return dice_.pick(arrays).element;
  if (!variables.empty() && dice_.chance(20)) return dice_.pick(variables).type;
  if (dice_.chance(70)) return any_scalar();
  if (!structs.empty() && dice_.chance(25)) return dice_.pick(structs);
  const std::vector<const Type*> list = composite_types();
  return dice_.pick(list);
}

std::string Values::literal(const Type* type) {
  if (type->is_struct()) return type->name() + "()";
  if (type->is_composite()) {
    std::string text = spell(type) + "(";
    for (std::uint32_t k = 0; k < type->component_count(); ++k) text += (k ? ", " : "") + literal(type->element());
    return text + ")";
  }
  if (type->is_bool()) return dice_.chance(50) ? "True" : "False";
  if (type->is_float()) {
    static const std::vector<std::string> list = {"0.0",  "1.0",    "-1.5", "0.25",  "3.0",    "100.5",
                                                  "-0.0", "1.0e-6", "2.0",  "-7.75", "1.0e10", "0.1"};
    const std::string& number = dice_.pick(list);
    return type == types::f32() ? number : spell(type) + "(" + number + ")";
  }
  static const std::vector<std::string> list = {"0", "1", "2", "3", "5", "7", "13", "31", "100", "127"};
  std::string number = dice_.pick(list);
  if (type->is_signed_int() && dice_.chance(30)) number = "-" + number;
  return type == types::i32() ? number : spell(type) + "(" + number + ")";
}

std::string Values::leaf(const Type* type) {
  std::vector<const Variable*> fitting;
  for (const Variable& v : variables)
    if (v.type == type) fitting.push_back(&v);
  if (!fitting.empty() && dice_.chance(80)) return dice_.pick(fitting)->name;
  std::vector<const Readable*> loads;
  for (const Readable& a : arrays)
    if (a.element == type) loads.push_back(&a);
  if (!loads.empty() && dice_.chance(70)) {
    const Readable& a = *dice_.pick(loads);
    return a.name + "[" + a.prefix + index(a.count, 0) + "]";
  }
  if (type->is_struct() || dice_.chance(35)) return literal(type);
  // Data of another type, converted: constants alone would be folded away.
  auto converted = [&](const Type* to) -> std::string {
    std::vector<std::string> sources;
    for (const Variable& v : variables)
      if (v.type->is_scalar()) sources.push_back(v.name);
    for (const Readable& a : arrays)
      if (a.element->is_scalar())
        sources.push_back(a.name + "[" + a.prefix + std::to_string(dice_.below(std::size_t(a.count))) + "]");
    if (sources.empty()) return literal(to);
    return spell(to) + "(" + dice_.pick(sources) + ")";
  };
  if (type->is_scalar()) return converted(type);
  std::string text = spell(type) + "(";
  for (std::uint32_t k = 0; k < type->component_count(); ++k)
    text += (k ? ", " : "") + (dice_.chance(50) ? converted(type->element()) : literal(type->element()));
  return text + ")";
}

std::string Values::index(std::int64_t count, int depth, bool negative) {
  const Type* type = dice_.chance(75) ? types::i32() : dice_.chance(50) ? types::i64() : types::u32();
  auto number = [&](std::int64_t n) {
    return type == types::i32() ? std::to_string(n) : spell(type) + "(" + std::to_string(n) + ")";
  };
  if (dice_.chance(25)) return std::to_string(dice_.below(std::size_t(count)));
  std::string text = "(" + value(type, depth) + " & " + number(count - 1) + ")";
  if (negative && type->is_signed_int() && dice_.chance(15)) text = "(" + text + " - " + number(count) + ")";
  return text;
}

std::string Values::value(const Type* type, int depth) {
  if (depth <= 0 || dice_.chance(12)) return leaf(type);
  if (dice_.chance(6))
    return "(" + value(type, depth - 1) + " if " + condition(depth - 1) + " else " + value(type, depth - 1) + ")";
  if (dice_.chance(4))
    return "wp.where(" + condition(depth - 1) + ", " + value(type, depth - 1) + ", " + value(type, depth - 1) + ")";
  if (dice_.chance(8)) {
    std::vector<const Callable*> fitting;
    for (const Callable& f : functions)
      if (f.results.size() == 1 && f.results[0] == type) fitting.push_back(&f);
    if (!fitting.empty())
      if (std::string text = call(*dice_.pick(fitting), depth); !text.empty()) return text;
  }
  if (type->is_scalar()) return scalar(type, depth);
  return type->is_struct() ? structure(type, depth) : composite(type, depth);
}

std::string Values::call(const Callable& f, int depth) {
  std::string text = f.name + "(";
  if (f.array) {
    std::vector<std::string> fitting;
    for (const Readable& a : arrays)
      if (a.element == f.array) fitting.push_back(a.prefix.empty() ? a.name : a.name + "[i]");
    if (fitting.empty()) return {};
    text += dice_.pick(fitting) + ", ";
  }
  const std::size_t count = f.params.size() - (f.defaults && dice_.chance(50) ? std::size_t(f.defaults) : 0);
  for (std::size_t i = 0; i < count; ++i) text += (i ? ", " : "") + value(f.params[i], depth - 2);
  return text + ")";
}

std::string Values::scalar(const Type* type, int depth) {
  if (dice_.chance(10)) {  // a conversion
    const Type* from = any_scalar();
    return spell(type) + "(" + value(from, depth - 1) + ")";
  }
  if (dice_.chance(10))
    if (std::string text = from_composite(type, depth); !text.empty()) return text;
  if (type->is_bool()) return boolean(depth);
  return type->is_int() ? integer(type, depth) : floating(type, depth);
}

std::string Values::from_composite(const Type* scalar, int depth) {
  if (!structs.empty() && dice_.chance(30)) {
    const Type* type = dice_.pick(structs);
    for (const Field& f : type->fields())
      if (f.type == scalar) {
        for (const Variable& v : variables)
          if (v.type == type) return v.name + "." + std::string(f.name);
        return {};
      }
    return {};
  }
  std::vector<const Type*> fitting;
  for (const Type* t : composite_types())
    if (t->element() == scalar) fitting.push_back(t);
  if (fitting.empty()) return {};
  const Type* type = dice_.pick(fitting);
  const std::string v = value(type, depth - 1);
  if (type->is_mat()) {
    auto constant = [&](std::uint32_t n) { return std::to_string(dice_.below(n)); };
    return v + "[" + constant(type->rows()) + ", " + constant(type->cols()) + "]";
  }
  if (dice_.chance(20) && type->is_vec()) return "wp.dot(" + v + ", " + value(type, depth - 1) + ")";
  if (dice_.chance(15) && type->is_vec()) return std::string(dice_.chance(50) ? "wp.min(" : "wp.max(") + v + ")";
  if (dice_.chance(15) && type->is_vec() && scalar->is_float()) return "wp.length(" + v + ")";
  if (type->rows() >= 2 && dice_.chance(30)) return v + "[" + value(types::i32(), depth - 1) + " & 1]";
  if (dice_.chance(40) && type->rows() <= 4) return v + "." + std::string(1, "xyzw"[dice_.below(type->rows())]);
  return v + "[" + std::to_string(dice_.below(type->rows())) + "]";
}

std::string Values::boolean(int depth) {
  const Type* type = any_scalar();
  auto some = [&] { return value(type, depth - 1); };
  if (type->is_bool() || dice_.chance(35)) {
    auto b = [&] { return condition(depth - 1); };
    switch (dice_.below(7)) {
      case 0: return "(" + b() + " and " + b() + ")";
      case 1: return "(" + b() + " or " + b() + ")";
      case 2: return "(not " + b() + ")";
      case 3: return "(" + b() + " == " + b() + ")";
      case 4: return "(" + b() + " & " + b() + ")";
      case 5: return "(" + b() + " ^ " + b() + ")";
      default: return "(" + b() + " != " + b() + ")";
    }
  }
  static const std::vector<std::string> compare = {"<", "<=", ">", ">=", "==", "!="};
  if (type->is_float() && dice_.chance(10))
    return std::string(dice_.chance(50) ? "wp.isnan(" : "wp.isfinite(") + some() + ")";
  if (dice_.chance(10))
    return "(" + some() + " " + dice_.pick(compare) + " " + some() + " " + dice_.pick(compare) + " " + some() + ")";
  return "(" + some() + " " + dice_.pick(compare) + " " + some() + ")";
}

std::string Values::integer(const Type* type, int depth) {
  auto some = [&] { return value(type, depth - 1); };
  static const std::vector<std::string> ops = {"+", "-", "*", "+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"};
  if (dice_.chance(70)) {
    const std::string& op = dice_.pick(ops);
    // Of two literals it would be a number too large to be one.
    if (op == "<<") return "(" + spell(type) + "(" + some() + ") << " + some() + ")";
    return "(" + some() + " " + op + " " + some() + ")";
  }
  switch (dice_.below(7)) {
    case 0: return "(-" + some() + ")";
    case 1: return "(~" + some() + ")";
    case 2: return "wp.min(" + some() + ", " + some() + ")";
    case 3: return "wp.max(" + some() + ", " + some() + ")";
    case 4: return "wp.abs(" + some() + ")";
    case 5: return "wp.clamp(" + some() + ", " + some() + ", " + some() + ")";
    default: return "wp.sign(" + some() + ")";
  }
}

std::string Values::floating(const Type* type, int depth) {
  auto some = [&] { return value(type, depth - 1); };
  static const std::vector<std::string> ops = {"+", "-", "*", "+", "-", "*", "*", "/", "//", "%"};
  if (dice_.chance(70)) return "(" + some() + " " + dice_.pick(ops) + " " + some() + ")";
  static const std::vector<std::string> unary = {
      "wp.abs", "wp.floor", "wp.ceil", "wp.trunc", "wp.round", "wp.rint", "wp.sqrt", "wp.sign", "wp.sin",
      "wp.exp", "wp.atan",  "wp.frac", "wp.asin",  "wp.tanh",  "wp.log",  "wp.cbrt", "wp.step", "wp.nonzero"};
  switch (dice_.below(6)) {
    case 0: return "(-" + some() + ")";
    case 1: return "wp.min(" + some() + ", " + some() + ")";
    case 2: return "wp.max(" + some() + ", " + some() + ")";
    case 3: return "wp.clamp(" + some() + ", " + some() + ", " + some() + ")";
    case 4:
      return dice_.chance(60) ? "wp.lerp(" + some() + ", " + some() + ", " + some() + ")"
                              : "wp.atan2(" + some() + ", " + some() + ")";
    default: return dice_.pick(unary) + "(" + some() + ")";
  }
}

std::string Values::composite(const Type* type, int depth) {
  auto some = [&] { return value(type, depth - 1); };
  const Type* scalar = type->element();
  if (dice_.chance(25)) {
    std::string text = spell(type) + "(";
    for (std::uint32_t k = 0; k < type->component_count(); ++k) text += (k ? ", " : "") + value(scalar, depth - 2);
    return text + ")";
  }
  if (dice_.chance(40)) return "(" + some() + (dice_.chance(50) ? " + " : " - ") + some() + ")";
  if (dice_.chance(30)) return "(" + some() + " * " + value(scalar, depth - 1) + ")";
  if (dice_.chance(15)) return "(" + some() + " / " + value(scalar, depth - 1) + ")";
  if (dice_.chance(15)) return "(-" + some() + ")";
  if (type->is_quat()) return dice_.chance(60) ? "(" + some() + " * " + some() + ")" : "wp.normalize(" + some() + ")";
  if (type->is_mat()) {
    if (type->rows() == type->cols()) {
      if (dice_.chance(50)) return "(" + some() + " * " + some() + ")";
      return dice_.chance(70) ? "wp.transpose(" + some() + ")" : "wp.inverse(" + some() + ")";
    }
    if (dice_.chance(50))
      return "wp.transpose(" + value(types::mat(scalar, type->cols(), type->rows()), depth - 1) + ")";
    return "wp.outer(" + value(types::vec(scalar, type->rows()), depth - 1) + ", " +
           value(types::vec(scalar, type->cols()), depth - 1) + ")";
  }
  if (type->scalar_kind() == ScalarKind::f32 && type->rows() == 3 && dice_.chance(50)) {
    if (dice_.chance(30)) return "wp.quat_rotate(" + value(types::quat(scalar), depth - 1) + ", " + some() + ")";
    if (dice_.chance(40)) return "(" + value(types::mat(scalar, 3, 3), depth - 1) + " * " + some() + ")";
    return dice_.chance(50) ? "wp.cross(" + some() + ", " + some() + ")" : "wp.normalize(" + some() + ")";
  }
  return std::string(dice_.chance(50) ? "wp.min(" : "wp.max(") + some() + ", " + some() + ")";
}

std::string Values::structure(const Type* type, int depth) {
  if (dice_.chance(40)) return leaf(type);
  std::string text = type->name() + "(";
  bool first = true;
  for (const Field& f : type->fields()) {
    text += (first ? "" : ", ") + value(f.type, depth - 1);
    first = false;
  }
  return text + ")";
}

}  // namespace weft::agree::detail
