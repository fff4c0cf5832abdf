// Work that a tape has recorded and that is done again outside of it: the same launches, copies and fills in the same
// order, on whatever values arrays have by then. What is repeated is recorded a second time, aside, as another take of the
// tape; when all of it has been repeated, backward passes go over that one. A write by somebody else to what the take has
// used ends it, and it begins anew with the tape's first step.
#pragma once
#include "driver/tape.h"

namespace weft::driver {

/// A step of a tape that is about to be repeated, and the take that it becomes part of.
struct Repeat {
  Tape* tape = nullptr;  // may be gone when the work is done
  std::shared_ptr<Tape::Take> take;
  std::shared_ptr<TapedLaunch> launch;  // as it was recorded; or
  std::shared_ptr<TapedFunction> function;
};

/// The tapes that live, and how far each of them is repeated.
class Repeats {
 public:
  static void enroll(Tape& tape);
  static void dismiss(Tape& tape);
  /// Forgets what was repeated of a tape: it has changed.
  static void forget(Tape& tape);

  /// Forgets what has begun only.
  static void forget_begun(Tape& tape);

  /// The steps that a launch repeats, on all tapes but the one that records it.
  static std::vector<Repeat> of_launch(const WatchedLaunch& launch, const Tape* recorded_by);
  /// Whose next step is a copy, a fill or a function that writes to this array.
  static std::vector<Repeat> of_write(const runtime::Array& array);
  /// Whose next step is a function that goes back over work on these arrays.
  static std::vector<Repeat> of_function(const std::vector<const runtime::Array*>& arrays);
  /// Whether some tape waits for a function.
  static bool wait_for_function();
  /// The array's values of now, for the function that a tape waits for; null: none does.
  static std::shared_ptr<runtime::Version> need(const runtime::Array& array, std::string_view by);
  /// Adds a function to the take that waits for it.
  static void add(std::unique_ptr<TapedFunction> function);

  /// The work is done: the take has one step more.
  static void finish(const Repeat& repeat, Tape::Step step);
  /// It failed.
  static void give_up(const Repeat& repeat);

  /// To be called before a graph runs, when its writes were announced: what was repeated, or recorded, while it was captured
  /// is done once more by that.
  static void graph_runs(std::uint64_t graph);
  /// The take that a backward pass goes over: one of the graph that is captured now, else the last.
  static std::shared_ptr<Tape::Take> take_for_backward(Tape& tape);
  /// The last takes of all tapes.
  static std::vector<std::shared_ptr<Tape::Take>> takes();
  /// While a tape goes back, nothing repeats it.
  static void set_going_back(Tape& tape, bool on);

 private:
  template <class Fits>
  static std::vector<Repeat> find(const Tape* except, const cuda::Device* device, const Fits& fits);
};

/// Whether a launch is the same again: kernel, arguments, grid and device. Gradients of arguments don't count.
bool repeats(const TapedLaunch& recorded, const WatchedLaunch& launch);
/// Whether work on a device (null: the CPU) that this thread asks for is done once: not part of a graph's branch.
bool is_unconditional(const cuda::Device* device);

/// Whether copies, fills and functions may repeat a step of some tape, so that somebody wants to hear of them.
bool copies_may_repeat();
/// The same, or the tape that records this thread's work does.
inline bool copies_are_followed() { return recording_tape() || copies_may_repeat(); }

/// Gives values that were written to since the tape recorded them back to it, where nothing else that going back needs was
/// computed from them: the gradient is then that at the new values.
void renew_rewritten(Tape::Take& take);

}  // namespace weft::driver
