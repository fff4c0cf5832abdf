// Waiting is a loop: whoever waits gives its turn away until it finds that the others have come. A program whose threads wait
// for each other at different places would never end; when a whole round has brought nobody further, they go on.
#include "runtime/block_threads.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "runtime/fibers.h"

namespace weft::runtime {
namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kStack = 256 << 10;  // what functions take beside private arrays

class Block {
 public:
  /// The block whose thread runs.
  static Block& running() { return *current_; }
  /// The same, or null where each thread is a block of its own.
  static Block* current() { return current_; }
  int thread() const { return fibers_.current(); }
  int threads() const { return count_; }

  void run(std::int64_t first, int count, const BlockNeeds& needs, LaunchContext* context,
           void (*body)(void*, std::int64_t), void* state) noexcept {
    first_ = first;
    count_ = count;
    body_ = body;
    state_ = state;
    arrived_ = 0;
    warps_.assign(std::size_t((count + kWarp - 1) / kWarp), Warp{});
    const std::size_t bytes = std::size_t(needs.shared_bytes) + kAlign;
    if (memory_.size() < bytes) memory_.resize(bytes);
    Block* const before = current_;  // a helper may run other work while it waits
    current_ = this;
    const bool ran = fibers_.run(
        count, std::size_t(kStack + needs.stack_bytes),
        [](void* self, int number) {
          Block& b = *static_cast<Block*>(self);
          b.body_(b.state_, b.first_ + number);
          b.leave();
        },
        this);
    current_ = before;
    if (!ran && context) context->stop.store(1, std::memory_order_relaxed);
  }

  void* memory() {
    auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
    return reinterpret_cast<void*>((at + kAlign - 1) / kAlign * kAlign);
  }

  void barrier() noexcept {
    const std::uint64_t round = rounds_;
    ++arrived_;
    progress_ = 0;
    if (open_barrier()) return;
    wait([&] { return rounds_ != round; }, [&] { ++rounds_, arrived_ = 0; });
  }

  /// A round of it has the sum of what its threads say. Nobody begins another one before all have come, but those of this
  /// one may read their sum when the next is under way: sums take turns.
  int tally(bool flag) noexcept {
    const std::uint64_t round = rounds_;
    if (arrived_ == 0) said_[round % 2] = 0;
    said_[round % 2] += flag;
    barrier();
    return said_[round % 2];
  }

  std::uint32_t present() const {
    std::uint32_t bits = 0;
    const int warp = fibers_.current() / kWarp;
    for (int k = 0; k < kWarp; ++k) {
      const int number = warp * kWarp + k;
      if (fibers_.is_alive(number)) bits |= 1u << k;
    }
    return bits;
  }

  std::uint32_t vote(std::uint32_t mask, bool flag) noexcept {
    Warp& w = warp();
    w.values[lane()] = flag ? 1 : 0;
    meet(mask);
    std::uint32_t bits = 0;
    const std::uint32_t there = mask & present();
    for (int k = 0; k < kWarp; ++k)
      if (there >> k & 1 && w.values[k]) bits |= 1u << k;
    meet(mask);  // nobody writes its next one before all have read
    return bits;
  }

  std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, std::uint32_t from) noexcept {
    Warp& w = warp();
    w.values[lane()] = value;
    meet(mask);
    const std::uint64_t got = w.values[from % kWarp];
    meet(mask);
    return got;
  }

 private:
  static constexpr std::size_t kAlign = 64;
  struct Warp {
    std::uint32_t here = 0, released = 0;
    std::uint64_t values[kWarp] = {};
  };

  int lane() const { return fibers_.current() % kWarp; }
  Warp& warp() { return warps_[std::size_t(fibers_.current() / kWarp)]; }

  bool open_barrier() {
    if (arrived_ < fibers_.alive()) return false;
    ++rounds_;
    arrived_ = 0;
    return true;
  }

