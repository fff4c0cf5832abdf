// Memory of a device: stream-ordered pools where the device has them. What is freed is given back behind the work of
// every stream that may use it, so that dropping an array is always safe and never waits.
#include <algorithm>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "runtime/late_work.h"

namespace weft::cuda {

namespace {

/// Atomic operations on elements of one or two bytes work on the words around them: the last word is whole.
constexpr std::uint64_t kWord = 4;
std::uint64_t whole_words(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + kWord - 1) / kWord * kWord;
}

}  // namespace

DevicePtr Device::try_allocate(std::uint64_t bytes, bool pooled, StreamHandle on, Result& code) {
  DevicePtr memory = 0;
  const std::size_t size = whole_words(bytes);
  code = pooled ? api().memory_allocate_async(&memory, size, on) : api().memory_allocate(&memory, size);
  return memory;
}

void Device::make_room() {
  if (runtime::LateWork::waiting()) runtime::LateWork::settle();  // it holds memory
  WEFT_CUDA(api(), context_synchronize);
  late_drops_.collect();
  if (facts_.pools) WEFT_CUDA(api(), pool_trim, pool_, 0);
}

std::string Device::free_text() {
  std::size_t free = 0, total = 0;
  if (api().memory_info(&free, &total) != kSuccess) return {};
  return ": " + std::to_string(free) + " of " + std::to_string(total) + " bytes are free";
}

std::shared_ptr<void> Device::allocate(std::uint64_t bytes, bool zeroed) {
  if (has_allocator_.load(std::memory_order_acquire))
    if (std::shared_ptr<Allocator> own = allocator()) return allocate_by(std::move(own), bytes, zeroed);
  return allocate_here(bytes, zeroed);
}

std::shared_ptr<void> Device::allocate_here(std::uint64_t bytes, bool zeroed) {
  const runtime::LateWork::Apart apart;  // nothing that waits knows of this memory
  ContextScope scope(*this);
  const std::shared_ptr<Stream> current = stream();
  const bool pooled = pool_enabled();
  Capture* capturing = capture();
  if (owes_frees_.load(std::memory_order_acquire) && !capturing) [[unlikely]]
    release_late();
  late_drops_.collect();
  // Memory made while a graph is captured belongs to no node of it: it is there at once, and the graph keeps it.
  const StreamHandle on = capturing && pooled ? ready_stream() : current->handle();
  Result code = kSuccess;
  DevicePtr memory = try_allocate(bytes, pooled, on, code);
  if (code == kErrorOutOfMemory && !capturing) {  // what the pool holds back, and what is about to be freed
    make_room();
    memory = try_allocate(bytes, pooled, on, code);
  }
  if (code == kErrorOutOfMemory)
    throw runtime::OutOfMemory(bytes, "no memory for " + std::to_string(bytes) + " bytes on " + alias_ + free_text());
  if (code != kSuccess) throw_driver_error(api(), code, pooled ? "memory_allocate_async" : "memory_allocate");
  runtime::LateWork::hide_block(std::uintptr_t(memory));
  std::shared_ptr<void> owner(reinterpret_cast<void*>(memory),
                              [this, pooled](void* p) { release(reinterpret_cast<DevicePtr>(p), pooled); });
  if (capturing) {
    if (pooled) WEFT_CUDA(api(), stream_synchronize, on);
    capturing->keep(owner);
  }
  if (zeroed && bytes) {
    const OrderedWork order(*this, current->handle(),
                            [&] { return Touched{{}, {{memory, memory + whole_words(bytes)}}}; });
    const TimedScope timed(*this, current->handle(), kTimeFill, "memset");
    WEFT_CUDA(api(), set8_async, memory, 0, whole_words(bytes), current->handle());
  }
  return owner;
}

void Device::release(DevicePtr memory, bool pooled) noexcept {
  if (system_.forked() || try_release(memory, pooled)) return;
  try {
    std::lock_guard lock(mutex_);
    late_frees_.emplace_back(memory, pooled);
    owes_frees_.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // no memory to remember memory
  }
}

