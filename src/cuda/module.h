// Code for a device: PTX compiled by the driver to machine code for its architecture, machine code loaded, kernels
// launched with one block of arguments.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "cuda/device.h"
#include "cuda/ptx_compiler.h"

namespace weft::cuda {

/// Compiles PTX to machine code for the device, by nvPTXCompiler where it is linked in and serves (System::ptx_compiler),
/// else by the driver. Throws DriverError with the assembler's log.
std::string compile_ptx(Device& device, const std::string& ptx, const std::string& name,
                        const PtxOptions& options = {});

/// What launches of a kernel must know of its code.
struct CodeTraits {
  unsigned shared_bytes = 0;  // memory of a block that launches ask for, beyond what the code has by itself
  bool waits_first = false;   // begins by waiting for what was launched before it
};

/// A kernel loaded into a device's context; unloaded some time after the object, when it runs no more.
class KernelCode {
 public:
  /// `image` is machine code or PTX. Throws DriverError.
  KernelCode(Device& device, std::span<const char> image, const std::string& entry, const CodeTraits& traits = {});
  ~KernelCode();
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  Device& device() const { return device_; }
  /// The most threads that a block of it can have.
  int max_threads() const { return max_threads_; }
  /// The threads of a block where a program does not say.
  int usual_block() const { return usual_block_; }
  FunctionHandle function() const { return function_; }
  const std::string& entry() const { return entry_; }
  int registers() const { return registers_; }
  int local_bytes() const { return local_bytes_; }
  unsigned shared_bytes() const { return traits_.shared_bytes; }
  /// Shared memory of a block in all.
  int block_bytes() const { return own_shared_bytes_ + int(traits_.shared_bytes); }

  /// The block size that fills the device best, and how many such blocks that takes. Throws DriverError.
  std::pair<int, int> best_block() const;
  /// The most blocks of this size that can form a cluster: a power of two up to 16, 1 where the device has none.
  int largest_cluster(int block_dim, unsigned shared_bytes) const;

  /// Queues a launch; the arguments are copied. The device's context must be current.
  void launch(StreamHandle stream, unsigned blocks, unsigned block_dim, const void* arguments, std::size_t size) const;

 private:
  bool may_start_early(StreamHandle stream, unsigned blocks) const;

  Device& device_;
  std::string entry_;
  std::shared_ptr<const void> module_;
  FunctionHandle function_ = nullptr;
  CodeTraits traits_;
  int max_threads_ = 0, usual_block_ = 0, registers_ = 0, local_bytes_ = 0, own_shared_bytes_ = 0;
};

/// The threads of a block for a kernel that takes so many registers and bytes of private memory a thread and has at most so
/// many threads: 256, or 128 if more of them then fit a multiprocessor, or if threads have a stack.
int usual_block_size(int registers, int max_threads, int local_bytes = 0);

/// Blocks for `count` threads in blocks of `block_dim`: as many as there is work for, at most `max_blocks` (0: no
/// limit) and what a grid can have; kernels loop over the rest.
unsigned blocks_for(std::int64_t count, unsigned block_dim, std::int64_t max_blocks);

}  // namespace weft::cuda
