// Tapes in Python: what stands between the driver's tape (driver/tape.h), which knows arrays and owners, and Python's
// objects.
#pragma once
#include <optional>

#include "bind/python_kernel.h"
#include "driver/tape_repeat.h"

namespace weft::bind {

/// Without the GIL: while it lives, no other thread has to do with any tape, until this one lets others run as it would with the
/// GIL. Nothing with it.
class __attribute__((visibility("hidden"))) TapeTurn {
 public:
  TapeTurn() : guard_(everyones()) {}

 private:
  static nb::handle everyones();
  nb::ft_object_guard guard_;
};
/// The same where it matters: some tape records, or minds what is written.
class __attribute__((visibility("hidden"))) TapeTurnIfAny {
 public:
  TapeTurnIfAny() {
    if (kFreeThreaded && (driver::followers.load(std::memory_order_relaxed) != 0 || runtime::writes_are_watched()))
      turn_.emplace();
  }

 private:
  std::optional<TapeTurn> turn_;
};

/// What launches are told by the tape that records, and by those that watch.
struct __attribute__((visibility("hidden"))) LaunchOnTape {
  driver::Tape* tape = nullptr;  // null: not recorded
  nb::object arguments;          // as PythonLaunch
  bool run = true;               // false: the work was done by other means
  bool backward = true;          // enable_backward of the kernel
  nb::object again;              // run is false: a function that does the work, or None
  nb::object held;               // Python's object of the tape

  /// Takes the tape that records; it stays, if another thread ends its block.
  void take() {
    tape = driver::recording_tape();
    if (tape && tape->owner) held = nb::borrow(static_cast<PyObject*>(tape->owner));
  }
};

/// The arrays of a launch's arguments.
struct __attribute__((visibility("hidden"))) LaunchArrays {
  std::vector<runtime::Array> memory;
  std::vector<nb::object> objects;  // as TapeFacts::leaves; none where an array has no object
  /// Adds those of one argument.
  void add(PyObject* value, const Type* type);
};

/// A launch that a tape records or that may overwrite what some tape needs: everything in `launch` but arrays and owner is
/// set.
void launch_watched(driver::WatchedLaunch launch, LaunchArrays arrays, std::vector<nb::object> keep, LaunchOnTape how);

/// Python functions that record copies (dest, src) and fills (dest, value; None: with zeros) between and of arrays, and that list the arrays which
/// the structs in an array hold.
struct __attribute__((visibility("hidden"))) TapeHooks {
  nb::object copied, filled, held;
};
TapeHooks& tape_hooks();
/// Whether the hooks want to hear of copies and fills by this thread.
inline bool copies_are_heard() { return driver::copies_are_followed() || driver::forward_mode(); }

}  // namespace weft::bind
