// Each worker has a block of parameters; a block is used by one chunk at a time.
#include "runtime/private_sums.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/half.h"
#include "runtime/scheduler.h"
#include "runtime/sum_choice.h"
#include "runtime/sum_copies.h"
#include "runtime/sum_targets.h"

namespace weft::runtime {
namespace {

constexpr double kNsPerCopiedByte = 0.25;  // zeroing, adding to and reading a copy, all together
constexpr double kNsPerCopy = 10e3;        // finding memory for one, and what of it was touched

// These two are worth vectors in every kind of build.
#if defined(__GNUC__) && !defined(__clang__)
#define WEFT_VECTORS __attribute__((optimize("O3")))
#else
#define WEFT_VECTORS
#endif

/// Whether a piece holds anything but zeros. What is all zeros need be neither added nor cleared.
template <class T>
WEFT_VECTORS bool has_any(const T* parts, std::int64_t count) {
  T any = 0;
  for (std::int64_t k = 0; k < count; ++k) any |= parts[k];
  return any != 0;
}

template <class T>
WEFT_VECTORS void add_numbers(T* __restrict sums, T* __restrict parts, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    // Integers through unsigned types, which wrap.
    sums[k] = T(sums[k] + parts[k]);
    // Zeroed while it is in the cache anyway: copies are handed out as zeros.
    parts[k] = T(0);
  }
}

template <class T>
void add_plain(char* to, char* from, std::int64_t begin, std::int64_t end) {
  add_numbers(reinterpret_cast<T*>(to) + begin, reinterpret_cast<T*>(from) + begin, end - begin);
}

template <float (*Widen)(std::uint16_t), std::uint16_t (*Narrow)(double)>
void add_half(char* to, char* from, std::int64_t begin, std::int64_t end) {
  auto* sums = reinterpret_cast<std::uint16_t*>(to);
  auto* parts = reinterpret_cast<std::uint16_t*>(from);
  for (std::int64_t k = begin; k < end; ++k) {
    sums[k] = Narrow(Widen(sums[k]) + Widen(parts[k]));
    parts[k] = 0;
  }
}

/// Adds a piece of a copy to the program's own memory, and zeroes it.
void add_up(const SumTarget& t, char* part, std::int64_t begin, std::int64_t end) {
  switch (t.scalar) {
    case ScalarKind::boolean:
    case ScalarKind::i8:
    case ScalarKind::u8: return add_plain<std::uint8_t>(t.at, part, begin, end);
    case ScalarKind::i16:
    case ScalarKind::u16: return add_plain<std::uint16_t>(t.at, part, begin, end);
    case ScalarKind::i32:
    case ScalarKind::u32: return add_plain<std::uint32_t>(t.at, part, begin, end);
    case ScalarKind::i64:
    case ScalarKind::u64: return add_plain<std::uint64_t>(t.at, part, begin, end);
    case ScalarKind::f16: return add_half<f16_to_float, f16_from_double>(t.at, part, begin, end);
    case ScalarKind::bf16: return add_half<bf16_to_float, bf16_from_double>(t.at, part, begin, end);
    case ScalarKind::f32: return add_plain<float>(t.at, part, begin, end);
    case ScalarKind::f64: return add_plain<double>(t.at, part, begin, end);
  }
}

/// How many parts a deterministic launch has, on any machine.
constexpr std::int64_t kFixedParts = 8;

/// The parameter blocks of a launch, one for each worker: the program's own first, then blocks with copies, made when they are
/// needed.
class Blocks {
 public:
  Blocks(ChunkFn entry, const void* params, std::size_t bytes, std::span<const SumSlot> sums,
         const std::vector<SumTarget>& targets, std::int64_t workers)
      : entry_(entry), params_(params), bytes_(bytes), sums_(sums), targets_(targets), blocks_(std::size_t(workers)) {
    blocks_[0].state = Block::State::made;
  }
  Blocks(const Blocks&) = delete;

