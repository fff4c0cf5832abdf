// Parsing PTX to instructions with numbered registers, and running them: each thread runs up to the next instruction that
// needs others, and goes on when all of its warp (or block) stand there.
#include "ptx_machine.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/half.h"

namespace weft::cuda::fake {
namespace {

using Word = std::uint64_t;

struct Operand {
  enum class Kind { none, reg, immediate, special, memory, pair } kind = Kind::none;
  int reg = -1, second = -1;  // memory: base register or -1; pair: two registers; d|p: the predicate in second
  Word value = 0;             // immediate; memory: offset
  std::string name;           // special
  std::vector<int> regs;      // of {a, b, …}
};

struct Instruction {
  std::string text;
  std::vector<std::string> op;  // "ld", "global", "u32"
  std::string type;             // the last part
  int guard = -1;
  bool guard_not = false;
  std::vector<Operand> operands;
  std::string label;
  int target = -1;
};

int bits_of(const std::string& type) {
  if (type == "pred") return 1;
  return std::atoi(type.c_str() + (type[0] == 'b' || type[0] == 'u' || type[0] == 's' || type[0] == 'f' ? 1 : 0));
}

Word cut(Word value, int bits) { return bits >= 64 ? value : value & ((Word(1) << bits) - 1); }

std::int64_t as_signed(Word value, int bits) { return std::int64_t(value << (64 - bits)) >> (64 - bits); }

template <class T>
T as(Word w) {
  T out;
  std::memcpy(&out, &w, sizeof out);
  return out;
}

template <class T>
Word word(T value) {
  Word out = 0;
  std::memcpy(&out, &value, sizeof value);
  return out;
}

[[noreturn]] void fail(const Instruction& i, const std::string& why) {
  throw std::runtime_error("PTX machine: " + why + " in '" + i.text + "'");
}

std::string trimmed(const std::string& s) {
  const auto from = s.find_first_not_of(" \t\n"), to = s.find_last_not_of(" \t\n");
  return from == std::string::npos ? "" : s.substr(from, to - from + 1);
}

}  // namespace

struct PtxKernel {
  std::vector<Instruction> code;
  std::map<std::string, int> registers, labels;
  std::map<std::string, Word> shared;  // offsets of symbols
  Word shared_bytes = 0;

  int reg(const std::string& name) { return registers.emplace(name, int(registers.size())).first->second; }

  Operand operand(const std::string& text) {
    Operand o;
    if (text[0] == '[') {
      o.kind = Operand::Kind::memory;
      const std::string inner = text.substr(1, text.size() - 2);
      const auto plus = inner.find('+');
      const std::string base = inner.substr(0, plus);
      if (plus != std::string::npos) o.value = Word(std::strtoll(inner.c_str() + plus + 1, nullptr, 0));
      if (base[0] == '%')
        o.reg = reg(base);
      else if (base != "args")  // the block of arguments starts at 0
        o.value += shared.at(base);
    } else if (text[0] == '{') {
      o.kind = Operand::Kind::pair;
      for (std::size_t from = 1; from < text.size();) {
        const std::size_t end = std::min(text.find(',', from), text.size() - 1);
        o.regs.push_back(reg(trimmed(text.substr(from, end - from))));
        from = end + 1;
      }
      o.reg = o.regs.at(0);
      o.second = o.regs.at(1);
    } else if (text[0] == '%') {
      const auto bar = text.find('|');
      const std::string name = text.substr(0, bar);
      if (name == "%tid.x" || name == "%ntid.x" || name == "%ctaid.x" || name == "%nctaid.x" ||
          name == "%lanemask_lt" || name == "%lanemask_le") {
        o.kind = Operand::Kind::special;
        o.name = name;
      } else {
        o.kind = Operand::Kind::reg;
        o.reg = reg(name);
        if (bar != std::string::npos) o.second = reg(text.substr(bar + 1));
      }
    } else if (text.starts_with("0f") || text.starts_with("0d")) {
      o.kind = Operand::Kind::immediate;
      o.value = std::strtoull(text.c_str() + 2, nullptr, 16);
    } else if (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-') {
      o.kind = Operand::Kind::immediate;
      o.value = text[0] == '-' ? Word(std::strtoll(text.c_str(), nullptr, 0)) : std::strtoull(text.c_str(), nullptr, 0);
    } else if (text == "args") {
      o.kind = Operand::Kind::immediate;
    } else if (shared.count(text)) {
      o.kind = Operand::Kind::immediate;
      o.value = shared.at(text);
    } else {
      o.name = text;  // a label
    }
    return o;
  }

