// Waiting for events that stand behind the work of all streams. They are recorded on one stream, so the first one that is
// not done tells of all behind it.
#include "cuda/late_drops.h"

#include <vector>

#include "cuda/device.h"

namespace weft::cuda {

void LateDrops::add(std::shared_ptr<const void> thing) noexcept {
  try {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(thing), nullptr});
    any_.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // no memory to remember it: it is waited for
    device_.api().context_synchronize();
  }
  collect();
}

void LateDrops::drop_done() noexcept {
  if (device_.system().forked() || device_.capture()) return;
  std::vector<Waiting> over;
  try {
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
      any_.store(!waiting_.empty(), std::memory_order_release);
    }
    if (!over.empty()) device_.wait_for_lost_streams();
  } catch (const std::exception&) {  // a broken context runs nothing any more; else all of it is waited for
    device_.api().context_synchronize();
    drop_all();
  }
}

void LateDrops::drop_all() noexcept {
  for (;;) {
    std::deque<Waiting> over;  // dropping some may add others
    {
      std::lock_guard lock(mutex_);
      over.swap(waiting_);
      any_.store(false, std::memory_order_release);
    }
    if (over.empty()) return;
  }
}

}  // namespace weft::cuda
