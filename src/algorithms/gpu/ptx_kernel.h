// Writes kernels as PTX, an instruction at a time: an instruction's result is a new register, whose size follows from the
// instruction's name, so that kernels read like straight code. Everything runs on GPUs since sm_50.
//
//   PtxKernel k("twice", 16, 256);
//   const Reg place = k("mad.wide.u32", k.thread(), 4, k("ld.param.u64", at("args")));
//   const Reg value = k("ld.global.u32", at(place));
//   k.run("st.global.u32", at(place), k("add.u32", value, value));
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::algorithms::gpu {

/// A register of the kernel that is being written.
struct Reg {
  std::string name;
};

/// What an instruction takes: a register, a number, or text as it stands (places in memory, names, groups of registers).
struct Operand {
  Operand(const Reg& reg) : text(reg.name) {}
  template <std::integral T>
  Operand(T number) : text(std::to_string(number)) {}
  Operand(std::string written) : text(std::move(written)) {}
  Operand(const char* written) : text(written) {}
  std::string text;
};

/// The place in memory at an address (a register, a name) and so many bytes behind it.
std::string at(const Operand& base, std::int64_t offset = 0);
/// Several registers as one operand, of 128-bit accesses for instance.
std::string group(const std::vector<Reg>& regs, std::size_t first, std::size_t count);

class PtxKernel {
 public:
  /// Its arguments are one block, `args`. `resident`: so many blocks shall fit on a multiprocessor at once, which bounds
  /// registers; 0: ptxas decides.
  PtxKernel(std::string name, std::size_t argument_bytes, int threads, int resident = 0);

  /// An instruction with a result.
  template <class... A>
  Reg operator()(std::string_view op, const A&... operands) {
    const Reg to = reg(result_bits(op));
    write({}, op, {Operand(to), Operand(operands)...});
    return to;
  }
  /// One without.
  template <class... A>
  void run(std::string_view op, const A&... operands) {
    write({}, op, {Operand(operands)...});
  }
  /// One whose result goes to a register that is there: of loops, and of what only some threads do.
  template <class... A>
  void set(const Reg& to, std::string_view op, const A&... operands) {
    write({}, op, {Operand(to), Operand(operands)...});
  }
  void jump(const std::string& label) { write({}, "bra", {Operand(label)}); }

  /// Instructions that only threads do for which a predicate holds, or does not.
  class Guarded {
   public:
    Guarded(PtxKernel& kernel, std::string guard) : kernel_(kernel), guard_(std::move(guard)) {}
    template <class... A>
    void run(std::string_view op, const A&... operands) const {
      kernel_.write(guard_, op, {Operand(operands)...});
    }
    template <class... A>
    void set(const Reg& to, std::string_view op, const A&... operands) const {
      kernel_.write(guard_, op, {Operand(to), Operand(operands)...});
    }
    void jump(const std::string& label) const { kernel_.write(guard_, "bra", {Operand(label)}); }

   private:
    PtxKernel& kernel_;
    std::string guard_;
  };
  Guarded when(const Reg& predicate) { return {*this, "@" + predicate.name}; }
  Guarded unless(const Reg& predicate) { return {*this, "@!" + predicate.name}; }

  /// A register of 1 (a predicate), 16, 32 or 64 bits that nothing has been written to.
  Reg reg(int bits);
  std::vector<Reg> regs(int count, int bits);
  /// A label that is nowhere yet; puts it here.
  std::string label();
  void place(const std::string& label);
  /// Shared memory: its name, which is its address.
  std::string shared(const std::string& name, std::size_t bytes);
  void barrier() { run("bar.sync", 0); }

  const Reg& thread() const { return thread_; }  // %tid.x
  const Reg& lane() const { return lane_; }
  const Reg& warp() const { return warp_; }
  int threads() const { return threads_; }

  /// The module.
  std::string text() const;

 private:
  static int result_bits(std::string_view op);
  void write(const std::string& guard, std::string_view op, std::initializer_list<Operand> operands);

  std::string name_, body_, shared_;
  std::size_t argument_bytes_;
  int threads_, resident_, labels_ = 0;
  int predicates_ = 0, halves_ = 0, words_ = 0, doubles_ = 0;  // registers of each size so far
  Reg thread_, lane_, warp_;
};

}  // namespace weft::algorithms::gpu
