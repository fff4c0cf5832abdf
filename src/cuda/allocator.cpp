// Arrays from a program's own allocator.
#include "cuda/allocator.h"

#include "cuda/device.h"
#include "cuda/graph.h"

namespace weft::cuda {

void LateReturns::add(Block block, std::unique_ptr<Event> behind) {
  if (!behind) return block.allocator->deallocate(block.memory, block.bytes);
  std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(block), std::move(behind)});
}

void LateReturns::collect() {
  std::vector<Waiting> over;
  {
    std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < waiting_.size();) {
      bool done = true;
      try {
        done = waiting_[k].behind->done();
      } catch (const runtime::Error&) {  // the context is broken: nothing runs any more
      }
      if (!done) {
        ++k;
        continue;
      }
      over.push_back(std::move(waiting_[k]));
      waiting_[k] = std::move(waiting_.back());
      waiting_.pop_back();
    }
  }
  for (Waiting& one : over) one.block.allocator->deallocate(one.block.memory, one.block.bytes);
}

std::shared_ptr<Allocator> Device::allocator() const {
  std::lock_guard lock(mutex_);
  return allocator_;
}

void Device::set_allocator(std::shared_ptr<Allocator> allocator) {
  {
    std::lock_guard lock(mutex_);
    allocator_.swap(allocator);
    has_allocator_ = allocator_ != nullptr;
  }
  late_returns_.collect();
}

std::shared_ptr<void> Device::allocate_by(std::shared_ptr<Allocator> allocator, std::uint64_t bytes, bool zeroed) {
  ContextScope scope(*this);
  late_returns_.collect();
  const std::uint64_t size = bytes ? bytes : 1;
  DevicePtr memory = allocator->allocate(size);
  if (!memory && !capture()) {  // what is still on its way back
    synchronize();
    late_returns_.collect();
    memory = allocator->allocate(size);
  }
  if (!memory)
    throw runtime::OutOfMemory(
        bytes, "the allocator that was set for " + alias_ + " has no memory for " + std::to_string(bytes) + " bytes");
  std::shared_ptr<void> owner(reinterpret_cast<void*>(memory), [this, allocator, size](void* p) {
    return_block({allocator, reinterpret_cast<DevicePtr>(p), size});
  });
  if (Capture* running = capture()) running->keep(owner);
  if (zeroed && bytes) {
    const std::shared_ptr<Stream> on = stream();
    const TimedScope timed(*this, on->handle(), kTimeFill, "memset");
    WEFT_CUDA(api(), set8_async, memory, 0, bytes, on->handle());
  }
  return owner;
}

void Device::return_block(LateReturns::Block block) noexcept {
  if (system_.forked()) return;
  try {
    ContextScope scope(*this);
    if (Capture* running = capture()) {  // streams can't be asked now; the graph's work may use the block
      running->keep(
          std::shared_ptr<void>(reinterpret_cast<void*>(block.memory), [this, block](void*) { return_block(block); }));
      return;
    }
    auto behind = std::make_unique<Event>(*this, false, false);
    const StreamHandle side = side_stream();
    order_behind_all(side);
    WEFT_CUDA(api(), event_record, behind->handle(), side, 0);
    late_returns_.add(std::move(block), std::move(behind));
    late_returns_.collect();
  } catch (const std::exception&) {  // the context is broken: nothing runs any more
    block.allocator->deallocate(block.memory, block.bytes);
  }
}

}  // namespace weft::cuda
