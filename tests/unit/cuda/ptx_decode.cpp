// Statements of PTX to instructions: names of registers, symbols, constants and labels become numbers.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>

#include "ptx_code.h"

namespace weft::cuda::fake {
namespace {

constexpr Word kNothing = 0xDEADBEEFDEADBEEF;

void unknown_instruction(PtxThread& t, const PtxInstruction& i) { ptx_fail(t, i, "unknown instruction"); }
void call_without_body(PtxThread& t, const PtxInstruction& i) { ptx_fail(t, i, "a call of a function without a body"); }

void negate_predicate(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = ~t.r[i.a] & 1; }

/// The address of a program's variable: at a multiple of 16.
Word address_of(const std::vector<Word>& data) {
  const auto start = reinterpret_cast<Word>(data.data());
  return start + (start % 16 ? 8 : 0);
}

class Decoder {
 public:
  Decoder(const PtxSource& source, PtxProgram& program)
      : source_(source), program_(program), function_(*source.function), scopes_(1) {}

  void decode() {
    for (const PtxFunction::Statement& one : source_.parameters)
      function_.parameters.push_back(add_param(one.text, source_.kernel));
    for (const PtxFunction::Statement& one : source_.results) function_.results.push_back(add_param(one.text, false));
    for (const PtxFunction::Statement& one : source_.statements) add(one);
    for (const auto& [at, label] : branches_) function_.code[at].target = place_of(label);
    for (const auto& [list, labels] : tables_)
      for (const std::string& label : labels) function_.lists[list].push_back(place_of(label));
    PtxInstruction end;  // functions without results may end without a `ret`
    end.act = find_control({"ret"}, end);
    end.statement = std::int32_t(function_.statements.size()) - 1;
    function_.code.push_back(end);
  }

 private:
  struct Scope {
    std::map<std::string, std::int32_t> registers;                            // by name
    std::map<std::string, std::pair<std::int32_t, std::int32_t>> enumerated;  // by prefix: the first one, how many
    std::map<std::string, PtxPlace> params;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("PTX machine: " + what + " in '" + text_ + "' of " + function_.name);
  }

  PtxPlace add_param(const std::string& text, bool packed) {
    const PtxDeclaration declared = ptx_declaration(text);
    const std::uint32_t align = packed ? declared.align : 16;
    std::uint32_t& end = function_.param_bytes;
    const PtxPlace place{(end + align - 1) / align * align, declared.bytes};
    end = place.offset + place.bytes;
    return scopes_.back().params[declared.name] = place;
  }

  std::int32_t new_registers(std::int32_t count) {
    const auto first = std::int32_t(function_.registers.size());
    function_.registers.resize(function_.registers.size() + std::size_t(count), kNothing);
    return first;
  }

  std::int32_t constant(Word value) {
    auto [it, fresh] = constants_.emplace(value, 0);
    if (fresh) {
      it->second = new_registers(1);
      function_.registers[std::size_t(it->second)] = value;
    }
    return it->second;
  }

  void add_registers(const std::string& text) {
    for (const std::string& one : ptx_parts(text)) {
      const std::string name = one.substr(one.find_last_of(" \t") + 1);
      if (const std::size_t open = name.find('<'); open != std::string::npos) {
        const auto count = std::int32_t(std::atoi(name.c_str() + open + 1));
        scopes_.back().enumerated[name.substr(0, open)] = {new_registers(count), count};
      } else {
        scopes_.back().registers[name] = new_registers(1);
      }
    }
  }

  /// -1: no register has this name.
  std::int32_t find_register(const std::string& name) {
    std::size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto it = scope->registers.find(name); it != scope->registers.end()) return it->second;
      const auto range = scope->enumerated.find(name.substr(0, digits));
      if (digits < name.size() && range != scope->enumerated.end()) {
        const int number = std::atoi(name.c_str() + digits);
        if (number < range->second.second) return range->second.first + number;
      }
    }
    return -1;
  }

