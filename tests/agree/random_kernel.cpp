// Random programs: structs, functions, and a kernel of random statements. Loops end because their counters are not
// assigned in their bodies and their bounds are masked.
#include "random_kernel.h"

namespace weft::agree {
namespace {

using detail::Callable;
using detail::Dice;
using detail::Readable;
using detail::spell;
using detail::Values;
using detail::Variable;

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : dice_(seed), values_(dice_) { program_.seed = seed; }

  RandomProgram write() {
    static const std::vector<std::int64_t> sizes = {1, 3, 7, 16, 17, 37, 70};
    program_.threads = dice_.pick(sizes);
    program_.lines.push_back({"vec5f = wp.types.vector(length=5, dtype=wp.float32)", {}});
    large_ = dice_.chance(12);  // LLVM's time goes with the size
    for (std::size_t k = dice_.below(3); k > 0; --k) add_struct();
    for (std::size_t k = dice_.below(large_ ? 4 : 3); k > 0; --k) add_function();
    add_kernel();
    return std::move(program_);
  }

 private:
  // What the place of a statement allows.
  struct Place {
    int depth = 0;  // of nesting
    int loops = 0;  // around it
    bool in_loop = false;
    bool kernel = false;
    std::vector<Variable>* escapes = nullptr;  // where names bound in the block go
    std::vector<const Type*> results;          // of the function around it
  };

  std::string fresh(const char* stem) { return stem + std::to_string(counter_++); }

  void add_struct() {
    const std::string name = fresh("S");
    Line line{"@wp.struct", {}}, body{"class " + name + ":", {}};
    std::vector<std::string> names;
    std::vector<Field> fields;
    const std::size_t count = 1 + dice_.below(4);
    for (std::size_t k = 0; k < count; ++k) {
      const Type* type = values_.any_type();
      names.push_back(std::string(1, char('a' + k)));
      body.body.push_back({names.back() + ": " + spell(type), {}});
      fields.push_back({names.back(), type, 0});
    }
    for (std::size_t k = 0; k < count; ++k) fields[k].name = names[k];
    program_.lines.push_back(line);
    program_.lines.push_back(body);
    values_.structs.push_back(types::structure(name, fields));
  }

  void add_function() {
    Callable f;
    f.name = fresh("f");
    const std::size_t params = 1 + dice_.below(3), results = dice_.chance(60) ? 1 : 2 + dice_.below(2);
    std::string header = "def " + f.name + "(";
    std::vector<Variable> outer = std::move(values_.variables);
    const std::size_t arrays = values_.arrays.size();
    values_.variables.clear();
    if (dice_.chance(35)) {
      f.array = values_.any_type();
      header += "arr: wp.array(dtype=" + spell(f.array) + "), ";
      values_.arrays.push_back({"arr", "", f.array, 4, false});
    }
    for (std::size_t k = 0; k < params; ++k) {
      const Type* type = values_.any_type();
      f.params.push_back(type);
      header += (k ? ", p" : "p") + std::to_string(k) + ": " + spell(type);
      if (k + 1 == params && params > 1 && type->is_scalar() && dice_.chance(40)) {
        header += " = " + plain_literal(type);
        f.defaults = 1;
      }
      values_.variables.push_back({"p" + std::to_string(k), type, false});
    }
    for (std::size_t k = 0; k < results; ++k) f.results.push_back(values_.any_type());
    Line def{header + "):", {}};
    Place place;
    place.results = f.results;
    def.body = block(place, 1 + dice_.below(large_ ? 4 : 2));
    def.body.push_back({return_text(f.results), {}});
    program_.lines.push_back({dice_.chance(35) ? "@wp.func(lanewise=True)" : "@wp.func", {}});
    program_.lines.push_back(std::move(def));
    values_.variables = std::move(outer);
    values_.arrays.resize(arrays);
    values_.functions.push_back(std::move(f));
  }

  /// Default values are constants of the module level.
  std::string plain_literal(const Type* type) {
    if (type->is_bool()) return "True";
    if (type == types::i32()) return "3";
    if (type == types::f32()) return "1.5";
    return spell(type) + "(2)";
  }

  std::string return_text(const std::vector<const Type*>& results) {
    std::string text = "return ";
    for (std::size_t k = 0; k < results.size(); ++k) text += (k ? ", " : "") + values_.value(results[k], 2);
    return text;
  }

