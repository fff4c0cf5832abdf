// What kernels print. Threads write records into page-locked memory; whenever somebody waits for a device they become
// text and go where the CPU's prints go (sys.stdout in Python), ordered by launch and thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace weft::cuda {

class Device;

class PrintBoard {
 public:
  explicit PrintBoard(Device& device) : device_(device) {}

  /// The address of the buffer for a kernel's trailer; made on the first call. 0 if there is no memory for it.
  std::uint64_t buffer();
  /// The same, 0 if it was not made yet.
  std::uint64_t ready_buffer() const {
    return reinterpret_cast<std::uint64_t>(memory_.load(std::memory_order_acquire));
  }
  /// Marks the number of a launch that is captured: a graph runs it later than that says, and more than once.
  static constexpr std::uint64_t kInGraph = std::uint64_t(1) << 63;
  std::uint64_t next_launch() { return launches_.fetch_add(1, std::memory_order_relaxed) + 1; }
  /// Prints what has been written since the last call. Cheap when there is nothing.
  void show() noexcept;

  /// Shows at the end of a scope, also when a wait is interrupted.
  class Shown {
   public:
    explicit Shown(PrintBoard& board) : board_(board) {}
    ~Shown() { board_.show(); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

   private:
    PrintBoard& board_;
  };

 private:
  /// The text of all records from `read_` on that are complete.
  std::string take();

  Device& device_;
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<char*> memory_{nullptr};
  std::mutex mutex_;  // guards the rest
  std::shared_ptr<void> owner_;
  std::uint64_t read_ = 0;  // bytes of records that were shown
  std::uint64_t lost_shown_ = 0;
  bool failed_ = false;  // no memory
};

}  // namespace weft::cuda
