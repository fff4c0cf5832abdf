// Records lie in blocks of a page. A worker has a chain of blocks for each bucket of each stream, and takes pages from slabs
// that launches share one after another. One whose share of memory is used up adds its records up itself, bucket by bucket, each
// under that bucket's lock, and begins anew.
#include "runtime/sum_buckets.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "runtime/bucket_abi.h"
#include "runtime/errors.h"
#include "runtime/fp_control.h"
#include "runtime/kernel_abi.h"
#include "runtime/scheduler.h"
#include "runtime/sum_targets.h"

namespace weft::runtime {
namespace {

constexpr std::uint64_t kLeastArray = 1 << 20;    // bytes: smaller ones lie in a core's own cache
constexpr std::uint64_t kMostWords = UINT32_MAX;  // of an array: a record's place has 32 bits
constexpr std::uint64_t kRange = 128 << 10;       // bytes of an array to a bucket, a part of a core's own cache
constexpr std::uint64_t kMostBuckets = 512;       // of an array: each has a line of memory that is being written to
constexpr std::uint64_t kBucketsPerWorker = 4;    // where the array is large enough
constexpr std::uint64_t kSlab = 2 << 20;          // bytes: a large page, where the system has them
constexpr std::uint64_t kLeastMemory = 64 << 20, kMostMemory = 512 << 20;  // bytes of records of a launch
constexpr std::size_t kMostKept = 128;                                     // slabs between launches
std::atomic<std::uint64_t> wanted_memory{0}, launches{0};

/// Slabs that launches before have used: fresh pages cost as much as the records.
class Slabs {
 public:
  static Slabs& shared() {
    static Slabs* slabs = new Slabs;  // outlives launches of threads that end late
    return *slabs;
  }
  /// Null without memory.
  char* take() {
    {
      std::lock_guard lock(mutex_);
      if (!kept_.empty()) {
        char* slab = kept_.back();
        kept_.pop_back();
        return slab;
      }
    }
    // Workers write to a hundred pages at a time, which are many for the processor's table of pages. A large page begins at a
    // multiple of its size.
    void* mapped =
        ::mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    char* all = static_cast<char*>(mapped);
    const std::uint64_t gap = (kSlab - reinterpret_cast<std::uintptr_t>(all) % kSlab) % kSlab;
    if (gap) ::munmap(all, gap);
    ::munmap(all + gap + kSlab, kSlab - gap);
    ::madvise(all + gap, kSlab, MADV_HUGEPAGE);
    return all + gap;
  }
  void give_back(char* slab) {
    std::lock_guard lock(mutex_);
    if (kept_.size() < kMostKept)
      kept_.push_back(slab);
    else
      ::munmap(slab, kSlab);
  }

