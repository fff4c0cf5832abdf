// The team: oneTBB workers that, having done their part of a call, look out for the next one for a while before they go
// back to oneTBB. Programs launch one kernel after another; waking sixteen threads takes longer than many of them, and
// threads that stay find what they wrote last in their caches. Workers come from oneTBB by tasks that are put into an arena,
// so that those of a program that uses oneTBB itself, or of a loop of its own around a call, are never more than cores.
//
// One call has the team at a time. It opens a job, works on it like everybody, closes it when no chunk is left to take, and
// waits for those who are still at work. Each member has a place; the place with number 0 is the caller's.
#ifdef WEFT_SCHEDULER_TBB
#include <oneapi/tbb/task_arena.h>

#include <chrono>
#include <thread>

#include "runtime/scheduler_forms.h"

namespace weft::runtime::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostMembers = 256;  // larger machines' calls go the other way
// How long members look out: launches that follow each other at once are a step of some simulation, whose gaps are Python's.
constexpr std::chrono::microseconds kShortStay{20}, kLongStay{200};
constexpr std::chrono::microseconds kSpin{20};        // of it without letting other threads run now and then
constexpr std::chrono::microseconds kLongWait{1000};  // for members at work, before sleeping between looks
constexpr unsigned kLooksPerClock = 64;

class Team {
 public:
  static Team& shared() {
    static auto& only = *new Team;  // never destroyed: workers may outlive static destructors
    return only;
  }

  bool run(ChunkQueue& queue, int threads) noexcept {
    if (threads > kMostMembers || queue.count > INT32_MAX || busy_.exchange(true, std::memory_order_acquire))
      return false;
    const Clock::time_point start = Clock::now();
    // Unless it came at once, nobody knows when the next one comes.
    if (!queue.brief) stay_.store(start - last_ < kLongStay ? kLongStay : kShortStay, std::memory_order_relaxed);
    if (++job_ == 0) ++job_;
    queue_ = &queue;
    threads_ = threads;
    open_.store(job_, std::memory_order_seq_cst);
    invite(threads - 1);
    drain(queue, 0, job_);
    open_.store(0, std::memory_order_seq_cst);
    await(queue);
    if (!queue.brief) last_ = Clock::now();
    busy_.store(false, std::memory_order_release);
    return true;
  }

  bool is_awake(int threads) const noexcept {
    return here_.load(std::memory_order_relaxed) >= threads - 1 && !busy_.load(std::memory_order_relaxed);
  }

 private:
  struct Place {
    // The part of the chunks that belongs to this place: the job's number, and behind 32 bits the next chunk. Whoever comes
    // first, its owner or one who has done his own, begins it.
    alignas(64) std::atomic<std::uint64_t> next{0};
    // The job that its owner is in, or 0. While there is one the job's caller waits.
    alignas(64) std::atomic<std::uint32_t> at_work{0};
    std::atomic<bool> taken{false};
  };

  /// Asks oneTBB for workers, so that `wanted` are on their way or here. The first brings others.
  void invite(int wanted) noexcept {
    const int missing = wanted - asked_.load(std::memory_order_relaxed);
    if (missing <= 0) return;
    asked_.fetch_add(missing, std::memory_order_seq_cst);
    call(missing);
  }

  void call(int members) noexcept {
    if (members <= 0) return;
    try {
      arena_.enqueue([this, members] {
        call((members - 1) / 2);
        call(members - 1 - (members - 1) / 2);
        stay();
      });
    } catch (...) {  // no memory: those who are here must do
      asked_.fetch_sub(members, std::memory_order_seq_cst);
    }
  }

  /// What a worker does from when it comes to when it goes.
  void stay() noexcept {
    int place = 1;
    while (place < kMostMembers && places_[place].taken.exchange(true, std::memory_order_acquire)) ++place;
    if (place == kMostMembers) {
      asked_.fetch_sub(1, std::memory_order_seq_cst);
      return;
    }
    for (int most = most_places_.load(std::memory_order_relaxed);
         most <= place && !most_places_.compare_exchange_weak(most, place + 1, std::memory_order_seq_cst);) {
    }
    here_.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t last = 0;
    Clock::time_point since = Clock::now();
    for (unsigned look = 1;; ++look) {
      const std::uint32_t job = open_.load(std::memory_order_acquire);
      if (job != 0 && job != last) {
        last = job;
        if (take_part(place, job)) since = Clock::now();
        continue;
      }
      relax();
      if (look % kLooksPerClock != 0) continue;
      const auto idle = Clock::now() - since;
      if (idle > kSpin) std::this_thread::yield();  // not at every look: it would slow the other half of this core
      if (idle < stay_.load(std::memory_order_relaxed)) continue;
      // Whoever opens a job now finds one member too few and asks for another, or is seen here.
      asked_.fetch_sub(1, std::memory_order_seq_cst);
      const std::uint32_t opened = open_.load(std::memory_order_seq_cst);
      if (opened == 0 || opened == last) break;
      asked_.fetch_add(1, std::memory_order_seq_cst);
    }
    here_.fetch_sub(1, std::memory_order_relaxed);
    places_[place].taken.store(false, std::memory_order_release);
  }

