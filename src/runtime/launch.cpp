// The launcher: sizes, chunks, the join, and what a failed check becomes.
#include "runtime/launch.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/fp_control.h"
#include "runtime/scheduler.h"
#include "runtime/stopping.h"
#include "support/check.h"
#include "support/hot.h"

namespace weft::runtime {
namespace {

constexpr double kMinChunkNs = 20e3;    // below this, handing a chunk out costs a noticeable part of running it
constexpr double kLeastAwakeNs = 4e3;   // the same, where those who take it need not be woken
constexpr double kMaxChunkNs = 10e6;    // above this, balance and the wait for a stop suffer
constexpr double kWorthNotingNs = 5e3;  // launches that look shorter don't note what they took
constexpr int kChunksPerThread = 8;     // enough for balance when chunks differ in cost
// Chunks are multiples of vectors, since the rest of a chunk that fills no vector costs as much as a vector; and of this many
// threads, so that chunks rarely write to the same line of memory.
constexpr std::int64_t kThreadSteps = 16;
constexpr std::int64_t kLaneSteps = 16;  // vectors between two questions

std::string tuple_text(std::span<const std::int64_t> values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() == 1 ? ",)" : ")");
}

[[noreturn]] void bad_size(const KernelCode& code, std::span<const std::int64_t> dims, const std::string& why) {
  throw LaunchError("kernel '" + std::string(code.name) + "': can't launch over " + tuple_text(dims) + ": " + why);
}

std::string location_text(const CheckSite& site) {
  if (site.line <= 0) return site.file;
  std::string text = (site.file.empty() ? "line " : site.file + ":") + std::to_string(site.line);
  return site.column > 0 ? text + ":" + std::to_string(site.column) : text;
}

/// "'x[{}, {}]'" with its indices; see CheckSiteKind::not_finite.
std::string element_text(const std::string& text, std::int64_t first, std::int64_t second) {
  if (text.empty()) return "a value";
  std::vector<std::size_t> holes;
  for (std::size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}", at + 2)) holes.push_back(at);
  std::string out = "'";
  std::size_t done = 0;
  for (std::size_t k = 0; k < holes.size(); ++k) {
    const bool whole = holes.size() <= 2;
    const std::int64_t word = (whole ? k : k / 2) == 0 ? first : second;
    out += text.substr(done, holes[k] - done);
    out += std::to_string(whole ? word : std::int64_t(std::int32_t(k % 2 == 0 ? word : word >> 32)));
    done = holes[k] + 2;
  }
  return out + text.substr(done) + "'";
}

std::string failure_text(const CheckSite& site, std::int64_t index, std::int64_t extent) {
  switch (site.kind) {
    case CheckSiteKind::assertion: return "assertion failed" + (site.text.empty() ? "" : ": " + site.text);
    case CheckSiteKind::bounds:
      return "index " + std::to_string(index) + " is out of bounds for " +
             (site.text.empty() ? "an array" : "'" + site.text + "'") + " with extent " + std::to_string(extent);
    case CheckSiteKind::divide_by_zero:
      return "integer division by zero" + (site.text.empty() ? "" : " in '" + site.text + "'");
    case CheckSiteKind::not_finite: return element_text(site.text, index, extent) + " is not finite";
    case CheckSiteKind::aligned: {
      std::string text = site.text;
      if (const std::size_t at = text.find("{}"); at != std::string::npos) text.replace(at, 2, std::to_string(index));
      return text;
    }
    case CheckSiteKind::object:
      return std::to_string(std::uint64_t(index)) + " is not the id of a " + site.text + " that lives on this device";
    case CheckSiteKind::together: return site.text + ": thread " + std::to_string(index) + " differs from thread 0";
  }
  return {};
}

double cost_of(const KernelCode& code) { return std::max(double(code.ns_per_thread), 1e-3); }

using Clock = std::chrono::steady_clock;

struct Run {
  const KernelCode& code;
  const void* params;
  LaunchContext* context;
  LaunchPlan plan;
  const LaunchOptions& options;
  Questions& questions;
  mutable std::atomic<std::int64_t> piece{0};  // threads that run between two looks at `stop`, as far as known
  mutable std::atomic<std::int64_t> busy{0};   // ns that all workers took together, if that is asked for
  bool adds_up = false;
  mutable std::mutex mutex{};
  mutable std::vector<std::int64_t> held_back{};  // chunks, by the gate
  std::vector<std::int64_t> left{};               // chunks that were held back before; none: all are run