 private:
  std::mutex mutex_;
  std::vector<char*> kept_;
};

/// Adds records up: `count` scalars each, or Count where that is known.
template <class T, std::size_t Count>
void add_records(char* base, const char* at, const char* end, std::size_t count) {
  constexpr std::size_t kMost = Count ? Count : 16;
  const std::size_t n = Count ? Count : count;
  const std::size_t size = 4 + n * sizeof(T);
  for (; at != end; at += size) {
    std::uint32_t place = 0;
    T own[kMost], sums[kMost];
    std::memcpy(&place, at, 4);
    char* const to = base + std::uint64_t(place) * 4;
    std::memcpy(own, at + 4, n * sizeof(T));
    std::memcpy(sums, to, n * sizeof(T));
    for (std::size_t k = 0; k < n; ++k) sums[k] = T(sums[k] + own[k]);
    std::memcpy(to, sums, n * sizeof(T));
  }
}

using AddRecords = void (*)(char*, const char*, const char*, std::size_t);

template <class T>
AddRecords by_count(std::size_t count) {
  switch (count) {
    case 1: return &add_records<T, 1>;
    case 2: return &add_records<T, 2>;
    case 3: return &add_records<T, 3>;
    case 4: return &add_records<T, 4>;
    default: return &add_records<T, 0>;
  }
}

AddRecords adder_of(const SumStream& stream) {
  switch (stream.scalar) {
    case ScalarKind::f32: return by_count<float>(stream.count);
    case ScalarKind::f64: return by_count<double>(stream.count);
    case ScalarKind::i64:
    case ScalarKind::u64: return by_count<std::uint64_t>(stream.count);
    default: return by_count<std::uint32_t>(stream.count);  // integers wrap
  }
}

/// An array and how its elements fall into buckets.
struct BucketArray {
  char* base = nullptr;
  std::uint64_t shift = 0, buckets = 0;
  std::size_t first = 0;  // of all buckets, the number of its first
};

/// How the additions of a stream are kept.
struct StreamForm {
  std::size_t array = 0;
  std::size_t record = 0;  // bytes
  std::size_t count = 1;
  AddRecords add = nullptr;
  bool used = false;  // its array is there
};

struct Plan {
  std::vector<BucketArray> arrays;
  std::vector<StreamForm> streams;
  std::size_t buckets = 0;
  std::size_t slabs = 1;                                      // that a worker may have
  std::vector<std::pair<std::size_t, std::uint64_t>> places;  // by number of all: the array and the bucket in it
  std::unique_ptr<std::mutex[]> locks;                        // by number of all
};

char* block_of(char* cursor) { return cursor - 1 - (reinterpret_cast<std::uintptr_t>(cursor) - 1) % kBucketBlock; }
char* no_room() { return reinterpret_cast<char*>(std::uintptr_t(kNoBucketRoom)); }

/// What one worker has written down.
class Worker {
 public:
  Worker(const Plan& plan, const void* params, std::size_t param_bytes) : plan_(plan), streams_(plan.streams.size()) {
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const BucketArray& array = plan.arrays[plan.streams[s].array];
      if (!plan.streams[s].used) continue;
      cursors_.emplace_back(array.buckets, no_room());
      streams_[s] = {array.base, array.shift, cursors_.back().data(), this};
    }
    block_.resize(param_bytes / 8 + 2);
    block_[0] = reinterpret_cast<std::uintptr_t>(streams_.data());
    std::memcpy(block_.data() + 1, params, param_bytes);
    add_slab();
  }
  ~Worker() {
    for (char* slab : slabs_) Slabs::shared().give_back(slab);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const void* params() const { return block_.data() + 1; }

  char* room(BucketStream& stream, std::size_t bucket) {
    if (used_ == slabs_.size() * (kSlab / kBucketBlock) && (slabs_.size() >= plan_.slabs || !try_slab())) drain();
    char* block = slabs_[used_ / (kSlab / kBucketBlock)] + used_ % (kSlab / kBucketBlock) * kBucketBlock;
    ++used_;
    char* last = stream.cursors[bucket];
    char* before = last == no_room() ? nullptr : block_of(last);
    std::memcpy(block, &before, sizeof before);
    return block + kBucketHeader;
  }

  /// Adds up what is written down for a bucket. By one worker at a time.
  void add_up(std::size_t array, std::uint64_t bucket) const {
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const StreamForm& form = plan_.streams[s];
      if (form.array != array || !form.used) continue;
      char* end = streams_[s].cursors[bucket];
      if (end == no_room()) continue;
      for (char* block = block_of(end); block;) {
        form.add(plan_.arrays[array].base, block + kBucketHeader, end, form.count);
        std::memcpy(&block, block, sizeof block);
        // The blocks before are full.
        if (block) end = block + kBucketHeader + (kBucketBlock - kBucketHeader) / form.record * form.record;
      }
    }
  }

  std::atomic<bool> busy{false};

 private:
  bool try_slab() {
    char* slab = Slabs::shared().take();
    if (slab) slabs_.push_back(slab);
    return slab != nullptr;
  }
  void add_slab() {
    if (!try_slab()) throw std::bad_alloc();
  }

  void drain() {
    for (std::size_t k = 0; k < plan_.buckets; ++k) {
      std::lock_guard lock(plan_.locks[k]);
      add_up(plan_.places[k].first, plan_.places[k].second);
    }
    for (std::vector<char*>& cursors : cursors_) std::fill(cursors.begin(), cursors.end(), no_room());
    used_ = 0;
  }

