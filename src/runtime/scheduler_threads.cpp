// The plain form: a pool of threads that help whichever job waits for hands. A job lives on the stack of the thread that
// asked for it; that thread works too, and leaves only when no helper is inside. It waits only for helpers that are
// running a chunk, so nested jobs can't deadlock: a job's helpers can depend only on jobs younger than it.
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "runtime/scheduler_forms.h"

namespace weft::runtime::detail {
namespace {

struct Job {
  ChunkQueue* queue = nullptr;
  int wanted = 0;  // helpers that may still join
  int inside = 0;  // helpers at work
  std::condition_variable done{};
};

class Pool {
 public:
  void run(ChunkQueue& queue, int helpers) noexcept {
    Job job{&queue, helpers};
    announce(job);
    if (helpers == 1)
      work_.notify_one();
    else
      work_.notify_all();
    queue.drain();
    queue.await();
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);
    job.done.wait(lock, [&] { return job.inside == 0; });
  }

 private:
  /// Without memory for the list nobody helps, and the caller does it all.
  void announce(Job& job) noexcept {
    std::lock_guard lock(mutex_);
    try {
      jobs_.push_back(&job);
    } catch (const std::bad_alloc&) {
      return;
    }
    grow(job.wanted);
  }

  /// Starts threads so that `helpers` exist. If the system gives no more, those there are (or none) must do.
  void grow(int helpers) {
    while (threads_ < helpers) {
      // Signals belong to the program's own threads; those that a faulty instruction raises stay deliverable.
      sigset_t blocked, saved;
      sigfillset(&blocked);
      for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
        sigdelset(&blocked, signal);
      pthread_sigmask(SIG_SETMASK, &blocked, &saved);
      bool started = true;
      try {
        std::thread([this] { help(); }).detach();
      } catch (const std::exception&) {
        started = false;
      }
      pthread_sigmask(SIG_SETMASK, &saved, nullptr);
      if (!started) return;
      ++threads_;
    }
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return !jobs_.empty(); });
      Job* job = jobs_.front();
      if (--job->wanted == 0) jobs_.pop_front();
      ++job->inside;
      lock.unlock();
      job->queue->drain();
      lock.lock();
      // No chunk is left: nobody needs to join any more.
      std::erase(jobs_, job);
      if (--job->inside == 0) job->done.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Job*> jobs_;  // those that want helpers, oldest first
  int threads_ = 0;
};

std::mutex pool_mutex;
// Never destroyed: its threads may outlive static destructors. A forked child abandons its parent's.
Pool* pool = nullptr;

Pool* get_pool() {
  std::lock_guard lock(pool_mutex);
  if (!pool) pool = new (std::nothrow) Pool;
  return pool;
}

}  // namespace

void run_on_threads(ChunkQueue& queue, int threads) noexcept {
  if (Pool* p = get_pool())
    p->run(queue, threads - 1);
  else
    queue.drain();
}

void pool_before_fork() { pool_mutex.lock(); }
void pool_after_fork_parent() { pool_mutex.unlock(); }
void pool_after_fork_child() {
  pool = nullptr;
  pool_mutex.unlock();
}

}  // namespace weft::runtime::detail
