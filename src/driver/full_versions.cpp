// The queues of code to be made and the threads behind them. Threads begin with the first job, end when there has been none for a
// while, wait with new jobs while the process forks, and stay where they are when it ends (codegen/background.h).
#include "driver/full_versions.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "codegen/background.h"
#include "runtime/late_work.h"
#include "runtime/scheduler.h"

namespace weft::driver {
namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

/// What waits, and who works on it.
class CodeQueue {
 public:
  /// Full versions: one core stays free for the program, if there are several. Threads get a third of what those of the program
  /// get where all cores are busy; with less, kernels would stay slow for long there.
  static CodeQueue& background() {
    static CodeQueue* only = made<background>(4, 5);
    return *only;
  }
  /// Code that launches wait for: the program itself has nothing to do but to wait.
  static CodeQueue& urgent() {
    static CodeQueue* only = made<urgent>(16, 0);
    return *only;
  }

  void ask_threads(int threads) { asked_.store(threads, std::memory_order_relaxed); }

  void note(const std::shared_ptr<FullVersion>& one) {
    const std::lock_guard lock(sync_->mutex);
    std::erase_if(known_, [](const auto& each) { return each.expired(); });
    known_.push_back(one);
  }

  std::vector<std::shared_ptr<FullVersion>> known() const {
    const std::lock_guard lock(sync_->mutex);
    std::vector<std::shared_ptr<FullVersion>> out;
    for (const auto& one : known_)
      if (auto alive = one.lock(); alive && !alive->is_settled() && !alive->is_unclaimed())
        out.push_back(std::move(alive));
    return out;
  }

  void add(std::weak_ptr<FullVersion> one) {
    const std::lock_guard lock(sync_->mutex);
    waiting_.push_back(std::move(one));
    begin_threads();
    sync_->changed.notify_one();
  }

 private:
  static constexpr std::chrono::milliseconds kPatience{500};  // of a thread without work

  CodeQueue(int most, int nice) : most_(most), nice_(nice) {}
  template <CodeQueue& (*which)()>
  static CodeQueue* made(int most, int nice) {
    auto* queue = new CodeQueue(most, nice);  // never destroyed: threads may outlive static destructors
    pthread_atfork([] { which().before_fork(); }, [] { which().after_fork(false); }, [] { which().after_fork(true); });
    return queue;
  }

  /// Replaced in the child of a fork: those of the parent may be in use by threads that are not there any more.
  struct Sync {
    std::mutex mutex;
    std::condition_variable changed;
  };

