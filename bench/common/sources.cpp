// Kernel texts and their generators.
#include "common/sources.h"

namespace weft::bench {

const char* const kTenLines = R"(import warp as wp

@wp.kernel
def step(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), w: wp.array(dtype=float),
         dt: float):
    i = wp.tid()
    inv_mass = w[i]
    if inv_mass > 0.0:
        a = f[i] * inv_mass + wp.vec3(0.0, -9.81, 0.0)
        v1 = v[i] + a * dt
        speed = wp.length(v1)
        v1 = v1 * wp.min(1.0, 10.0 / wp.max(speed, 1.0e-6))
        x[i] = x[i] + v1 * dt
        v[i] = v1
)";

const char* const kSaxpy = R"(import warp as wp

@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
)";

const char* const kEmpty = R"(import warp as wp

@wp.kernel
def empty():
    pass
)";

const char* const kDot3 = R"(import warp as wp

@wp.kernel
def dot3(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), d: wp.array(dtype=float)):
    i = wp.tid()
    d[i] = wp.dot(a[i], b[i])
)";

const char* const kPolynomial = R"(import warp as wp

@wp.kernel
def polynomial(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    s = float(1.0)
    for k in range(64):
        s = s * v + 0.5
    y[i] = s
)";

const char* const kNestedRanges = R"(import warp as wp

@wp.kernel
def nested(x: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for a in range(16):
        for b in range(16):
            for c in range(16):
                s = s + x[i] * float(a * b + c)
    x[i] = s
)";

const char* const kProduct16 = R"(import warp as wp

mat16 = wp.types.matrix(shape=(16, 16), dtype=float)

@wp.kernel
def product(a: wp.array(dtype=mat16), b: wp.array(dtype=mat16), c: wp.array(dtype=mat16)):
    i = wp.tid()
    c[i] = a[i] * b[i]
)";

const char* const kInverse12 = R"(import warp as wp

mat12 = wp.types.matrix(shape=(12, 12), dtype=float)

@wp.kernel
def inverse(a: wp.array(dtype=mat12), b: wp.array(dtype=mat12)):
    i = wp.tid()
    b[i] = wp.inverse(a[i])
)";

std::string long_kernel(int lines) {
  std::string text =
      "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
      "    i = wp.tid()\n    a = x[i]\n    b = y[i]\n";
  for (int line = 0; line < lines; line += 9) {
    std::string n = std::to_string(line);
    text += "    a = a * 1." + n + " + b\n";
    text += "    b = wp.sqrt(wp.abs(b)) + a * 0." + n + "\n";
    text += "    if a > " + n + ".0:\n        b = b - x[i]\n";
    text += "    c" + n + " = a - b * 0.5\n";
    text += "    a = a + c" + n + "\n";
    text += "    y[i] = b\n";
    text += "    b = y[i] + wp.max(a, b)\n";
    text += "    a = a / (b * b + " + n + ".0)\n";
  }
  return text + "    y[i] = a + b\n";
}

std::string many_kernels(int count) {
  std::string text = "import warp as wp\n";
  for (int k = 0; k < count; ++k) {
    std::string n = std::to_string(k);
    text += "\n@wp.kernel\ndef k" + n + "(a: float, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):\n";
    text += "    i = wp.tid()\n    v = x[i] * a\n    if wp.length(v) > " + n + ".5:\n";
    text += "        v = wp.normalize(v)\n    y[i] = y[i] + v\n";
  }
  return text;
}

std::string call_tree(int levels) {
  std::string text = "import warp as wp\n\n@wp.func\ndef f0(x: float):\n    return x * 0.5 + 1.0\n";
  for (int level = 1; level < levels; ++level) {
    std::string n = std::to_string(level), next = std::to_string(level - 1);
    text +=
        "\n@wp.func\ndef f" + n + "(x: float):\n    return f" + next + "(x) + f" + next + "(x * 0.9 + " + n + ".0)\n";
  }
  return text + "\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = f" +
         std::to_string(levels - 1) + "(x[i])\n";
}

}  // namespace weft::bench
