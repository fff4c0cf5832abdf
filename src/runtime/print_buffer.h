// What a launch prints, collected and written to the sink in order: by thread in serial mode, else by chunk and within a
// chunk in the order of execution (lane by lane per statement).
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernel_abi.h"
#include "runtime/print_format.h"

namespace weft::runtime {

/// Receives finished output. Called without any lock held (a sink may need one of its own, or launch), so it must bear
/// calls from several threads. What it throws is dropped.
using PrintSink = std::function<void(std::string_view)>;

/// Where launches print to; an empty function means stdout. Affects launches that begin later.
void set_print_sink(PrintSink sink);
/// Writes to the process's sink.
void print_to_sink(std::string_view text);

struct PrintBuffer {
  /// Output is ordered by linear / group_size (1: by thread), then as it was added. A null sink is the process's.
  explicit PrintBuffer(std::int64_t group_size = 1, const PrintSink* sink = nullptr)
      : group_size_(group_size), sink_(sink) {}
  ~PrintBuffer() { flush_if_any(); }
  PrintBuffer(const PrintBuffer&) = delete;
  PrintBuffer& operator=(const PrintBuffer&) = delete;

  /// Adds what one thread prints. Any thread may call. Buffers above a limit are written early.
  void add(std::int64_t linear, const char* format, const void* values) noexcept;
  /// Writes everything collected so far.
  void flush() noexcept;
  /// The same for a time when no thread is adding: free when there is nothing to write.
  void flush_if_any() noexcept {
    if (!records_.empty()) flush();
  }

 private:
  struct Record {
    std::int64_t linear = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  void write(std::string text, std::vector<Record> records) const;

  std::int64_t group_size_;
  const PrintSink* sink_;
  std::mutex mutex_;
  std::string text_;
  std::vector<Record> records_;
  std::set<std::string, std::less<>> said_;  // formats of places that print one line for a launch, and did
};

}  // namespace weft::runtime
