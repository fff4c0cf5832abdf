// The 128-bit hash.
#include "support/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft {
namespace {

constexpr std::uint64_t kC1 = 0x87c37b91114253d5ULL;
constexpr std::uint64_t kC2 = 0x4cf5ad432745937fULL;

std::uint64_t finalize(std::uint64_t k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdULL;
  k ^= k >> 33;
  k *= 0xc4ceb9fe1a85ec53ULL;
  k ^= k >> 33;
  return k;
}

}  // namespace

std::string Hash128::hex() const {
  static const char digits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (int i = 0; i < 16; ++i) {
    out[std::size_t(15 - i)] = digits[(hi >> (4 * i)) & 15];
    out[std::size_t(31 - i)] = digits[(lo >> (4 * i)) & 15];
  }
  return out;
}

void Hasher::block(std::uint64_t a, std::uint64_t b) {
  h1_ ^= std::rotl(a * kC1, 31) * kC2;
  h1_ = (std::rotl(h1_, 27) + h2_) * 5 + 0x52dce729;
  h2_ ^= std::rotl(b * kC2, 33) * kC1;
  h2_ = (std::rotl(h2_, 31) + h1_) * 5 + 0x38495ab5;
}

Hasher& Hasher::bytes(const void* data, std::size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  total_ += size;
  while (size) {
    if (tail_size_ == 0 && size >= 16) {
      std::uint64_t a, b;
      std::memcpy(&a, p, 8);
      std::memcpy(&b, p + 8, 8);
      block(a, b);
      p += 16;
      size -= 16;
      continue;
    }
    std::size_t n = std::min<std::size_t>(16 - tail_size_, size);
    std::memcpy(tail_.data() + tail_size_, p, n);
    tail_size_ += n;
    p += n;
    size -= n;
    if (tail_size_ == 16) {
      std::uint64_t a, b;
      std::memcpy(&a, tail_.data(), 8);
      std::memcpy(&b, tail_.data() + 8, 8);
      block(a, b);
      tail_size_ = 0;
    }
  }
  return *this;
}

Hasher& Hasher::text(std::string_view s) {
  value(std::uint64_t(s.size()));
  return bytes(s.data(), s.size());
}

Hash128 Hasher::finish() const {
  Hasher copy = *this;
  if (copy.tail_size_) {
    std::memset(copy.tail_.data() + copy.tail_size_, 0, 16 - copy.tail_size_);
    std::uint64_t a, b;
    std::memcpy(&a, copy.tail_.data(), 8);
    std::memcpy(&b, copy.tail_.data() + 8, 8);
    copy.block(a, b);
  }
  std::uint64_t h1 = copy.h1_ ^ copy.total_, h2 = copy.h2_ ^ copy.total_;
  h1 += h2;
  h2 += h1;
  h1 = finalize(h1);
  h2 = finalize(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

Hash128 hash_bytes(const void* data, std::size_t size) { return Hasher().bytes(data, size).finish(); }

}  // namespace weft
