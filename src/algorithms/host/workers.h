// How an algorithm uses the threads of the CPU: pieces of work by the runtime's scheduler, as launches use it. The thread
// that called asks the host now and then whether to go on, between pieces and while it waits for others.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

#include "runtime/fp_control.h"
#include "runtime/launch.h"
#include "runtime/scheduler.h"
#include "runtime/stopping.h"

namespace weft::algorithms::host {

/// Lives on the stack of the thread that called an algorithm, as long as that runs.
class Workers {
 public:
  explicit Workers(const runtime::LaunchOptions& options) noexcept
      : threads_(limit(options)), questions_(options, options.context ? *options.context : context_) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Threads that a call of run() may use.
  int threads() const { return threads_; }
  /// Runs piece(0 … count−1), each once, on several threads; `piece` must not throw. Returns when all are done; false if
  /// the host wants to stop: pieces that had not begun are left out.
  template <class Piece>
  bool run(std::int64_t count, const Piece& piece) {
    struct State {
      Workers* workers;
      const Piece* piece;
    } state{this, &piece};
    const bool asks = questions_.wanted();
    runtime::parallel_chunks(
        count,
        [](void* raw, std::int64_t i) noexcept {
          const State& s = *static_cast<State*>(raw);
          if (s.workers->goes_on()) {
            const runtime::FpControlScope defaults;
            (*s.piece)(i);
          }
        },
        &state, threads_,
        asks ? +[](void* raw) noexcept { static_cast<State*>(raw)->workers->questions_.ask(); } : nullptr);
    return !stopped();
  }
  bool stopped() const noexcept { return questions_.stopped(); }
  /// Asks, if this is the thread that called; for long pieces.
  bool goes_on() noexcept {
    questions_.ask();
    return !stopped();
  }

 private:
  static int limit(const runtime::LaunchOptions& options) {
    if (options.serial) return 1;
    const int all = runtime::thread_count();
    return options.max_threads > 0 && options.max_threads < all ? options.max_threads : all;
  }

  const int threads_;
  runtime::LaunchContext context_;
  runtime::Questions questions_;
};

/// Numbers that pieces hand on in order: piece k waits for its turn, does a little, and gives the turn to k + 1. Pieces
/// must be taken in order, by threads that run: use take().
class Turns {
 public:
  /// The next piece to be begun.
  std::int64_t take() noexcept { return taken_.fetch_add(1, std::memory_order_relaxed); }
  /// Waits for a piece's turn; false when the work was stopped meanwhile.
  bool await(std::int64_t piece, Workers& workers) noexcept {
    for (int looks = 0; turn_.load(std::memory_order_acquire) != piece; ++looks) {
      if (looks < 200) continue;
      if (!workers.goes_on()) return false;
      std::this_thread::yield();  // the thread before this one may have lost its processor
    }
    return true;
  }
  void pass(std::int64_t piece) noexcept { turn_.store(piece + 1, std::memory_order_release); }

 private:
  std::atomic<std::int64_t> taken_{0};
  alignas(64) std::atomic<std::int64_t> turn_{0};
};

}  // namespace weft::algorithms::host
