// The last part of the prelude: on GPUs the names of CUDA that snippets use, on CPUs what stands for a block's threads.
#include "codegen/native/prelude.h"

namespace weft::codegen {

const std::string_view kNativeCuda = R"text(#line 1 "weft prelude, CUDA"
using namespace wp;

#ifdef __NVPTX__
#define __CUDA_ARCH__ 750
#define __device__
#define __shared__ static __attribute__((section("weft_shared")))
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline __attribute__((always_inline))
struct weft_index {
  unsigned x, y, z;
};
#define WEFT_SREG(name) \
  weft_index { __nvvm_read_ptx_sreg_##name##_x(), __nvvm_read_ptx_sreg_##name##_y(), __nvvm_read_ptx_sreg_##name##_z() }
#define threadIdx (WEFT_SREG(tid))
#define blockIdx (WEFT_SREG(ctaid))
#define blockDim (WEFT_SREG(ntid))
#define gridDim (WEFT_SREG(nctaid))
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
inline unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __frsqrt_rn(float a) { return float(1.0 / __builtin_sqrt(double(a))); }
template <class T>
T __ldg(const T* at) {
  return *at;
}
inline void __threadfence() { __sync_synchronize(); }
inline void __threadfence_block() { __sync_synchronize(); }

// Threads of a warp. Code generation says of all assembly that threads come to it together.
inline unsigned __activemask() {
  unsigned out;
  asm volatile("activemask.b32 %0;" : "=r"(out));
  return out;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }
inline unsigned __ballot_sync(unsigned mask, int condition) {
  unsigned out;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
               : "=r"(out)
               : "r"(condition), "r"(mask));
  return out;
}
inline int __any_sync(unsigned mask, int condition) { return __ballot_sync(mask, condition) != 0; }
inline int __all_sync(unsigned mask, int condition) { return __ballot_sync(mask, condition == 0) == 0; }
inline int __syncthreads_count(int condition) {
  int out;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }" : "=r"(out) : "r"(condition) : "memory");
  return out;
}
inline int __syncthreads_or(int condition) { return __syncthreads_count(condition) != 0; }
inline int __syncthreads_and(int condition) { return __syncthreads_count(condition == 0) == 0; }
#define WEFT_SHUFFLE(name, mode, ends)                                                                      \
  inline unsigned weft_##name(unsigned mask, unsigned value, unsigned lane, int width) {                    \
    unsigned out;                                                                                           \
    asm volatile("shfl.sync." #mode ".b32 %0, %1, %2, %3, %4;"                                              \
                 : "=r"(out)                                                                                \
                 : "r"(value), "r"(lane), "r"(unsigned(32 - width) << 8 | ends), "r"(mask));                \
    return out;                                                                                             \
  }                                                                                                         \
  template <class T>                                                                                        \
  T name(unsigned mask, T value, int lane, int width = 32) {                                                \
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "threads exchange numbers of 4 and 8 bytes");           \
    unsigned parts[sizeof(T) / 4];                                                                          \
    memcpy(parts, &value, sizeof(T));                                                                       \
    for (unsigned i = 0; i < sizeof(T) / 4; ++i) parts[i] = weft_##name(mask, parts[i], unsigned(lane), width); \
    memcpy(&value, parts, sizeof(T));                                                                       \
    return value;                                                                                           \
  }
WEFT_SHUFFLE(__shfl_sync, idx, 31)
WEFT_SHUFFLE(__shfl_xor_sync, bfly, 31)
WEFT_SHUFFLE(__shfl_down_sync, down, 31)
WEFT_SHUFFLE(__shfl_up_sync, up, 0)

// Atomic operations under CUDA's names; they give the value before.
template <class T, class V>
T atomicAdd(T* at, V given) {
  const T value = T(given);
  return wp::atomic_add(at, value);
}
template <class T, class F>
T weft_update(T* at, F next) {
  typedef typename wp::bits_t<sizeof(T)>::type bits;
  bits seen = wp::atomic_bits((volatile bits*)at), after;
  T old, value;
  do {
    memcpy(&old, &seen, sizeof(T));
    value = next(old);
    memcpy(&after, &value, sizeof(T));
  } while (!wp::atomic_swap_bits((volatile bits*)at, seen, after));
  return old;
}
template <class T, class V>
T atomicSub(T* at, V given) {
  const T value = T(given);
  return weft_update(at, [=](T old) { return T(old - value); });
}
template <class T, class V>
T atomicMin(T* at, V given) {
  const T value = T(given);
  return weft_update(at, [=](T old) { return value < old ? value : old; });
}
template <class T, class V>
T atomicMax(T* at, V given) {
  const T value = T(given);
  return weft_update(at, [=](T old) { return value > old ? value : old; });
}
template <class T, class V>
T atomicExch(T* at, V given) {
  const T value = T(given);
  return weft_update(at, [=](T) { return value; });
}
template <class T, class C, class V>
T atomicCAS(T* at, C expected, V given) {
  const T compare = T(expected), value = T(given);
  return weft_update(at, [=](T old) { return old == compare ? value : old; });
}
template <class T, class V>
T atomicOr(T* at, V given) {
  const T value = T(given);
  return weft_update(at, [=](T old) { return T(old | value); });
}
template <class T, class V>
T atomicAnd(T* at, V given) {
  const T value = T(given);
  return weft_update(at, [=](T old) { return T(old & value); });
}
template <class T, class V>
T atomicXor(T* at, V given) {
  const T value = T(given);
  return weft_update(at, [=](T old) { return T(old ^ value); });
}
#define WP_TILE_THREAD_IDX (int(threadIdx.x))
#define WP_TILE_BLOCK_DIM (int(blockDim.x))
#else
extern "C" void weft_rt_barrier();
extern "C" int weft_rt_thread();
extern "C" int weft_rt_threads();
extern "C" int weft_rt_tally(int);
#define __syncthreads() weft_rt_barrier()
#define __syncthreads_count(condition) weft_rt_tally((condition) != 0)
#define __syncthreads_or(condition) int(weft_rt_tally((condition) != 0) != 0)
#define __syncthreads_and(condition) int(weft_rt_tally((condition) == 0) == 0)
#define WP_TILE_THREAD_IDX (weft_rt_thread())
#define WP_TILE_BLOCK_DIM (weft_rt_threads())
#endif
#define WP_TILE_SYNC() __syncthreads()
)text";

}  // namespace weft::codegen
