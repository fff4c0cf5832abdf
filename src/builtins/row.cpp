// Lookup and parsing of builtin rows.
#include "builtins/row.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "builtins/embedded.h"
#include "support/check.h"

namespace weft::builtins {
namespace {

/// Reads the small grammar of a row's first line.
class SignatureReader {
 public:
  explicit SignatureReader(std::string_view text) : text_(text) {}

  Row read() {
    Row row;
    row.signature = std::string(text_);
    row.name = word();
    expect('(');
    while (!accept(')')) {
      RowParam param;
      param.name = word();
      expect(':');
      param.pattern = pattern();
      if (accept('=')) param.default_text = default_text();
      row.params.push_back(std::move(param));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    skip_space();
    if (text_.substr(at_, 2) == "->") {
      at_ += 2;
      skip_space();
      row.result = std::string(text_.substr(at_));
      while (!row.result.empty() && row.result.back() == ' ') row.result.pop_back();
    }
    return row;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    WEFT_CHECK(accept(c), "builtin row: expected '" + std::string(1, c) + "' in " + std::string(text_));
  }

  std::string word() {
    skip_space();
    std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    WEFT_CHECK(at_ > start, "builtin row: expected a word in " + std::string(text_));
    return std::string(text_.substr(start, at_ - start));
  }

  std::string default_text() {
    skip_space();
    std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')') ++at_;
    std::string out(text_.substr(start, at_ - start));
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
  }

  Extent extent() {
    Extent e;
    std::string w = word();
    if (std::isdigit(static_cast<unsigned char>(w[0])))
      e.fixed = std::uint32_t(std::stoul(w));
    else
      e.variable = w;
    return e;
  }

