// The LLVM back end: turns one kernel of an IR module into machine code for the CPU (W lanes) or PTX for NVIDIA GPUs,
// and links CPU objects into the process. No LLVM type appears here. Everything is thread-safe: each emission owns its
// LLVM context; what is costly to make (target machines) is kept per thread.
#pragma once
#include <bit>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"
#include "runtime/kernel_abi.h"

namespace weft::codegen {

/// A problem the user can do something about: too large locals, an unsupported target.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, SourceLoc loc = {}) : std::runtime_error(what), loc_(loc) {}
  /// Where in the kernel it lies, if known.
  const SourceLoc& loc() const { return loc_; }

 private:
  SourceLoc loc_;
};

/// What code is made for. `features` is LLVM's "+avx2,-sse4a" list.
struct TargetSpec {
  enum Arch { cpu, nvptx } arch = cpu;
  std::string triple, cpu_name, features;
  int sm = 75;  // nvptx: compute capability × 10
  bool operator==(const TargetSpec&) const = default;
};

/// The machine this process runs on.
TargetSpec host_target();
/// A GPU of compute capability sm/10; sm is 70 to 90.
TargetSpec nvptx_target(int sm);
/// 32-bit lanes that fill a vector register: NEON and SSE 4, AVX2 8, AVX-512 16; 1 on the GPU.
int natural_lanes(const TargetSpec& target);

/// GPU: in which order the work of a kernel's threads is to be done, where a launch has one of them do all of it.
enum class ThreadOrder : std::uint8_t { any, rising, falling };

/// GPU: what a kernel promises of its launches, and what it may take of a multiprocessor; 0: nothing is said.
struct GpuBounds {
  int threads = 0;    // the most of a block
  int blocks = 0;     // that a multiprocessor is to hold at a time
  int cluster = 0;    // the most blocks of a cluster
  int registers = 0;  // the most of a thread
};

/// Functions that a kernel's code refers to by these symbols and leaves to objects of their own (emit_apart).
using FunctionsApart = std::unordered_map<const ir::Function*, std::string>;

struct EmitOptions {
  int lanes = 0;            // 1, 2, 4, 8, 16, 32; 0: choose_lanes decides
  int opt_level = 2;        // 0 none, 1 cheap, 2 the usual, 3 LLVM's own O3 pipeline; see optimize.cpp for huge kernels
  bool fast_math = false;   // LLVM may reassociate and approximate: results then differ between lane counts
  bool verify = false;      // run LLVM's verifier on what was emitted (tests)
  bool free_masks = false;  // CPU: bodies as where masks cost nothing, on any processor (tests; kernel_frame.cpp)
  bool background = false;  // the end of the process need not wait for it (codegen/background.h)
  bool line_info = false;   // GPU: lines of the source in the PTX, for profilers and sanitizers
  ThreadOrder order = ThreadOrder::any;
  bool exact_sums = false;  // GPU: additions that are marked (analysis/private_sums.h) go to exact sums (exact_sums.h)
  GpuBounds bounds;
  const FunctionsApart* apart = nullptr;  // CPU; null: everything is in one object
  std::string libdevice;  // GPU: the file of NVIDIA's elementary functions, to be used instead of the library's own
};

/// Shared memory that every GPU has; a launch asks for more.
inline constexpr std::uint32_t kPlainBlockBytes = 48 * 1024;

enum class Output { llvm_ir, llvm_ir_opt, assembly, object, ptx };

struct Emitted {
  std::string bytes;  // text, or the object file's contents
  int lanes = 1;      // GPU: elements of a thread in one step
  int steps = 1;      // GPU: that a thread of a large launch had better take; 0: as many as a full device leaves it
  std::string entry;  // the symbol of the chunk function (or of the GPU kernel)
  int block = 0;      // kernels whose threads share memory: of how many a block is made
  std::uint32_t block_bytes = 0;  // that they share
  bool waits_first = false;       // GPU: begins by waiting for what was launched before it (nvptx/early_start.h)
  double seconds_emit = 0, seconds_opt = 0, seconds_codegen = 0;
};

/// Emits `kernel` and what it calls. Throws Error for the user's problems, InternalError for bugs.
Emitted emit(const ir::Module& module, const ir::Function& kernel, const TargetSpec& target, const EmitOptions& options,
             Output output);

/// The functions of the library that a kernel on the CPU calls lane by lane and that can be compiled apart from it: they tell
/// no places of a source and call nothing native. Walks over trees are such; they take many times as long to compile as
/// the kernels that call them, and are always the same.
std::vector<const ir::Function*> functions_to_compile_apart(const ir::Function& kernel);

/// The object of one of those, under a symbol.
Emitted emit_apart(const ir::Module& module, const ir::Function& function, const std::string& symbol,
                   const TargetSpec& target, const EmitOptions& options);

