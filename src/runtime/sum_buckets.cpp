// A worker writes the next records of each bucket to a unit that stays in its cache. Full units are put away, past the caches, in
// blocks of pages that are chained by bucket; pages come from slabs that launches share one after another. When the launch's
// memory is used up, the chunks that have not begun are held back until all that was written is added up. A worker whose chunk alone
// writes more than that adds its records up itself, bucket by bucket, each under that bucket's lock, and begins anew.
//
// A bucket's owner adds in place and needs no lock for each addition: it holds one while it runs a chunk. Who adds up a bucket while chunks
// run waits for its owner's, and lets go of his own meanwhile.
#include "runtime/sum_buckets.h"

#include <sys/mman.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/bucket_abi.h"
#include "runtime/errors.h"
#include "runtime/fp_control.h"
#include "runtime/kernel_abi.h"
#include "runtime/scheduler.h"
#include "runtime/sum_owners.h"
#include "runtime/sum_targets.h"

namespace weft::runtime {
namespace {

constexpr std::uint64_t kLeastArray = 1 << 20;    // bytes: smaller ones lie in a core's own cache
constexpr std::uint64_t kMostWords = UINT32_MAX;  // of an array: a record's place has 32 bits
constexpr std::uint64_t kRange = 128 << 10;       // bytes of an array to a bucket, a part of a core's own cache
constexpr std::uint64_t kMostBuckets = 512;       // of an array: each has a line of memory that is being written to
constexpr std::uint64_t kBucketsPerWorker = 4;    // where the array is large enough
constexpr std::uint64_t kBlock = 4096;            // bytes for units of one bucket
constexpr std::size_t kUnits = kBlock / kBucketUnit;
constexpr std::size_t kAhead = 4;   // units that are asked for before they are added up
constexpr std::size_t kNext = 128;  // bytes of the next bucket's part of the array that are asked for with each unit
constexpr std::uint64_t kSlab = 2 << 20;  // bytes: a large page, where the system has them
constexpr std::size_t kBlocks = kSlab / kBlock;
constexpr std::size_t kMostStreams = 8;  // analysis::find_sum_streams
static_assert(kBlock + kMostStreams * kMostBuckets * (kBucketUnit + 16) < kSlab,
              "a worker's tables lie in its first slab");
static_assert(kBlocks * sizeof(std::uint32_t) <= kBlock, "links lie in the first block");
constexpr std::uint64_t kLeastMemory = 128 << 20, kMostMemory = 512 << 20;  // bytes of records of a launch
constexpr std::uint64_t kMemoryPerArray = 8;                                // times the array's
std::atomic<std::uint64_t> wanted_memory{0}, launches{0}, launches_with_owners{0};

/// Bytes of records that a launch has at most, and that stay for the next one: a small part of the machine's memory.
std::uint64_t most_memory() {
  static const auto machine = std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE));
  return std::clamp(machine / 16, kLeastMemory / 2, kMostMemory);
}

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
    if (kept_.size() < most_memory() / kSlab)
      kept_.push_back(slab);
    else
      ::munmap(slab, kSlab);
  }

 private:
  std::mutex mutex_;
  std::vector<char*> kept_;
};

template <class T>
T read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Adds records of Count scalars up. Number by number: copies of whole records would go by way of the stack.
template <class T, std::size_t... K>
void add_alike(char* base, const char* at, const char* end, std::index_sequence<K...>) {
  for (; at != end; at += 4 + sizeof...(K) * sizeof(T)) {
    char* const to = base + std::uint64_t(read<std::uint32_t>(at)) * 4;
    const T sums[] = {T(read<T>(to + K * sizeof(T)) + read<T>(at + 4 + K * sizeof(T)))...};
    (std::memcpy(to + K * sizeof(T), &sums[K], sizeof(T)), ...);
  }
}

template <class T, std::size_t Count>
void add_records(char* base, const char* at, const char* end, std::size_t) {
  add_alike<T>(base, at, end, std::make_index_sequence<Count>());
}