  Pattern pattern() {
    std::string w = word();
    auto inner = [&] { return std::make_shared<const Pattern>(pattern()); };
    Pattern p;
    if (w == "ref") {
      expect('[');
      p = pattern();
      expect(']');
      p.by_reference = true;
    } else if (w == "vec") {
      p.kind = Pattern::Kind::vec;
      expect('[');
      p.rows = extent();
      expect(',');
      p.element = inner();
      expect(']');
    } else if (w == "mat") {
      p.kind = Pattern::Kind::mat;
      expect('[');
      p.rows = extent();
      expect(',');
      p.cols = extent();
      expect(',');
      p.element = inner();
      expect(']');
    } else if (w == "quat" || w == "transform") {
      p.kind = w == "quat" ? Pattern::Kind::quat : Pattern::Kind::transform;
      expect('[');
      p.element = inner();
      expect(']');
    } else if (w == "array") {
      p.kind = Pattern::Kind::array;
      expect('[');
      p.element = inner();
      if (accept(',')) p.rows = extent();
      expect(']');
    } else if (w == "str") {
      p = Pattern::exactly(types::string());
    } else if (const Type* scalar = scalar_from_user_name(w)) {
      p = Pattern::exactly(scalar);
    } else if (w.find_first_not_of("0123456789", 1) != w.npos) {
      p.kind = Pattern::Kind::library_struct;
      p.variable = w;
    } else {
      p.variable = w;
      switch (w[0]) {
        case 'T': p.kind = Pattern::Kind::any; break;
        case 'S': p.kind = Pattern::Kind::scalar; break;
        case 'I': p.kind = Pattern::Kind::integer; break;
        case 'F': p.kind = Pattern::Kind::floating; break;
        case 'B': p.kind = Pattern::Kind::number_or_bool; break;
        default: WEFT_UNREACHABLE("builtin row: unknown type word " + w);
      }
    }
    return p;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view next_word(std::string_view& line) {
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  std::size_t end = std::min(line.find(' '), line.size());
  std::string_view w = line.substr(0, end);
  line.remove_prefix(end);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return w;
}

void read_operation(Row& row, std::string_view rest) {
  row.definition = Row::Definition::operation;
  std::string_view op_name = next_word(rest);
  bool found = false;
  for (int code = 0; code < ir::kOpCodes && !found; ++code)
    if (ir::name_of(ir::OpCode(code)) == op_name) row.op = ir::OpCode(code), found = true;
  WEFT_CHECK(found, "builtin row: no operation " + std::string(op_name));
  while (!rest.empty()) {
    std::string_view name = next_word(rest);
    for (std::size_t i = 0; i < row.params.size(); ++i)
      if (row.params[i].name == name) row.operand_order.push_back(std::uint32_t(i));
  }
  if (row.operand_order.empty())
    for (std::size_t i = 0; i < row.params.size(); ++i) row.operand_order.push_back(std::uint32_t(i));
}

void read_older_names(Row& row, std::string_view rest) {
  while (!rest.empty()) {
    std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view names = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string_view name = next_word(names);
    auto param = std::find_if(row.params.begin(), row.params.end(), [&](const RowParam& p) { return p.name == name; });
    WEFT_CHECK(param != row.params.end(), "builtin row: no parameter " + std::string(name) + " in " + row.signature);
    while (!names.empty()) param->older_names.emplace_back(next_word(names));
  }
}

void read_parameters_without_gradient(Row& row, std::string_view names) {
  bool all = names.empty();
  for (RowParam& param : row.params) param.differentiable = !all;
  while (!names.empty()) {
    std::string_view name = next_word(names);
    auto param = std::find_if(row.params.begin(), row.params.end(), [&](const RowParam& p) { return p.name == name; });
    WEFT_CHECK(param != row.params.end(), "builtin row: no parameter " + std::string(name) + " in " + row.signature);
    param->differentiable = false;
  }
}

}  // namespace

bool RowParam::answers_to(std::string_view keyword) const {
  return name == keyword || std::find(older_names.begin(), older_names.end(), keyword) != older_names.end();
}

Row parse_row(std::string_view text) {
  auto take_line = [&] {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
  };
  Row row = SignatureReader(take_line()).read();
  bool defined = false;
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) {
    std::string_view line = take_line();
    std::string_view word = next_word(line);
    if (word.empty()) continue;
    if (word == "doc") {
      row.doc = line.size() >= 2 ? std::string(line.substr(1, line.size() - 2)) : "";
    } else if (word == "sample") {
      row.sample = std::string(line);
    } else if (word == "older") {
      read_older_names(row, line);
    } else if (word == "op") {
      read_operation(row, line);
      defined = true;
    } else if (word == "lib") {
      row.definition = Row::Definition::library;
      row.library_name = line.empty() ? row.name : std::string(next_word(line));
      defined = true;
    } else if (word == "special") {
      defined = true;
    } else if (word == "nograd") {
      read_parameters_without_gradient(row, line);
    } else {
      WEFT_UNREACHABLE("builtin row: unknown line '" + std::string(word) + "' in " + row.signature);
    }
  }
  WEFT_CHECK(defined, "builtin row without a definition: " + row.signature);
  return row;
}

bool is_builtin(std::string_view name) { return find_embedded(embedded_rows(), name) != nullptr; }

const EmbeddedName* find_embedded(std::span<const EmbeddedName> names, std::string_view name) {
  auto it = std::lower_bound(names.begin(), names.end(), name,
                             [](const EmbeddedName& e, std::string_view n) { return e.name < n; });
  return it != names.end() && it->name == name ? &*it : nullptr;
}

const std::vector<Row>& rows(std::string_view name) {
  static std::mutex mutex;
  static auto* parsed = new std::unordered_map<std::string, std::vector<Row>>;
  static const std::vector<Row> none;
  std::lock_guard lock(mutex);
  if (auto it = parsed->find(std::string(name)); it != parsed->end()) return it->second;
  auto names = embedded_rows();
  auto [first, last] = std::equal_range(names.begin(), names.end(), EmbeddedName{name, 0, 0, 0},
                                        [](const EmbeddedName& a, const EmbeddedName& b) { return a.name < b.name; });
  if (first == last) return none;
  std::vector<Row> list;
  for (auto it = first; it != last; ++it) list.push_back(parse_row(embedded_files()[it->file].text.substr(it->offset)));
  return parsed->emplace(std::string(name), std::move(list)).first->second;
}

std::vector<std::string_view> builtin_names() {
  std::vector<std::string_view> out;
  for (const EmbeddedName& entry : embedded_rows())
    if (out.empty() || out.back() != entry.name) out.push_back(entry.name);
  return out;
}

}  // namespace weft::builtins