  /// Whether it was work worth staying for.
  bool take_part(int place, std::uint32_t job) noexcept {
    places_[place].at_work.store(job, std::memory_order_seq_cst);
    // Either the caller sees that somebody is at work, or the job is seen to be closed.
    const bool open = open_.load(std::memory_order_seq_cst) == job;
    const bool asked = open && place < threads_;
    if (asked) drain(*queue_, place, job);
    const bool worth = asked && !queue_->brief;
    places_[place].at_work.store(0, std::memory_order_release);
    return worth;
  }

  /// Takes chunks of the own part, then of the others, until none is left.
  void drain(ChunkQueue& queue, int own, std::uint32_t job) noexcept {
    const auto parts = std::uint64_t(queue.parts), count = std::uint64_t(queue.count);
    const PartScope scope;
    for (std::uint64_t k = 0; k < parts; ++k) {
      const std::uint64_t part = (std::uint64_t(own) + k) % parts;
      const std::uint64_t begin = part * count / parts, end = (part + 1) * count / parts;
      PartScope::tell(std::int64_t(part));
      std::atomic<std::uint64_t>& next = places_[part].next;
      for (;;) {
        std::uint64_t word = next.load(std::memory_order_relaxed), chunk = begin;
        if (word >> 32 != job) {
          if (!next.compare_exchange_weak(word, std::uint64_t(job) << 32 | (begin + 1), std::memory_order_relaxed))
            continue;
        } else {
          if ((word & UINT32_MAX) >= end) break;
          chunk = next.fetch_add(1, std::memory_order_relaxed) & UINT32_MAX;
          if (chunk >= end) break;
        }
        queue.body(queue.state, std::int64_t(chunk));
      }
    }
  }

  /// Until nobody is at work on what the caller has closed.
  void await(ChunkQueue& queue) noexcept {
    const int places = most_places_.load(std::memory_order_seq_cst);
    unsigned looks = 0;
    Clock::time_point start, asked;
    for (int place = 1; place < places;) {
      if (places_[place].at_work.load(std::memory_order_seq_cst) != job_) {
        ++place;
        continue;
      }
      relax();
      if (++looks % kLooksPerClock != 0) continue;
      const Clock::time_point now = Clock::now();
      if (looks == kLooksPerClock) start = asked = now;
      const auto waited = now - start;
      if (waited >= kLongWait)
        std::this_thread::sleep_for(std::min<Clock::duration>(waited / 32, std::chrono::milliseconds(2)));
      else if (waited >= kSpin)
        std::this_thread::yield();
      if (!queue.wait || now - asked < kWaitInterval) continue;
      queue.wait(queue.state);
      asked = now;
    }
  }

  tbb::task_arena arena_{tbb_max_threads()};
  // Written by the caller who has the team, read by members.
  alignas(64) std::atomic<std::uint32_t> open_{0};  // the job that can be joined, or 0
  ChunkQueue* queue_ = nullptr;
  int threads_ = 0;  // places that take part
  std::atomic<Clock::duration> stay_{kShortStay};

  alignas(64) std::atomic<int> asked_{0};  // members that are here or were asked to come
  std::atomic<int> here_{0};
  std::atomic<int> most_places_{1};  // places behind this one were never taken

  alignas(64) std::atomic<bool> busy_{false};  // guards the rest
  std::uint32_t job_ = 0;
  Clock::time_point last_{};

  Place places_[kMostMembers];
};

}  // namespace

bool run_on_team(ChunkQueue& queue, int threads) noexcept {
  try {
    return Team::shared().run(queue, threads);
  } catch (...) {  // no memory for it
    return false;
  }
}

bool team_is_awake(int threads) noexcept {
  try {
    return Team::shared().is_awake(threads);
  } catch (...) {
    return false;
  }
}

}  // namespace weft::runtime::detail
#endif
