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
  };
  enum class From : std::uint8_t { lane, across, above, below };  // __shfl_sync, …_xor_sync, …_down_sync, …_up_sync
  Kind kind;
  std::size_t param = 0;  // which parameter it is about
  // Of shuffles:
  From from = From::lane;
  std::uint32_t mask = 0xffffffff;
  std::optional<std::size_t> distance_param = {};  // which parameter says how far, or from where
  std::uint32_t distance = 0;                      // if it is a number
};

/// Reads a snippet whose parameters have these names. Null if it says anything else than the few forms known here:
/// `WP_TILE_SYNC();`, `__syncthreads();`, a return of one of the compilers' bit functions of a parameter, and one of CUDA's
/// shuffles of a parameter among whole warps, each perhaps chosen by `#if defined(__CUDA_ARCH__)`.
std::optional<KnownNative> known_native(std::string_view snippet, std::span<const std::string> params);

}  // namespace weft::sema
