// The door to the interpreter's lock, for threads that come back from work without it (bind/gil.h). Who finds the lock taken
// sleeps, and who gives it up then has to wake the sleeper, with the lock's own mutex held: some four microseconds of a virtual
// machine, in which no other thread gets in. Several threads whose launches take tens of microseconds spend most of their time so, though
// each needs the lock for one microsecond only. So they come in one by one, and look out for their turn before they sleep.
#pragma once
#include <atomic>

namespace weft::bind {

class GilDoor {
 public:
  /// The calling thread has just given up the lock.
  static void go_out() noexcept {
#ifndef Py_GIL_DISABLED
    if (inside_.load(std::memory_order_relaxed) == self()) inside_.store(nullptr, std::memory_order_release);
#endif
  }

  /// The calling thread is about to take the lock. Waits a little for the last one who came in, as far as it is known here.
  static void come_in() noexcept {
#ifndef Py_GIL_DISABLED
    const void* other = nullptr;
    if (!inside_.compare_exchange_strong(other, self(), std::memory_order_acquire, std::memory_order_relaxed) &&
        other != self())
      wait();
#endif
  }

 private:
  static void wait() noexcept;

  /// Different for each thread.
  static const void* self() noexcept {
    static thread_local const char place = 0;
    return &place;
  }

  // Who came in last and did not go out since: it has the lock, or is about to. It may have given it up elsewhere, or have
  // ended; then the next one who waits comes in after a while.
  static inline std::atomic<const void*> inside_{nullptr};
};

}  // namespace weft::bind
