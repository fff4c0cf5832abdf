// What a thread does between two looks at something that another thread is about to change.
#pragma once

namespace weft {

/// Tells the processor that this thread only waits.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // "yield" does nothing on most
#endif
}

}  // namespace weft
