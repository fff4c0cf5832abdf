// Arrays from a program's own allocator.
#include "cuda/allocator.h"

#include "cuda/device.h"
#include "cuda/graph.h"
#include "runtime/late_work.h"

namespace weft::cuda {

namespace {

/// A block on its way back to its allocator.
class Block {
 public:
  Block(std::shared_ptr<Allocator> allocator, DevicePtr memory, std::uint64_t bytes)
      : allocator_(std::move(allocator)), memory_(memory), bytes_(bytes) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { allocator_->deallocate(memory_, bytes_); }

 private:
  std::shared_ptr<Allocator> allocator_;
  DevicePtr memory_;
  std::uint64_t bytes_;
};

}  // namespace

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
  late_drops_.collect();
}

std::shared_ptr<void> Device::allocate_by(std::shared_ptr<Allocator> allocator, std::uint64_t bytes, bool zeroed) {
  ContextScope scope(*this);
  late_drops_.collect();
  const std::uint64_t size = bytes ? bytes : 1;
  DevicePtr memory = allocator->allocate(size);
  if (!memory && !capture()) {  // what is still on its way back
    synchronize();
    late_drops_.collect();
    memory = allocator->allocate(size);
  }
  if (!memory)
    throw runtime::OutOfMemory(
        bytes, "the allocator that was set for " + alias_ + " has no memory for " + std::to_string(bytes) + " bytes");
  runtime::LateWork::expose_block(std::uintptr_t(memory));  // whose it is knows it
  std::shared_ptr<void> owner(reinterpret_cast<void*>(memory), [this, allocator, size](void* p) {
    if (system_.forked()) return;
    auto block = std::make_shared<Block>(allocator, reinterpret_cast<DevicePtr>(p), size);
    if (Capture* running = capture())  // the graph's work may use it
      running->keep(std::move(block));
    else
      keep_until_done(std::move(block));
  });
  if (Capture* running = capture()) running->keep(owner);
  if (zeroed && bytes) {
    const std::shared_ptr<Stream> on = stream();
    const TimedScope timed(*this, on->handle(), kTimeFill, "memset");
    WEFT_CUDA(api(), set8_async, memory, 0, bytes, on->handle());
  }
  return owner;
}

}  // namespace weft::cuda