  /// The i-th chunk, on one of several threads.
  void shared_chunk(std::int64_t i) const noexcept {
    const std::int64_t number = left.empty() ? i : left[std::size_t(i)];
    if (options.gate && !options.gate->is_open() && !questions.stopped() && hold_back(number)) return;
    timed_chunk(number);
  }

  bool hold_back(std::int64_t number) const noexcept try {
    const std::lock_guard lock(mutex);
    held_back.push_back(number);
    return true;
  } catch (...) {  // no memory: it runs after all
    return false;
  }

  void timed_chunk(std::int64_t number) const noexcept {
    if (!adds_up) return chunk(number);
    const Clock::time_point start = Clock::now();
    chunk(number);
    busy.fetch_add((Clock::now() - start) / std::chrono::nanoseconds(1), std::memory_order_relaxed);
  }

  void chunk(std::int64_t number) const noexcept {
    // A short launch is over before anybody could want to stop it, but for foreign code, whose cost nobody knows.
    const bool asks = questions.wanted() && (!plan.is_short || code.opaque);
    if (asks) questions.ask();
    if (questions.stopped()) return;
    const std::int64_t begin = number * plan.chunk_threads;
    const std::int64_t end = std::min(plan.chunk_threads, plan.total - begin) + begin;
    // Pool threads belong to the host program as well, whose libraries may have set rounding or flush-to-zero; results
    // depend on neither.
    const FpControlScope defaults;
    if (options.descending)
      one_by_one(begin, end);
    else if (asks)
      pieces(begin, end);
    else
      code.entry(begin, end, params, context);
  }

  /// While this thread waits for the others, which may be anywhere.
  static void wait(void* state) noexcept { static_cast<const Run*>(state)->questions.ask(); }

  void one_by_one(std::int64_t begin, std::int64_t end) const noexcept {
    const std::int64_t step = std::max(code.block, 1);
    for (std::int64_t thread = (end + step - 1) / step * step - step; thread >= begin; thread -= step) {
      code.entry(thread, std::min(thread + step, end), params, context);
      if (code.opaque) questions.ask();
      if (questions.stopped()) return;
    }
  }

  /// A chunk can take longer than its estimate, so it runs in pieces that grow while they are quick and shrink when they
  /// are slow. Loops ask by themselves; foreign code does not, and begins with as few threads as can be.
  void pieces(std::int64_t begin, std::int64_t end) const noexcept {
    const std::int64_t least =
        code.block ? code.block : std::int64_t(std::max(code.lanes, 1)) * (code.opaque ? 1 : kLaneSteps);
    // Shared by all chunks, so that each starts from what the last one found out. Lost updates do no harm.
    std::int64_t size = options.steady ? 0 : piece.load(std::memory_order_relaxed);
    if (size == 0) {
      const double wanted = code.opaque ? 0 : kMinChunkNs / cost_of(code);
      size = (std::int64_t(wanted) / least + 1) * least;
    }
    while (end - begin > size) {
      const Clock::time_point start = Clock::now();
      code.entry(begin, begin + size, params, context);
      begin += size;
      questions.ask();
      if (questions.stopped()) return;
      const auto took = Clock::now() - start;
      if (options.steady) continue;
      if (took < kAskInterval / 8)
        size *= 2;  // ends: it never exceeds twice the chunk
      else if (took > kAskInterval)
        size = std::max(least, size / 2 / least * least);
    }
    code.entry(begin, end, params, context);
    piece.store(size, std::memory_order_relaxed);
  }
};

/// Notes what a launch took: more at once, less by halves, for the next one may be longer again.
class CostNote {
 public:
  CostNote(const KernelCode& code, Run& run, int workers)
      : seen_(double(run.plan.total) * cost_of(code) < kWorthNotingNs ? nullptr : code.seen_ns),
        run_(run),
        workers_(workers) {
    if (!seen_) return;
    start_ = Clock::now();
    run.adds_up = workers > 1 && seen_cost(code, double(run.plan.total)) < kWorthAdding;
  }
  ~CostNote() {
    if (!seen_) return;
    double ns = std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
    // On several cores much of a short launch is handing out, so that not all of their time counts.
    if (run_.adds_up)
      ns = double(run_.busy.load(std::memory_order_relaxed));
    else
      ns *= std::max(workers_ / 2, 1);
    const float now = std::max(float(ns / double(run_.plan.total)), 1e-3F);
    const float before = seen_->load(std::memory_order_relaxed);
    seen_->store(now > before ? now : (now + before) / 2, std::memory_order_relaxed);
  }
  CostNote(const CostNote&) = delete;
  CostNote& operator=(const CostNote&) = delete;

