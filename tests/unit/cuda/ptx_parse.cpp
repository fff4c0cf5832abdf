// Splitting PTX text into variables, functions and their statements.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>

#include "ptx_code.h"

namespace weft::cuda::fake {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

/// Without comments and without directives that end with their line. Lines keep their numbers.
std::string cleaned(const std::string& text) {
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    line = line.substr(0, line.find("//"));
    const std::string start = ptx_trimmed(line);
    const std::string word = start.substr(0, start.find_first_of(" \t"));
    for (const char* whole : {".version", ".target", ".address_size", ".loc", ".file"})
      if (word == whole) line.clear();
    out += line + '\n';
    from = end + 1;
  }
  return out;
}

class Splitter {
 public:
  Splitter(const std::string& text, PtxProgram& program) : text_(cleaned(text)), program_(program) {}

  std::vector<PtxSource> split() {
    while (skip_space()) {
      if (text_.compare(at_, 8, ".section") == 0) {  // of a debugger
        read_until("{");
        at_ = std::min(text_.find('}', at_), text_.size() - 1) + 1;
        continue;
      }
      const std::string head = read_until(";{=");
      const bool kernel = head.find(".entry") != std::string::npos;
      if (kernel || head.find(".func") != std::string::npos)
        add_function(head, kernel);
      else
        add_variable(head + (text_[at_] == '=' ? read_until(";") : ""));
      if (at_ < text_.size() && text_[at_] == ';') ++at_;
    }
    place_open_memory();
    return std::move(sources_);
  }

 private:
  bool skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) line_ += text_[at_++] == '\n';
    return at_ < text_.size();
  }

  /// Up to one of these characters, which stays.
  std::string read_until(const char* ends) {
    std::string out;
    while (at_ < text_.size() && !std::strchr(ends, text_[at_])) {
      line_ += text_[at_] == '\n';
      out += text_[at_++];
    }
    if (at_ >= text_.size()) throw std::runtime_error("PTX machine: the text ends in '" + out.substr(0, 60) + "'");
    return ptx_trimmed(out);
  }

  void add_function(const std::string& head, bool kernel) {
    const std::size_t word = head.find(kernel ? ".entry" : ".func") + (kernel ? 6 : 5);
    std::vector<std::string> lists;
    std::string name;
    for (std::size_t k = word; k < head.size(); ++k) {
      if (head[k] == '(') {
        const std::size_t close = head.find(')', k);
        lists.push_back(name.empty() && lists.empty() ? head.substr(k + 1, close - k - 1) : "");
        if (!name.empty()) {
          if (lists.size() == 1) lists.insert(lists.begin(), "");
          lists.back() = head.substr(k + 1, close - k - 1);
          break;
        }
        k = close;
      } else if (is_name(head[k]) && name.empty()) {
        while (k < head.size() && is_name(head[k])) name += head[k++];
        --k;
      }
    }
    lists.resize(2);
    auto& function = program_.functions[name];
    if (!function) function = std::make_unique<PtxFunction>();
    function->name = name;
    function->bounds = bounds_of(head);
    if (text_[at_] == ';') return;
    PtxSource source;
    source.function = function.get();
    source.kernel = kernel;
    for (const std::string& one : ptx_parts(lists[0])) source.results.push_back({one, line_});
    for (const std::string& one : ptx_parts(lists[1])) source.parameters.push_back({one, line_});
    ++at_;
    add_body(source);
    if (kernel) program_.kernels[name] = function.get();
    program_.with_body.insert(function.get());
    sources_.push_back(std::move(source));
  }

  /// ".maxntid 64, 2, 1" and ".maxnreg 24" behind a kernel's parameters.
  static PtxBounds bounds_of(const std::string& head) {
    PtxBounds out;
    auto numbers_behind = [&](const char* word) {
      std::vector<int> found;
      std::size_t at = head.find(word);
      if (at == std::string::npos) return found;
      at += std::strlen(word);
      for (int read = 0, value = 0; std::sscanf(head.c_str() + at, " %d%n", &value, &read) == 1;) {
        found.push_back(value);
        at = head.find_first_not_of(" \t\n", at + std::size_t(read));
        if (at == std::string::npos || head[at] != ',') break;
        ++at;
      }
      return found;
    };
    if (const std::vector<int> sizes = numbers_behind(".maxntid"); !sizes.empty()) {
      out.threads = 1;
      for (int size : sizes) out.threads *= size;
    }
    if (const std::vector<int> most = numbers_behind(".maxnreg"); !most.empty()) out.registers = most.front();
    return out;
  }

  void add_body(PtxSource& source) {
    for (int depth = 1; skip_space();) {
      if (text_[at_] == '{' || text_[at_] == '}') {
        depth += text_[at_] == '{' ? 1 : -1;
        ++at_;
        if (depth == 0) return;
        source.statements.push_back({std::string(1, text_[at_ - 1]), line_});
        continue;
      }
      std::size_t end = at_;
      while (end < text_.size() && is_name(text_[end])) ++end;
      while (end < text_.size() && text_[end] == ' ') ++end;
      if (end > at_ && text_[end] == ':') {
        source.statements.push_back({ptx_trimmed(text_.substr(at_, end - at_)) + ":", line_});
        at_ = end + 1;
        continue;
      }
      const int line = line_;
      const std::string statement = read_until(";");
      ++at_;
      if (statement.starts_with(".shared"))
        add_variable(statement);
      else
        source.statements.push_back({statement, line});
    }
    throw std::runtime_error("PTX machine: '" + source.function->name + "' has no end");
  }

  void add_variable(const std::string& text) {
    if (text.empty()) return;
    const PtxDeclaration declared = ptx_declaration(text);
    if (text.find(".shared") != std::string::npos) {
      if (declared.open) {
        open_.push_back(declared.name);
        return;
      }
      std::uint32_t& bytes = program_.shared_bytes;
      bytes = (bytes + declared.align - 1) / declared.align * declared.align;
      program_.shared[declared.name] = bytes;
      bytes += declared.bytes;
      return;
    }
    if (text.find(".global") == std::string::npos && text.find(".const") == std::string::npos) return;
    std::vector<Word>& data = program_.globals[declared.name];
    data.assign(declared.bytes / 8 + 3, 0);
    const std::size_t padding = reinterpret_cast<std::size_t>(data.data()) % 16 ? 1 : 0;
    auto* to = reinterpret_cast<unsigned char*>(data.data() + padding);
    std::uint32_t written = 0;
    for (const std::string& one : ptx_parts(declared.numbers)) {
      Word value = 0;
      if (!ptx_number(one, value) || written + declared.element > declared.bytes)
        throw std::runtime_error("PTX machine: the variable '" + declared.name + "' starts with '" + one + "'");
      std::memcpy(to + written, &value, declared.element);
      written += declared.element;
    }
  }

  /// Memory whose size launches tell lies behind all other.
  void place_open_memory() {
    program_.shared_bytes = (program_.shared_bytes + 15) / 16 * 16;
    for (const std::string& name : open_) program_.shared[name] = program_.shared_bytes;
  }

  const std::string text_;
  PtxProgram& program_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<PtxSource> sources_;
  std::vector<std::string> open_;
};

}  // namespace

