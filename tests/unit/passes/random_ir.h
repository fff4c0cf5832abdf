// Random well-typed programs with structured control flow for differential tests, and what is needed to run them: the
// same seed always gives the same program and the same arguments. Programs terminate, and stay inside their arrays
// unless asked not to.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interp/interpreter.h"
#include "ir/ir.h"

namespace weft::testing {

/// splitmix64: small, seeded, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  std::uint64_t next();
  /// 0 … n−1
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  bool chance(int percent) { return below(100) < std::uint64_t(percent); }

 private:
  std::uint64_t state_;
};

struct RandomIrOptions {
  bool wild_indices = false;  // array indices that may be out of bounds
  bool math = true;           // elementary functions
  bool prints = true;
  int budget = 60;  // about how many operations
};

struct RandomProgram {
  std::unique_ptr<ir::Module> module;
  ir::Function* kernel = nullptr;
};

inline constexpr std::int64_t kThreads = 8;

/// The kernel is the module's last function; launch it over kThreads threads.
RandomProgram random_program(std::uint64_t seed, const RandomIrOptions& options = {});

/// Everything a run leaves behind.
struct Outcome {
  std::string error;          // what interp::Error said, or empty
  bool check_failed = false;  // the error record was written
  std::string printed;
  std::vector<const Type*> element_types;  // of each buffer
  std::vector<std::vector<std::byte>> buffers;
};

/// Runs a kernel in the interpreter on arguments made from the seed. Array parameters get buffers of eight elements per
/// dimension one, or 4×4; without `no_overlap` in the kernel's form, arrays of one type may share a buffer.
Outcome run_program(const ir::Module& module, const ir::Function& kernel, std::uint64_t argument_seed);

/// Empty if equal bit for bit, any NaN equal to any NaN; else what differs.
std::string difference(const Outcome& a, const Outcome& b);

}  // namespace weft::testing