  void add(std::string text) {
    text = trimmed(text);
    for (std::size_t colon; (colon = text.find(':')) != std::string::npos;) {
      labels[trimmed(text.substr(0, colon))] = int(code.size());
      text = trimmed(text.substr(colon + 1));
    }
    if (text.empty() || text.starts_with(".reg")) return;
    if (text.starts_with(".shared")) {
      const auto open = text.find('['), space = text.rfind(' ', open);
      shared_bytes = (shared_bytes + 15) / 16 * 16;
      shared[text.substr(space + 1, open - space - 1)] = shared_bytes;
      shared_bytes += Word(std::atoll(text.c_str() + open + 1));
      return;
    }
    Instruction i;
    i.text = text;
    if (text[0] == '@') {
      const auto space = text.find(' ');
      i.guard_not = text[1] == '!';
      i.guard = reg(text.substr(i.guard_not ? 2 : 1, space - (i.guard_not ? 2 : 1)));
      text = trimmed(text.substr(space));
    }
    const auto space = text.find(' ');
    const std::string name = text.substr(0, space);
    for (std::size_t from = 0; from <= name.size();) {
      const std::size_t dot = std::min(name.find('.', from), name.size());
      i.op.push_back(name.substr(from, dot - from));
      from = dot + 1;
    }
    i.type = i.op.back();
    int depth = 0;
    std::string part;
    const std::string rest = space == std::string::npos ? "" : text.substr(space + 1);
    for (char c : rest + ",") {
      depth += c == '{' || c == '[';
      depth -= c == '}' || c == ']';
      if (c != ',' || depth > 0) {
        part += c;
        continue;
      }
      if (!trimmed(part).empty()) i.operands.push_back(operand(trimmed(part)));
      part.clear();
    }
    if (i.op[0] == "bra") i.label = i.operands.at(0).name;
    code.push_back(std::move(i));
  }

  void finish() {
    for (Instruction& i : code)
      if (!i.label.empty()) i.target = labels.at(i.label);
  }
};

namespace {

struct Thread {
  std::vector<Word> regs;
  std::size_t pc = 0;
  bool done = false, waiting = false;
};

class Block {
 public:
  Block(const PtxKernel& kernel, unsigned id, unsigned blocks, unsigned threads,
        const std::vector<unsigned char>& arguments, const std::function<bool(std::size_t, std::size_t)>& readable)
      : kernel_(kernel),
        id_(id),
        blocks_(blocks),
        arguments_(arguments),
        readable_(readable),
        shared_(kernel.shared_bytes, 0xCD),
        threads_(threads) {
    for (Thread& t : threads_) t.regs.assign(kernel.registers.size(), 0xDEADBEEFDEADBEEF);
  }

  void run() {
    for (std::size_t t = 0; t < threads_.size(); ++t) advance(t);
    while (std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) { return !t.done; }))
      if (!meet()) throw std::runtime_error("PTX machine: threads wait for each other at different places");
  }

 private:
  const Instruction& at(const Thread& t) const { return kernel_.code.at(t.pc); }
  static bool collective(const Instruction& i) { return i.op[0] == "bar" || i.op[0] == "shfl" || i.op[0] == "vote"; }

  void advance(std::size_t index) {
    Thread& t = threads_[index];
    t.waiting = false;
    while (!t.done) {
      if (t.pc >= kernel_.code.size()) throw std::runtime_error("PTX machine: a kernel without an end");
      const Instruction& i = at(t);
      if (i.guard >= 0 && (t.regs[std::size_t(i.guard)] & 1) == Word(i.guard_not)) {
        ++t.pc;
        continue;
      }
      if (collective(i)) {
        t.waiting = true;
        return;
      }
      ++t.pc;
      step(t, index, i);
    }
  }

