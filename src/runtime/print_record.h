// What threads of a GPU write when they print: records in a buffer that both sides reach. Only layouts; the emitter writes
// them (codegen/nvptx/print.cpp) and the CUDA runtime reads them (cuda/print_board.h).
#pragma once
#include <cstdint>

namespace weft::runtime {

/// The head of the buffer; records follow.
struct GpuPrintBuffer {
  std::uint64_t used;      // bytes taken by threads, also by those that found no room
  std::uint64_t lost;      // records that found none
  std::uint64_t capacity;  // bytes for records
  std::uint64_t reserved;
};

/// One print; the compiled format (runtime/print_format.h), padded to 8 bytes, and the values follow.
struct GpuPrintRecord {
  std::uint64_t bytes;  // of all; written last, 0 until then
  std::int64_t linear;  // thread
  std::uint64_t launch;
  std::uint64_t text_bytes;
};

}  // namespace weft::runtime
