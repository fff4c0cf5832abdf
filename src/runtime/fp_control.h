// The floating-point control register. A host library may have set flush-to-zero or another rounding mode; kernels run
// with IEEE defaults (nearest even, subnormals, no traps) whatever the calling thread's state is. Reading is cheap,
// writing is not: it is written only when it differs.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace weft::runtime {

#if defined(__x86_64__)
inline constexpr std::uint64_t kFpControlMask = 0xffc0;  // bits 0–5 are sticky status, not control
inline constexpr std::uint64_t kFpControlDefault = 0x1f80;
inline std::uint64_t read_fp_control() { return _mm_getcsr(); }
inline void write_fp_control(std::uint64_t value) { _mm_setcsr(std::uint32_t(value)); }
#elif defined(__aarch64__)
inline constexpr std::uint64_t kFpControlMask = ~std::uint64_t(0);
inline constexpr std::uint64_t kFpControlDefault = 0;
inline std::uint64_t read_fp_control() {
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
inline void write_fp_control(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
#error "the floating-point control register of this processor is not known"
#endif

/// IEEE defaults while it lives; restores the thread's state.
class FpControlScope {
 public:
  FpControlScope() : saved_(read_fp_control()) {
    if ((saved_ & kFpControlMask) != kFpControlDefault) [[unlikely]]
      write_fp_control(kFpControlDefault);
  }
  ~FpControlScope() {
    if ((saved_ & kFpControlMask) != kFpControlDefault) [[unlikely]]
      write_fp_control(saved_);
  }
  FpControlScope(const FpControlScope&) = delete;
  FpControlScope& operator=(const FpControlScope&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace weft::runtime
