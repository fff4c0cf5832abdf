// How a launch that runs is told to stop. The flag of its context is seen by everybody; who may set it is the host, and
// only the thread that called may ask the host (Python serves signals on its main thread alone). That thread asks between
// pieces of chunks, while it waits for the others, and inside of kernels: loops count their turns and call
// weft_rt_turns every now and then. Threads that don't ask look at the flag at the same places.
#pragma once
#include <chrono>
#include <thread>

#include "runtime/launch.h"

namespace weft::runtime {

/// The host's say in one launch. Lives on the stack of the thread that called, as long as the launch runs.
class Questions {
 public:
  /// Lets kernels that run in this context ask.
  Questions(const LaunchOptions& options, LaunchContext& context) noexcept;
  ~Questions();
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  /// Somebody wants to be asked.
  bool wanted() const noexcept { return interrupted_ != nullptr; }
  /// Asks if it is time, on the thread that called, and until it was told to stop; nothing on other threads. Sets the context's `stop` for a yes.
  void ask() noexcept;
  bool stopped() const noexcept { return context_.stop.load(std::memory_order_relaxed) != 0; }

 private:
  using Clock = std::chrono::steady_clock;

  bool (*const interrupted_)(void*) noexcept;
  void* const state_;
  LaunchContext& context_;
  std::thread::id caller_;
  Clock::time_point next_{};  // when to ask again; the first question only starts the clock
};

}  // namespace weft::runtime
