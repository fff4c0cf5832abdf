// The smallest whole program: compile a kernel from text, run it on all cores, read the result back.
#include <weft/weft.h>
#include <chrono>
#include <cstdio>

static const char* kSource = R"(
import warp as wp

@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
)";

int main() {
  constexpr std::int64_t n = 1 << 22;
  try {
    auto start = std::chrono::steady_clock::now();
    weft::Program program = weft::Program::compile(kSource, "saxpy.py");
    weft::Kernel saxpy = program.kernel("saxpy");
    weft::Array x = weft::Array::zeros("float32", {n});
    weft::Array y = weft::Array::zeros("float32", {n});
    for (std::int64_t i = 0; i < n; ++i) {
      x.as<float>()[std::size_t(i)] = float(i);
      y.as<float>()[std::size_t(i)] = 1.0f;
    }
    saxpy.launch({n}, 2.0, x, y);
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    for (std::int64_t i = 0; i < n; ++i) {
      if (y.as<float>()[std::size_t(i)] != 2.0f * float(i) + 1.0f) {
        std::printf("wrong result at %lld\n", static_cast<long long>(i));
        return 1;
      }
    }
    std::printf("weft %s: saxpy over %lld floats, text to result in %.1f ms, all correct\n", weft::version().c_str(),
                static_cast<long long>(n), ms);
    return 0;
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