std::string ptx_trimmed(const std::string& s) {
  const auto from = s.find_first_not_of(" \t\r\n"), to = s.find_last_not_of(" \t\r\n");
  return from == std::string::npos ? "" : s.substr(from, to - from + 1);
}

std::vector<std::string> ptx_parts(const std::string& text) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  for (const char c : text + ",") {
    depth += c == '{' || c == '[' || c == '(';
    depth -= c == '}' || c == ']' || c == ')';
    if (c != ',' || depth > 0) {
      part += c;
      continue;
    }
    if (part = ptx_trimmed(part); !part.empty()) out.push_back(part);
    part.clear();
  }
  return out;
}

PtxDeclaration ptx_declaration(const std::string& text) {
  PtxDeclaration out;
  const std::size_t equal = text.find('=');
  std::string front = text.substr(0, equal);
  if (equal != std::string::npos) {
    out.numbers = ptx_trimmed(text.substr(equal + 1));
    if (out.numbers.starts_with('{')) out.numbers = out.numbers.substr(1, out.numbers.rfind('}') - 1);
  }
  std::uint32_t count = 1;
  if (const std::size_t open = front.find('['); open != std::string::npos) {
    count = std::uint32_t(std::strtoul(front.c_str() + open + 1, nullptr, 0));
    out.open = ptx_trimmed(front.substr(open + 1))[0] == ']';
    front = front.substr(0, open);
  }
  front = ptx_trimmed(front);
  out.name = front.substr(front.find_last_of(" \t\n") + 1);
  if (const std::size_t align = front.find(".align"); align != std::string::npos)
    out.align = std::uint32_t(std::strtoul(front.c_str() + align + 6, nullptr, 10));
  for (std::size_t dot = front.find('.'); dot != std::string::npos; dot = front.find('.', dot + 1)) {
    std::size_t end = dot + 1;
    while (end < front.size() && std::isalnum(static_cast<unsigned char>(front[end]))) ++end;
    char kind = 0;
    std::uint8_t bits = 0;
    if (ptx_type(front.substr(dot + 1, end - dot - 1), kind, bits)) out.element = std::max(1u, bits / 8u);
  }
  out.bytes = out.element * count;
  out.align = std::max(out.align, out.element);
  return out;
}

bool ptx_number(const std::string& text, Word& value) {
  if (text.empty()) return false;
  if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") || text.starts_with("0D")) {
    value = std::strtoull(text.c_str() + 2, nullptr, 16);
    return true;
  }
  if (!std::isdigit(static_cast<unsigned char>(text[0])) && text[0] != '-') return false;
  value = text[0] == '-' ? Word(std::strtoll(text.c_str(), nullptr, 0)) : Word(std::strtoull(text.c_str(), nullptr, 0));
  return true;
}

PtxModule::PtxModule(const std::string& text) : program_(std::make_unique<PtxProgram>()) {
  const std::vector<PtxSource> sources = split_ptx(text, *program_);
  for (const PtxSource& source : sources) decode_ptx(source, *program_);
  for (const auto& [name, function] : program_->functions)
    program_->least_access = std::min(program_->least_access, function->least_access);
}

PtxModule::~PtxModule() = default;

bool PtxModule::has(const std::string& kernel) const { return program_->kernels.contains(kernel); }

PtxBounds PtxModule::bounds(const std::string& kernel) const {
  const auto found = program_->kernels.find(kernel);
  return found == program_->kernels.end() ? PtxBounds() : found->second->bounds;
}

int PtxModule::shared_bytes() const { return int(program_->shared_bytes); }

std::vector<PtxSource> split_ptx(const std::string& text, PtxProgram& program) {
  return Splitter(text, program).split();
}

}  // namespace weft::cuda::fake
