// A tape: launches and functions in the order in which they ran, the versions of arrays that going back over them needs,
// and the logs of what kernels overwrote. Whose language recorded them is no matter here: Python's objects (bind/tape.cpp)
// and the handles of C++ programs (api_tape.cpp) are owners that the tape keeps and never looks into.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/taped_launch.h"

namespace weft::driver {

/// What a language does on the way back where no launch was recorded.
class TapedFunction {
 public:
  virtual ~TapedFunction() = default;
  virtual void backward() = 0;
  /// The arrays whose gradients it touches.
  virtual std::vector<const runtime::Array*> arrays() const = 0;
  /// Those of them whose elements were set by the work that it goes back over.
  virtual std::vector<const runtime::Array*> written() const { return arrays(); }
  /// Whether the work is one of Weft's, so that it is noticed when it is done again.
  virtual bool is_known() const { return false; }
  /// Whether it can be done again from here, and doing so.
  virtual bool can_run_again() const { return false; }
  virtual void run_again() {}
};

class GraphWrites;

class Tape {
 public:
  struct Step {
    std::shared_ptr<TapedLaunch> launch;      // or:
    std::shared_ptr<TapedFunction> function;  // and the values that it needs
    std::vector<std::shared_ptr<runtime::Version>> versions{};
  };

  /// One run of what the tape recorded: what was asked for and written down then. The same launches, run again, are
  /// another take (tape_repeat.h).
  struct Take {
    runtime::VersionKeeper keeper;
    std::vector<Step> steps;
    std::vector<std::shared_ptr<runtime::Version>> asked_for;  // for the function that comes next
    std::uint64_t capture = 0;                                 // the graph that was captured then; 0: none
    std::weak_ptr<GraphWrites> graph;                          // the same
  };

  Tape();
  ~Tape();
  Tape(const Tape&) = delete;

  runtime::VersionKeeper& keeper() { return take_->keeper; }
  const runtime::VersionKeeper& keeper() const { return take_->keeper; }
  const std::vector<Step>& steps() const { return take_->steps; }
  /// The same for whoever lets other threads run meanwhile, which may add theirs.
  std::vector<Step> steps_of_now() const;
  void add(std::unique_ptr<TapedLaunch> launch);
  void add(std::unique_ptr<TapedFunction> function);
  /// The array's values of now, for the function that is added next.
  std::shared_ptr<runtime::Version> need(const runtime::Array& array, std::string_view by);
  /// Forgets everything, and gives it to who wants to look at it.
  std::vector<Step> clear();
  /// Bytes that launches wrote down because their kernels overwrite what the backward pass needs.
  std::uint64_t log_bytes() const;
  /// Every array of launches and functions, once; those that structs in memory hold among them.
  std::vector<const runtime::Array*> arrays() const;

  /// Adds to the gradients of what was read what those of what was written say. `seed` sets the gradients to start from;
  /// `retained` are arrays whose gradients are to be read afterwards though operations wrote to them. Throws
  /// runtime::Error where there is no gradient.
  void backward(const std::function<void()>& seed, const std::vector<const runtime::Array*>& retained = {});
  /// Runs everything that was recorded again, on the values that arrays have now; a backward pass then goes back over that.
  void replay();
  /// Whether a step writes to an array's memory; functions may.
  bool writes(std::size_t step, const runtime::Array& array) const;

  /// While one lives, a launch runs that will be a step of the tape (null: of none).
  class Running {
   public:
    explicit Running(Tape* tape);
    ~Running();
    Running(const Running&) = delete;

   private:
    Tape* tape_;
  };
  /// Waits until none runs, for so long at most; whether that is so. Launches of other threads that began in the tape's
  /// block are steps of it: who goes back must not meet them while they run.
  bool wait_for_launches(std::chrono::milliseconds most) const;
  int running() const;

  void* owner = nullptr;  // the language's object that it belongs to
  /// Launches are searched for threads that meet before they run (race_check.h).
  void watch_threads(bool on) { watch_threads_ = on; }
  bool watches_threads() const { return watch_threads_; }

  /// Everything that the tape holds: this take, one that has begun, those of graphs.
  std::vector<std::shared_ptr<Take>> takes() const;

 private:
  friend void start_recording(Tape& tape);  // outer_, records_
  friend void stop_recording(Tape& tape);
  friend class Repeats;
  void go_back(const std::function<void()>& seed, const std::vector<const runtime::Array*>& retained);

  std::shared_ptr<Take> take_ = std::make_shared<Take>();
  std::shared_ptr<Take> next_;                 // launches that repeat those of the tape, so far
  std::vector<std::shared_ptr<Take>> graphs_;  // made while graphs were captured, complete
  mutable std::mutex mutex_;                   // guards the list against launches of several threads
  mutable std::condition_variable ended_;      // a launch has
  int running_ = 0;                            // launches that will be steps, guarded by the mutex
  bool watch_threads_ = false;
  bool goes_back_ = false;
  std::atomic<bool> records_{false};  // its block is open, in whichever thread
  bool listens_ = false;              // there are steps that are no launches
  int outer_ = 0;                     // why the work of the thread was not to be recorded when recording began
};

// ---- Which tape records ------------------------------------------------------------------------------------------------

/// From now on this tape records what the calling thread does, and, if no other tape does so already, what threads do that
/// have no tape of their own. Whoever calls sees to it that a thread has one at a time, and ends it there.
void start_recording(Tape& tape);
void stop_recording(Tape& tape);
/// While it lives, the thread works for somebody else than the program, an engine that calls from threads of its own: it is
/// followed only by tapes and forward modes that it starts itself.
class WorkApart {
 public:
  WorkApart() { begin(); }
  ~WorkApart() { end(); }
  WorkApart(const WorkApart&) = delete;
  static void begin();
  static void end();
};
/// The tape that this thread has begun; null: none since it works apart, if it does.
Tape* tape_of_thread();
/// The tape that records what this thread does, or null.
Tape* recording_tape();
/// The tape in whose block this thread works, if that is recorded or not; may be null.
const Tape* tape_in_block();
/// Counts why this thread's work is not to be recorded.
void suspend_recording(int by);
bool recording_is_suspended();
class RecordingSuspended {
 public:
  RecordingSuspended() { suspend_recording(1); }
  ~RecordingSuspended() { suspend_recording(-1); }
  RecordingSuspended(const RecordingSuspended&) = delete;
};

/// How many tapes record and forward modes are active, whichever threads they concern: if none, launches need not ask on.
extern std::atomic<int> followers;
/// Whether the work of this thread is followed by a language's forward mode.
bool forward_mode();
/// Begins or ends one for this thread.
void set_forward_mode(bool on);
/// Whether there is one, if it follows or not.
bool has_forward_mode();

// ---- Writes ------------------------------------------------------------------------------------------------------------

/// To be called before the CPU, or a copy, writes to an array, which may be an element of another one.
void announce_array_write(const runtime::Array& array, const char* by, const runtime::Array* part_of = nullptr);
/// The keeper that is told of a write: that of the tape which records it, or, where recording is suspended, of the tape in
/// whose block the thread works (whoever suspended it tells the tape what is done). May be null.
runtime::VersionKeeper* keeper_for_writes(Tape* tape);
/// To be called before an adjoint writes to the gradients of a block's arrays: some tape may have recorded work on them.
void announce_gradients(const KernelSignature& signature, const char* block, const std::string& kernel);

}  // namespace weft::driver
