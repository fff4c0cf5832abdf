// Compiles in the background, which the end of a process does not wait for. LLVM can't be interrupted, and its static objects
// must not die under a thread that uses them; so such a thread looks, between two passes, whether the process is about to end,
// and then stays where it is for good: it touches nothing any more, and goes with the process.
#pragma once

namespace weft::codegen {

/// While it lives, the calling thread's compiles are in the background.
class BackgroundCompile {
 public:
  BackgroundCompile();
  ~BackgroundCompile();
  BackgroundCompile(const BackgroundCompile&) = delete;
  BackgroundCompile& operator=(const BackgroundCompile&) = delete;

 private:
  bool outermost_;
};

/// Whether the calling thread does.
bool compiles_in_background() noexcept;

/// Between two passes. Returns at once, unless this thread compiles in the background and the process ends.
void stay_if_ending() noexcept;

/// Before the end of the process, that is before any static object dies, those inside of functions included, which LLVM may have
/// made last: handlers of atexit can be too late. Returns when no thread compiles in the background any more, or all that do stay where they are.
/// None begins afterwards.
void end_background_compiles() noexcept;

}  // namespace weft::codegen
