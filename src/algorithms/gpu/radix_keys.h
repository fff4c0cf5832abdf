// Keys of sorts as unsigned numbers of the same order, and their digits.
#pragma once
#include "algorithms/gpu/ptx_kernel.h"
#include "types/type.h"

namespace weft::algorithms::gpu {

/// A digit has 8 bits: 256 counters for each warp fit shared memory, and their places in memory the cache.
inline constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

inline bool wide_key(ScalarKind key) { return scalar_bits(key) == 64; }
inline int key_bytes(ScalarKind key) { return wide_key(key) ? 8 : 4; }

/// The unsigned number of a key, whose order is the keys': signs flipped, negative floats reversed. So −0 comes before 0,
/// and not-a-numbers lie outside of the infinities by their sign. `key_of` turns it back.
Reg ordered_of(PtxKernel& k, ScalarKind key, const Reg& stored);
Reg key_of(PtxKernel& k, ScalarKind key, const Reg& ordered);
/// The digit (ordered >> shift) & mask, of 32 bits; shift and mask are 32-bit registers or numbers.
Reg digit_of(PtxKernel& k, ScalarKind key, const Reg& ordered, const Operand& shift, const Operand& mask);

/// Prefix sums over the lanes of a warp, each lane's own number included.
Reg scan_counts(PtxKernel& k, const Reg& count);

}  // namespace weft::algorithms::gpu