  const Plan& plan_;
  std::vector<BucketStream> streams_;
  std::vector<std::vector<char*>> cursors_;
  std::vector<std::uint64_t> block_;  // the streams' address, and the parameters behind it
  std::vector<char*> slabs_;
  std::size_t used_ = 0;  // blocks
};

/// Buckets of an array: as much of it as a core's cache holds well, more of a large one, less of a small one where that keeps
/// workers busy.
BucketArray cut_array(const SumTarget& target, std::uint32_t element_size, int workers) {
  BucketArray out;
  out.base = target.at;
  const std::uint64_t elements = bytes_of(target) / element_size;
  const auto count = [&] { return (elements + (std::uint64_t(1) << out.shift) - 1) >> out.shift; };
  while (std::uint64_t(element_size) << (out.shift + 1) <= kRange) ++out.shift;
  while (count() > kMostBuckets) ++out.shift;
  while (count() < kBucketsPerWorker * std::uint64_t(workers) &&
         std::uint64_t(element_size) << out.shift > kBucketBlock)
    --out.shift;
  out.buckets = count();
  return out;
}

void make_plan(Plan& plan, std::span<const SumTarget> targets, std::span<const SumSlot> sums,
               std::span<const SumStream> streams, int workers) {
  for (const SumTarget& target : targets) {
    plan.arrays.push_back(cut_array(target, sums[target.slot].element_size, workers));
    plan.arrays.back().first = plan.buckets;
    plan.buckets += plan.arrays.back().buckets;
    for (std::uint64_t b = 0; b < plan.arrays.back().buckets; ++b) plan.places.emplace_back(plan.arrays.size() - 1, b);
  }
  std::uint64_t open = 0;  // blocks that a worker writes to at a time
  for (const SumStream& stream : streams) {
    StreamForm form;
    form.count = stream.count;
    form.record = 4 + std::size_t(stream.count) * scalar_size(stream.scalar);
    form.add = adder_of(stream);
    for (std::size_t t = 0; t < targets.size(); ++t)
      if (targets[t].slot == stream.sum) form.array = t, form.used = true;
    if (form.used) open += plan.arrays[form.array].buckets;
    plan.streams.push_back(form);
  }
  plan.locks = std::make_unique<std::mutex[]>(plan.buckets);
  // Enough that adding up on the way finds several records for each line of the array.
  const std::uint64_t given = wanted_memory.load(std::memory_order_relaxed);
  const std::uint64_t memory = given ? given : std::clamp(4 * bytes_of(targets), kLeastMemory, kMostMemory);
  plan.slabs = std::max<std::uint64_t>(1, memory / kSlab / std::uint64_t(workers));
  if (!given) plan.slabs = std::max<std::uint64_t>(plan.slabs, 2 * open * kBucketBlock / kSlab);
}

class Buckets {
 public:
  Buckets(ChunkFn entry, const void* params, std::size_t param_bytes, std::span<const SumSlot> sums,
          std::span<const SumStream> streams, std::span<const SumTarget> targets, int workers)
      : entry_(entry) {
    make_plan(plan_, targets, sums, streams, workers);
    for (int w = 0; w < workers; ++w) workers_.push_back(std::make_unique<Worker>(plan_, params, param_bytes));
  }

  static void chunk(std::int64_t begin, std::int64_t end, const void* self, LaunchContext* context) {
    auto& buckets = *static_cast<Buckets*>(const_cast<void*>(self));
    Worker& worker = buckets.take(std::size_t(current_part()));
    buckets.entry_(begin, end, worker.params(), context);
    worker.busy.store(false, std::memory_order_release);
  }

  void add_up_all(int max_threads) {
    parallel_for(
        std::int64_t(plan_.buckets),
        [&](std::int64_t k) {
          const FpControlScope defaults;
          const auto [array, bucket] = plan_.places[std::size_t(k)];
          for (const auto& worker : workers_) worker->add_up(array, bucket);
        },
        max_threads, ChunkOrder::apart);
  }

 private:
  /// There is one for each thread that runs chunks.
  Worker& take(std::size_t wanted) {
    for (;;) {
      for (std::size_t k = 0; k < workers_.size(); ++k) {
        Worker& worker = *workers_[(wanted + k) % workers_.size()];
        if (!worker.busy.exchange(true, std::memory_order_acquire)) return worker;
      }
      std::this_thread::yield();
    }
  }

  const ChunkFn entry_;
  Plan plan_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

bool have_words(std::span<const SumTarget> targets) {
  return std::ranges::all_of(targets, [](const SumTarget& t) { return bytes_of(t) / 4 <= kMostWords; });
}

/// What was written down is added when a check failed, too.
struct AddUp {
  Buckets& buckets;
  int max_threads;
  ~AddUp() { buckets.add_up_all(max_threads); }
};

}  // namespace

bool buckets_suit(const void* params, std::span<const SumSlot> sums, bool any_size) {
  std::vector<SumTarget> targets;
  return find_sum_targets(params, sums, targets) && have_words(targets) &&
         (any_size || bytes_of(targets) >= kLeastArray);
}

std::uint64_t bucket_launches() { return launches.load(std::memory_order_relaxed); }

void set_bucket_memory(std::uint64_t bytes) { wanted_memory.store(bytes, std::memory_order_relaxed); }

bool launch_with_buckets(const KernelCode& code, const void* params, std::size_t param_bytes,
                         std::span<const SumSlot> sums, std::span<const SumStream> streams,
                         std::span<const std::int64_t> dims, const LaunchOptions& options) {
  std::vector<SumTarget> targets;
  if (!find_sum_targets(params, sums, targets) || !have_words(targets))
    throw Error("kernel '" + std::string(code.name) + "' was made for arrays without gaps that lie apart");
  const int workers = options.serial            ? 1
                      : options.max_threads > 0 ? std::min(options.max_threads, thread_count())
                                                : thread_count();
  launches.fetch_add(1, std::memory_order_relaxed);
  Buckets buckets(code.entry, params, param_bytes, sums, streams, targets, workers);
  KernelCode wrapped = code;
  wrapped.entry = &Buckets::chunk;
  AddUp add_up_at_end{buckets, workers};
  return launch(wrapped, &buckets, dims, options);
}

}  // namespace weft::runtime

char* weft_rt_bucket(weft::runtime::BucketStream* stream, std::int64_t bucket) {
  return static_cast<weft::runtime::Worker*>(stream->worker)->room(*stream, std::size_t(bucket));
}