  /// Waits for those of the warp that are in the mask.
  void meet(std::uint32_t mask) noexcept {
    Warp& w = warp();
    const std::uint32_t own = 1u << lane();
    w.here |= own;
    progress_ = 0;
    mask &= present();
    if ((w.here & mask) == mask) {
      w.here &= ~mask;
      w.released |= mask & ~own;
      return;
    }
    wait([&] { return (w.released & own) != 0; }, [&] { w.here &= ~own, w.released |= own; });
    w.released &= ~own;
  }

  /// A thread has returned: nobody waits for it any more.
  void leave() noexcept {
    progress_ = 0;
    // It still counts as alive here.
    if (arrived_ > 0 && arrived_ >= fibers_.alive() - 1) ++rounds_, arrived_ = 0;
  }

  template <class Done, class GiveUp>
  void wait(const Done& done, const GiveUp& give_up) noexcept {
    while (!done()) {
      if (++progress_ > 2 * fibers_.alive()) {
        give_up();
        progress_ = 0;
        continue;
      }
      fibers_.yield();
    }
    progress_ = 0;
  }

  static thread_local Block* current_;

  Fibers fibers_;
  std::int64_t first_ = 0;
  int count_ = 0;
  void (*body_)(void*, std::int64_t) = nullptr;
  void* state_ = nullptr;
  int arrived_ = 0;
  std::uint64_t rounds_ = 0;
  int said_[2] = {0, 0};
  int progress_ = 0;  // turns given away since somebody came further
  std::vector<Warp> warps_;
  std::vector<std::byte> memory_;
};

thread_local Block* Block::current_ = nullptr;

/// Blocks of this thread of the system that nobody uses now: a launch inside of another one takes a second.
thread_local std::vector<std::unique_ptr<Block>> spare;

struct Chunk {
  ChunkFn thread;
  const void* params;
  LaunchContext* context;
};

}  // namespace

void run_blocks(std::int64_t begin, std::int64_t end, const BlockNeeds& needs, LaunchContext* context,
                void (*body)(void*, std::int64_t), void* state) noexcept {
  std::unique_ptr<Block> block;
  if (spare.empty()) {
    block = std::make_unique<Block>();
  } else {
    block = std::move(spare.back());
    spare.pop_back();
  }
  while (begin < end && !(context && context->stop.load(std::memory_order_relaxed))) {
    const std::int64_t next = std::min(end, (begin / needs.threads + 1) * needs.threads);
    block->run(begin, int(next - begin), needs, context, body, state);
    begin = next;
  }
  spare.push_back(std::move(block));
}

}  // namespace weft::runtime

using weft::runtime::Block;

void weft_rt_blocks(std::int64_t begin, std::int64_t end, const void* params, weft::runtime::LaunchContext* context,
                    weft::runtime::ChunkFn thread, std::int32_t threads, std::int64_t shared_bytes,
                    std::int64_t stack_bytes) {
  weft::runtime::Chunk chunk{thread, params, context};
  weft::runtime::run_blocks(
      begin, end, {threads, shared_bytes, stack_bytes}, context,
      [](void* state, std::int64_t linear) {
        const auto& c = *static_cast<const weft::runtime::Chunk*>(state);
        c.thread(linear, linear + 1, c.params, c.context);
      },
      &chunk);
}

void weft_rt_barrier() {
  if (Block* block = Block::current()) block->barrier();
}
std::int32_t weft_rt_tally(std::int32_t flag) {
  return Block::current() ? Block::current()->tally(flag != 0) : flag != 0;
}
std::int32_t weft_rt_thread() { return Block::current() ? Block::current()->thread() : 0; }
std::int32_t weft_rt_threads() { return Block::current() ? Block::current()->threads() : 1; }
void* weft_rt_block_memory() { return Block::running().memory(); }
std::uint32_t weft_rt_warp() { return Block::running().present(); }
std::uint32_t weft_rt_vote(std::uint32_t mask, std::int32_t flag) { return Block::running().vote(mask, flag != 0); }
std::uint64_t weft_rt_shuffle(std::uint32_t mask, std::uint64_t value, std::uint32_t lane) {
  return Block::running().shuffle(mask, value, lane);
}
