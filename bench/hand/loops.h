// The yardsticks: loops as a good programmer writes them by hand with OpenMP, built apart from Weft (bench/CMakeLists.txt
// says by which compiler), and the probes that find the machine's limits.
#pragma once
#include <cstdint>

extern "C" {
/// Compiler and flags that built this library.
const char* hand_compiler();

void hand_saxpy(std::int64_t n, float a, const float* x, float* y, int threads);
/// d[i] = a[i] · b[i], three floats an element, one after the other.
void hand_dot3(std::int64_t n, const float* a, const float* b, float* d, int threads);
/// y[i] = ((x·x + 0.5)·x + 0.5)… with 64 multiply-adds.
void hand_polynomial(std::int64_t n, const float* x, float* y, int threads);
/// Nothing, for the cost of a call.
void hand_empty(std::int64_t begin, std::int64_t end, const void* params, void* context);

/// Limits: copies n floats; changes n floats in place; runs `steps` rounds of multiply-adds on registers and returns the
/// number of floating-point operations done in all.
void limit_copy(std::int64_t n, const float* from, float* to, int threads);
void limit_update(std::int64_t n, float* to, int threads);
double limit_fma(std::int64_t steps, int threads);
}
