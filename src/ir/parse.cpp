// The text form, read: tokens, structs, types and functions. Operations are in parse_op.cpp.
#include <charconv>

#include "ir/literal.h"
#include "ir/text_parser.h"
#include "ir/verify.h"

namespace weft::ir {
namespace {

constexpr std::size_t kMaxTypeText = 65536;  // a type's key spells out every struct inside, which may double each time
constexpr std::size_t kMaxTextBytes = std::size_t(1) << 30;

std::string shown(const Token& token) {
  switch (token.kind) {
    case TokenKind::end: return "the end";
    case TokenKind::value: return "%" + std::string(token.text);
    case TokenKind::function: return "@" + token.decoded;
    case TokenKind::string: return "a string";
    default: return "'" + std::string(token.text) + "'";
  }
}

}  // namespace

void TextParser::fail(const SourceLoc& loc, std::string text) {
  sink_.report(DiagCode::ir_error, loc, std::move(text));
  throw Failure{};
}

void TextParser::unexpected(std::string_view wanted) {
  if (token_.kind == TokenKind::bad) fail(token_.loc, token_.decoded);
  fail(token_.loc, "expected " + std::string(wanted) + ", found " + shown(token_));
}

bool TextParser::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

bool TextParser::accept_word(std::string_view word) {
  if (!token_.is_word(word)) return false;
  advance();
  return true;
}

void TextParser::expect(char c) {
  if (!accept(c)) unexpected(std::string("'") + c + "'");
}

void TextParser::expect_word(std::string_view word) {
  if (!accept_word(word)) unexpected("'" + std::string(word) + "'");
}

std::int64_t TextParser::integer(std::string_view what, std::int64_t largest) {
  if (token_.kind != TokenKind::number) unexpected(what);
  std::int64_t value = 0;
  auto [end, code] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
  if (code == std::errc::result_out_of_range || (code == std::errc{} && (value < 0 || value > largest)))
    fail(token_.loc, std::string(what) + " must be between 0 and " + std::to_string(largest));
  if (code != std::errc{} || end != token_.text.data() + token_.text.size()) unexpected(what);
  advance();
  return value;
}

std::string TextParser::string_literal() {
  if (token_.kind != TokenKind::string) unexpected("a string");
  std::string text = std::move(token_.decoded);
  advance();
  return text;
}

Token TextParser::value_name() {
  if (token_.kind != TokenKind::value) unexpected("a value name");
  Token name = token_;
  advance();
  return name;
}

void TextParser::module() {
  while (token_.kind != TokenKind::end) {
    if (accept_word("struct"))
      structure();
    else if (token_.is_word("kernel"))
      function(FunctionKind::kernel);
    else if (token_.is_word("func"))
      function(FunctionKind::function);
    else
      unexpected("'struct', 'kernel' or 'func'");
  }
  for (const Link& link : links_) {  // they may stand behind the function that they serve
    auto it = functions_.find(link.name.decoded);
    if (it == functions_.end()) fail(link.name.loc, "there is no function @" + link.name.decoded);
    link.of->*link.member = it->second;
  }
}

/// How many structs, arrays and tuples lie inside each other.
int TextParser::depth_of(const Type* type) {
  if (type->is_array()) return 1 + depth_of(type->element());
  auto it = depths_.find(type);
  return it == depths_.end() ? 0 : it->second;
}

void TextParser::limit_parts(std::span<const Field> fields, const SourceLoc& loc) {
  std::size_t text = 0;
  std::uint64_t bytes = 0;
  int depth = 0;
  for (const Field& field : fields) {
    text += field.name.size() + field.type->text().size() + 2;
    bytes += field.type->size() + field.type->align();
    depth = std::max(depth, depth_of(field.type));
  }
  if (text > kMaxTypeText || bytes > kMaxTypeBytes) fail(loc, "the type is too large");
  if (depth >= kMaxTypeDepth) fail(loc, "types are nested too deeply");
}

void TextParser::structure() {
  SourceLoc loc = token_.loc;
  std::string alias(value_name().text);
  if (token_.is('.') && token_.glued) {
    advance();
    alias += "." + std::to_string(integer("a number", INT32_MAX));
  }
  std::string name = accept_word("as") ? string_literal() : alias;
  if (name.size() > kMaxTypeText) fail(loc, "the struct's name is too long");
  std::vector<std::string> names;  // fields point into them
  std::vector<const Type*> types;
  expect('{');
  while (!accept('}')) {
    if (!types.empty()) expect(',');
    std::string field;
    if (token_.kind == TokenKind::string) {
      field = string_literal();
      expect(':');
      types.push_back(type());
    } else if (token_.kind == TokenKind::word) {
      // A word is a field's name if a colon follows, else the start of an unnamed field's type.
      Token word = token_;
      TextLexer ahead = lexer_;
      if (ahead.next().is(':')) {
        field = word.text;
        advance();
        advance();
      }
      types.push_back(type());
    } else {
      types.push_back(type());
    }
    names.push_back(std::move(field));
  }
  std::vector<Field> fields;
  for (std::size_t i = 0; i < names.size(); ++i) fields.push_back({names[i], types[i], 0});
  limit_parts(fields, loc);
  const Type* made = types::structure(name, fields);
  int depth = 0;
  for (const Field& field : fields) depth = std::max(depth, depth_of(field.type));
  depths_[made] = depth + 1;
  if (!structs_.emplace(alias, made).second) fail(loc, "struct %" + alias + " is defined twice");
}

std::uint32_t TextParser::extent(std::uint32_t largest) {
  expect(',');
  SourceLoc loc = token_.loc;
  std::int64_t n = integer("an extent", largest);
  if (n == 0) fail(loc, "an extent must be at least 1");
  return std::uint32_t(n);
}

const Type* TextParser::scalar_argument() {
  expect('<');
  const Type* scalar = token_.kind == TokenKind::word ? scalar_from_text(token_.text) : nullptr;
  if (!scalar) unexpected("a scalar type");
  advance();
  return scalar;
}

const Type* TextParser::struct_type() {
  SourceLoc loc = token_.loc;
  std::string alias(value_name().text);
  if (token_.is('.') && token_.glued) {
    advance();
    alias += "." + std::to_string(integer("a number", INT32_MAX));
  }
  auto it = structs_.find(alias);
  if (it == structs_.end()) fail(loc, "unknown struct %" + alias);
  return it->second;
}

const Type* TextParser::type(int depth) {
  SourceLoc loc = token_.loc;
  if (depth >= kMaxTypeDepth) fail(loc, "types are nested too deeply");
  if (token_.kind == TokenKind::value) return struct_type();
  if (token_.kind != TokenKind::word) unexpected("a type");
  std::string_view word = token_.text;
  if (const Type* scalar = scalar_from_text(word)) {
    advance();
    return scalar;
  }
  if (word != "vec" && word != "mat" && word != "quat" && word != "transform" && word != "array" && word != "tuple")
    fail(loc, "unknown type '" + std::string(word) + "'");
  advance();
  const Type* made = nullptr;
  if (word == "array") {
    expect('<');
    const Type* element = type(depth + 1);
    std::uint32_t rank = extent(kMaxRank);
    Field part{"", element, 0};
    limit_parts({&part, 1}, loc);
    made = types::array(element, rank);
  } else if (word == "tuple") {
    expect('<');
    std::vector<const Type*> elements;
    std::vector<Field> parts;
    while (!token_.is('>')) {
      if (!elements.empty()) expect(',');
      elements.push_back(type(depth + 1));
      parts.push_back({"", elements.back(), 0});
    }
    limit_parts(parts, loc);
    made = types::tuple(elements);
    int inner = 0;
    for (const Type* element : elements) inner = std::max(inner, depth_of(element));
    depths_[made] = inner + 1;
  } else {
    const Type* scalar = scalar_argument();
    bool rotation = word == "quat" || word == "transform";
    if (rotation && !scalar->is_float()) fail(loc, std::string(word) + " is made of floats");
    if (word == "vec") {
      made = types::vec(scalar, extent(kMaxComponents));
    } else if (word == "mat") {
      std::uint32_t rows = extent(kMaxComponents);
      std::uint32_t cols = extent(kMaxComponents);
      if (std::uint64_t(rows) * cols > kMaxComponents) fail(loc, "the type has too many components");
      made = types::mat(scalar, rows, cols);
    } else {
      made = word == "quat" ? types::quat(scalar) : types::transform(scalar);
    }
  }
  expect('>');
  return made;
}

void TextParser::form(Function& function) {
  expect('(');
  do {
    SourceLoc loc = token_.loc;
    if (accept_word("no_overlap"))
      function.form.no_overlap = true;
    else if (accept_word("strided"))
      function.form.strided = true;
    else if (accept_word("aligned"))
      function.form.aligned = true;
    else if (accept_word("taped"))
      function.form.taped = true;
    else if (accept_word("adjoint"))
      function.form.adjoint = true;
    else if (accept_word("meet"))
      function.form.meet = true;
    else if (accept_word("objects_apart"))
      function.form.objects_apart = true;
    else if (accept_word("block")) {
      function.form.block = std::uint16_t(integer("the threads of a block", kMaxBlock));
      function.form.rows = accept_word("rows");
    } else if (accept_word("rank")) {
      std::int64_t rank = integer("the rank", kMaxRank);
      if (rank == 0) fail(loc, "the rank must be at least 1");
      function.form.rank = std::uint8_t(rank);
    } else
      unexpected("'no_overlap', 'strided', 'aligned', 'taped', 'adjoint', 'meet', 'objects_apart', 'block' or 'rank'");
  } while (accept(','));
  expect(')');
}

void TextParser::function(FunctionKind kind) {
  SourceLoc loc = token_.loc;
  advance();
  if (token_.kind != TokenKind::function) unexpected("a function name");
  std::string name = token_.decoded;
  if (functions_.count(name)) fail(token_.loc, "@" + name + " is defined twice");
  advance();
  function_ = module_.add(name, kind);
  function_->loc = loc;
  names_.clear();
  scope_.clear();
  expect('(');
  if (!accept(')')) {
    do {
      Token param = value_name();
      expect(':');
      define(param, function_->add_argument(function_->body, type()));
    } while (accept(','));
    expect(')');
  }
  if (token_.kind == TokenKind::punct && token_.text == "->") {
    advance();
    expect('(');
    do function_->result_types.push_back(type());
    while (accept(','));
    expect(')');
  }
  if (kind == FunctionKind::kernel && accept_word("form")) form(*function_);
  function_->from_library = accept_word("library");
  function_->lanewise = kind == FunctionKind::function && accept_word("lanewise");
  if (kind == FunctionKind::function && accept_word("native")) function_->native = string_literal();
  constexpr std::pair<std::string_view, Function * Function::*> links[] = {
      {"gradient", &Function::gradient}, {"replay", &Function::replay}, {"derives", &Function::derives}};
  for (auto [word, member] : links) {
    if (kind != FunctionKind::function || !accept_word(word)) continue;
    if (token_.kind != TokenKind::function) unexpected("a function name");
    links_.push_back({function_, member, token_});
    advance();
  }
  region(function_->body, 0);
  // Only now: a function that calls itself has not been found.
  functions_.emplace(std::move(name), function_);
}

std::unique_ptr<Module> parse_module(std::shared_ptr<const SourceFile> source, DiagnosticSink& sink) {
  sink.keep(source);
  auto module = std::make_unique<Module>();
  module->sources.push_back(source);
  if (source->text().size() > kMaxTextBytes) {
    sink.report(DiagCode::ir_error, {source.get(), source->first_line(), 1}, "the text is too large");
    return nullptr;
  }
  try {
    TextParser(*source, *module, sink).module();
  } catch (const TextParser::Failure&) {
    return nullptr;
  }
  std::vector<Violation> violations = find_violations(*module);
  for (Violation& violation : violations) sink.report(DiagCode::ir_verify, violation.loc, std::move(violation.text));
  return violations.empty() ? std::move(module) : nullptr;
}

}  // namespace weft::ir
