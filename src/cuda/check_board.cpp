// Slots for failed checks: handing out, looking, raising.
#include "cuda/check_board.h"

#include <new>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "runtime/late_work.h"
#include "runtime/launch.h"

namespace weft::cuda {
namespace {

CheckSlot* slot_at(const std::shared_ptr<void>& memory, std::size_t index) {
  return static_cast<CheckSlot*>(memory.get()) + index;
}

}  // namespace

std::size_t CheckBoard::find_free() {
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const std::size_t at = (next_ + k) % entries_.size();
    if (entries_[at].used) continue;
    next_ = (at + 1) % entries_.size();
    return at;
  }
  return entries_.size();
}

CheckSlot* CheckBoard::watch(WatchedLaunch launch, StreamHandle stream) {
  const bool captured = device_.capture() != nullptr;
  std::unique_lock lock(mutex_);
  if (!memory_) {
    memory_ = device_.system().pinned().allocate(kSlots * sizeof(CheckSlot), true);
    entries_.resize(kSlots);
  }
  std::size_t at = find_free();
  if (at == entries_.size()) {
    if (captured) return nullptr;
    lock.unlock();
    device_.synchronize();
    lock.lock();
    at = find_free();
    if (at == entries_.size()) return nullptr;  // all belong to graphs
  }
  entries_[at] = {std::move(launch), stream, true, captured};
  ++used_;
  CheckSlot* slot = new (slot_at(memory_, at)) CheckSlot;
  if (captured) {
    // Replays write here as long as the graph lives.
    device_.keep_for_capture(std::shared_ptr<const void>(slot, [this, at](const void*) {
      WatchedLaunch dropped;
      std::lock_guard inside(mutex_);
      dropped = std::move(entries_[at].launch);
      entries_[at] = {};
      --used_;
    }));
  }
  return slot;
}

void CheckBoard::check(bool all, StreamHandle stream, bool release) {
  WatchedLaunch failed;
  std::vector<WatchedLaunch> dropped;  // dies outside the lock: code may go with it
  runtime::ErrorRecord record;
  runtime::LateWork::raise();
  {
    std::lock_guard lock(mutex_);
    if (used_ == 0) return;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      Entry& entry = entries_[k];
      if (!entry.used) continue;
      CheckSlot* slot = slot_at(memory_, k);
      const bool written = slot->record.state.load(std::memory_order_acquire) == 2;
      if (written) {
        if (record.state.load(std::memory_order_relaxed) != 2) {
          record.site = slot->record.site;
          for (int d = 0; d < kMaxRank; ++d) record.thread[d] = slot->record.thread[d];
          record.index = slot->record.index;
          record.extent = slot->record.extent;
          record.state.store(2, std::memory_order_relaxed);
          failed = entry.launch;
        }
        new (slot) CheckSlot;  // a graph's slot serves the next replay
      }
      if (release && !entry.captured && (all || entry.stream == stream)) {
        dropped.push_back(std::move(entry.launch));
        entry = {};
        --used_;
      }
    }
  }
  runtime::throw_if_failed(record, failed.kernel, failed.rank, failed.sites);
}

void CheckBoard::report() { check(false, nullptr, false); }

void CheckBoard::report_done(StreamHandle stream, bool all) { check(all, stream, true); }

}  // namespace weft::cuda
