// Waiting for events that stand behind the work of all streams. They are recorded on one stream, so the first one that is
// not done tells of all behind it.
#include "cuda/late_drops.h"

#include "cuda/device.h"
#include "runtime/late_work.h"

namespace weft::cuda {
namespace {

constexpr std::size_t kMostForIdle = 256;
constexpr std::uint64_t kMostBytesForIdle = std::uint64_t(64) << 20;

}  // namespace

void LateDrops::add(Thing thing) noexcept {
  try {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(thing), nullptr});
    any_.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // no memory to remember it: it is waited for
    device_.api().context_synchronize();
  }
  collect();
}

void LateDrops::add_for_idle(Thing thing, std::uint64_t bytes) noexcept {
  bool full = false;
  try {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(thing));
    idle_bytes_ += bytes;
    full = idle_.size() > kMostForIdle || idle_bytes_ > kMostBytesForIdle;
    any_.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    device_.api().context_synchronize();
  }
  full ? wait_for_idle() : collect();
}

void LateDrops::drop_done() noexcept {
  if (device_.system().forked() || device_.capture()) return;
  std::vector<Waiting> over;
  bool for_idle = false;
  try {
    const runtime::LateWork::Apart apart;  // work that waits holds what it touches
    ContextScope scope(device_);
    {
      std::lock_guard lock(mutex_);
      if (!waiting_.empty() && !waiting_.back().behind) {
        const std::shared_ptr<Event> mark = device_.mark_all_work();
        if (!mark) return;  // another time
        for (auto it = waiting_.rbegin(); it != waiting_.rend() && !it->behind; ++it) it->behind = mark;
      }
      while (!waiting_.empty() && waiting_.front().behind->done()) {
        over.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
      for_idle = !idle_.empty();
      any_.store(!waiting_.empty() || for_idle, std::memory_order_release);
    }
    if (!over.empty()) device_.wait_for_lost_streams();
    over.clear();
    if (for_idle && device_.idle()) {
      device_.wait_for_lost_streams();
      drop_idle();
    }
  } catch (const std::exception&) {  // a broken context runs nothing any more; else all of it is waited for
    device_.api().context_synchronize();
    drop_all();
  }
}

void LateDrops::drop_idle() noexcept {
  std::vector<Thing> over;  // dropped when nothing is locked
  std::lock_guard lock(mutex_);
  over.swap(idle_);
  idle_bytes_ = 0;
  any_.store(!waiting_.empty(), std::memory_order_release);
}

void LateDrops::wait_for_idle() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (idle_.empty() || device_.system().forked() || device_.capture()) return;
  }
  try {
    const runtime::LateWork::Apart apart;  // work that waits holds what it touches
    ContextScope scope(device_);
    device_.api().context_synchronize();
    drop_idle();
  } catch (const std::exception&) {  // the device is gone, and so is what it used
    drop_all();
  }
}

void LateDrops::drop_all() noexcept {
  for (;;) {
    std::deque<Waiting> over;  // dropping some may add others
    std::vector<Thing> idle;
    {
      std::lock_guard lock(mutex_);
      over.swap(waiting_);
      idle.swap(idle_);
      idle_bytes_ = 0;
      any_.store(false, std::memory_order_release);
    }
    if (over.empty() && idle.empty()) return;
  }
}

}  // namespace weft::cuda
