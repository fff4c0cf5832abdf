// What a launch prints, collected and written to the sink in order: by thread in serial mode, else by chunk and within a
// chunk in the order of execution (lane by lane per statement).
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernel_abi.h"
#include "runtime/print_format.h"

namespace weft::runtime {

/// Receives finished output; called under a lock, never at the same time from two threads for the process's sink.
using PrintSink = std::function<void(std::string_view)>;

/// Where launches print to; an empty function means stdout. Affects launches that begin later.
void set_print_sink(PrintSink sink);
/// Writes to the process's sink.
void print_to_sink(std::string_view text);

struct PrintBuffer {
 public:
  /// Output of threads linear/group_size apart is ordered by that quotient; 1 means by thread. A null sink is the
  /// process's.
  explicit PrintBuffer(std::int64_t group_size = 1, const PrintSink* sink = nullptr)
      : group_size_(group_size), sink_(sink) {}
  ~PrintBuffer() { flush(); }
  PrintBuffer(const PrintBuffer&) = delete;
  PrintBuffer& operator=(const PrintBuffer&) = delete;

  /// Adds what one thread prints. Any thread may call. Buffers above a limit are written early.
  void add(std::int64_t linear, const char* format, const void* values) noexcept;
  /// Writes everything collected so far.
  void flush() noexcept;

 private:
  struct Record {
    std::int64_t linear = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  void flush_locked();

  std::int64_t group_size_;
  const PrintSink* sink_;
  std::mutex mutex_;
  std::string text_;
  std::vector<Record> records_;
};

}  // namespace weft::runtime
