// Host memory for arrays. Blocks are aligned to 64 bytes (a cache line, the widest vector); from 2 MiB on they are
// aligned to 2 MiB and huge pages are asked for. Sizes are checked before the system is asked, so that absurd ones give
// an error instead of a killed process. Of large blocks the last few stay with the process (kKeptBytes at most): programs
// make the same work space in every step, and pages that the system gives have to be cleared first. Of small ones each thread keeps
// a few of every size, two megabytes at most. Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "types/type.h"

namespace weft::runtime {

inline constexpr std::size_t kHostAlignment = 64;
inline constexpr std::size_t kHugeBlock = std::size_t(2) << 20;
inline constexpr std::size_t kKeptBytes = std::size_t(64) << 20;  // of freed blocks, all together

struct AllocatorStats {
  std::uint64_t live_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t total_blocks = 0;  // since the process started
};

/// Memory of `bytes` bytes, zeroed if asked; throws OutOfMemory. Zero bytes give a valid, unique pointer.
void* host_allocate(std::uint64_t bytes, bool zeroed);
/// Frees what host_allocate gave, with the same size. Null is ignored.
void host_free(void* memory, std::uint64_t bytes) noexcept;
/// The same, owned.
std::shared_ptr<void> host_buffer(std::uint64_t bytes, bool zeroed);

AllocatorStats host_allocator_stats();

/// Bytes of a contiguous array; throws ArgumentError for a negative extent or a rank outside 1…4 and OutOfMemory when
/// the product exceeds 2^63−1.
std::uint64_t checked_bytes(const Type* element, std::span<const std::int64_t> shape);

}  // namespace weft::runtime
