// The gradient of a sum of squares, by an installed Weft.
#include <weft/weft.h>

#include <cstdio>

int main() {
  const weft::Program program = weft::Program::compile(R"(
import warp as wp

@wp.kernel
def squares(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])
)");
  const weft::Array x = weft::Array::from<float>({1, 2, 3}), loss = weft::Array::zeros("float32", {1});
  x.set_requires_grad(true);
  loss.set_requires_grad(true);
  const weft::Tape tape;
  tape.record([&] { program.kernel("squares").launch({3}, x, loss); });
  tape.backward(loss);
  const std::vector<float> gradient = x.grad().read<float>();
  std::printf("weft %s: %g, gradient %g %g %g\n", weft::version().c_str(), double(loss.read<float>()[0]),
              double(gradient[0]), double(gradient[1]), double(gradient[2]));
  return gradient == std::vector<float>{2, 4, 6} ? 0 : 1;
}
