// How long a thread looks out for its turn.
#include <Python.h>

#include "bind/gil_door.h"

#include <chrono>

#include "runtime/scheduler.h"
#include "support/relax.h"

namespace weft::bind {

void GilDoor::wait() noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kPatience{20};  // ten threads' turns; a sleep and a wake take as long
  constexpr unsigned kLooksPerClock = 16;
  static const bool alone = runtime::available_cpus() == 1;  // who looks out keeps the other from going on
  const Clock::time_point start = Clock::now();
  for (unsigned look = 1; !alone; ++look) {
    const void* nobody = nullptr;
    if (inside_.load(std::memory_order_relaxed) == nullptr &&
        inside_.compare_exchange_weak(nobody, self(), std::memory_order_acquire, std::memory_order_relaxed))
      return;
    relax();
    if (look % kLooksPerClock == 0 && Clock::now() - start > kPatience) break;
  }
  inside_.store(self(), std::memory_order_relaxed);
}

}  // namespace weft::bind