  void add_kernel() {
    std::string header = "def k(n: int";
    const std::size_t inputs = 2 + dice_.below(4), outputs = 2 + dice_.below(4);
    for (std::size_t k = 0; k < inputs; ++k) {
      const Type* type = values_.any_type();
      program_.inputs.push_back(type);
      const std::string name = "in" + std::to_string(k);
      header += ", " + name + ": wp.array(dtype=" + spell(type) + ")";
      values_.arrays.push_back({name, "", type, RandomProgram::kInputs, false});
    }
    for (std::size_t k = 0; k < outputs; ++k) {
      const Type* type = values_.any_type();
      program_.outputs.push_back(type);
      const std::string name = "out" + std::to_string(k);
      header += ", " + name + ": wp.array2d(dtype=" + spell(type) + ")";
      values_.arrays.push_back({name, "i, ", type, RandomProgram::kOwn, true});
    }
    if (dice_.chance(30)) {
      program_.aliased = true;
      header += ", twin: wp.array2d(dtype=" + spell(program_.outputs[0]) + ")";
      values_.arrays.push_back({"twin", "i, ", program_.outputs[0], RandomProgram::kOwn, true});
    }
    for (const char* counter : {"sums", "tops", "flips"})
      header += std::string(", ") + counter + ": wp.array(dtype=" + (counter[0] == 't' ? "wp.int64" : "wp.int32") + ")";
    Line def{header + "):", {}};
    def.body.push_back({"i = wp.tid()", {}});
    values_.variables = {{"i", types::i32(), true}, {"n", types::i32(), true}};
    Place place;
    place.kernel = true;
    for (Line& line : block(place, large_ ? 4 + dice_.below(8) : 3 + dice_.below(4)))
      def.body.push_back(std::move(line));
    // What was computed must be seen.
    for (std::size_t k = 0; k < outputs; ++k)
      if (dice_.chance(70))
        def.body.push_back(
            {"out" + std::to_string(k) + "[i, " + values_.index(4, 1) + "] = " + values_.value(program_.outputs[k], 2),
             {}});
    program_.lines.push_back({"@wp.kernel", {}});
    program_.lines.push_back(std::move(def));
  }

  std::vector<Line> block(Place place, std::size_t count) {
    std::vector<Line> lines;
    const std::size_t known = values_.variables.size(), arrays = values_.arrays.size();
    for (std::size_t k = 0; k < count; ++k) statement(place, lines);
    if (place.depth > 0) {
      if (place.escapes)
        place.escapes->insert(place.escapes->end(), values_.variables.begin() + std::ptrdiff_t(known),
                              values_.variables.end());
      values_.variables.resize(known);
      values_.arrays.resize(arrays);
    }
    if (lines.empty()) lines.push_back({"pass", {}});
    return lines;
  }

  void statement(const Place& place, std::vector<Line>& out) {
    const std::size_t roll = dice_.below(100);
    if (roll < 22) return declare(out);
    if (roll < 40) return assign(out);
    if (roll < 48) return component(out);
    if (roll < 58 && place.kernel) return store(out);
    if (roll < 62 && place.kernel) return count_up(out);
    if (roll < 66) return dice_.chance(50) && place.kernel ? view(out) : local_array(out);
    if (roll < 70) return unpack(out);
    if (place.depth < 4 && roll < 85) return branch(place, out);
    if (place.depth < 3 && place.loops < 2 && roll < 96) return loop(place, out);
    leave(place, out);
  }

  void declare(std::vector<Line>& out) {
    const Type* type = values_.any_type();
    const std::string name = fresh("v");
    std::string text = values_.value(type, 3);
    out.push_back({name + " = " + text, {}});
    values_.variables.push_back({name, type, false});
  }

  const Variable* assignable() {
    std::vector<const Variable*> list;
    for (const Variable& v : values_.variables)
      if (!v.fixed) list.push_back(&v);
    return list.empty() ? nullptr : dice_.pick(list);
  }

  std::string augmented(const Type* type) {
    if (type->is_bool()) return "=";
    if (type->is_struct()) return "=";
    if (type->is_composite()) return dice_.chance(50) ? "=" : dice_.chance(50) ? "+=" : "-=";
    static const std::vector<std::string> ints = {
        "=", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "//="};
    static const std::vector<std::string> floats = {"=", "=", "=", "+=", "-=", "*=", "/=", "%="};
    return type->is_int() ? dice_.pick(ints) : dice_.pick(floats);
  }

  void assign(std::vector<Line>& out) {
    const Variable* v = assignable();
    if (!v) return declare(out);
    const Variable target = *v;
    const std::string op = augmented(target.type);
    out.push_back({target.name + " " + op + " " + values_.value(target.type, 3), {}});
  }