 private:
  static constexpr double kWorthAdding = 500e3;  // up to where handing out counts
  std::atomic<float>* const seen_;
  Run& run_;
  const int workers_;
  Clock::time_point start_;
};

/// Cuts a launch of some cost a thread for some workers.
void cut(LaunchPlan& plan, const KernelCode& code, double cost, int threads, double least_ns) {
  const double total = double(plan.total), workers = std::max(threads, 1);
  // As even as the limits allow: too small costs handing out, too large costs balance.
  double wanted = std::clamp(total / (workers * kChunksPerThread), least_ns / cost, kMaxChunkNs / cost);
  // A few chunks each: the same number for all.
  if (const double each = total / (wanted * workers); each >= 1 && each < kChunksPerThread)
    wanted = total / (std::floor(each) * workers);
  const std::int64_t step = code.block ? code.block : std::max<std::int64_t>(code.lanes, kThreadSteps);
  const std::int64_t size = wanted >= total ? plan.total : (std::int64_t(std::ceil(wanted / double(step)))) * step;
  plan.chunk_threads = std::min(size, plan.total);
  plan.chunks = plan.total / plan.chunk_threads + (plan.total % plan.chunk_threads != 0);
}

/// How a launch is cut by what launches before took, where that says something else than the estimate: which counts all branches,
/// whether threads go there or not, and every loop once.
void heed_launches_before(const KernelCode& code, int threads, const LaunchOptions& options, LaunchPlan& plan) {
  if (options.steady || options.chunk_threads > 0 || code.opaque || threads == 1) return;
  const double seen = seen_cost(code, double(plan.total));
  if (seen <= 0) return;
  const double least = seen < 3 * kMinChunkNs && threads_are_awake(threads) ? kLeastAwakeNs : kMinChunkNs;
  if (seen < least) {
    plan = {plan.total, plan.total, 1, true};
  } else if (seen >= 3 * least) {
    const bool asks = !plan.is_short;
    cut(plan, code, seen / double(plan.total), threads, least);
    plan.is_brief = seen < 3 * kMinChunkNs;
    plan.is_short = !asks && plan.is_brief;
  } else if (seen < kMinChunkNs) {
    plan = {plan.total, plan.total, 1, true};
  }
}

}  // namespace

WEFT_HOT double seen_cost(const KernelCode& code, double total) {
  return code.seen_ns ? total * double(code.seen_ns->load(std::memory_order_relaxed)) : 0;
}