void Device::release_late() noexcept {
  std::vector<std::pair<DevicePtr, bool>> late;
  {
    std::lock_guard lock(mutex_);
    late.swap(late_frees_);
    owes_frees_.store(false, std::memory_order_release);
  }
  std::size_t done = 0;
  while (done < late.size() && try_release(late[done].first, late[done].second)) ++done;
  if (done == late.size()) return;
  std::lock_guard lock(mutex_);  // the driver still refuses: another time
  late_frees_.insert(late_frees_.end(), late.begin() + std::ptrdiff_t(done), late.end());
  owes_frees_.store(true, std::memory_order_release);
}

void Device::leave_behind(StreamHandle stream) noexcept {
  // The legacy default stream and ours wait for each other.
  if (system_.forked() || reinterpret_cast<std::uintptr_t>(stream) <= 1) return;
  try {
    {
      std::lock_guard lock(mutex_);
      if (live_streams_.size() < 2) return;  // there is no other that memory could be given back on
    }
    ContextScope scope(*this);
    int captured = 0;
    if (api().stream_capturing(stream, &captured) != kSuccess || captured != 0) return;
    order_behind(side_stream(), {stream});
    left_work_.store(true, std::memory_order_release);
  } catch (const std::exception&) {  // the device is gone, and its work with it
  }
}

bool Device::has_left_work() noexcept {
  if (!left_work_.load(std::memory_order_acquire)) [[likely]]
    return false;
  left_work_.store(false, std::memory_order_release);  // a stream that goes now says so again
  try {
    if (api().stream_query(side_stream()) != kErrorNotReady) return false;  // done, or no driver's any more
  } catch (const std::exception&) {                                         // there is no such stream
    return false;
  }
  left_work_.store(true, std::memory_order_release);
  return true;
}

bool Device::try_release(DevicePtr memory, bool pooled) noexcept {
  const runtime::LateWork::Apart apart;  // work that waits holds what it touches
  try {
    bool several = false;
    {
      std::lock_guard lock(mutex_);
      if (capture_.load(std::memory_order_acquire)) return false;
      several = live_streams_.size() != 1;
    }
    ContextScope scope(*this);
    if (!pooled) return api().memory_free(memory) == kSuccess;
    StreamHandle on = nullptr;
    if (several || has_left_work()) {
      on = side_stream();
      if (!order_behind_all(on)) return false;
    } else {
      on = stream()->handle();
    }
    return api().memory_free_async(memory, on) == kSuccess;
  } catch (const std::exception&) {  // of the driver; if the context is broken or gone, so is its memory
    return false;
  }
}

void Device::begin_capture(Capture* capture) {
  runtime::LateWork::suspend();
  std::lock_guard lock(mutex_);
  if (capture_.load(std::memory_order_relaxed)) {
    runtime::LateWork::resume();
    throw runtime::ArgumentError("Graph capture already in progress on " + alias_);
  }
  capture_.store(capture, std::memory_order_release);
}

void Device::end_capture() {
  capture_.store(nullptr, std::memory_order_release);
  runtime::LateWork::resume();
  release_late();
  late_drops_.collect();
}

std::uint64_t Device::free_memory() {
  ContextScope scope(*this);
  late_drops_.collect();
  std::size_t free = 0, total = 0;
  WEFT_CUDA(api(), memory_info, &free, &total);
  return free;
}

void Device::enable_pool(bool on) {
  if (on && !facts_.pools) throw runtime::ArgumentError("the device " + alias_ + " has no stream-ordered memory pool");
  pool_enabled_ = on;
}

std::uint64_t Device::pool_value(int attribute) {
  if (!facts_.pools) throw runtime::ArgumentError("the device " + alias_ + " has no stream-ordered memory pool");
  ContextScope scope(*this);
  late_drops_.collect();
  std::uint64_t value = 0;
  WEFT_CUDA(api(), pool_get, pool_, attribute, &value);
  return value;
}

void Device::set_pool_threshold(std::uint64_t bytes) {
  if (!facts_.pools) throw runtime::ArgumentError("the device " + alias_ + " has no stream-ordered memory pool");
  ContextScope scope(*this);
  WEFT_CUDA(api(), pool_set, pool_, kPoolReleaseThreshold, &bytes);
}

}  // namespace weft::cuda