  /// A place inside a composite or struct variable, and its type.
  std::string part(const Type*& type) {
    if (type->is_struct()) {
      const Field& f = type->fields()[dice_.below(type->fields().size())];
      std::string text = "." + std::string(f.name);
      type = f.type;
      return type->is_composite() && dice_.chance(50) ? text + part(type) : text;
    }
    if (type->is_mat()) {
      const std::string row = std::to_string(dice_.below(type->rows()));
      if (dice_.chance(25)) {
        type = types::vec(type->element(), type->cols());
        return "[" + row + "]";
      }
      const std::string column =
          dice_.chance(50) ? std::to_string(dice_.below(type->cols())) : "(" + values_.value(types::i32(), 1) + " & 1)";
      type = type->element();
      return "[" + row + ", " + column + "]";
    }
    const std::uint32_t n = type->rows();
    type = type->element();
    if (dice_.chance(30) && n <= 4) return "." + std::string(1, "xyzw"[dice_.below(n)]);
    if (dice_.chance(40)) return "[" + values_.value(types::i32(), 1) + " & 1]";
    return "[" + std::to_string(dice_.below(n)) + "]";
  }

  void component(std::vector<Line>& out) {
    std::vector<Variable> list;
    for (const Variable& v : values_.variables)
      if (!v.fixed && !v.type->is_scalar()) list.push_back(v);
    if (list.empty()) return declare(out);
    const Variable target = dice_.pick(list);
    const Type* type = target.type;
    const std::string where = target.name + part(type);
    const std::string op = augmented(type);
    out.push_back({where + " " + op + " " + values_.value(type, 2), {}});
  }

  void store(std::vector<Line>& out) {
    std::vector<Readable> list;
    for (const Readable& a : values_.arrays)
      if (a.writable) list.push_back(a);
    const Readable target = dice_.pick(list);
    const Type* type = target.element;
    std::string where = target.name + "[" + target.prefix + values_.index(target.count, 1) + "]";
    if (type->is_struct() && dice_.chance(50)) where += part(type);
    const std::string op = dice_.chance(60) ? "=" : augmented(type);
    out.push_back({where + " " + op + " " + values_.value(type, 3), {}});
  }

  void count_up(std::vector<Line>& out) {
    const std::string at = values_.index(RandomProgram::kCounters, 1, false);
    switch (dice_.below(4)) {
      case 0: out.push_back({"wp.atomic_add(sums, " + at + ", " + values_.value(types::i32(), 2) + ")", {}}); break;
      case 1: out.push_back({"wp.atomic_max(tops, " + at + ", " + values_.value(types::i64(), 2) + ")", {}}); break;
      case 2: out.push_back({"sums[" + at + "] -= " + values_.value(types::i32(), 2), {}}); break;
      default: out.push_back({"wp.atomic_xor(flips, " + at + ", " + values_.value(types::i32(), 2) + ")", {}}); break;
    }
  }

  void local_array(std::vector<Line>& out) {
    const Type* type = values_.any_type();
    const std::string name = fresh("l");
    out.push_back({name + " = wp.zeros(shape=4, dtype=" + spell(type) + ")", {}});
    values_.arrays.push_back({name, "", type, 4, true});
    for (std::size_t k = dice_.below(3); k > 0; --k)
      out.push_back({name + "[" + values_.index(4, 1) + "] = " + values_.value(type, 2), {}});
  }

  /// A view of an array: the thread's own row, a slice, or one of two arrays.
  void view(std::vector<Line>& out) {
    const Readable source = dice_.pick(values_.arrays);
    const std::string name = fresh("w");
    Readable made{name, "", source.element, source.count, source.writable};
    if (!source.prefix.empty()) {
      out.push_back({name + " = " + source.name + "[i]", {}});
    } else if (source.count >= 8 && dice_.chance(50)) {
      made.count = 8;
      const std::string start = values_.index(8, 1, false);
      out.push_back({name + " = " + source.name + "[" + start + ":]", {}});
    } else {
      std::vector<std::string> others;
      for (const Readable& a : values_.arrays)
        if (a.element == source.element && a.prefix.empty() && a.count == source.count && a.writable == source.writable)
          others.push_back(a.name);
      out.push_back({name + " = " + source.name + " if " + values_.condition(2) + " else " + dice_.pick(others), {}});
    }
    values_.arrays.push_back(std::move(made));
  }

  void unpack(std::vector<Line>& out) {
    std::vector<Callable> list;
    for (const Callable& f : values_.functions)
      if (f.results.size() > 1) list.push_back(f);
    if (list.empty()) return assign(out);
    const Callable f = dice_.pick(list);
    const std::string call = values_.call(f, 4);
    if (call.empty()) return assign(out);
    std::string targets;
    std::vector<Variable> names;
    for (const Type* type : f.results) {
      names.push_back({fresh("v"), type, false});
      targets += (targets.empty() ? "" : ", ") + names.back().name;
    }
    out.push_back({targets + " = " + call, {}});
    for (Variable& v : names) values_.variables.push_back(std::move(v));
  }

