// Compile and load times of a ten-line kernel, printed; the bounds are generous so that busy machines pass.
#include "../slowdown.h"
#include "harness.h"

#include <chrono>
#include <cstdio>

namespace weft::codegen::test {
namespace {

using Clock = std::chrono::steady_clock;
double ms(Clock::time_point from) { return std::chrono::duration<double, std::milli>(Clock::now() - from).count(); }

TEST(Speed, TenLineKernel) {
  Program program(R"(
kernel @k(%x: array<vec<f32,3>,1>, %v: array<vec<f32,3>,1>, %f: array<vec<f32,3>,1>, %m: array<f32,1>, %dt: f32) form(no_overlap, rank 1) {
  %i = tid 0
  %xi = load %x[%i]
  %vi = load %v[%i]
  %fi = load %f[%i]
  %w = load %m[%i]
  %a = scale %fi, %w
  %g = construct vec<f32,3> 0.0f32, -9.8f32, 0.0f32
  %b = add %a, %g
  %dv = scale %b, %dt
  %v1 = add %vi, %dv
  %dx = scale %v1, %dt
  %x1 = add %xi, %dx
  %y = extract %x1[1]
  %low = lt %y, 0.0f32
  %x2, %v2 = if %low : vec<f32,3>, vec<f32,3> {
    %xn = insert %x1, 0.0f32, [1]
    %vy = extract %v1[1]
    %ny = neg %vy
    %vn = insert %v1, %ny, [1]
    yield %xn, %vn
  } else { yield %x1, %v1 }
  store %x[%i], %x2
  store %v[%i], %v2
  return
}
)");
  for (int lanes : {1, natural_lanes(host_target())}) {
    EmitOptions options;
    options.lanes = lanes;
    double best = 1e9, best_load = 1e9;
    Emitted code;
    for (int k = 0; k < 8; ++k) {
      auto start = Clock::now();
      Emitted now = emit(*program.module, program.kernel(), host_target(), options, Output::object);
      double t = ms(start);
      if (t < best) best = t, code = now;
      start = Clock::now();
      load_object(now.bytes, now.entry);
      best_load = std::min(best_load, ms(start));
    }
    std::printf("%2d lanes: %.2f ms (emit %.2f, passes %.2f, code %.2f), load %.3f ms, %zu bytes\n", lanes, best,
                code.seconds_emit * 1e3, code.seconds_opt * 1e3, code.seconds_codegen * 1e3, best_load,
                code.bytes.size());
    EXPECT_LT(best, 200.0 * kSlowdown);
    EXPECT_LT(best_load, 20.0 * kSlowdown);
  }
}

}  // namespace
}  // namespace weft::codegen::test
