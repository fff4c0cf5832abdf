// Pieces of hand-written PTX that the algorithms share: numbers of every kind in memory and in registers, steps of a warp,
// prologues. Everything runs on GPUs since sm_50. Kernels have blocks of kBlock threads; a tile is what a block takes.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "types/type.h"

namespace weft::algorithms::gpu {

inline constexpr int kBlock = 256, kWarps = kBlock / 32, kItems = 16, kTile = kBlock * kItems;
/// The block that scans the sums of tiles.
inline constexpr int kSpineBlock = 1024;

/// How numbers of a kind are read and what their sums are kept in.
struct NumberText {
  ScalarKind sum;      // f32 for 16-bit floats, unsigned for integers, else the kind itself
  const char* memory;  // of ld and st
  const char* type;    // of sums: u32, u64, f32, f64
  const char* zero;    // as an immediate
  int bytes = 0, sum_bytes = 0;
};
/// Kinds without sums (bool and integers of 8 and 16 bits) are a bug.
NumberText number_text(ScalarKind kind);

/// Text with every $name replaced.
using Names = std::initializer_list<std::pair<std::string_view, std::string>>;
std::string filled(std::string_view text, Names names);

/// Reads a number at [address] into `to`, a register of its sum's type; writes one there. `guard` is "" or "@%p".
std::string load_number(ScalarKind kind, const std::string& to, const std::string& address, const std::string& guard);
std::string store_number(ScalarKind kind, const std::string& from, const std::string& address,
                         const std::string& guard);
/// Numbers of 4 or 8 bytes that a 128-bit access moves: 4 or 2.
inline int vector_length(const NumberText& number) { return 16 / number.bytes; }
/// Moves so many numbers between memory at [address] (a multiple of 16 bytes) and registers %s<first> and following ones.
std::string load_vector(const NumberText& number, int first, const std::string& address);
std::string store_vector(const NumberText& number, int first, const std::string& address);
/// `to` takes `from` of another lane. mode: "up", "bfly" or "idx"; `valid` tells whether there is such a lane ("" : not
/// asked).
std::string shuffle(int bytes, const std::string& mode, const std::string& to, const std::string& from,
                    const std::string& lane, const std::string& valid = {});
/// Prefix sums of `v` over the lanes of a warp, itself included.
std::string scan_lanes(const NumberText& number, const std::string& v);
/// The sum of `v` over all lanes, in every lane.
std::string sum_lanes(const NumberText& number, const std::string& v);

/// The start of a module and of a kernel with registers: r (32 bits), d (64 bits), s (sums), h (16 bits), f (float32 for
/// conversions), p (predicates); lane and warp are in %lane and %warp, the thread in %tid_x, the block in %block.
std::string module_head();
/// `resident`: so many blocks shall fit on a multiprocessor at once, which bounds registers.
std::string kernel_head(const std::string& name, int argument_bytes, int threads, const NumberText& number,
                        int resident = 1);

}  // namespace weft::algorithms::gpu