WEFT_HOT std::int64_t launch_size(const KernelCode& code, std::span<const std::int64_t> dims) {
  if (dims.empty() || dims.size() > std::size_t(kMaxRank)) bad_size(code, dims, "a launch has 1 to 4 dimensions");
  std::int64_t total = 1;
  bool overflow = false, empty = false;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0)
      bad_size(code, dims, "dimension " + std::to_string(d) + " is negative; extents must be non-negative");
    // Ranges of indices in the compiler (analysis/ranges) rely on this.
    if (dims[d] > INT32_MAX && (code.tid_dims_read >> d & 1))
      bad_size(code, dims,
               "the kernel reads tid() in dimension " + std::to_string(d) +
                   ", an int32 that ends at 2147483647; split the launch into a second dimension");
    empty |= dims[d] == 0;
    overflow |= __builtin_mul_overflow(total, dims[d], &total);
  }
  // Before the overflow: (2^40, 2^40, 0) has no threads, whatever the product of the others.
  if (empty) return 0;
  if (overflow) bad_size(code, dims, "it has more than 2^63-1 threads; launch in several parts");
  return total;
}

LaunchPlan plan_launch(const KernelCode& code, std::int64_t total, int threads, const LaunchOptions& options) {
  LaunchPlan plan{total, total, total > 0 ? 1 : 0};
  if (total <= 0) return plan;
  // Serial launches are cut too, so that a stop is seen and prints are written on the way.
  if (options.chunk_threads > 0) {
    const std::int64_t step = std::max(code.block, 1);
    plan.chunk_threads = std::min((options.chunk_threads + step - 1) / step * step, total);
    plan.chunks = total / plan.chunk_threads + (total % plan.chunk_threads != 0);
    return plan;
  }
  const double cost = cost_of(code);
  plan.is_short = double(total) * cost < 2 * kMinChunkNs;
  if (!plan.is_short) cut(plan, code, cost, threads, kMinChunkNs);
  return plan;
}

namespace {

/// Whether a launch is one chunk on the calling thread that nobody stops, asks or measures, and that runs forward.
WEFT_HOT bool is_plain_and_short(const KernelCode& code, std::int64_t total, const LaunchOptions& options) {
  return !options.context && !options.interrupted && !options.descending && options.chunk_threads == 0 &&
         double(total) * cost_of(code) < kWorthNotingNs && seen_cost(code, double(total)) < kLeastAwakeNs;
}

/// Runs all chunks on several threads; those that the gate has held back when it has made room, as many as it then lets in.
void run_shared(Run& run, int threads) {
  const auto body = [](void* state, std::int64_t i) noexcept { static_cast<const Run*>(state)->shared_chunk(i); };
  const WaitBody wait = run.questions.wanted() ? &Run::wait : nullptr;
  parallel_chunks(run.plan.chunks, body, &run, threads, wait, ChunkOrder::apart, run.plan.is_brief);
  while (!run.held_back.empty()) {
    run.options.gate->make_room();
    run.left.swap(run.held_back);
    run.held_back.clear();
    std::ranges::sort(run.left);
    parallel_chunks(std::int64_t(run.left.size()), body, &run, threads, wait, ChunkOrder::apart);
  }
}

/// Runs such a launch: what is below, less what it does not need.
WEFT_HOT void launch_shortly(const KernelCode& code, const void* params, std::span<const std::int64_t> dims,
                             std::int64_t total, int threads, const PrintSink* sink) {
  ErrorRecord error;
  PrintBuffer print(threads == 1 ? 1 : total, sink);
  LaunchContext context;
  std::copy(dims.begin(), dims.end(), context.dims);
  context.rank = std::int32_t(dims.size());
  context.serial = 1;
  context.error = &error;
  context.print = &print;
  {
    const FpControlScope defaults;
    code.entry(0, total, params, &context);
  }
  print.flush_if_any();
  throw_if_failed(error, code.name, context.rank, code.check_sites);
}

}  // namespace

