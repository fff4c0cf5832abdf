// Who compiles in the background, and how they are stopped.
#include "codegen/background.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace weft::codegen {
namespace {

std::atomic<bool> ending{false};
thread_local bool in_background = false;

struct Compiles {
  std::mutex mutex;
  std::condition_variable changed;
  int under_way = 0;
};
/// Never destroyed: threads that stay may outlive static destructors.
Compiles& compiles() {
  static auto& only = *new Compiles;
  return only;
}

void count(int by) noexcept {
  Compiles& all = compiles();
  {
    const std::lock_guard lock(all.mutex);
    all.under_way += by;
  }
  all.changed.notify_all();
}

[[noreturn]] void stay() noexcept {
  for (;;) ::pause();
}

}  // namespace

BackgroundCompile::BackgroundCompile() : outermost_(!in_background) {
  if (!outermost_) return;
  // Counted first: who ends the process then waits for this thread, or this thread sees that it ends.
  count(1);
  in_background = true;
  stay_if_ending();
}

BackgroundCompile::~BackgroundCompile() {
  if (!outermost_) return;
  in_background = false;
  count(-1);
}

bool compiles_in_background() noexcept { return in_background; }

void stay_if_ending() noexcept {
  if (!in_background || !ending.load(std::memory_order_acquire)) return;
  count(-1);
  stay();
}

void end_background_compiles() noexcept {
  ending.store(true, std::memory_order_release);
  Compiles& all = compiles();
  std::unique_lock lock(all.mutex);
  all.changed.wait(lock, [&] { return all.under_way == 0; });
}

}  // namespace weft::codegen
