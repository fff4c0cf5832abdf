// Native snippets that mean what an operation of the IR means. They need no C++ compiler, run on every executor, and don't
// hold a kernel to one lane at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace weft::sema {

/// What a snippet does, as far as that can be told from its text.
struct KnownNative {
  enum class Kind : std::uint8_t {
    nothing,         // no statement at all
    barrier,         // the threads of a block wait for each other
    trailing_zeros,  // zero bits below the lowest one that is set
    bit_count,       // bits that are set
    shuffle,         // what another thread of the warp has
    ballot,          // the threads of the warp that say yes, as bits
    any_of_warp,
    all_of_warp,
    warp_barrier,  // the threads of a warp wait for each other
    count,         // so many threads of the block say yes; all wait for each other, here and in the next two
    any_of_block,
    all_of_block,
    active,          // the threads of the warp that are here, as bits
    thread,          // this thread's number in its block
    threads,         // how many the block has
    lane,            // its number in its warp
    number_of_warp,  // the warp's in its block
  };
  enum class From : std::uint8_t { lane, across, above, below };  // __shfl_sync, …_xor_sync, …_down_sync, …_up_sync
  /// Threads of a warp: those that are bits of a number or of a parameter, or whoever is here.
  struct Mask {
    std::uint32_t bits = 0xffffffff;
    std::optional<std::size_t> param = {};
    bool active = false;
  };
  /// What a thread says: a parameter that is not zero, or one that is, or the same whatever it was called with.
  struct Condition {
    std::optional<std::size_t> param = {};
    bool negated = false;
    bool compared = false;  // by C++ in any type; else it becomes an `int` first
    bool constant = false;
  };
  Kind kind;
  std::size_t param = 0;  // which parameter it is about
  Mask mask = {};
  // Of shuffles:
  From from = From::lane;
  std::optional<std::size_t> distance_param = {};  // which parameter says how far, or from where
  std::uint32_t distance = 0;                      // if it is a number
  // Of votes:
  Condition condition = {};
  bool of_bool = false;   // right if the parameter is a bool
  bool narrowed = false;  // 32 bits, with a sign or without, whatever the function returns
};

/// Reads a snippet whose parameters have these names. Null if it says anything else than the few forms known here:
/// `WP_TILE_SYNC();`, `__syncthreads();`, `__syncwarp();`, and a return of one of the compilers' bit functions of a parameter, of one of
/// CUDA's shuffles of a parameter among whole warps, of one of its votes, or of a thread's number, each perhaps chosen by
/// `#if defined(__CUDA_ARCH__)`.
std::optional<KnownNative> known_native(std::string_view snippet, std::span<const std::string> params);

/// The body of a native function that says what an operation does; false if it must be compiled.
bool write_known(std::string_view snippet, std::span<const std::string> params, ir::Function& function);

}  // namespace weft::sema
