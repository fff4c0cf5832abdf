// Names of registers, and the text around instructions.
#include "algorithms/gpu/ptx_kernel.h"

#include "support/check.h"

namespace weft::algorithms::gpu {

std::string at(const Operand& base, std::int64_t offset) {
  return offset ? "[" + base.text + "+" + std::to_string(offset) + "]" : "[" + base.text + "]";
}

std::string group(const std::vector<Reg>& regs, std::size_t first, std::size_t count) {
  std::string s = "{";
  for (std::size_t k = 0; k < count; ++k) s += (k ? ", " : "") + regs.at(first + k).name;
  return s + "}";
}

PtxKernel::PtxKernel(std::string name, std::size_t argument_bytes, int threads, int resident)
    : name_(std::move(name)), argument_bytes_(argument_bytes), threads_(threads), resident_(resident) {
  thread_ = (*this)("mov.u32", "%tid.x");
  lane_ = (*this)("and.b32", thread_, 31);
  warp_ = (*this)("shr.u32", thread_, 5);
}

Reg PtxKernel::reg(int bits) {
  switch (bits) {
    case 1: return {"%p" + std::to_string(predicates_++)};
    case 16: return {"%h" + std::to_string(halves_++)};
    case 32: return {"%r" + std::to_string(words_++)};
    case 64: return {"%d" + std::to_string(doubles_++)};
    default: WEFT_UNREACHABLE("there are no such registers");
  }
}

std::vector<Reg> PtxKernel::regs(int count, int bits) {
  std::vector<Reg> all;
  for (int k = 0; k < count; ++k) all.push_back(reg(bits));
  return all;
}

int PtxKernel::result_bits(std::string_view op) {
  const auto bits_of = [](std::string_view type) {
    if (type == "pred") return 1;
    if (type == "f16") return 16;
    return type.ends_with("64") ? 64 : type.ends_with("32") ? 32 : 16;
  };
  const std::size_t dot = op.rfind('.');
  const std::string_view type = op.substr(dot + 1), head = op.substr(0, dot);
  if (op.starts_with("setp.")) return 1;
  if (op.starts_with("popc.") || op.starts_with("clz.")) return 32;
  if (op.starts_with("cvt.")) return bits_of(head.substr(head.rfind('.') + 1));
  if (head.ends_with(".wide")) return 2 * bits_of(type);
  return bits_of(type);
}

void PtxKernel::write(const std::string& guard, std::string_view op, std::initializer_list<Operand> operands) {
  body_ += "  ";
  if (!guard.empty()) body_ += guard + " ";
  body_ += op;
  const char* before = " ";
  for (const Operand& operand : operands) {
    body_ += before + operand.text;
    before = ", ";
  }
  body_ += ";\n";
}

std::string PtxKernel::label() { return "L" + std::to_string(labels_++); }
void PtxKernel::place(const std::string& label) { body_ += label + ":\n"; }

std::string PtxKernel::shared(const std::string& name, std::size_t bytes) {
  shared_ += "  .shared .align 16 .b8 " + name + "[" + std::to_string(bytes) + "];\n";
  return name;
}

std::string PtxKernel::text() const {
  std::string s = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry " + name_ +
                  "(.param .align 8 .b8 args[" + std::to_string(argument_bytes_) + "])\n.maxntid " +
                  std::to_string(threads_) + ", 1, 1\n";
  if (resident_) s += ".minnctapersm " + std::to_string(resident_) + "\n";
  s += "{\n";
  const auto declare = [&](const char* type, const char* name, int count) {
    if (count) s += std::string("  .reg .") + type + " " + name + "<" + std::to_string(count) + ">;\n";
  };
  declare("pred", "%p", predicates_);
  declare("b16", "%h", halves_);
  declare("b32", "%r", words_);
  declare("b64", "%d", doubles_);
  return s + shared_ + body_ + "  ret;\n}\n";
}

}  // namespace weft::algorithms::gpu
