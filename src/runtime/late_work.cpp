// The queue of late work: one for the process, since copies go between devices.
#include "runtime/late_work.h"

#include <pthread.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <list>
#include <mutex>
#include <unordered_set>

#include "runtime/work_journal.h"

namespace weft::runtime {

namespace detail {
std::atomic<int> late_steps{0};
}  // namespace detail

namespace {

using Steps = std::list<std::shared_ptr<LateStep>>;

constexpr int kMostSteps = 1024;            // each holds memory; then the program waits
constexpr std::size_t kMostExposed = 4096;  // blocks; then all count as exposed

/// Replaced in the child of a fork: the parent's may be locked there for good, and CUDA does not work anyway.
struct Queue {
  std::mutex mutex;  // guards what follows; held for moments
  Steps waiting, over;
  std::exception_ptr error;
  int suspended = 0;
  std::unordered_set<std::uintptr_t> exposed;
  bool all_exposed = false;
  LateWork::Waits waits;
  std::mutex turn;  // held by the thread that does work
};

Queue*& queue_place() {
  static Queue* only = [] {
    pthread_atfork(nullptr, nullptr, [] {
      queue_place() = new Queue;
      detail::late_steps.store(0, std::memory_order_release);
    });
    return new Queue;  // never destroyed: threads may outlive static destructors
  }();
  return only;
}
Queue& queue() { return *queue_place(); }

std::atomic<bool> is_enabled{false};
std::atomic<std::size_t> exposed_blocks{0};
std::atomic<void (*)(const std::function<void()>&)> waiter{nullptr};
thread_local int uses = 0, aparts = 0, running = 0;

void wait_by(const std::function<void()>& wait) {
  if (auto* how = waiter.load(std::memory_order_acquire))
    how(wait);
  else
    wait();
}

/// The right to do work. Who waits for it lets other threads have the language's lock, which that work, or whoever needs it
/// next, may want; and takes that lock back without having the turn.
std::unique_lock<std::mutex> take_turn(Queue& all) {
  std::unique_lock turn(all.turn, std::try_to_lock);
  while (!turn.owns_lock()) {
    wait_by([&] { const std::lock_guard over(all.turn); });
    turn.try_lock();
  }
  return turn;
}

/// Runs what stands in front and is ready. Gives the next step, which is not, to those who wait for it; null: there is none.
/// Others must not hold it: it may be theirs to drop then.
std::shared_ptr<LateStep> run_ready(Queue& all, bool waits) noexcept {
  std::shared_ptr<LateStep> next;
  const std::unique_lock turn = take_turn(all);
  ++running;
  for (;;) {
    {
      const std::lock_guard lock(all.mutex);
      next = all.waiting.empty() ? nullptr : all.waiting.front();
    }
    if (!next) break;
    if (!next->ready()) {
      if (!waits) next.reset();  // it stands in the queue as long as this is our turn
      break;
    }
    std::exception_ptr failed;
    try {
      next->run();
    } catch (...) {
      failed = std::current_exception();
    }
    const std::lock_guard lock(all.mutex);
    if (failed && !all.error) all.error = failed;
    next.reset();
    all.over.splice(all.over.end(), all.waiting, all.waiting.begin());
    detail::late_steps.fetch_sub(1, std::memory_order_release);
  }
  --running;
  return next;
}

void drop_over(Queue& all) noexcept {
  Steps over;  // dies when nothing is locked
  const std::lock_guard lock(all.mutex);
  over.swap(all.over);
}

/// A copy or a fill.
class Transfer final : public LateStep {
 public:
  Transfer(Array to, Array from) : to_(std::move(to)), from_(std::move(from)) {}
  Transfer(Array to, const void* value) : to_(std::move(to)) { std::memcpy(value_, value, to_.element()->size()); }
  static constexpr std::size_t kMostBytes = 64;  // of a value

  bool ready() const noexcept override { return true; }
  void wait() noexcept override {}
  void run() override {
    from_.is_valid() ? to_.assign(from_) : to_.fill(value_);
    to_ = from_ = Array();
  }