  /// Lets a warp, or the block, that stands at one instruction go on.
  bool meet() {
    for (std::size_t first = 0; first < threads_.size(); first += 32) {
      const std::size_t end = std::min(first + 32, threads_.size());
      if (end - first < 32 || threads_[first].done || !threads_[first].waiting) continue;
      const Instruction& i = at(threads_[first]);
      if (i.op[0] == "bar" && i.op[1] != "warp") continue;
      bool all = true;
      for (std::size_t t = first; t < end; ++t)
        all &= threads_[t].waiting && !threads_[t].done && threads_[t].pc == threads_[first].pc;
      if (!all) continue;
      together(i, first);
      for (std::size_t t = first; t < end; ++t) {
        ++threads_[t].pc;
        advance(t);
      }
      return true;
    }
    bool any = false;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      const Thread& one = threads_[t];
      if (one.done) continue;
      if (!one.waiting || at(one).op[0] != "bar" || at(one).op[1] == "warp") return false;
      if (at(one).op[1] == "red") any |= value(one, t, at(one).operands.at(2), 1) != 0;
    }
    for (Thread& t : threads_)  // bar.red.or.pred
      if (!t.done && at(t).op[1] == "red") t.regs[std::size_t(at(t).operands.at(0).reg)] = any;
    for (std::size_t t = 0; t < threads_.size(); ++t)
      if (!threads_[t].done) {
        ++threads_[t].pc;
        advance(t);
      }
    return true;
  }

  void together(const Instruction& i, std::size_t first) {
    if (i.op[0] == "bar") return;
    std::vector<Word> given(32);
    for (std::size_t l = 0; l < 32; ++l)
      given[l] = value(threads_[first + l], first + l, i.operands.at(1), i.op[0] == "vote" ? 1 : 32);
    for (std::size_t l = 0; l < 32; ++l) {
      Thread& t = threads_[first + l];
      Word result = 0;
      if (i.op[0] == "vote") {
        bool all = true;
        for (std::size_t k = 0; k < 32; ++k) {
          result |= (given[k] & 1) << k;
          all &= given[k] & 1;
        }
        if (i.op[2] == "all") result = all;
      } else {
        const Word lane = value(t, first + l, i.operands.at(2), 32);
        const std::int64_t from = i.op[2] == "up"     ? std::int64_t(l) - std::int64_t(lane)
                                  : i.op[2] == "bfly" ? std::int64_t(l ^ lane)
                                                      : std::int64_t(lane & 31);
        const bool there = from >= 0 && from < 32;
        result = given[there ? std::size_t(from) : l];
        if (i.operands[0].second >= 0) t.regs[std::size_t(i.operands[0].second)] = there;
      }
      t.regs[std::size_t(i.operands[0].reg)] = result;
    }
  }

  Word value(const Thread& t, std::size_t index, const Operand& o, int bits) const {
    switch (o.kind) {
      case Operand::Kind::reg: return cut(t.regs[std::size_t(o.reg)], bits);
      case Operand::Kind::immediate: return cut(o.value, bits);
      case Operand::Kind::special:
        if (o.name == "%tid.x") return index;
        if (o.name == "%ntid.x") return threads_.size();
        if (o.name == "%ctaid.x") return id_;
        if (o.name == "%nctaid.x") return blocks_;
        return (Word(1) << (index % 32 + (o.name == "%lanemask_le"))) - 1;
      default: throw std::runtime_error("PTX machine: no value");
    }
  }

  unsigned char* place(const Thread& t, const Instruction& i, const Operand& o, std::size_t bytes) {
    const Word address = (o.reg >= 0 ? t.regs[std::size_t(o.reg)] : 0) + o.value;
    const std::string& space = i.op[i.op[1] == "volatile" ? 2 : 1];
    if (space == "param") {
      if (address + bytes > arguments_.size()) fail(i, "arguments end before");
      return const_cast<unsigned char*>(arguments_.data()) + address;
    }
    if (space == "shared") {
      const Word offset = cut(address, 32);
      if (offset + bytes > shared_.size()) fail(i, "beyond shared memory");
      if (offset % bytes) fail(i, "misaligned");
      return shared_.data() + offset;
    }
    if (address % bytes) fail(i, "misaligned");
    if (!readable_(address, bytes)) fail(i, "beyond the memory that was allocated");
    return reinterpret_cast<unsigned char*>(address);
  }

  static Word read(const unsigned char* at, const Instruction& i) {
    Word w = 0;
    std::memcpy(&w, at, std::size_t(bits_of(i.type)) / 8);
    return w;
  }

  void step(Thread& t, std::size_t index, const Instruction& i) {
    const std::string& op = i.op[0];
    if (op == "ret") {
      t.done = true;
      return;
    }
    if (op == "bra") {
      t.pc = std::size_t(i.target);
      return;
    }
    if (op == "atom") {
      unsigned char* at = place(t, i, i.operands.at(1), std::size_t(bits_of(i.type)) / 8);
      const Word old = read(at, i), more = value(t, index, i.operands.at(2), bits_of(i.type)), sum = old + more;
      std::memcpy(at, &sum, std::size_t(bits_of(i.type)) / 8);
      t.regs[std::size_t(i.operands.at(0).reg)] = old;
      return;
    }
    if (op == "ld" || op == "st" || op == "red") {
      const std::size_t bytes = std::size_t(bits_of(i.type)) / 8;
      const Operand &memory = i.operands.at(op == "ld" ? 1 : 0), &data = i.operands.at(op == "ld" ? 0 : 1);
      if (data.kind == Operand::Kind::pair) {
        const std::size_t n = data.regs.size();
        unsigned char* all = place(t, i, memory, n * bytes);
        for (std::size_t k = 0; k < n; ++k) {
          Word& r = t.regs[std::size_t(data.regs[k])];
          if (op == "ld") r = 0;
          op == "ld" ? std::memcpy(&r, all + k * bytes, bytes) : std::memcpy(all + k * bytes, &r, bytes);
        }
        return;
      }
      unsigned char* at = place(t, i, memory, bytes);
      if (op == "ld") {
        t.regs[std::size_t(data.reg)] = read(at, i);
        return;
      }
      Word w = value(t, index, data, 64);
      if (op == "red") w += read(at, i);
      std::memcpy(at, &w, bytes);
      return;
    }
    Operand const& to = i.operands.at(0);
    if (op == "mov" && to.kind == Operand::Kind::pair) {
      const Word w = value(t, index, i.operands.at(1), 64);
      t.regs[std::size_t(to.reg)] = cut(w, 32);
      t.regs[std::size_t(to.second)] = w >> 32;
      return;
    }
    if (op == "mov" && i.operands.at(1).kind == Operand::Kind::pair) {
      t.regs[std::size_t(to.reg)] =
          cut(t.regs[std::size_t(i.operands[1].reg)], 32) | t.regs[std::size_t(i.operands[1].second)] << 32;
      return;
    }
    t.regs[std::size_t(to.reg)] = result(t, index, i);
  }

  Word result(const Thread& t, std::size_t index, const Instruction& i) {
    const std::string& op = i.op[0];
    const std::string& type = i.type;
    if (op == "cvt") return converted(i, value(t, index, i.operands.at(1), 64));
    if (op == "mad" || ((op == "mul") && i.op[1] == "wide")) {
      const int bits = bits_of(type), wide = i.op[1] == "wide" ? 2 * bits : bits;
      Word r = value(t, index, i.operands.at(1), bits) * value(t, index, i.operands.at(2), bits);
      if (op == "mad") r += value(t, index, i.operands.at(3), wide);
      return cut(r, wide);
    }
    const int bits = bits_of(type);
    const Word a = value(t, index, i.operands.at(1), bits);
    const bool two = i.operands.size() > 2, shift = op == "shl" || op == "shr";
    const Word b = two ? value(t, index, i.operands.at(2), shift ? 32 : bits) : 0;
    if (op == "mov") return a;
    if (type[0] == 'f') return bits == 32 ? floats<float>(i, a, b) : floats<double>(i, a, b);
    if (op == "setp")
      return compared(i, type[0] == 's' ? Word(as_signed(a, bits)) : a, type[0] == 's' ? Word(as_signed(b, bits)) : b);
    Word r = 0;
    if (op == "add")
      r = a + b;
    else if (op == "sub")
      r = a - b;
    else if (op == "mul")
      r = a * b;
    else if (op == "div" && b)
      r = a / b;
    else if (op == "rem" && b)
      r = a % b;
    else if (op == "min" || op == "max")
      r = (type[0] == 's' ? as_signed(a, bits) < as_signed(b, bits) : a < b) == (op == "min") ? a : b;
    else if (op == "and")
      r = a & b;
    else if (op == "or")
      r = a | b;
    else if (op == "xor")
      r = a ^ b;
    else if (op == "not")
      r = ~a;
    else if (op == "shl")
      r = b >= Word(bits) ? 0 : a << b;
    else if (op == "shr")
      r = type[0] == 's' ? Word(as_signed(a, bits) >> std::min<Word>(b, Word(bits - 1))) : b >= Word(bits) ? 0 : a >> b;
    else if (op == "popc")
      r = Word(std::popcount(a));
    else if (op == "clz")
      r = Word(std::countl_zero(std::uint32_t(a)));
    else if (op == "brev") {
      for (int k = 0; k < bits; ++k) r |= ((a >> k) & 1) << (bits - 1 - k);
    } else
      fail(i, "unknown instruction");
    return cut(r, bits);
  }

  Word compared(const Instruction& i, Word a, Word b) {
    const std::string& how = i.op[1];
    const bool less = i.type[0] == 's' ? std::int64_t(a) < std::int64_t(b) : a < b;
    if (how == "eq") return a == b;
    if (how == "ne") return a != b;
    if (how == "lt") return less;
    if (how == "le") return less || a == b;
    if (how == "ge") return !less;
    if (how == "gt") return !less && a != b;
    fail(i, "unknown comparison");
  }

  template <class T>
  Word floats(const Instruction& i, Word x, Word y) {
    const T a = as<T>(x), b = as<T>(y);
    if (i.op[0] == "add") return word<T>(a + b);
    if (i.op[0] == "mul") return word<T>(a * b);
    if (i.op[0] == "sub") return word<T>(a - b);
    if (i.op[0] == "div") return word<T>(a / b);
    if (i.op[0] == "setp" && i.op[1] == "neu") return !(a == b);
    if (i.op[0] == "setp" && i.op[1] == "ge") return a >= b;
    if (i.op[0] == "setp" && i.op[1] == "lt") return a < b;
    fail(i, "unknown instruction");
  }

  Word converted(const Instruction& i, Word from) {
    const std::string to = i.op[i.op.size() - 2], &source = i.type;
    if (source == "f16" && to == "f32") return word<float>(runtime::f16_to_float(std::uint16_t(from)));
    if (source == "f32" && to == "f16") return runtime::f16_from_double(double(as<float>(from)));
    if (source == "f32" && to == "f64") return word<double>(double(as<float>(from)));
    if (source == "f64" && to == "f32") return word<float>(float(as<double>(from)));
    if (source == "f64" && to == "u64") return Word(as<double>(from));  // cvt.rzi of numbers that fit
    if (source[0] == 'f' && to == "s32") {  // cvt.rmi saturates; not-a-numbers are 0, those of f64 the least number
      const double number = std::floor(source == "f32" ? double(as<float>(from)) : as<double>(from));
      if (number != number) return source == "f32" ? 0 : Word(1) << 31;
      return cut(Word(std::int64_t(std::clamp(number, -2147483648.0, 2147483647.0))), 32);
    }
    if (source[0] == 's' && to == "f64") return word<double>(double(as_signed(from, bits_of(source))));
    if (source[0] == 'u' && to == "f64") return word<double>(double(cut(from, bits_of(source))));
    if (source[0] == 'u' && to[0] == 'u') return cut(cut(from, bits_of(source)), bits_of(to));
    fail(i, "unknown conversion");
  }

  const PtxKernel& kernel_;
  unsigned id_, blocks_;
  const std::vector<unsigned char>& arguments_;
  const std::function<bool(std::size_t, std::size_t)>& readable_;
  std::vector<unsigned char> shared_;
  std::vector<Thread> threads_;
};

}  // namespace

PtxModule::PtxModule(const std::string& text) {
  for (std::size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
    const std::size_t open = text.find('(', at), begin = text.find('{', open), end = text.find("\n}", begin);
    auto kernel = std::make_unique<PtxKernel>();
    std::size_t from = begin + 1;
    for (std::size_t semicolon; (semicolon = text.find(';', from)) < end; from = semicolon + 1)
      kernel->add(text.substr(from, semicolon - from));
    kernel->finish();
    kernels_[trimmed(text.substr(at + 7, open - at - 7))] = std::move(kernel);
    at = end;
  }
}

PtxModule::~PtxModule() = default;

void PtxModule::run(const std::string& kernel, unsigned blocks, unsigned threads,
                    const std::vector<unsigned char>& arguments,
                    const std::function<bool(std::size_t, std::size_t)>& readable) const {
  for (unsigned b = 0; b < blocks; ++b) Block(*kernels_.at(kernel), b, blocks, threads, arguments, readable).run();
}

}  // namespace weft::cuda::fake