  void branch(Place place, std::vector<Line>& out) {
    ++place.depth;
    // A name bound in one branch only is zero on the other path: mostly forgotten, sometimes read afterwards. The
    // condition is not one that could be known at compile time, for a dropped branch binds nothing.
    std::vector<Variable> bound;
    const bool escape = place.kernel && dice_.chance(25);
    place.escapes = escape ? &bound : nullptr;
    Line line{"if " +
                  (escape ? "(i + " + std::to_string(dice_.below(9)) + ") % 5 < " + std::to_string(dice_.below(5))
                          : values_.condition(3)) +
                  ":",
              {}};
    line.body = block(place, 1 + dice_.below(large_ ? 3 : 2));
    out.push_back(std::move(line));
    if (!escape && dice_.chance(25)) {
      Line other{"elif " + values_.condition(2) + ":", {}};
      other.body = block(place, 1 + dice_.below(2));
      out.push_back(std::move(other));
    }
    if (dice_.chance(50)) {
      Line other{"else:", {}};
      other.body = block(place, 1 + dice_.below(large_ ? 3 : 2));
      out.push_back(std::move(other));
    }
    for (Variable& v : bound) values_.variables.push_back(std::move(v));
  }

  void loop(Place place, std::vector<Line>& out) {
    ++place.depth;
    ++place.loops;
    place.in_loop = true;
    place.escapes = nullptr;
    const std::size_t known = values_.variables.size();
    const std::string name = fresh("j");
    Line line;
    if (dice_.chance(30)) {  // while, its counter stepped first so that continue can't skip it
      out.push_back({name + " = int(" + std::to_string(dice_.below(3)) + ")", {}});
      line.text = "while " + name + " < (" + values_.value(types::i32(), 2) + " & 7)" +
                  (dice_.chance(40) ? " and " + values_.condition(2) : std::string()) + ":";
      line.body.push_back({name + " += 1", {}});
    } else if (dice_.chance(40)) {
      static const std::vector<std::string> ranges = {"3", "5", "1, 4", "0, 10, 3", "5, 0, -1", "-2, 3", "0", "20"};
      line.text = "for " + name + " in range(" + dice_.pick(ranges) + "):";
    } else {
      const std::string bound = "(" + values_.value(types::i32(), 2) + " & 7)";
      const std::string range = dice_.chance(50)   ? bound
                                : dice_.chance(50) ? "-2, " + bound + ", 2"
                                                   : bound + ", -1, -1";
      line.text = "for " + name + " in range(" + range + "):";
    }
    values_.variables.push_back({name, types::i32(), true});
    for (Line& inner : block(place, 1 + dice_.below(large_ ? 4 : 2))) line.body.push_back(std::move(inner));
    values_.variables.resize(known);
    out.push_back(std::move(line));
  }

  void leave(const Place& place, std::vector<Line>& out) {
    std::string text;
    if (place.in_loop && dice_.chance(80))
      text = dice_.chance(50) ? "break" : "continue";
    else if (place.kernel)
      text = "return";
    else if (!place.results.empty())
      text = return_text(place.results);
    // Never a condition known at compile time: what follows would be dead and bind nothing.
    const std::string guard = place.kernel ? "(i + " + std::to_string(dice_.below(9)) + ") % 3 > 0 and " : "";
    out.push_back({"if " + guard + values_.condition(2) + ":", {{text, {}}}});
  }

  Dice dice_;
  Values values_;
  RandomProgram program_;
  int counter_ = 0;
  bool large_ = false;
};

void print_lines(const std::vector<Line>& lines, int depth, std::string& out) {
  if (lines.empty()) out += std::string(std::size_t(depth) * 4, ' ') + "pass\n";
  for (const Line& line : lines) {
    out += std::string(std::size_t(depth) * 4, ' ') + line.text + "\n";
    if (line.text.ends_with(":")) print_lines(line.body, depth + 1, out);
  }
}

}  // namespace

std::string RandomProgram::text() const {
  std::string out = "\n";
  print_lines(lines, 0, out);
  return out;
}

Case RandomProgram::make_case() const {
  Case c(text(), {threads});
  c.integer(threads);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    c.array(inputs[k], {kInputs}, (seed + k) % 3 ? Fill::small : Fill::edges);
  for (const Type* type : outputs) c.array(type, {threads, kOwn}, Fill::small);
  if (aliased) {
    const std::int64_t size = outputs[0]->size();
    c.view(inputs.size(), {threads, kOwn}, {kOwn * size, size});
  }
  c.array(types::i32(), {kCounters}, Fill::zeros)
      .array(types::i64(), {kCounters}, Fill::zeros)
      .array(types::i32(), {kCounters}, Fill::zeros);
  return c;
}

RandomProgram random_program(std::uint64_t seed) { return Writer(seed).write(); }

}  // namespace weft::agree
