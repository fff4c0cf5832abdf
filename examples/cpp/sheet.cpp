// Rays at a mesh that moves: a sheet of triangles swings, and a row of rays from above measures how high it stands, as a
// gauge at a pond would. Each moment moves the points by a kernel, refits the mesh and casts the rays.
// `example_sheet cuda` does the same on a GPU.
#include <weft/geometry.h>
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

static const char* kSource = R"(
import warp as wp

@wp.kernel
def swing(time: float, cells: int, points: wp.array(dtype=wp.vec3)):
    i, j = wp.tid()
    x = 2.0 * float(i) / float(cells) - 1.0
    y = 2.0 * float(j) / float(cells) - 1.0
    points[i * (cells + 1) + j] = wp.vec3(x, y, 0.2 * wp.sin(4.0 * x - time) * wp.cos(3.0 * y))

@wp.kernel
def gauge(mesh: wp.uint64, y: float, heights: wp.array(dtype=float)):
    i = wp.tid()
    x = 1.8 * (float(i) + 0.5) / float(heights.shape[0]) - 0.9
    hit = wp.mesh_query_ray(mesh, wp.vec3(x, y, 1.0), wp.vec3(0.0, 0.0, -1.0), 10.0)
    heights[i] = wp.where(hit.result, 1.0 - hit.t, -10.0)
)";

constexpr int kCells = 64, kGauges = 72, kRows = 7, kMoments = 4;
constexpr float kY = 0.15f;

/// Two triangles for each cell of the sheet, counter-clockwise seen from above.
static std::vector<std::int32_t> make_faces() {
  std::vector<std::int32_t> faces;
  for (int i = 0; i < kCells; ++i) {
    for (int j = 0; j < kCells; ++j) {
      const int a = i * (kCells + 1) + j, b = a + kCells + 1;
      faces.insert(faces.end(), {a, b, b + 1, a, b + 1, a + 1});
    }
  }
  return faces;
}

/// Shows heights between -0.2 and 0.2 as a curve of characters.
static void draw(const std::vector<float>& heights) {
  for (int row = 0; row < kRows; ++row) {
    char line[kGauges + 1] = {};
    for (int i = 0; i < kGauges; ++i) {
      const int at = int(std::lround((0.2f - heights[std::size_t(i)]) / 0.4f * float(kRows - 1)));
      line[i] = at == row ? '*' : row > at ? '.' : ' ';
    }
    std::printf("  %s\n", line);
  }
}

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
    const weft::Program program = weft::Program::compile(kSource, "sheet.py");
    const weft::Kernel swing = program.kernel("swing"), gauge = program.kernel("gauge");
    const weft::Array points = weft::Array::zeros("vec3", {(kCells + 1) * (kCells + 1)}, device),
                      heights = weft::Array::zeros("float32", {kGauges}, device);
    swing.launch({kCells + 1, kCells + 1}, 0.0f, kCells, points);
    weft::Mesh mesh(points, weft::Array::from(make_faces(), device));

    float worst = 0;
    for (int moment = 0; moment < kMoments; ++moment) {
      const float time = 0.8f * float(moment);
      swing.launch({kCells + 1, kCells + 1}, time, kCells, points);
      mesh.refit();  // the mesh shares the points; its tree has to follow
      gauge.launch({kGauges}, mesh.id(), kY, heights);
      const std::vector<float> seen = heights.read<float>();
      for (int i = 0; i < kGauges; ++i) {
        const float x = 1.8f * (float(i) + 0.5f) / float(kGauges) - 0.9f;
        const float off = std::abs(seen[std::size_t(i)] - 0.2f * std::sin(4 * x - time) * std::cos(3 * kY));
        worst = std::max(worst, off);
      }
      std::printf("%s, t = %.1f\n", device.name().c_str(), double(time));
      draw(seen);
    }
    std::printf("%d triangles, %d rays: the gauges are off by %.5f at most\n", 2 * kCells * kCells, kMoments * kGauges,
                double(worst));
    return worst < 0.002f ? 0 : 1;
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