WEFT_HOT bool launch(const KernelCode& code, const void* params, std::span<const std::int64_t> dims,
                     const LaunchOptions& options) {
  const std::int64_t total = launch_size(code, dims);
  if (total == 0) return true;
  WEFT_CHECK(code.entry);

  int threads = options.serial ? 1 : thread_count();
  if (options.max_threads > 0) threads = std::min(threads, options.max_threads);
  if (is_plain_and_short(code, total, options)) [[likely]] {
    launch_shortly(code, params, dims, total, threads, options.print_sink);
    return true;
  }
  LaunchPlan plan = plan_launch(code, total, threads, options);
  heed_launches_before(code, threads, options, plan);

  ErrorRecord error;
  // Chunk by chunk in the order of threads, whoever was done first.
  PrintBuffer print(threads == 1 ? 1 : plan.chunk_threads, options.print_sink);
  LaunchContext own;
  // A context from outside lets somebody else set `stop`.
  LaunchContext* context = options.context ? options.context : &own;
  for (std::size_t d = 0; d < std::size_t(kMaxRank); ++d) context->dims[d] = d < dims.size() ? dims[d] : 1;
  context->rank = std::int32_t(dims.size());
  context->serial = threads == 1 || plan.chunks == 1;
  context->error = &error;
  context->print = &print;

  Questions questions(options, *context);
  Run run{code, params, context, plan, options, questions};
  std::optional<CostNote> note(std::in_place, code, run, int(std::min<std::int64_t>(threads, plan.chunks)));
  // On the calling thread: waking another one costs more than a short launch takes.
  if (plan.chunks == 1 || threads == 1) {
    for (std::int64_t i = 0; i < plan.chunks; ++i) {
      run.chunk(options.descending ? plan.chunks - 1 - i : i);
      print.flush_if_any();
    }
  } else {
    run_shared(run, threads);
    print.flush_if_any();
  }
  note.reset();
  // These live on this stack, and the context may live longer.
  context->error = nullptr;
  context->print = nullptr;
  throw_if_failed(error, code.name, context->rank, code.check_sites);
  return context->stop.load(std::memory_order_relaxed) == 0;
}

void unravel(std::int64_t linear, const std::int64_t dims[kMaxRank], int rank, std::int64_t out[kMaxRank]) {
  for (int d = 0; d < kMaxRank; ++d) out[d] = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const std::int64_t extent = std::max<std::int64_t>(dims[d], 1);
    out[d] = linear % extent;
    linear /= extent;
  }
}

namespace {

[[noreturn]] void throw_failure(const ErrorRecord& record, std::string_view kernel, int rank,
                                std::span<const CheckSite> sites) {
  static const CheckSite unknown;
  const bool known = record.site >= 0 && std::size_t(record.site) < sites.size();
  const CheckSite& site = known ? sites[std::size_t(record.site)] : unknown;
  KernelError::Details details;
  details.kernel = kernel;
  details.site = record.site;
  details.file = site.file;
  details.line = site.line;
  details.column = site.column;
  std::copy_n(record.thread, kMaxRank, details.thread.begin());
  details.rank = rank;
  details.index = record.index;
  details.extent = record.extent;
  std::string text = "kernel '" + details.kernel + "'";
  if (const std::string where = location_text(site); !where.empty()) text += ", " + where;
  if (!site.function.empty() && site.function != kernel) text += ", in function '" + site.function + "'";
  text += ", thread " + tuple_text({details.thread.data(), std::size_t(rank)});
  text += ": " + failure_text(site, record.index, record.extent);
  throw KernelError(text, std::move(details));
}

}  // namespace

WEFT_HOT void throw_if_failed(const ErrorRecord& record, std::string_view kernel, int rank,
                              std::span<const CheckSite> sites) {
  // 1 means that somebody is still writing the record; all workers are done here, so that is over.
  if (record.state.load(std::memory_order_acquire) == 2) [[unlikely]]
    throw_failure(record, kernel, rank, sites);
}

}  // namespace weft::runtime

void weft_rt_fail(weft::runtime::LaunchContext* context, std::int32_t site, std::int64_t linear, std::int64_t index,
                  std::int64_t extent) {
  weft::runtime::ErrorRecord* record = context->error;
  std::int32_t expected = 0;
  // First one wins: the others have nothing to say, and the record must come from one thread.
  if (record && record->state.compare_exchange_strong(expected, 1, std::memory_order_relaxed)) {
    record->site = site;
    weft::runtime::unravel(linear, context->dims, context->rank, record->thread);
    record->index = index;
    record->extent = extent;
    record->state.store(2, std::memory_order_release);
  }
  context->stop.store(1, std::memory_order_relaxed);
}
