// Work for devices that waits for code which is still being made (docs/design/tiers.md, "GPUs"): launches, and copies and fills
// behind them, in the order in which the program asked for them. Whoever does anything else with a device settles it first, so
// that nobody can tell. Costs a look at one number when nothing waits. Thread-safe.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/array.h"

namespace weft::runtime {

/// One piece of it. It holds everything that it touches, and needs no lock of a language.
class LateStep {
 public:
  virtual ~LateStep() = default;
  /// Whether run() needs to wait for nothing.
  virtual bool ready() const noexcept = 0;
  /// Returns when it is ready.
  virtual void wait() noexcept = 0;
  virtual void run() = 0;
};

namespace detail {
extern std::atomic<int> late_steps;
}  // namespace detail

class LateWork {
 public:
  static bool waiting() noexcept { return detail::late_steps.load(std::memory_order_acquire) != 0; }
  static bool enabled() noexcept;
  /// Whether work may wait at all now.
  static bool allowed() noexcept;
  /// Behind all that waits; what can be done at once is done. False: it may not wait now, and nothing was added.
  static bool add(std::shared_ptr<LateStep> step);
  /// Does all of it. What fails is kept for raise(). Returns at once on a thread that is inside of such work.
  static void settle() noexcept;
  /// Does what stands in front and needs no waiting; for threads that made code. What is over is kept for others to drop: that
  /// may need the language's lock.
  static void advance() noexcept;
  /// Drops what is over.
  static void drop_done() noexcept;
  /// Throws the first error of steps that failed, once.
  static void raise();

  /// Has nothing wait any more until resume(), and settles what does: graphs are captured, threads have streams of their own.
  static void suspend() noexcept;
  static void resume() noexcept;
  static void enable(bool on) noexcept;
  /// How long threads have waited for code, in seconds of all together, and how often.
  struct Waits {
    double seconds = 0;
    int count = 0;
  };
  static Waits waits();
  /// How threads wait: the language lets its other threads run meanwhile.
  static void set_waiter(void (*waiter)(const std::function<void()>& wait)) noexcept;

  /// Whether nobody but this library knows where an array's memory is: late work touches no other.
  static bool is_private(const Array& array);
  /// Somebody else is told an address in this memory, and may look at it at any time from now on.
  static void expose(const Array& array) {
    if (array.is_valid() && !array.on_host()) expose_block(array.block().lo);
  }
  static void expose_block(std::uintptr_t first);
  /// The memory that was there is gone, and this is new.
  static void hide_block(std::uintptr_t first) noexcept;

  /// While it lives, what the calling thread does with a device has no order with late work: it makes code, or memory that
  /// nobody has seen yet.
  class Apart {
   public:
    Apart() noexcept;
    ~Apart();
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;
  };
  /// The calling thread begins, and ends, to use a device. The outermost call settles late work: inside there may be locks.
  static void enter() noexcept;
  static void leave() noexcept;
};

/// If work waits that a copy between these, or a fill, would overtake, has it wait as well. False: it is to be done now.
bool copy_late(const Array& to, const Array& from);
bool fill_late(const Array& to, const void* value);

}  // namespace weft::runtime