/// Whether GPU code computes an elementary function by other means than the library's body in its place: approximately
/// under fast_math, by libdevice, or by a shorter body for all but rare numbers. Such operations are not to be inlined
/// before.
bool gpu_computes(ir::OpCode code, ScalarKind kind, bool fast_math, bool libdevice);

/// NVIDIA's libdevice: at `given` (the file, or a folder of a toolkit) or, if that is empty, in WEFT_LIBDEVICE, CUDA_HOME,
/// CUDA_PATH, the folders of `search` (of Python packages) and where toolkits are usually found. Empty: not found.
std::string find_libdevice(const std::string& given = {}, std::span<const std::string> search = {});

/// The lane count that emit uses when none is asked for: 1 for kernels that spin on memory, hold much private memory or
/// do little but atomics (which run lane by lane); half the natural count for kernels mostly of
/// 64-bit values; else the natural count.
int choose_lanes(const ir::Function& kernel, const TargetSpec& target);

/// How to divide numbers below 2^31 by a fixed one: (high half of x·factor, plus x) >> shift.
struct GpuDivisor {
  std::uint32_t factor, shift;
  GpuDivisor() = default;
  constexpr explicit GpuDivisor(std::uint32_t by)
      : factor(0), shift(by > 1 ? std::uint32_t(std::bit_width(by - 1)) : 0) {
    factor = std::uint32_t((((std::uint64_t(1) << shift) - by) << 32) / by + 1);
  }
  constexpr std::uint32_t operator()(std::uint32_t x) const {
    return (std::uint32_t((std::uint64_t(x) * factor) >> 32) + x) >> shift;
  }
};

/// The same for numbers below 2^63: high half of 2x·factor >> shift, where the shift is that of a GpuDivisor, the bits of by - 1.
struct GpuLargeDivisor {
  std::uint64_t factor;
  GpuLargeDivisor() = default;
  constexpr explicit GpuLargeDivisor(std::uint64_t by) : factor(0) {
    const unsigned __int128 power = static_cast<unsigned __int128>(1) << (63 + std::bit_width(by - 1));
    factor = std::uint64_t((power + (by - 1)) / by);
  }
  constexpr std::uint64_t operator()(std::uint64_t x, std::uint64_t by) const {
    return std::uint64_t((static_cast<unsigned __int128>(2 * x) * factor) >> 64) >> std::bit_width(by - 1);
  }
};

/// GPU kernels take one parameter block: the kernel's own parameters (ParamLayout), then this trailer, aligned to 8.
/// Thread indices run over the linear index in a grid-stride loop, so any grid size covers `count`.
struct GpuTrailer {
  std::int64_t dims[kMaxRank];
  std::int64_t count;
  std::uint64_t error;   // device address of a runtime::ErrorRecord, or 0
  std::uint64_t stop;    // device address of an int32 stop flag, or 0
  std::uint64_t print;   // device address of a runtime::GpuPrintBuffer, or 0
  std::uint64_t launch;  // counts launches: what they print is put in this order
  union {                // of dims, where count is less than 2^31, and where it is not
    GpuDivisor divisors[kMaxRank];
    GpuLargeDivisor large_divisors[kMaxRank];
  };
  std::uint64_t objects;  // debug mode: address of the table of living objects, or 0
};
/// Offset of the trailer in a block whose own parameters take `param_bytes`.
constexpr std::uint32_t gpu_trailer_offset(std::uint32_t param_bytes) { return (param_bytes + 7u) & ~7u; }

/// Where the parameters of a kernel lie in its parameter block.
ParamLayout param_layout(const ir::Function& kernel);

/// Machine code linked into this process; unloaded when the last owner lets go.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  runtime::ChunkFn entry() const { return entry_; }
  /// Bytes of code and data in memory.
  std::size_t size() const { return size_; }

 protected:
  runtime::ChunkFn entry_ = nullptr;
  std::size_t size_ = 0;
};

/// Links an object made by emit, the first one, with those that it leaves functions to. Runs no LLVM pass. They may refer to runtime::helper_symbols() and to the few C library
/// functions that LLVM itself calls (memcpy, memset, fma…), native functions to any symbol of the process. Throws Error for a damaged object or an unknown symbol.
std::shared_ptr<LoadedCode> load_objects(std::span<const std::span<const char>> objects, const std::string& entry);
inline std::shared_ptr<LoadedCode> load_object(std::span<const char> object, const std::string& entry) {
  return load_objects(std::span(&object, 1), entry);
}

/// The clang that compiles native functions: a path or a name on the PATH; empty: found (find_clang).
void set_native_compiler(std::string clang);
/// The path of that clang, or empty: what was set, WEFT_CLANG, else clang-19 … clang-14, clang on the PATH.
std::string find_clang();

}  // namespace weft::codegen