  /// Workers begin with parts of the grid that lie apart (ChunkOrder), and chunks of one part go mostly by the block of that
  /// number: neighbouring threads often add to neighbouring places, and each copy then reaches a part of the array, the
  /// same one in every launch. Who does what others left while they are at it takes another block.
  static void chunk(std::int64_t begin, std::int64_t end, const void* self, LaunchContext* context) {
    auto& blocks = *static_cast<Blocks*>(const_cast<void*>(self));
    Block* taken = blocks.take(context, std::size_t(current_part()));
    if (!taken) return;
    blocks.run(*taken, begin, end, context);
    taken->busy.store(false, std::memory_order_release);
  }

  /// A block for each part; false without memory for them.
  bool make_all() {
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      if (!ready(b)) return false;
    return true;
  }

  /// As `chunk`, for launches whose every chunk has its own block.
  static void part(std::int64_t begin, std::int64_t end, const void* self, LaunchContext* context) {
    auto& blocks = *static_cast<Blocks*>(const_cast<void*>(self));
    blocks.run(blocks.blocks_[std::size_t(begin / blocks.part_threads)], begin, end, context);
  }
  std::int64_t part_threads = 1;

  void add_up_all() {
    static std::atomic<std::uint32_t> all_launches{0};
    const std::uint32_t launches = all_launches.fetch_add(1, std::memory_order_relaxed);
    std::vector<Block*> used;
    for (Block& block : blocks_)
      if (!block.copies.empty()) used.push_back(&block);
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      const std::uint64_t size = scalar_size(targets_[t].scalar);
      std::vector<const SumCopy::Ranges*> touched(used.size());
      std::vector<std::atomic<std::uint64_t>> useful(used.size());
      const auto ask = [&](std::int64_t b) {
        Block& block = *used[std::size_t(b)];
        touched[std::size_t(b)] = &block.copies[t].touched(block.grown);
      };
      if (std::ranges::any_of(used, &Block::grown))
        parallel_for(std::int64_t(used.size()), ask);
      else
        for (std::size_t b = 0; b < used.size(); ++b) ask(std::int64_t(b));
      // In pieces over all cores, each piece over all copies in the order of blocks: the sums differ from run to run
      // only by which chunks a block got, as atomic additions would, and not at all where that is fixed.
      const std::uint64_t bytes = bytes_of(targets_[t]);
      const std::uint64_t piece = std::max<std::uint64_t>(kLeastPiece, bytes / 64 / kLeastPiece * kLeastPiece);
      const std::uint64_t pieces = (bytes + piece - 1) / piece;
      std::vector<std::uint8_t> in_vain(used.size() * pieces);  // by block and piece: pages without anything to add
      const auto add_piece = [&](std::int64_t k) {
        const std::uint64_t lo = std::uint64_t(k) * piece, hi = std::min(bytes, lo + piece);
        for (std::size_t b = 0; b < used.size(); ++b) {
          std::uint64_t found = 0;
          bool any = false;
          auto range = std::ranges::upper_bound(*touched[b], lo, {}, &SumCopy::Ranges::value_type::second);
          for (; range != touched[b]->end() && range->first < hi; ++range) {
            any = true;
            found += add_range(targets_[t], used[b]->copies[t].data(), std::max(lo, range->first) / size,
                               std::min(hi, range->second) / size);
          }
          in_vain[b * pieces + std::uint64_t(k)] = any && found == 0;
          if (found) useful[b].fetch_add(found * size, std::memory_order_relaxed);
        }
      };
      // Where data are in order, each worker's part of the array is what its own copy has in its cache.
      parallel_for(std::int64_t(pieces), add_piece, 0, ChunkOrder::apart);
      for (std::size_t b = 0; b < used.size(); ++b) {
        std::uint64_t all = 0;
        for (const auto& [lo, hi] : *touched[b]) all += hi - lo;
        // Pages are dear, and the next launch may need them after all: now and then is enough. Those that were of use stay, and
        // all of them where only zeros were added, which says nothing.
        const std::uint64_t of_use = useful[b].load();
        if (of_use == 0 || of_use >= all / 4 || launches % 16 != 0) continue;
        for (std::uint64_t k = 0, next = 0; k < pieces; k = next + 1) {
          for (next = k; next < pieces && in_vain[b * pieces + next];) ++next;
          if (next > k) used[b]->copies[t].forget_pages(k * piece, std::min(bytes, next * piece));
        }
      }
    }
  }

