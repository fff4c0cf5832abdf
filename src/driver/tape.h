// A tape: launches and functions in the order in which they ran, the versions of arrays that going back over them needs,
// and the logs of what kernels overwrote. Whose language recorded them is no matter here: Python's objects (bind/tape.cpp)
// and the handles of C++ programs (api_tape.cpp) are owners that the tape keeps and never looks into.
#pragma once
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
};

class Tape {
 public:
  struct Step {
    std::unique_ptr<TapedLaunch> launch;  // or:
    std::unique_ptr<TapedFunction> function;
  };

  runtime::VersionKeeper& keeper() { return keeper_; }
  const runtime::VersionKeeper& keeper() const { return keeper_; }
  const std::vector<Step>& steps() const { return steps_; }
  void add(std::unique_ptr<TapedLaunch> launch);
  void add(std::unique_ptr<TapedFunction> function);
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
  /// Whether a step writes to an array's memory; functions may.
  bool writes(std::size_t step, const runtime::Array& array) const;

  /// Launches are searched for threads that meet before they run (race_check.h).
  void watch_threads(bool on) { watch_threads_ = on; }
  bool watches_threads() const { return watch_threads_; }

 private:
  friend void start_recording(Tape& tape);  // outer_
  friend void stop_recording(Tape& tape);

  runtime::VersionKeeper keeper_;
  std::mutex mutex_;  // guards the list against launches of several threads
  std::vector<Step> steps_;
  bool watch_threads_ = false;
  int outer_ = 0;  // why the work of the thread was not to be recorded when recording began
};

// ---- Which tape records ------------------------------------------------------------------------------------------------

/// From now on this tape records what all threads do; whoever calls sees to it that it is one at a time.
void start_recording(Tape& tape);
void stop_recording(Tape& tape);
/// The tape that records what this thread does, or null.
Tape* recording_tape();
/// Counts why this thread's work is not to be recorded.
void suspend_recording(int by);
class RecordingSuspended {
 public:
  RecordingSuspended() { suspend_recording(1); }
  ~RecordingSuspended() { suspend_recording(-1); }
  RecordingSuspended(const RecordingSuspended&) = delete;
};

/// Whether a tape records or forward mode is active, whichever thread it concerns: if not, launches need not ask on.
extern std::atomic<bool> work_is_followed;
/// Whether the work of this thread is followed by a language's forward mode.
bool forward_mode();
void set_forward_mode(bool on);

// ---- Writes ------------------------------------------------------------------------------------------------------------

/// To be called before the CPU, or a copy, writes to an array, which may be an element of another one.
void announce_array_write(const runtime::Array& array, const char* by, const runtime::Array* part_of = nullptr);
/// The keeper that is told of a write: that of the tape which records it, or, where recording is suspended, of the tape in
/// whose block the thread works (whoever suspended it tells the tape what is done). May be null.
runtime::VersionKeeper* keeper_for_writes(Tape* tape);
/// To be called before an adjoint writes to the gradients of a block's arrays: some tape may have recorded work on them.
void announce_gradients(const KernelSignature& signature, const char* block, const std::string& kernel);

}  // namespace weft::driver
