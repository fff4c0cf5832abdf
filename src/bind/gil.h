// Giving up and taking back the interpreter's lock where threads may outlive the interpreter. A daemon thread that asks
// for the lock while Python shuts down is ended by pthread_exit, which unwinds its stack; the first noexcept frame on the
// way (nanobind's, any destructor) makes that std::terminate. Python 3.14 lets such threads sleep until the process ends,
// and so do these classes on every version. Use them instead of nanobind's.
#pragma once
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include "bind/gil_door.h"

namespace weft::bind {

/// Where a thread goes that Python wants to end: it stays asleep until the process is gone.
[[noreturn]] inline void park_thread() noexcept {
  for (;;) pause();
}

/// Calls back into Python; a thread that Python ends meanwhile is parked, its C++ frames untouched.
template <class Call>
auto call_python(Call call) {
#ifdef __GLIBCXX__
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    park_thread();
  }
#else
  return call();
#endif
}

/// No interpreter lock while this lives.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) { GilDoor::go_out(); }
  ~GilRelease() {
    GilDoor::come_in();
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      park_thread();
    }
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

/// Whether this thread has the interpreter's lock.
inline bool holds_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked() != nullptr;
#elif PY_VERSION_HEX >= 0x030C0000
  return _PyThreadState_UncheckedGet() != nullptr;
#else
  const PyThreadState* const mine = PyGILState_GetThisThreadState();
  return mine && mine == _PyThreadState_UncheckedGet();  // which is of the thread that has it
#endif
}

/// The interpreter lock while this lives, whichever thread it is. Threads that have it, which is usual, are told so sooner here
/// than by Python.
class GilAcquire {
 public:
  GilAcquire() : taken_(!holds_gil()) {
    if (!taken_) return;
    try {
      state_ = PyGILState_Ensure();
    } catch (...) {
      park_thread();
    }
  }
  ~GilAcquire() {
    if (taken_) PyGILState_Release(state_);
  }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;

 private:
  const bool taken_;
  PyGILState_STATE state_{};
};

}  // namespace weft::bind
