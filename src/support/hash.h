// A streaming 128-bit hash for cache keys and checksums. Not cryptographic: keys name our own files, collisions need
// only be as unlikely as a failing disk. The construction is two independently seeded lanes of multiply-rotate mixing
// (in the manner of MurmurHash3's 128-bit form) over 16-byte blocks.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft {

struct Hash128 {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  bool operator==(const Hash128&) const = default;
  auto operator<=>(const Hash128&) const = default;
  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
};

class Hasher {
 public:
  Hasher& bytes(const void* data, std::size_t size);
  /// Hashes the length too, so that ("ab","c") and ("a","bc") differ.
  Hasher& text(std::string_view s);
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  Hasher& value(T v) {
    return bytes(&v, sizeof v);
  }
  Hasher& value(const Hash128& h) { return bytes(&h, sizeof h); }
  Hash128 finish() const;

 private:
  void block(std::uint64_t a, std::uint64_t b);

  std::uint64_t h1_ = 0x9ae16a3b2f90404fULL;
  std::uint64_t h2_ = 0xc949c7defebe6a2dULL;
  std::uint64_t total_ = 0;
  std::array<unsigned char, 16> tail_{};
  std::size_t tail_size_ = 0;
};

/// The hash of one piece of memory.
Hash128 hash_bytes(const void* data, std::size_t size);

}  // namespace weft

template <>
struct std::hash<weft::Hash128> {
  std::size_t operator()(const weft::Hash128& h) const noexcept { return std::size_t(h.lo ^ (h.hi * 31)); }
};