 private:
  struct Block {
    enum class State : std::uint8_t { unmade, made, impossible };
    alignas(64) std::atomic<bool> busy{false};  // guards the rest while chunks run
    State state = State::unmade;
    bool grown = false;                 // pages of the copies may have been touched for the first time
    std::vector<std::uint64_t> params;  // none: the program's own
    std::vector<SumCopy> copies;        // by target
  };
  static constexpr std::uint64_t kLeastPiece = 64 << 10;  // bytes; a multiple of pages and of every scalar

  /// Adds up a range of scalars, by bits that are not all zero; gives how many scalars were looked at in vain not.
  static std::uint64_t add_range(const SumTarget& target, char* copy, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t kLook = 4096;  // bytes
    const std::uint64_t size = scalar_size(target.scalar), step = kLook / size;
    std::uint64_t found = 0;
    for (std::uint64_t at = begin; at < end; at += step) {
      const std::uint64_t stop = std::min(end, at + step);
      const char* bytes = copy + at * size;
      const std::uint64_t count = (stop - at) * size;
      // A negative zero is no zero here; it is added, and nothing changes.
      const bool any = count % 8 == 0 && reinterpret_cast<std::uintptr_t>(bytes) % 8 == 0
                           ? has_any(reinterpret_cast<const std::uint64_t*>(bytes), std::int64_t(count / 8))
                           : has_any(reinterpret_cast<const std::uint8_t*>(bytes), std::int64_t(count));
      if (!any) continue;
      add_up(target, copy, std::int64_t(at), std::int64_t(stop));
      found += stop - at;
    }
    return found;
  }

  void run(Block& block, std::int64_t begin, std::int64_t end, LaunchContext* context) const {
    if (block.copies.empty()) return entry_(begin, end, params_, context);
    const PageFaults faults;
    entry_(begin, end, block.params.data(), context);
    block.grown |= faults.any();
  }