/// The same for any number of scalars.
template <class T>
void add_long_records(char* base, const char* at, const char* end, std::size_t count) {
  for (; at != end; at += 4 + count * sizeof(T)) {
    char* const to = base + std::uint64_t(read<std::uint32_t>(at)) * 4;
    for (std::size_t k = 0; k < count; ++k) {
      const T sum = T(read<T>(to + k * sizeof(T)) + read<T>(at + 4 + k * sizeof(T)));
      std::memcpy(to + k * sizeof(T), &sum, sizeof sum);
    }
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
    default: return &add_long_records<T>;
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
  std::uint64_t bytes = 0, bucket_bytes = 0;
  std::size_t first = 0;  // its first bucket among all
  OwnersKey key;          // for those who come after
  SumOwners owners;
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
  std::size_t open = 0;        // buckets that a worker writes to, all streams together
  std::size_t slabs = 1;       // that workers may begin beyond their first ones before chunks are held back
  std::size_t slabs_each = 2;  // that one worker may have
  std::vector<std::pair<std::size_t, std::uint64_t>> places;  // by number of all: the array and the bucket in it
  std::unique_ptr<std::mutex[]> locks;                        // by number of all
  std::unique_ptr<std::mutex[]> adding;                       // by worker, while it may add in place

  /// Whom the adding up of a bucket must not meet while chunks run.
  std::mutex& lock_of(std::size_t k) const {
    const auto [array, bucket] = places[k];
    const int owner = arrays[array].owners.owner(bucket);
    return owner < 0 ? locks[k] : adding[std::size_t(owner)];
  }
};

/// Copies a full unit past the caches, where that can be: a core that writes to hundreds of lines would wait for each of them, and
/// other cores read them next.
void put_away(char* to, const char* from) {
#ifdef __SSE2__
  for (std::size_t k = 0; k < kBucketUnit; k += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + k), _mm_load_si128(reinterpret_cast<const __m128i*>(from + k)));
#else
  std::memcpy(to, from, kBucketUnit);
#endif
}

/// What was put away is there for other cores.
void put_away_all() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

/// Touches a range of lines that is read or changed soon.
template <bool Write>
void fetch(const char* at, std::size_t bytes) {
  for (std::size_t k = 0; k < bytes; k += 64) __builtin_prefetch(at + k, Write ? 1 : 0, Write ? 2 : 3);
}

/// What one worker has written down. All of it lies in slabs. The first block of each has links between its blocks; behind it the first
/// slab has a unit for each bucket of each stream, then cursors and chains. They are filled by the worker itself: what another core has
/// written last would have to come from there.
class Worker {
 public:
  Worker(const Plan& plan, std::atomic<std::size_t>& slabs_begun, std::size_t number, const void* params,
         std::size_t param_bytes)
      : plan_(plan), slabs_begun_(slabs_begun), number_(number), streams_(plan.streams.size()) {
    slabs_.reserve(plan.slabs_each);
    if (!try_slab()) throw std::bad_alloc();
    block_.resize(param_bytes / 8 + 2);
    for (const BucketArray& array : plan.arrays)
      owns_ |= array.owners.range(number).first < array.owners.range(number).second;
    block_[0] = reinterpret_cast<std::uintptr_t>(streams_.data());
    std::memcpy(block_.data() + 1, params, param_bytes);
  }
  ~Worker() {
    for (char* slab : slabs_) Slabs::shared().give_back(slab);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const void* params() const { return block_.data() + 1; }

  /// In front of a chunk, and behind it.
  void begin() {
    resume();
    if (begun_) return;
    begun_ = true;
    units_ = slabs_.front() + kBlock;
    cursors_ = reinterpret_cast<char**>(units_ + plan_.open * kBucketUnit);
    chains_ = reinterpret_cast<Chain*>(cursors_ + plan_.open);
    std::size_t first = 0;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const StreamForm& form = plan_.streams[s];
      if (!form.used) continue;
      const BucketArray& array = plan_.arrays[form.array];
      streams_[s] = {array.base, array.shift, cursors_ + first, this};
      first += array.buckets;
      const auto [from, to] = array.owners.range(number_);
      if (from == to) continue;
      const auto word = [&](std::size_t bucket) {
        return std::uint32_t(std::min(array.bytes, bucket * array.bucket_bytes) / 4);
      };
      streams_[s].own_first = word(from), streams_[s].own_words = word(to) - word(from);
    }
    forget();
  }
  void pause() {
    if (owns_) plan_.adding[number_].unlock();
  }
  void resume() {
    if (owns_) plan_.adding[number_].lock();
  }

