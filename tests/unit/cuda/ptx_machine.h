// Runs PTX on the CPU, for the fake driver: the runtime's own kernels and those that the compiler makes, with blocks,
// warps, barriers, shuffles and votes. Device memory is host memory; every access is checked, and threads that race for
// shared memory are named.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::cuda::fake {

struct PtxProgram;

/// Memory of one allocation: its first byte and the one behind its last; both 0: there is none.
using PtxRange = std::pair<std::size_t, std::size_t>;

struct PtxLaunch {
  unsigned blocks = 1, threads = 1;
  unsigned shared_bytes = 0;  // of `.extern .shared` memory
  std::vector<unsigned char> arguments;
  PtxRange (*allocation)(std::size_t address) = nullptr;  // around an address of global memory
  bool watch_races = true;                                // of shared memory
  std::string* count = nullptr;                           // gets a line of what ran (ptx_counts.h)
};

/// What a kernel's text says of its launches.
struct PtxBounds {
  int threads = 1024;  // of a block, at most
  int registers = 32;  // of a thread, at most: a kernel that names no bound has what it takes to fill a processor
};

/// A module of PTX text.
class PtxModule {
 public:
  /// Throws std::runtime_error for text that is no module. Instructions that the machine does not know are named when a
  /// thread comes by.
  explicit PtxModule(const std::string& text);
  ~PtxModule();
  bool has(const std::string& kernel) const;
  PtxBounds bounds(const std::string& kernel) const;
  /// Bytes of its variables in shared memory.
  int shared_bytes() const;
  /// Runs a kernel over all its blocks, one after the other. Throws std::runtime_error for what a GPU would trap on, for
  /// races, and for what this machine does not know. Gives the number of instructions.
  std::size_t run(const std::string& kernel, const PtxLaunch& launch) const;

 private:
  std::unique_ptr<PtxProgram> program_;
};

}  // namespace weft::cuda::fake
