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
  };
  Kind kind;
  std::size_t param = 0;  // which parameter it is about
};

/// Reads a snippet whose parameters have these names. Null if it says anything else than the few forms known here:
/// `WP_TILE_SYNC();`, `__syncthreads();`, and a return of one of the compilers' bit functions of a parameter, each perhaps
/// chosen by `#if defined(__CUDA_ARCH__)`.
std::optional<KnownNative> known_native(std::string_view snippet, std::span<const std::string> params);

}  // namespace weft::sema
