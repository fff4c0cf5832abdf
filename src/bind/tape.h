// Tapes in Python: what stands between the driver's tape (driver/tape.h), which knows arrays and owners, and Python's
// objects.
#pragma once
#include "bind/python_kernel.h"
#include "driver/tape_repeat.h"

namespace weft::bind {

/// What launches are told by the tape that records, and by those that watch.
struct __attribute__((visibility("hidden"))) LaunchOnTape {
  driver::Tape* tape = nullptr;  // null: not recorded
  nb::object arguments;          // as PythonLaunch
  bool run = true;               // false: the work was done by other means
  bool backward = true;          // enable_backward of the kernel
  nb::object again;              // run is false: a function that does the work, or None
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
