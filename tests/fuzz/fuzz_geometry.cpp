// Any bytes as meshes and boxes: every builder must make a tree that is one, whatever the coordinates, indices and groups are,
// and a refit to other coordinates must leave it one. The first bytes choose what is built, the others are its numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/scheduler.h"
#include "tree_checks.h"

namespace {

using namespace weft::geometry;
using namespace weft::geometry::test;

constexpr std::size_t kMostItems = 3000;

/// Takes bytes from the front; zeros behind the end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t byte() { return size_ == 0 ? 0 : (--size_, *data_++); }
  std::uint16_t word() {
    const std::uint16_t low = byte();
    return std::uint16_t(low | byte() << 8);
  }
  std::size_t left() const { return size_; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

/// Small numbers, which often meet, scaled; and now and then one of the edges of what floats are.
float coordinate(Bytes& bytes, float scale) {
  const std::uint16_t word = bytes.word();
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float special[] = {0, -0.0f, 3e38f, -3e38f, 1e-45f, -1e-38f, inf, -inf, nan, 1e19f, -1e20f, 1};
  if ((word & 0xff) < std::size(special)) return special[word & 0xff];
  return scale * float(std::int16_t(word)) / 4096;
}

std::int32_t index(Bytes& bytes, std::size_t points) {
  const std::uint8_t byte = bytes.byte();
  if (byte == 255) return std::numeric_limits<std::int32_t>::max();
  if (byte == 254) return -1;
  if (byte == 253) return std::int32_t(points);
  return points ? std::int32_t((byte * 7 + bytes.byte()) % points) : 0;
}

/// As many coordinates, new ones.
void move(std::vector<float>& numbers, Bytes& bytes, float scale) {
  for (float& x : numbers) x = coordinate(bytes, scale);
}

void require(const std::string& problem, const char* when) {
  if (problem.empty()) return;
  std::fprintf(stderr, "%s: %s\n", when, problem.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::uint8_t choice = bytes.byte(), more = bytes.byte();
  constexpr float scales[] = {1, 1e-20f, 1e18f, 3e37f};
  const float scale = scales[more & 3];
  Scene scene;
  scene.of_faces = (choice & 1) != 0;
  TreeOptions options;
  options.constructor = Constructor(choice >> 1 & 3);
  options.moments = scene.of_faces && (choice & 8) != 0;
  options.leaf_size = more >> 4;
  const bool wide = (choice & 16) != 0;
  if (scene.of_faces) {
    const std::size_t points = std::min<std::size_t>(bytes.byte() * (1 + (more >> 2 & 3)), bytes.left() / 6);
    for (std::size_t k = 0; k < 3 * points; ++k) scene.points.push_back(coordinate(bytes, scale));
    while (bytes.left() > 6 && scene.indices.size() < 3 * kMostItems)
      for (int k = 0; k < 3; ++k) scene.indices.push_back(index(bytes, points));
  } else {
    while (bytes.left() > 12 && scene.lowers.size() < 3 * kMostItems)
      for (int k = 0; k < 3; ++k) {
        const float a = coordinate(bytes, scale), b = coordinate(bytes, scale);
        const bool ordered = (choice & 64) != 0;
        scene.lowers.push_back(ordered ? std::min(a, b) : a);
        scene.uppers.push_back(ordered ? std::max(a, b) : b);
      }
  }
  if ((choice & 32) != 0)
    for (std::uint32_t k = 0; k < scene.count(); ++k)
      scene.groups.push_back(std::int8_t(data[(k * 3 + 1) % size]) / 16);
  HostTree tree = build_tree(scene.input(), options, wide, nullptr);
  require(test::check_tree(tree, scene.input()), "built");
  weft::runtime::set_thread_limit(1);
  require(test::same_bytes(tree, build_tree(scene.input(), options, wide, nullptr)) ? "" : "other bytes",
          "on one thread");
  weft::runtime::set_thread_limit(0);
  Bytes again(data + size / 2, size - size / 2);
  move(scene.points, again, scale);
  move(scene.lowers, again, scale);
  move(scene.uppers, again, scale);
  refit_tree(tree, scene.input());
  require(test::check_tree(tree, scene.input()), "refitted");
  return 0;
}
