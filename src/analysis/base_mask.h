// A set of bases (analysis/alias.h): arrays that descriptors of a function may be of.
#pragma once
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weft::analysis {

class BaseMask {
 public:
  /// Functions with tiles have a hundred arrays and more.
  static constexpr std::size_t kMost = 256;

  // NOLINTNEXTLINE(google-explicit-constructor): numbers are masks of the first 64
  constexpr BaseMask(std::uint64_t low = 0) : words_{low} {}
  static constexpr BaseMask bit(std::size_t n) {
    BaseMask mask;
    mask.words_[n / kWord] = std::uint64_t(1) << n % kWord;
    return mask;
  }

  constexpr bool has(std::size_t n) const { return words_[n / kWord] >> n % kWord & 1; }
  constexpr std::size_t count() const {
    std::size_t all = 0;
    for (std::uint64_t word : words_) all += std::size_t(std::popcount(word));
    return all;
  }
  constexpr explicit operator bool() const {
    std::uint64_t any = 0;
    for (std::uint64_t word : words_) any |= word;
    return any != 0;
  }
  constexpr BaseMask& operator|=(const BaseMask& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
    return *this;
  }
  constexpr BaseMask& operator&=(const BaseMask& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] &= other.words_[k];
    return *this;
  }
  constexpr BaseMask& operator^=(const BaseMask& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] ^= other.words_[k];
    return *this;
  }
  constexpr BaseMask operator~() const {
    BaseMask mask;
    for (std::size_t k = 0; k < words_.size(); ++k) mask.words_[k] = ~words_[k];
    return mask;
  }
  friend constexpr BaseMask operator|(BaseMask a, const BaseMask& b) { return a |= b; }
  friend constexpr BaseMask operator&(BaseMask a, const BaseMask& b) { return a &= b; }
  friend constexpr BaseMask operator^(BaseMask a, const BaseMask& b) { return a ^= b; }
  friend constexpr auto operator<=>(const BaseMask&, const BaseMask&) = default;

  /// Calls with the number of each base.
  template <typename Visit>
  void each(Visit visit) const {
    for (std::size_t k = 0; k < words_.size(); ++k)
      for (std::uint64_t word = words_[k]; word; word &= word - 1)
        visit(k * kWord + std::size_t(std::countr_zero(word)));
  }
  std::size_t hash() const {
    std::uint64_t all = 0;
    for (std::uint64_t word : words_) all = (all ^ word) * 0x9E3779B97F4A7C15u;
    return std::size_t(all ^ all >> 32);
  }

 private:
  static constexpr std::size_t kWord = 64;
  std::array<std::uint64_t, kMost / kWord> words_;
};

}  // namespace weft::analysis

template <>
struct std::hash<weft::analysis::BaseMask> {
  std::size_t operator()(const weft::analysis::BaseMask& mask) const { return mask.hash(); }
};