  const PtxPlace* find_param(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto it = scope->params.find(name); it != scope->params.end()) return &it->second;
    return nullptr;
  }

  std::int32_t special(const std::string& name) {
    static const std::map<std::string, char> kinds = {
        {"%tid.x", 't'},       {"%ntid.x", 'n'},      {"%ctaid.x", 'b'},     {"%nctaid.x", 'g'},
        {"%laneid", 'l'},      {"%warpid", 'w'},      {"%lanemask_lt", '<'}, {"%lanemask_le", '('},
        {"%lanemask_gt", '>'}, {"%lanemask_ge", ')'}, {"%lanemask_eq", '='}, {"%tid.y", '0'},
        {"%tid.z", '0'},       {"%ctaid.y", '0'},     {"%ctaid.z", '0'},     {"%ntid.y", '1'},
        {"%ntid.z", '1'},      {"%nctaid.y", '1'},    {"%nctaid.z", '1'}};
    const auto it = kinds.find(name);
    if (it == kinds.end()) return -1;
    auto [known, fresh] = specials_.emplace(name, 0);
    if (fresh) {
      known->second = new_registers(1);
      function_.specials.push_back({known->second, it->second});
    }
    return known->second;
  }

  /// The value of a symbol; false: there is none of this name.
  bool symbol(const std::string& name, Word& value) {
    if (const auto it = program_.shared.find(name); it != program_.shared.end()) return value = it->second, true;
    if (const auto it = program_.globals.find(name); it != program_.globals.end())
      return value = address_of(it->second), true;
    if (const PtxPlace* place = find_param(name)) return value = place->offset, true;
    return false;
  }

  std::int32_t operand(const std::string& text) {
    if (text == "_") return new_registers(1);
    if (text[0] == '!') {
      PtxInstruction negate;
      negate.act = negate_predicate;
      negate.a = operand(ptx_trimmed(text.substr(1)));
      negate.to = new_registers(1);
      negate.statement = std::int32_t(function_.statements.size()) - 1;
      function_.code.push_back(negate);
      return negate.to;
    }
    Word value = 0;
    if (ptx_number(text, value)) return constant(value);
    if (const std::int32_t reg = find_register(text); reg >= 0) return reg;
    if (const std::int32_t reg = special(text); reg >= 0) return reg;
    const std::size_t plus = text.find('+');
    if (!symbol(ptx_trimmed(text.substr(0, plus)), value)) fail("unknown operand '" + text + "'");
    return constant(value + (plus == std::string::npos ? 0 : Word(std::strtoll(text.c_str() + plus + 1, nullptr, 0))));
  }

  void memory(PtxInstruction& i, const std::string& text) {
    if (text[0] != '[') fail("no address");
    std::string inner = ptx_trimmed(text.substr(1, text.size() - 2));
    if (const std::size_t plus = inner.find('+'); plus != std::string::npos) {
      i.offset = std::strtoll(ptx_trimmed(inner.substr(plus + 1)).c_str(), nullptr, 0);
      inner = ptx_trimmed(inner.substr(0, plus));
    }
    i.a = operand(inner);
  }

  std::int32_t vector(const std::string& text) {
    std::vector<std::int32_t> list;
    for (const std::string& one : ptx_parts(text.substr(1, text.size() - 2))) list.push_back(operand(one));
    function_.lists.push_back(std::move(list));
    return std::int32_t(function_.lists.size()) - 1;
  }

  void result(PtxInstruction& i, const std::string& text) {
    const std::size_t bar = text.find('|');
    i.to = operand(ptx_trimmed(text.substr(0, bar)));
    if (bar != std::string::npos) i.second = operand(ptx_trimmed(text.substr(bar + 1)));
  }

  void sources(PtxInstruction& i, const std::vector<std::string>& all, std::size_t from) {
    std::int32_t* const to[] = {&i.a, &i.b, &i.c, &i.d};
    for (std::size_t k = from; k < all.size(); ++k) {
      if (k - from >= 4) fail("too many operands");
      *to[k - from] = operand(all[k]);
    }
  }

  std::int32_t place_of(const std::string& label) const {
    const auto it = labels_.find(label);
    if (it == labels_.end()) fail("no label '" + label + "'");
    return it->second;
  }

  bool add_directive(const std::string& text) {
    if (text == "{") return scopes_.emplace_back(), true;
    if (text == "}") return scopes_.pop_back(), true;
    if (text.back() == ':') {
      last_label_ = text.substr(0, text.size() - 1);
      labels_[last_label_] = std::int32_t(function_.code.size());
      return true;
    }
    if (text[0] != '.') return false;
    if (text.starts_with(".reg")) add_registers(ptx_trimmed(text.substr(4)));
    if (text.starts_with(".param")) add_param(text, false);
    if (text.starts_with(".branchtargets")) targets_[last_label_] = ptx_parts(text.substr(14));
    if (text.starts_with(".local")) {
      const PtxDeclaration declared = ptx_declaration(text);
      const std::uint32_t start = (function_.local_bytes + 15) / 16 * 16;
      locals_[declared.name] = start;
      function_.local_bytes = start + declared.bytes;
    }
    return true;
  }

  void add(const PtxFunction::Statement& statement) {
    text_ = statement.text;
    if (add_directive(text_)) return;
    function_.statements.push_back(statement);
    PtxInstruction i;
    std::string rest = text_;
    if (rest[0] == '@') {
      const std::size_t space = rest.find_first_of(" \t");
      i.guard_not = rest[1] == '!';
      i.guard = operand(rest.substr(i.guard_not ? 2 : 1, space - (i.guard_not ? 2 : 1)));
      rest = ptx_trimmed(rest.substr(space));
    }
    i.statement = std::int32_t(function_.statements.size()) - 1;
    const std::size_t space = std::min(rest.find_first_of(" \t\n"), rest.size());
    PtxName name;
    for (std::size_t from = 0; from <= space;) {
      const std::size_t dot = std::min(rest.find('.', from), space);
      name.push_back(rest.substr(from, dot - from));
      from = dot + 1;
    }
    const std::vector<std::string> operands = ptx_parts(rest.substr(space));
    for (const auto find : {find_group, find_control, find_memory, find_copy, find_comparison, find_conversion,
                            find_arithmetic, find_texture})
      if (!i.act) i.act = find(name, i);
    if (i.act)
      add_operands(i, name, operands);
    else
      i.act = unknown_instruction;
    function_.code.push_back(i);
  }

  void add_operands(PtxInstruction& i, const PtxName& name, const std::vector<std::string>& operands) {
    const std::string& op = name[0];
    if (op == "bra") {
      branches_.emplace_back(function_.code.size(), operands.at(0));
    } else if (op == "brx") {
      i.a = operand(operands.at(0));
      i.list = std::int32_t(function_.lists.size());
      function_.lists.emplace_back();
      tables_.emplace_back(std::size_t(i.list), targets_[operands.at(1)]);
    } else if (op == "call") {
      add_call(i, operands);
    } else if (op == "ld" || op == "ldu") {
      vector_or_result(i, operands.at(0));
      memory(i, operands.at(1));
    } else if (op == "st") {
      memory(i, operands.at(0));
      if (operands.at(1)[0] == '{')
        i.list = vector(operands.at(1));
      else
        i.b = operand(operands.at(1));
    } else if (op == "atom") {
      i.to = operand(operands.at(0));
      memory(i, operands.at(1));
      i.b = operand(operands.at(2));
      if (operands.size() > 3) i.c = operand(operands[3]);
    } else if (op == "tex") {
      add_texture(i, operands);
    } else if (op == "red") {
      memory(i, operands.at(0));
      i.b = operand(operands.at(1));
    } else if (op == "cp") {
      if (operands.empty()) return;
      if (operands.size() == 1) return sources(i, operands, 0);
      memory(i, operands.at(1));
      i.b = i.a;
      i.from_offset = i.offset;
      i.offset = 0;
      memory(i, operands.at(0));
      if (has_part(name, "ca")) i.bytes = std::uint16_t(std::stoul(operands.at(2)));
      if (operands.size() > 3) i.c = operand(operands[3]);
    } else if (op == "ldmatrix") {
      i.list = vector(operands.at(0));
      memory(i, operands.at(1));
    } else if (op == "wgmma") {
      if (operands.size() == 1) return sources(i, operands, 0);
      if (operands.empty()) return;
      i.list = vector(operands.at(0));
      i.a = operand(operands.at(1));
      i.b = operand(operands.at(2));
      set_group_flags(i, operands);
    } else if (op == "mma") {
      for (const std::string& one : operands) i.list = vector(one);
      i.list -= 3;
    } else if (op == "mov" && (operands.at(0)[0] == '{' || operands.at(1)[0] == '{')) {
      add_packing(i, operands);
    } else if (op == "mov" && locals_.count(operands.at(1))) {
      result(i, operands.at(0));
      i.act = find_control({"mov", "local"}, i);
      i.offset = std::int64_t(locals_[operands[1]]);
    } else if ((op == "bar" || op == "barrier") && !has_part(name, "red")) {
      sources(i, operands, 0);
    } else if (op == "bar" || op == "barrier") {  // the last operand is the thread's number
      result(i, operands.at(0));
      i.a = operand(operands.at(1));
      if (operands.size() > 3) i.b = operand(operands[2]);
      i.c = operand(operands.back());
    } else if (!operands.empty()) {
      result(i, operands[0]);
      sources(i, operands, 1);
      if (op == "setp" && i.second >= 0) i.act = find_comparison(name, i);  // there are quicker ones for one result
    }
    const bool may_be_shared = i.space == PtxSpace::shared || i.space == PtxSpace::generic;
    if (i.bytes && may_be_shared) function_.least_access = std::min<std::uint32_t>(function_.least_access, i.bytes);
  }

  /// "{four results}, [object, {coordinates}]", and a level: results and coordinates are one list.
  void add_texture(PtxInstruction& i, const std::vector<std::string>& operands) {
    const std::string& address = operands.at(1);
    const std::vector<std::string> from = ptx_parts(address.substr(1, address.size() - 2));
    i.list = vector(operands.at(0));
    i.a = operand(from.at(0));
    const std::int32_t coordinates = vector(from.at(1));
    std::vector<std::int32_t>&list = function_.lists[std::size_t(i.list)],
    &more = function_.lists[std::size_t(coordinates)];
    list.insert(list.end(), more.begin(), more.end());
    if (operands.size() > 2) i.b = operand(operands[2]);
  }

  void vector_or_result(PtxInstruction& i, const std::string& text) {
    if (text[0] == '{')
      i.list = vector(text);
    else
      i.to = operand(text);
  }

  void add_packing(PtxInstruction& i, const std::vector<std::string>& operands) {
    const bool pack = operands[1][0] == '{';
    i.list = vector(operands[pack ? 1 : 0]);
    (pack ? i.to : i.a) = operand(operands[pack ? 0 : 1]);
    i.act = find_control({"mov", pack ? "pack" : "unpack"}, i);
    i.width = std::uint8_t(i.width / function_.lists[std::size_t(i.list)].size());
  }

  std::vector<PtxPlace> places(const std::string& list) {
    std::vector<PtxPlace> out;
    for (const std::string& one : ptx_parts(list.substr(1, list.size() - 2))) {
      const PtxPlace* place = find_param(one);
      if (!place) fail("unknown parameter '" + one + "'");
      out.push_back(*place);
    }
    return out;
  }

  void add_call(PtxInstruction& i, std::vector<std::string> operands) {
    PtxFunction::Call call;
    if (operands.at(0)[0] == '(') {
      call.taken = places(operands[0]);
      operands.erase(operands.begin());
    }
    const auto it = program_.functions.find(operands.at(0));
    if (it == program_.functions.end()) fail("unknown function '" + operands[0] + "'");
    call.callee = it->second.get();
    if (operands.size() > 1) call.given = places(operands[1]);
    if (!program_.with_body.count(call.callee)) i.act = call_without_body;
    i.list = std::int32_t(function_.calls.size());
    function_.calls.push_back(std::move(call));
  }

  const PtxSource& source_;
  PtxProgram& program_;
  PtxFunction& function_;
  std::string text_;
  std::vector<Scope> scopes_;
  std::map<Word, std::int32_t> constants_;
  std::map<std::string, std::int32_t> specials_, labels_;
  std::map<std::string, Word> locals_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  std::vector<std::pair<std::size_t, std::vector<std::string>>> tables_;
  std::map<std::string, std::vector<std::string>> targets_;
  std::string last_label_;
};

}  // namespace

void decode_ptx(const PtxSource& source, PtxProgram& program) { Decoder(source, program).decode(); }

}  // namespace weft::cuda::fake
