// Threads of the CPU's blocks: each has a stack of its own, and they run in turns on one thread of the system. A turn ends
// where a thread has to wait for others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::runtime {

/// Stacks and places of execution, kept for the next block. One for each thread of the system.
class Fibers {
 public:
  Fibers() = default;
  ~Fibers() { release(); }
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Runs body(state, k) for k = 0 … count−1, each on a stack of that many bytes, until all have returned. False: there is no
  /// memory for the stacks, and nothing has run.
  bool run(int count, std::size_t stack_bytes, void (*body)(void* state, int number), void* state) noexcept;

  /// Goes on with the next one that has not returned; comes back when it is the caller's turn again.
  void yield() noexcept;
  /// The one that runs.
  int current() const { return current_; }
  /// How many have not returned.
  int alive() const { return alive_; }
  bool is_alive(int number) const { return number < reserved_ && places_[std::size_t(number)].next >= 0; }

 private:
  struct Place {
    void* stack_pointer = nullptr;
    int next = -1, before = -1;  // in the ring of those that have not returned; −1: it has
    void* shadow = nullptr;      // of address sanitizers
  };
  bool reserve(int count, std::size_t stack_bytes) noexcept;
  void release() noexcept;
  void prepare(int number) noexcept;
  void go(void** from, void** shadow, int to) noexcept;
  void arrived(void* shadow) noexcept;
  static void enter(void* self) noexcept;
  char* bottom(int number) const { return memory_ + std::size_t(number) * (stack_bytes_ + guard_); }

  std::vector<Place> places_;
  char* memory_ = nullptr;
  std::size_t stack_bytes_ = 0, guard_ = 0;
  int reserved_ = 0, current_ = -1, alive_ = 0;
  void (*body_)(void*, int) = nullptr;
  void* state_ = nullptr;
  void* outside_ = nullptr;  // the stack pointer of whoever called run()
  void* outside_shadow_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
};

}  // namespace weft::runtime
