// Gradient descent through a simulation: with which velocities must a chain of masses and springs be thrown, so that its
// free end comes by a certain place? A tape records the whole flight, one backward pass gives the gradients of all
// velocities. `example_springs cuda` does the same on a GPU.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>
#include <cstring>

static const char* kSource = R"(
import warp as wp

@wp.kernel
def pull(x: wp.array(dtype=wp.vec2), rest: float, stiffness: float, force: wp.array(dtype=wp.vec2)):
    s = wp.tid()
    d = x[s + 1] - x[s]
    f = wp.normalize(d) * (stiffness * (wp.length(d) - rest))
    wp.atomic_add(force, s, f)
    wp.atomic_sub(force, s + 1, f)

@wp.kernel
def move(x: wp.array(dtype=wp.vec2), v: wp.array(dtype=wp.vec2), force: wp.array(dtype=wp.vec2), dt: float):
    i = wp.tid() + 1
    v[i] = v[i] + (force[i] + wp.vec2(0.0, -9.81)) * dt
    x[i] = x[i] + v[i] * dt

@wp.kernel
def miss(x: wp.array(dtype=wp.vec2), last: int, target: wp.vec2, loss: wp.array(dtype=float)):
    loss[0] = wp.length_sq(x[last] - target)

@wp.kernel
def descend(x: wp.array(dtype=wp.vec2), gradient: wp.array(dtype=wp.vec2), rate: float):
    i = wp.tid()
    x[i] = x[i] - rate * gradient[i]
)";

constexpr int kMasses = 16, kSteps = 120, kRounds = 60;
constexpr float kRest = 0.1f, kStiffness = 900, kDt = 0.004f;

int main(int argc, char** argv) {
  try {
    weft::Device device;
    if (argc > 1 && std::strcmp(argv[1], "cuda") == 0) {
      if (weft::Device::cuda_count() == 0) {
        std::printf("skipped: %s\n", weft::Device::why_no_cuda().c_str());
        return 0;
      }
      device = weft::Device::cuda();
    }
    weft::Program program = weft::Program::compile(kSource, "springs.py");
    const weft::Kernel pull = program.kernel("pull"), move = program.kernel("move"), miss = program.kernel("miss"),
                       descend = program.kernel("descend");

    std::vector<float> row;  // a chain along x, its first mass held
    for (int i = 0; i < kMasses; ++i) row.insert(row.end(), {float(i) * kRest, 0});
    const weft::Array start = weft::Array::zeros("vec2", {kMasses}, device);
    start.assign(std::span<const float>(row));
    const float target[2] = {0.6f, 0.9f};

    const weft::Array x = weft::Array::zeros("vec2", {kMasses}, device),
                      v = weft::Array::zeros("vec2", {kMasses}, device),
                      force = weft::Array::zeros("vec2", {kMasses}, device),
                      thrown = weft::Array::zeros("vec2", {kMasses}, device),
                      loss = weft::Array::zeros("float32", {1}, device);
    for (const weft::Array& one : {x, v, force, thrown, loss}) one.set_requires_grad(true);

    float first = 0, last = 0;
    for (int round = 0; round < kRounds; ++round) {
      weft::Tape tape;
      tape.record([&] {
        x.assign(start);
        v.assign(thrown);
        for (int step = 0; step < kSteps; ++step) {  // the arrays are overwritten in every step: the tape sees to that
          force.fill_zero();
          pull.launch({kMasses - 1}, x, kRest, kStiffness, force);
          move.launch({kMasses - 1}, x, v, force, kDt);
        }
        miss.launch({1}, x, kMasses - 1, weft::Argument("vec2", target), loss);
      });
      tape.backward(loss);
      last = loss.read<float>()[0];
      if (round == 0) first = last;
      descend.launch({kMasses}, thrown, thrown.grad(), 2.0f);
      tape.zero();
    }
    std::printf("%s: the end misses by %.3f, after %d rounds of descent by %.3f\n", device.name().c_str(),
                double(std::sqrt(first)), kRounds, double(std::sqrt(last)));
    return last < 0.01f * first ? 0 : 1;
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
