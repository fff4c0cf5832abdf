// The host allocator: the C library's for small blocks, pages of our own for large ones (zeroed by the system on first
// touch, so the threads that fill an array place its pages).
#include "runtime/allocator.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "runtime/errors.h"

namespace weft::runtime {
namespace {

struct Counters {
  std::atomic<std::uint64_t> live_bytes{0}, live_blocks{0}, peak_bytes{0}, total_blocks{0};
};
Counters counters;

std::string readable(std::uint64_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double value = double(bytes);
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return std::to_string(bytes) + " bytes";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f %s (%llu bytes)", value, units[unit], static_cast<unsigned long long>(bytes));
  return text;
}

/// Main memory and swap together: what the system could ever give.
std::uint64_t machine_bytes() {
  struct sysinfo info{};
  if (sysinfo(&info) != 0) return std::numeric_limits<std::uint64_t>::max();
  return (std::uint64_t(info.totalram) + info.totalswap) * info.mem_unit;
}

std::string text_of(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

[[noreturn]] void out_of_memory(std::uint64_t bytes) {
  throw OutOfMemory(bytes, "out of memory: could not allocate " + readable(bytes) + "; " +
                               readable(counters.live_bytes.load()) + " are in use by arrays, the machine has " +
                               readable(machine_bytes()) + " of memory and swap");
}

std::size_t whole_lines(std::uint64_t bytes) {
  return std::max<std::size_t>((bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment, kHostAlignment);
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  static const std::uint64_t page = std::uint64_t(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void* map_large(std::uint64_t bytes) {
  if (bytes > machine_bytes()) return nullptr;
  const std::uint64_t size = whole_pages(bytes);
  void* mapped = mmap(nullptr, size + kHugeBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = (begin + kHugeBlock - 1) / kHugeBlock * kHugeBlock;
  if (aligned > begin) munmap(mapped, aligned - begin);
  const std::uintptr_t end = begin + size + kHugeBlock;
  if (end > aligned + size) munmap(reinterpret_cast<void*>(aligned + size), end - (aligned + size));
  auto* memory = reinterpret_cast<void*>(aligned);
  madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

/// Large blocks that were freed, for requests of the same size that need no zeros. Whoever finds it busy, as the child of a fork
/// may for ever, goes to the system.
class KeptBlocks {
 public:
  void* take(std::uint64_t size) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    for (Block& block : blocks_) {
      if (!block.memory || block.size != size) continue;
      bytes_ -= size;
      return std::exchange(block.memory, nullptr);
    }
    return nullptr;
  }

  /// False: it has to be given back. The oldest make room.
  bool keep(void* memory, std::uint64_t size) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || size > kKeptBytes / 2) return false;
    for (; bytes_ + size > kKeptBytes || blocks_[next_].memory; next_ = (next_ + 1) % kMost) {
      Block& oldest = blocks_[next_];
      if (!oldest.memory) continue;
      munmap(oldest.memory, oldest.size);
      bytes_ -= oldest.size;
      oldest.memory = nullptr;
    }
    blocks_[next_] = {memory, size};
    next_ = (next_ + 1) % kMost;
    bytes_ += size;
    return true;
  }

 private:
  struct Block {
    void* memory = nullptr;
    std::uint64_t size = 0;
  };
  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  Block blocks_[kMost];
  std::size_t next_ = 0;  // where the next one goes, or makes room
  std::uint64_t bytes_ = 0;
};

thread_local bool thread_ended = false;  // arrays may be freed while a thread ends

/// Small blocks that a thread freed, for its next requests: the C library takes a tenth of a microsecond for an aligned one, and steps of
/// simulations make dozens. Sanitizers see every block go.
class SmallBlocks {
 public:
  static constexpr std::size_t kLargest = 4096;
  ~SmallBlocks() {
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      while (void* block = pop(kind)) std::free(block);
    thread_ended = true;
  }
  SmallBlocks() = default;
  SmallBlocks(const SmallBlocks&) = delete;

  /// `size` is a multiple of kHostAlignment.
  void* take(std::size_t size) noexcept { return thread_ended ? nullptr : pop(size / kHostAlignment - 1); }
  bool keep(void* memory, std::size_t size) noexcept {
    const std::size_t kind = size / kHostAlignment - 1;
    if (kSanitized || thread_ended || counts_[kind] == kMost) return false;
    first_[kind] = new (memory) Free{first_[kind]};
    ++counts_[kind];
    return true;
  }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kKinds = kLargest / kHostAlignment, kMost = 16;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kSanitized = true;
#elif defined(__clang__)
  static constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  static constexpr bool kSanitized = false;
#endif
  void* pop(std::size_t kind) noexcept {
    Free* const block = first_[kind];
    if (!block) return nullptr;
    first_[kind] = block->next;
    --counts_[kind];
    return block;
  }

  Free* first_[kKinds] = {};
  std::uint8_t counts_[kKinds] = {};
};

thread_local SmallBlocks small_blocks;

KeptBlocks& kept_blocks() {
  static auto& only = *new KeptBlocks;  // arrays may be freed while the process ends
  return only;
}

void count_allocation(std::uint64_t bytes) {
  const std::uint64_t live = counters.live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  counters.live_blocks.fetch_add(1, std::memory_order_relaxed);
  counters.total_blocks.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t peak = counters.peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !counters.peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* host_allocate(std::uint64_t bytes, bool zeroed) {
  void* memory = nullptr;
  if (bytes >= kHugeBlock) {
    if (!zeroed) memory = kept_blocks().take(whole_pages(bytes));
    if (!memory) memory = map_large(bytes);
  } else {
    const std::size_t size = whole_lines(bytes);
    if (size <= SmallBlocks::kLargest) memory = small_blocks.take(size);
    if (!memory) memory = std::aligned_alloc(kHostAlignment, size);
    if (memory && zeroed) std::memset(memory, 0, size);
  }
  if (!memory) out_of_memory(bytes);
  count_allocation(bytes);
  return memory;
}

void host_free(void* memory, std::uint64_t bytes) noexcept {
  if (!memory) return;
  if (bytes >= kHugeBlock) {
    if (!kept_blocks().keep(memory, whole_pages(bytes))) munmap(memory, whole_pages(bytes));
  } else if (const std::size_t size = whole_lines(bytes);
             size > SmallBlocks::kLargest || !small_blocks.keep(memory, size)) {
    std::free(memory);
  }
  counters.live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  counters.live_blocks.fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<void> host_buffer(std::uint64_t bytes, bool zeroed) {
  return {host_allocate(bytes, zeroed), [bytes](void* memory) { host_free(memory, bytes); }};
}

AllocatorStats host_allocator_stats() {
  return {counters.live_bytes.load(), counters.live_blocks.load(), counters.peak_bytes.load(),
          counters.total_blocks.load()};
}

std::uint64_t checked_bytes(const Type* element, std::span<const std::int64_t> shape) {
  if (shape.empty() || shape.size() > std::size_t(kMaxRank))
    throw ArgumentError("an array has 1 to 4 dimensions, the shape " + text_of(shape) + " has " +
                        std::to_string(shape.size()));
  if (element->size() == 0) throw ArgumentError("arrays can't hold elements of type " + element->user_name());
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0)
      throw ArgumentError("the shape " + text_of(shape) + " has a negative extent: extents are 0 or more");
    empty |= extent == 0;
  }
  if (empty) return 0;
  std::uint64_t bytes = element->size();
  for (std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, std::uint64_t(extent), &bytes) || bytes > std::uint64_t(INT64_MAX))
      throw OutOfMemory(UINT64_MAX, "out of memory: an array of shape " + text_of(shape) + " of " +
                                        element->user_name() + " would need more than 2^63 bytes");
  }
  return bytes;
}

}  // namespace weft::runtime
