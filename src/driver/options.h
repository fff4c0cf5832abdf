// What a compile can be asked to do; all of it is part of the cache key.
#pragma once
#include <cstddef>
#include <string>

#include "codegen/codegen.h"
#include "support/hash.h"

namespace weft::driver {

struct CompileOptions {
  bool debug = false;      // bounds, division and assert checks; loops can be stopped
  bool verify_fp = false;  // what is not finite is printed with its place; debug: a store of it is an error
  bool verify_tiles =
      false;               // kernels with tiles are looked at as for blocks of several threads (driver/verify_tiles.h)
  bool fuse_fp = true;     // a product used once by a sum becomes a fused multiply-add
  bool fast_math = false;  // LLVM may reassociate; results then differ between lane counts
  int opt_level = 2;       // LLVM's effort: 0 to 3; huge kernels get less by themselves
  int lanes = 0;           // 0: chosen
  int max_unroll = 16;
  bool deterministic = false;  // sums and other atomic operations give the same bits in every run
  int tangent = 0;        // 1: the kernel's tangent (autodiff/adjoint.h), with twice the parameters; 2: the tangent's
  bool seeds = false;     // an adjoint is told with what the adjoints of parameters begin, by as many parameters more
  bool use_cache = true;  // the object cache on disk

  /// What concerns code for GPUs alone.
  struct Gpu {
    bool target = false;     // the code is for a GPU; set by whoever knows
    int sm = 0;              // which one, for passes; 0: any. Keys have these from the target
    bool own = false;        // what that one alone has may be used (codegen/own_target.h)
    std::string libdevice;   // path of NVIDIA's elementary functions; empty: the library's own
    bool line_info = false;  // lines of the source in the machine code
    bool keep_ptx = false;   // PTX is kept and loaded, not machine code
    int ptx_arch = 0;        // then: the architecture that it is for; 0: the device's
    codegen::GpuBounds bounds;
    /// Kernels whose threads share memory (tiles): of how many a block is made, and whether blocks are the rows of the grid.
    /// Set by whoever knows that the kernel is one; 0: it is not, or nobody knows yet (NeedsBlock).
    int block = 0;
    bool rows = false;
  };
  Gpu gpu;

  /// How often there is, behind the parameters so far, another one of the same type for each.
  int doublings() const { return tangent + int(seeds); }
  bool doubles_params() const { return doublings() > 0; }
  /// The code tells places of the source.
  bool names_places() const { return debug || verify_fp; }

  void hash_into(Hasher& hasher) const;
  /// The same for what concerns GPUs; names libdevice by its path, size and time.
  void hash_gpu_into(Hasher& hasher) const;
};

/// Identifies this build of Weft: the linker's build id of the binary that holds this code, plus the versions of LLVM
/// and of the ABI. Objects of another build are never used.
const std::string& build_id();

}  // namespace weft::driver
