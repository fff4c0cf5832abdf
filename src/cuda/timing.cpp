// Events around work.
#include "cuda/timing.h"

#include "cuda/device.h"
#include "runtime/late_work.h"

namespace weft::cuda {

void Timing::begin(unsigned filter) {
  if (runtime::LateWork::waiting()) runtime::LateWork::settle();  // it was asked for before
  std::lock_guard lock(mutex_);
  ranges_.push_back({filter, entries_.size()});
  filter_.store(filter_.load(std::memory_order_relaxed) | filter, std::memory_order_relaxed);
}

std::vector<TimedWork> Timing::end() {
  std::vector<Entry> taken, dropped;  // their events go when nothing is locked
  {
    std::lock_guard lock(mutex_);
    if (ranges_.empty()) return {};
    const Range range = ranges_.back();
    ranges_.pop_back();
    for (std::size_t i = range.first; i < entries_.size(); ++i)
      if (entries_[i].kind & range.filter) taken.push_back(entries_[i]);
    if (ranges_.empty()) dropped.swap(entries_);
    unsigned left = 0;
    for (const Range& one : ranges_) left |= one.filter;
    filter_.store(left, std::memory_order_relaxed);
  }
  std::vector<TimedWork> out;
  for (Entry& one : taken) {
    one.end->synchronize();
    out.push_back({&one.end->device(), std::move(one.name), one.kind, one.end->elapsed_since(*one.start)});
  }
  return out;
}

TimedScope::TimedScope(Device& device, StreamHandle stream, unsigned kind, const char* prefix, const std::string& name)
    : device_(device), stream_(stream), kind_(kind) {
  if (device.system().timing().wants(kind)) [[unlikely]]
    start(prefix, name);
}

void TimedScope::start(const char* prefix, const std::string& name) {
  int captured = 0;
  WEFT_CUDA(device_.api(), stream_capturing, stream_, &captured);
  if (captured) return;
  name_ = prefix + name;
  auto event = std::make_shared<Event>(device_, true);
  WEFT_CUDA(device_.api(), event_record, event->handle(), stream_, 0);
  begun_ = std::move(event);
}

TimedScope::~TimedScope() {
  if (!begun_) return;
  try {
    auto event = std::make_shared<Event>(device_, true);
    WEFT_CUDA(device_.api(), event_record, event->handle(), stream_, 0);
    Timing& timing = device_.system().timing();
    std::lock_guard lock(timing.mutex_);
    if (!timing.ranges_.empty())
      timing.entries_.push_back({std::move(begun_), std::move(event), std::move(name_), kind_});
  } catch (const runtime::Error&) {  // whoever waits for the device hears of it
  }
}

}  // namespace weft::cuda
