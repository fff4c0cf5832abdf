// Four pairs of numbers, each mixed as hash.h does it, over every fourth block of 16 bytes; then a hash of those and of the rest.
#include "support/checksum.h"

#include <bit>
#include <cstring>

namespace weft {
namespace {

struct Pair {
  std::uint64_t first, second;

  void add(const std::byte* block) {
    std::uint64_t a, b;
    std::memcpy(&a, block, 8);
    std::memcpy(&b, block + 8, 8);
    first ^= std::rotl(a * 0x87c37b91114253d5ULL, 31) * 0x4cf5ad432745937fULL;
    first = (std::rotl(first, 27) + second) * 5 + 0x52dce729;
    second ^= std::rotl(b * 0x4cf5ad432745937fULL, 33) * 0x87c37b91114253d5ULL;
    second = (std::rotl(second, 31) + first) * 5 + 0x38495ab5;
  }
};

}  // namespace

Hash128 checksum(std::span<const std::byte> bytes) {
  Pair pairs[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 64; p += 64, left -= 64)
    for (int k = 0; k < 4; ++k) pairs[k].add(p + 16 * k);
  Hasher all;
  for (const Pair& pair : pairs) all.value(pair.first).value(pair.second);
  if (left) all.bytes(p, left);
  return all.value(std::uint64_t(bytes.size())).finish();
}

}  // namespace weft
