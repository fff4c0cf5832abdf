// Constructors of constants and symbols.
#include "sema/symbol.h"

namespace weft::sema {

Constant Constant::of_int(std::int64_t value) {
  Constant c;
  c.negative = value < 0;
  c.magnitude = value < 0 ? 0 - std::uint64_t(value) : std::uint64_t(value);
  return c;
}

Constant Constant::of_uint(std::uint64_t value) {
  Constant c;
  c.magnitude = value;
  return c;
}

Constant Constant::of_real(double value) {
  Constant c;
  c.form = Form::real;
  c.real = value;
  return c;
}

Constant Constant::of_bool(bool value) {
  Constant c;
  c.form = Form::typed;
  c.type = types::boolean();
  c.bits = {value};
  return c;
}

Constant Constant::of_text(std::string value) {
  Constant c;
  c.form = Form::text;
  c.text = std::move(value);
  return c;
}

Symbol Symbol::of(Constant value) {
  Symbol s;
  s.kind = Kind::constant;
  s.constant = std::move(value);
  return s;
}

Symbol Symbol::of_type(const Type* type) { return of_pattern(builtins::Pattern::exactly(type)); }

Symbol Symbol::of_pattern(builtins::Pattern pattern) {
  Symbol s;
  s.kind = Kind::pattern;
  s.pattern = std::move(pattern);
  return s;
}

Symbol Symbol::of_tuple(std::vector<Symbol> elements) {
  Symbol s;
  s.kind = Kind::tuple;
  s.elements = std::move(elements);
  return s;
}

Symbol Symbol::of_functions(std::vector<std::shared_ptr<const FunctionDecl>> functions) {
  Symbol s;
  s.kind = Kind::functions;
  s.functions = std::move(functions);
  return s;
}

Symbol Symbol::of_scope(std::shared_ptr<Scope> scope) {
  Symbol s;
  s.kind = Kind::scope;
  s.scope = std::move(scope);
  return s;
}

Symbol Symbol::of_builtin(std::string name) {
  Symbol s;
  s.kind = Kind::builtin;
  s.text = std::move(name);
  return s;
}

Symbol Symbol::of_other(std::string what, std::string host_type) {
  Symbol s;
  s.kind = Kind::other;
  s.text = std::move(what);
  s.host_type = std::move(host_type);
  return s;
}

}  // namespace weft::sema