 private:
  Array to_, from_;
  alignas(8) char value_[kMostBytes] = {};
};

/// Whether late work may touch them, and there is some that this would overtake.
bool comes_behind(const Array& to, const Array* from) {
  if (running > 0 || uses > 0 || aparts > 0 || journal() || !LateWork::is_private(to)) return false;
  return !from || (from->space() == to.space() && LateWork::is_private(*from));
}

}  // namespace

bool LateWork::enabled() noexcept { return is_enabled.load(std::memory_order_relaxed); }

bool LateWork::allowed() noexcept {
  if (!enabled() || running > 0 || uses > 0 || aparts > 0) return false;
  Queue& all = queue();
  const std::lock_guard lock(all.mutex);
  return all.suspended == 0;
}

bool LateWork::add(std::shared_ptr<LateStep> step) {
  Queue& all = queue();
  drop_over(all);
  {
    const std::lock_guard lock(all.mutex);
    if (all.suspended || running > 0 || detail::late_steps.load(std::memory_order_relaxed) >= kMostSteps) return false;
    all.waiting.push_back(std::move(step));
    detail::late_steps.fetch_add(1, std::memory_order_release);
  }
  run_ready(all, /*waits=*/false);
  return true;
}

void LateWork::settle() noexcept {
  if (running > 0) return;
  Queue& all = queue();
  while (std::shared_ptr<LateStep> next = run_ready(all, /*waits=*/true)) {
    // Nobody's turn meanwhile: a thread that has the language's lock may come for it. Code may be made here.
    const Apart apart;
    const auto start = std::chrono::steady_clock::now();
    wait_by([&] { next->wait(); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(all.mutex);
    all.waits.seconds += took.count();
    ++all.waits.count;
  }
  drop_over(all);
}

void LateWork::advance() noexcept {
  if (waiting() && running == 0) run_ready(queue(), /*waits=*/false);
}

void LateWork::drop_done() noexcept { drop_over(queue()); }

void LateWork::raise() {
  Queue& all = queue();
  std::exception_ptr failed;
  {
    const std::lock_guard lock(all.mutex);
    failed.swap(all.error);
  }
  if (failed) std::rethrow_exception(failed);
}

LateWork::Waits LateWork::waits() {
  const std::lock_guard lock(queue().mutex);
  return queue().waits;
}

void LateWork::suspend() noexcept {
  {
    const std::lock_guard lock(queue().mutex);
    ++queue().suspended;
  }
  if (waiting()) settle();
}

void LateWork::resume() noexcept {
  const std::lock_guard lock(queue().mutex);
  --queue().suspended;
}

void LateWork::enable(bool on) noexcept { is_enabled.store(on, std::memory_order_relaxed); }

void LateWork::set_waiter(void (*how)(const std::function<void()>& wait)) noexcept {
  waiter.store(how, std::memory_order_release);
}

bool LateWork::is_private(const Array& array) {
  if (!array.is_valid() || array.on_host() || !array.holds_own_memory()) return false;
  if (exposed_blocks.load(std::memory_order_acquire) == 0) return true;
  Queue& all = queue();
  const std::lock_guard lock(all.mutex);
  return !all.all_exposed && all.exposed.count(array.block().lo) == 0;
}

void LateWork::expose_block(std::uintptr_t first) {
  Queue& all = queue();
  {
    const std::lock_guard lock(all.mutex);
    if (all.all_exposed || !all.exposed.insert(first).second) return;
    all.all_exposed = all.exposed.size() > kMostExposed;
    exposed_blocks.store(all.exposed.size(), std::memory_order_release);
  }
  if (waiting()) settle();
}

void LateWork::hide_block(std::uintptr_t first) noexcept {
  if (exposed_blocks.load(std::memory_order_acquire) == 0) return;
  Queue& all = queue();
  const std::lock_guard lock(all.mutex);
  if (all.all_exposed || all.exposed.erase(first) == 0) return;
  exposed_blocks.store(all.exposed.size(), std::memory_order_release);
}

LateWork::Apart::Apart() noexcept { ++aparts; }
LateWork::Apart::~Apart() { --aparts; }

void LateWork::enter() noexcept {
  if (uses++ == 0 && aparts == 0 && running == 0 && waiting()) [[unlikely]]
    settle();
}
void LateWork::leave() noexcept { --uses; }

bool copy_late(const Array& to, const Array& from) {
  return LateWork::waiting() && comes_behind(to, &from) && LateWork::add(std::make_shared<Transfer>(to, from));
}

bool fill_late(const Array& to, const void* value) {
  return LateWork::waiting() && to.element()->size() <= Transfer::kMostBytes && comes_behind(to, nullptr) &&
         LateWork::add(std::make_shared<Transfer>(to, value));
}

}  // namespace weft::runtime