  /// Under the lock.
  void begin_threads() {
    const int asked = asked_.load(std::memory_order_relaxed);
    const int most = asked > 0 ? asked : std::clamp(runtime::available_cpus() - 1, 1, most_);
    while (threads_ < most && threads_ - busy_ < int(waiting_.size()) && !forking_) {
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
      try {
        std::thread([this] { work(); }).detach();
        ++threads_;
      } catch (const std::system_error&) {  // no thread to be had: kernels go on with their first versions
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return;
      }
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
  }

  void work() {
    if (nice_) ::setpriority(PRIO_PROCESS, id_t(::syscall(SYS_gettid)), nice_);
    std::unique_lock lock(sync_->mutex);
    for (;;) {
      const bool more = sync_->changed.wait_for(lock, kPatience, [&] { return !waiting_.empty() && !forking_; });
      if (!more) break;
      std::shared_ptr<FullVersion> next = take();
      if (!next) continue;  // its kernels are gone
      ++busy_;
      lock.unlock();
      {
        std::optional<runtime::TakenCore> core;
        if (nice_) core.emplace();  // nobody waits for it: a core of its own, or it would wait for launches
        const codegen::BackgroundCompile scope;
        const runtime::LateWork::Apart apart;
        next->make();
        next.reset();
      }
      if (this == &urgent()) runtime::LateWork::advance();
      lock.lock();
      --busy_;
      sync_->changed.notify_all();
    }
    --threads_;
  }

  /// The one that is worth most, of equal ones the first that came. Under the lock.
  std::shared_ptr<FullVersion> take() {
    std::shared_ptr<FullVersion> best = waiting_.front().lock();
    std::size_t at = 0;
    for (std::size_t k = 1; k < waiting_.size() && best; ++k)
      if (auto one = waiting_[k].lock(); one && one->gain() > best->gain()) best = std::move(one), at = k;
    waiting_.erase(waiting_.begin() + std::ptrdiff_t(at));
    return best;
  }

  void before_fork() {
    std::unique_lock lock(sync_->mutex);
    forking_ = true;
    sync_->changed.wait(lock, [&] { return busy_ == 0; });
    lock.release();  // held over the fork
  }

  void after_fork(bool child) {
    forking_ = false;
    if (!child) {
      sync_->mutex.unlock();
      sync_->changed.notify_all();
      return;
    }
    threads_ = 0;
    sync_ = new Sync;
    for (const auto& one : waiting_)  // the child's own launches say what it wants
      if (auto alive = one.lock()) alive->unwant();
    waiting_.clear();
  }

  const int most_, nice_;
  std::atomic<int> asked_{0};
  Sync* sync_ = new Sync;
  std::deque<std::weak_ptr<FullVersion>> waiting_;
  std::vector<std::weak_ptr<FullVersion>> known_;
  int threads_ = 0, busy_ = 0;
  bool forking_ = false;
};

std::shared_ptr<FullVersion> FullVersion::create(Maker make, double cost) {
  std::shared_ptr<FullVersion> made(new FullVersion(std::move(make), CodeQueue::background(), cost));
  CodeQueue::background().note(made);
  return made;
}

std::shared_ptr<FullVersion> FullVersion::create_wanted(Maker make) {
  std::shared_ptr<FullVersion> made(new FullVersion(std::move(make), CodeQueue::urgent(), 1));
  made->times_.wanted = clock_seconds();
  made->want();
  return made;
}

void FullVersion::want() {
  set_unclaimed(false);  // who asks has launched it
  State idle = State::idle;
  if (state_.compare_exchange_strong(idle, State::wanted)) queue_.add(weak_from_this());
}

void FullVersion::unwant() {
  State wanted = State::wanted;
  state_.compare_exchange_strong(wanted, State::idle);
}

bool FullVersion::make() {
  State now = state();
  do {
    if (now > State::wanted) return false;
  } while (!state_.compare_exchange_weak(now, State::begun));
  BuildReport report;
  std::string problem;
  const double begun = clock_seconds();
  std::shared_ptr<const KernelBinary> made;
  try {
    made = make_(report, problem);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory, most likely; the first version serves as well
  }
  {
    const std::lock_guard lock(mutex_);
    binary_ = std::move(made);
    report_ = report;
    times_.begun = begun;
    times_.done = clock_seconds();
    problem_ = std::move(problem);
    make_ = nullptr;
    state_.store(binary_ ? State::done : State::failed, std::memory_order_release);
  }
  settled_.notify_all();
  return true;
}

void FullVersion::finish() {
  if (is_settled() || make()) return;
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return is_settled(); });
}

std::shared_ptr<const KernelBinary> FullVersion::binary() const {
  const std::lock_guard lock(mutex_);
  return binary_;
}

BuildReport FullVersion::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

FullVersion::Times FullVersion::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::string FullVersion::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void set_urgent_threads(int threads) { CodeQueue::urgent().ask_threads(threads); }

void finish_full_versions() {
  std::vector<std::shared_ptr<FullVersion>> all = CodeQueue::background().known();
  for (const auto& one : all) one->want();
  for (const auto& one : all) one->finish();
}

namespace {
std::atomic<bool> enabled{true};
std::atomic<double> least_cost{FirstVersions::kUsual};
}  // namespace

void set_first_versions(FirstVersions setting) {
  enabled.store(setting.enabled, std::memory_order_relaxed);
  least_cost.store(setting.least_cost, std::memory_order_relaxed);
}

FirstVersions first_versions() {
  return {enabled.load(std::memory_order_relaxed), least_cost.load(std::memory_order_relaxed)};
}

std::size_t count_first_versions() { return CodeQueue::background().known().size(); }

}  // namespace weft::driver
