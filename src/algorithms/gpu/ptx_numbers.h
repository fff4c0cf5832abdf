// Numbers of every kind in memory and in registers, and steps of a warp with them.
#pragma once
#include <optional>

#include "algorithms/gpu/ptx_kernel.h"
#include "types/type.h"

namespace weft::algorithms::gpu {

/// How numbers of a kind are read and what their sums are kept in.
struct NumberText {
  ScalarKind sum;      // f32 for 16-bit floats, unsigned for integers, else the kind itself
  std::string memory;  // of ld and st
  std::string type;    // of sums: u32, u64, f32, f64
  std::string zero;    // as an immediate
  int bytes = 0, sum_bytes = 0;
};
/// Kinds without sums (bool and integers of 8 and 16 bits) are a bug.
NumberText number_text(ScalarKind kind);

/// Numbers of 4 or 8 bytes that a 128-bit access moves: 4 or 2.
inline int vector_length(const NumberText& number) { return 16 / number.bytes; }

/// Reads a number at a place ("[…]") into a register of its sum's type; writes one there. `there`: whether to.
void load_number(PtxKernel& k, ScalarKind kind, const Reg& to, const std::string& place,
                 const std::optional<Reg>& there = {});
void store_number(PtxKernel& k, ScalarKind kind, const Reg& from, const std::string& place,
                  const std::optional<Reg>& there = {});

/// The number of another lane: "idx" of lane `lane`, "bfly" of the one whose number differs in these bits, "up" of the one
/// so far below; `valid` takes whether there is such a lane.
Reg shuffled(PtxKernel& k, int bytes, const std::string& mode, const Reg& from, const Operand& lane,
             const std::optional<Reg>& valid = {});
/// Prefix sums over the lanes of a warp, each lane's own number included.
Reg scan_lanes(PtxKernel& k, const NumberText& number, const Reg& own);
/// What lanes before this one have of inclusive prefix sums; 0 in the first.
Reg lanes_before(PtxKernel& k, const NumberText& number, const Reg& inclusive);
/// The sum over all lanes, in every lane, by a tree.
Reg sum_lanes(PtxKernel& k, const NumberText& number, const Reg& own);

}  // namespace weft::algorithms::gpu
