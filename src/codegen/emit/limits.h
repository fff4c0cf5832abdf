// Limits that decide how code is shaped; no LLVM here.
#pragma once
#include <cstdint>

namespace weft::codegen {

/// Composites up to this many scalars are kept in registers; larger ones live in blocks and are worked on by loops.
inline constexpr std::uint32_t kMaxRegisterComponents = 64;
/// Whole-aggregate products with more multiplications than this are emitted as loops.
inline constexpr std::uint32_t kMaxUnrolledProducts = 256;
/// A group of lanes holds at most this much private memory together; beyond it the kernel runs on one lane.
inline constexpr std::uint64_t kMaxLanePrivateBytes = 256 << 10;
/// Private memory of one thread; beyond it the kernel is refused.
inline constexpr std::uint64_t kMaxPrivateBytes = 4 << 20;

/// Neighbouring elements of up to this many equal scalars are read whole and taken apart by shuffles.
inline constexpr std::int64_t kMaxInterleave = 4;

}  // namespace weft::codegen