  /// A block that nobody uses, the wanted one if it is among them. There is one for each worker; where there is no memory for
  /// all, a worker waits. Null: the launch was stopped meanwhile.
  Block* take(LaunchContext* context, std::size_t wanted) {
    for (;;) {
      for (std::size_t k = 0; k < blocks_.size(); ++k) {
        const std::size_t number = (wanted + k) % blocks_.size();
        Block& block = blocks_[number];
        if (block.busy.exchange(true, std::memory_order_acquire)) continue;
        if (ready(number)) return &block;
        block.busy.store(false, std::memory_order_release);
      }
      // A launch that is told to stop would otherwise wait here for chunks that may take long.
      if (weft_rt_turns(context) == 0) return nullptr;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  /// Makes a block if it has to be made. Only by who uses it.
  bool ready(std::size_t number) {
    Block& block = blocks_[number];
    if (block.state == Block::State::unmade) block.state = make(number) ? Block::State::made : Block::State::impossible;
    return block.state == Block::State::made;
  }

  bool make(std::size_t number) {
    Block& block = blocks_[number];
    std::vector<SumCopy> copies;
    for (const SumTarget& t : targets_) {
      copies.emplace_back(bytes_of(t), int(number));
      if (!copies.back().data()) return false;
    }
    block.params.resize(bytes_ / 8 + 1);
    std::memcpy(block.params.data(), params_, bytes_);
    for (std::size_t k = 0; k < targets_.size(); ++k) {
      const SumSlot& slot = sums_[targets_[k].slot];
      auto& desc = *reinterpret_cast<ArrayDesc*>(reinterpret_cast<char*>(block.params.data()) + slot.offset);
      (slot.gradient ? desc.grad : desc.data) = copies[k].data();
    }
    block.copies = std::move(copies);
    return true;
  }

  const ChunkFn entry_;
  const void* params_;
  const std::size_t bytes_;
  std::span<const SumSlot> sums_;
  const std::vector<SumTarget>& targets_;
  std::vector<Block> blocks_;
};

/// Whether a launch that takes one worker so many nanoseconds is sooner done by several: one has no copies, n share the work and
/// pay for n − 1 copies.
bool worth_copies(double alone, const std::vector<SumTarget>& targets, std::int64_t workers) {
  const double copy = double(bytes_of(targets)) * kNsPerCopiedByte + kNsPerCopy;
  return alone / double(workers) + copy * double(workers - 1) < alone;
}

/// What was added stays added when a check failed.
struct AddUp {
  Blocks& blocks;
  ~AddUp() { blocks.add_up_all(); }
};

}  // namespace

std::uint64_t bytes_of_sums(const void* params, std::span<const SumSlot> sums) {
  std::vector<SumTarget> targets;
  return find_sum_targets(params, sums, targets) ? bytes_of(targets) : UINT64_MAX;
}

bool copies_pay(const KernelCode& code, const void* params, std::span<const SumSlot> sums,
                std::span<const std::int64_t> dims, const LaunchOptions& options) {
  const int threads = options.max_threads > 0 ? std::min(options.max_threads, thread_count()) : thread_count();
  if (options.serial || threads < 2) return false;
  const std::int64_t total = launch_size(code, dims);
  const LaunchPlan plan = plan_launch(code, total, threads, options);
  if (plan.chunks < 2) return false;
  std::vector<SumTarget> targets;
  if (!find_sum_targets(params, sums, targets)) return false;
  // What launches took before says more than the estimate, which counts all branches.
  const double seen = seen_cost(code, double(total));
  return worth_copies(seen > 0 ? seen : double(total) * code.ns_per_thread, targets,
                      std::min<std::int64_t>(threads, plan.chunks));
}

bool launch_with_sums(const KernelCode& code, const void* params, std::size_t param_bytes,
                      std::span<const SumSlot> sums, std::span<const std::int64_t> dims, const LaunchOptions& options) {
  std::vector<SumTarget> targets;
  if (!find_sum_targets(params, sums, targets)) {
    LaunchOptions one = options;
    // Overlapping or strided targets: plain additions are right with one worker only.
    one.max_threads = 1;
    return launch(code, params, dims, one);
  }
  const int workers = options.serial            ? 1
                      : options.max_threads > 0 ? std::min(options.max_threads, thread_count())
                                                : thread_count();
  Blocks blocks(code.entry, params, param_bytes, sums, targets, workers);
  KernelCode wrapped = code;
  wrapped.entry = &Blocks::chunk;
  AddUp add_up_at_end{blocks};
  return launch(wrapped, &blocks, dims, options);
}

bool launch_in_parts(const KernelCode& code, const void* params, std::size_t param_bytes, std::span<const SumSlot> sums,
                     std::span<const std::int64_t> dims, const LaunchOptions& options) {
  // All of this depends on the launch alone, never on the machine's cores or on how busy they are.
  const std::int64_t total = launch_size(code, dims);
  const std::int64_t lanes = std::max(code.lanes, 1);
  const std::int64_t size = ((total + kFixedParts - 1) / kFixedParts + lanes - 1) / lanes * lanes;
  const std::int64_t parts = total == 0 ? 0 : (total + size - 1) / size;
  if (parts < 2) return false;
  std::vector<SumTarget> targets;
  if (!find_sum_targets(params, sums, targets)) return false;
  // Short launches are done sooner on one core; their sums then have the order of threads, as without `deterministic`.
  if (!worth_copies(double(total) * code.ns_per_thread, targets, parts)) return false;
  Blocks blocks(code.entry, params, param_bytes, sums, targets, parts);
  if (!blocks.make_all()) return false;
  blocks.part_threads = size;
  KernelCode wrapped = code;
  wrapped.entry = &Blocks::part;
  LaunchOptions fixed = options;
  fixed.chunk_threads = size;
  fixed.steady = true;
  AddUp add_up_at_end{blocks};
  launch(wrapped, &blocks, dims, fixed);
  return true;
}

}  // namespace weft::runtime