  /// Puts a full unit away.
  void unit_is_full(BucketStream& stream, std::size_t bucket) {
    const std::size_t k = std::size_t(stream.cursors - cursors_) + bucket;
    Chain& chain = chains_[k];
    if (chain.used == kUnits) {
      if (used_ == slabs_.size() * kBlocks && (slabs_.size() >= plan_.slabs_each || !try_slab())) return drain();
      if (used_ % kBlocks == 0) {
        slabs_begun_.fetch_add(1, std::memory_order_relaxed);
        ++used_;
      }
      before(used_) = chain.block;
      chain = {std::uint32_t(used_), 0};
      ++used_;
    }
    char* unit = unit_of(k);
    put_away(block_at(chain.block) + chain.used * kBucketUnit, unit);
    ++chain.used;
    cursors_[k] = unit;
  }

  /// Adds up what is written down for a bucket, by one worker at a time, and asks meanwhile for memory that is needed next. Gives the
  /// number of records.
  std::uint64_t add_up(std::size_t array, std::uint64_t bucket, const char*& next, const char* next_end) const {
    std::uint64_t records = 0;
    if (!begun_) return records;
    char* const base = plan_.arrays[array].base;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const StreamForm& form = plan_.streams[s];
      if (form.array != array || !form.used) continue;
      const std::size_t k = std::size_t(streams_[s].cursors - cursors_) + bucket;
      const std::size_t in_unit = kBucketUnit / form.record, bytes = in_unit * form.record;
      Chain chain = chains_[k];
      for (std::uint32_t block = chain.block; block != kNone; block = before(block), chain.used = kUnits) {
        records += chain.used * in_unit;
        const char* at = block_at(block);
        const char* then = before(block) == kNone ? nullptr : block_at(before(block));
        for (std::size_t u = 0; u < chain.used; ++u, at += kBucketUnit) {
          if (u + kAhead < kUnits)
            fetch<false>(at + kAhead * kBucketUnit, kBucketUnit);
          else if (then)
            fetch<false>(then + (u + kAhead - kUnits) * kBucketUnit, kBucketUnit);
          if (next < next_end) fetch<true>(next, kNext), next += kNext;
          form.add(base, at, at + bytes, form.count);
        }
      }
      form.add(base, unit_of(k), cursors_[k], form.count);
      records += std::size_t(cursors_[k] - unit_of(k)) / form.record;
    }
    return records;
  }

  /// Nothing is written down any more, when all was added up.
  void end() { begun_ = false; }

  alignas(64) std::atomic<bool> busy{false};

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// Blocks of a bucket: the last one and how many of its units are full. Those before are.
  struct Chain {
    std::uint32_t block = kNone;
    std::uint32_t used = kUnits;
  };

  bool try_slab() {
    char* slab = Slabs::shared().take();
    if (!slab) return false;
    slabs_.push_back(slab);
    return true;
  }

  char* unit_of(std::size_t k) const { return units_ + k * kBucketUnit; }
  char* block_at(std::size_t block) const { return slabs_[block / kBlocks] + block % kBlocks * kBlock; }
  /// The bucket's block before this one.
  std::uint32_t& before(std::size_t block) const {
    return reinterpret_cast<std::uint32_t*>(slabs_[block / kBlocks])[block % kBlocks];
  }

  void forget() {
    for (std::size_t k = 0; k < plan_.open; ++k) cursors_[k] = unit_of(k);
    std::fill_n(chains_, plan_.open, Chain());
    const auto tables = std::size_t(reinterpret_cast<char*>(chains_ + plan_.open) - slabs_.front());
    used_ = (tables + kBlock - 1) / kBlock;
  }

  void drain() {
    const char* nothing = nullptr;
    pause();  // others may add to what is this worker's own, as it adds to what is theirs
    for (std::size_t n = 0; n < plan_.buckets; ++n) {
      const std::size_t k = (n + number_ * 64) % plan_.buckets;  // workers apart
      std::lock_guard lock(plan_.lock_of(k));
      add_up(plan_.places[k].first, plan_.places[k].second, nothing, nullptr);
    }
    resume();
    forget();
  }

  const Plan& plan_;
  std::atomic<std::size_t>& slabs_begun_;
  const std::size_t number_;
  std::vector<BucketStream> streams_;
  std::vector<std::uint64_t> block_;  // the streams' address, and the parameters behind it
  std::vector<char*> slabs_;
  bool begun_ = false;
  bool owns_ = false;         // some bucket
  char* units_ = nullptr;     // of all streams, one after the other
  char** cursors_ = nullptr;  // likewise
  Chain* chains_ = nullptr;   // likewise
  std::size_t used_ = 0;      // blocks
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
  while (count() < kBucketsPerWorker * std::uint64_t(workers) && 2 * count() <= kMostBuckets &&
         std::uint64_t(element_size) << out.shift > kBlock)
    --out.shift;
  out.buckets = count();
  out.bytes = bytes_of(target);
  out.bucket_bytes = std::uint64_t(element_size) << out.shift;
  return out;
}

void make_plan(Plan& plan, ChunkFn entry, std::span<const SumTarget> targets, std::span<const SumSlot> sums,
               std::span<const SumStream> streams, int workers) {
  for (const SumTarget& target : targets) {
    BucketArray& array = plan.arrays.emplace_back(cut_array(target, sums[target.slot].element_size, workers));
    array.first = plan.buckets;
    array.key = {reinterpret_cast<const void*>(entry), target.slot, array.buckets, std::size_t(workers)};
    array.owners = known_owners(array.key);
    plan.buckets += array.buckets;
    for (std::uint64_t b = 0; b < array.buckets; ++b) plan.places.emplace_back(plan.arrays.size() - 1, b);
  }
  for (const SumStream& stream : streams) {
    StreamForm form;
    form.count = stream.count;
    form.record = 4 + std::size_t(stream.count) * scalar_size(stream.scalar);
    form.add = adder_of(stream);
    for (std::size_t t = 0; t < targets.size(); ++t)
      if (targets[t].slot == stream.sum) form.array = t, form.used = true;
    if (form.used) plan.open += plan.arrays[form.array].buckets;
    plan.streams.push_back(form);
  }
  plan.locks = std::make_unique<std::mutex[]>(plan.buckets);
  plan.adding = std::make_unique<std::mutex[]>(std::size_t(workers));
  // Enough for a few records of each element: adding up on the way takes the whole array through the caches once more.
  const std::uint64_t given = wanted_memory.load(std::memory_order_relaxed);
  const std::uint64_t memory =
      given ? given : std::min(std::max(kMemoryPerArray * bytes_of(targets), kLeastMemory), most_memory());
  const auto each = std::uint64_t(workers);
  plan.slabs = std::max<std::uint64_t>(1, memory / kSlab - std::min(memory / kSlab, each));
  // A block that is not full for each bucket.
  if (!given) plan.slabs = std::max<std::uint64_t>(plan.slabs, 2 * each * plan.open * kBlock / kSlab);
  plan.slabs_each = 2 + 2 * plan.slabs / each;
}

class Buckets final : public ChunkGate {
 public:
  Buckets(ChunkFn entry, const void* params, std::size_t param_bytes, std::span<const SumSlot> sums,
          std::span<const SumStream> streams, std::span<const SumTarget> targets, int workers)
      : entry_(entry), max_threads_(workers) {
    make_plan(plan_, entry, targets, sums, streams, workers);
    uses_.resize(plan_.buckets);
    if (std::ranges::any_of(plan_.arrays, [](const BucketArray& array) { return array.owners.any(); }))
      launches_with_owners.fetch_add(1, std::memory_order_relaxed);
    for (int w = 0; w < workers; ++w)
      workers_.push_back(std::make_unique<Worker>(plan_, slabs_begun_, std::size_t(w), params, param_bytes));
  }

  static void chunk(std::int64_t begin, std::int64_t end, const void* self, LaunchContext* context) {
    auto& buckets = *static_cast<Buckets*>(const_cast<void*>(self));
    Worker& worker = buckets.take(std::size_t(current_part()));
    worker.begin();
    buckets.entry_(begin, end, worker.params(), context);
    put_away_all();
    worker.pause();
    worker.busy.store(false, std::memory_order_release);
  }

  bool is_open() const noexcept override { return slabs_begun_.load(std::memory_order_relaxed) < plan_.slabs; }

  void make_room() override {
    add_up_all();
    for (const auto& worker : workers_) worker->end();
    slabs_begun_.store(0, std::memory_order_relaxed);
  }

  void add_up_all() {
    parallel_for(
        std::int64_t(plan_.buckets),
        [&](std::int64_t k) {
          const FpControlScope defaults;
          const auto [array, bucket] = plan_.places[std::size_t(k)];
          // The next bucket is mostly this worker's, too.
          const BucketArray& own = plan_.arrays[array];
          const char* next = own.base + std::min(own.bytes, (bucket + 1) * own.bucket_bytes);
          const char* next_end = own.base + std::min(own.bytes, (bucket + 2) * own.bucket_bytes);
          const int owner = own.owners.owner(bucket);
          BucketUse& use = uses_[std::size_t(k)];
          for (std::size_t w = 0; w < workers_.size(); ++w) {
            const std::uint64_t records = workers_[w]->add_up(array, bucket, next, next_end);
            use.all += records;
            if (int(w) == owner) use.by_owner += records;
            if (records > use.most) use.most = records, use.who = int(w);
          }
        },
        max_threads_, ChunkOrder::apart);
  }

  /// For the launches that follow.
  void learn() {
    for (BucketArray& array : plan_.arrays) {
      array.owners.learn(std::span(uses_).subspan(array.first, array.buckets));
      keep_owners(array.key, std::move(array.owners));
    }
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
  const int max_threads_;
  Plan plan_;
  std::atomic<std::size_t> slabs_begun_{0};  // beyond the first of each worker
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<BucketUse> uses_;  // by bucket
};

bool have_words(std::span<const SumTarget> targets) {
  return std::ranges::all_of(targets, [](const SumTarget& t) { return bytes_of(t) / 4 <= kMostWords; });
}

/// What was written down is added when a check failed, too.
struct AddUp {
  Buckets& buckets;
  ~AddUp() {
    buckets.add_up_all();
    try {
      buckets.learn();
    } catch (...) {  // no memory: what was known before will do
    }
  }
};

}  // namespace

bool buckets_suit(const void* params, std::span<const SumSlot> sums, bool any_size) {
  std::vector<SumTarget> targets;
  return find_sum_targets(params, sums, targets) && have_words(targets) &&
         (any_size || bytes_of(targets) >= kLeastArray);
}

std::uint64_t launches_that_own() { return launches_with_owners.load(std::memory_order_relaxed); }

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
  LaunchOptions gated = options;
  gated.gate = &buckets;
  AddUp add_up_at_end{buckets};
  return launch(wrapped, &buckets, dims, gated);
}

}  // namespace weft::runtime

void weft_rt_bucket(weft::runtime::BucketStream* stream, std::int64_t bucket) {
  static_cast<weft::runtime::Worker*>(stream->worker)->unit_is_full(*stream, std::size_t(bucket));
}
