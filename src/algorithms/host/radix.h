// Radix sort on the CPU. Large arrays are first parted by the highest digit in which keys differ, by all threads at once:
// each counts the digits of its chunks, and after a prefix sum over (digit, chunk) each knows where its pairs go, which
// keeps equal keys in order. What has the same digit is then a sort of its own that fits into a core's cache, done there
// by one thread from the lowest digit up. A part that is still large is parted again. So memory is walked over three times
// rather than once and again for every digit.
#pragma once
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/host/workers.h"

namespace weft::algorithms::host {

/// How keys become unsigned numbers of the same order, and which of their bits decide.
struct KeyOrder {
  std::uint64_t flip_always = 0, flip_negative = 0;  // bits of the key that change; those of negative keys besides
  int begin_bit = 0, end_bit = 0;
};

/// Keys without values.
struct NoValue {};

inline constexpr int kDigit = 8, kDigits = 1 << kDigit;
inline constexpr std::int64_t kTiny = 32;             // sorted by insertion
inline constexpr std::int64_t kAlone = 32 * 1024;     // pairs that one thread sorts
inline constexpr std::int64_t kLeastChunk = 16 * 1024;
inline constexpr std::int64_t kCache = 768 * 1024;    // bytes of pairs and their spare that are sorted in a core's cache
inline constexpr int kChunksPerThread = 4;

/// Pairs in memory.
template <class Key, class Value>
struct Pairs {
  Key* keys;
  Value* values;
  Pairs from(std::int64_t i) const {
    if constexpr (std::is_empty_v<Value>)
      return {keys + i, nullptr};
    else
      return {keys + i, values + i};
  }
  void move(std::int64_t to, const Pairs& other, std::int64_t i) const {
    keys[to] = other.keys[i];
    if constexpr (!std::is_empty_v<Value>) values[to] = other.values[i];
  }
  void copy(const Pairs& other, std::int64_t count) const {
    std::memcpy(keys, other.keys, std::size_t(count) * sizeof(Key));
    if constexpr (!std::is_empty_v<Value>) std::memcpy(values, other.values, std::size_t(count) * sizeof(Value));
  }
};

/// What is known of a number of keys: the bits in which ranks differ, and whether they are in order already.
struct Survey {
  std::uint64_t differing = 0;
  bool ordered = true;
};

/// What threads find in their chunks.
class SortScratch {
 public:
  struct Chunk {
    Survey survey;
    std::int64_t counts[kDigits];
  };
  /// Room for all the chunks that a sort by so many threads has at once.
  explicit SortScratch(int threads) : chunks_(std::size_t(threads) * kChunksPerThread) {}
  Chunk* chunks() { return chunks_.data(); }

 private:
  std::vector<Chunk> chunks_;
};

/// A key as an unsigned number of the same order, of which only the bits that decide are left. Loops work with a copy of
/// their own, which stays in registers whatever they write.
template <class Key>
struct Rank {
  static constexpr int kBits = int(sizeof(Key)) * 8;
  Key always, negative;
  int shift;
  Key mask;

  explicit Rank(const KeyOrder& order)
      : always(Key(order.flip_always)),
        negative(Key(order.flip_negative)),
        shift(order.begin_bit),
        mask(order.begin_bit == order.end_bit ? Key(0) : Key(~Key(0) >> (kBits - (order.end_bit - order.begin_bit)))) {}

  Key operator()(Key key) const {
    const Key sign = Key(std::make_signed_t<Key>(key) >> (kBits - 1));
    return Key(Key(key ^ Key((sign & negative) | always)) >> shift) & mask;
  }
};

template <class Key, class Value>
class Sorter {
  using P = Pairs<Key, Value>;
  static constexpr int kBits = int(sizeof(Key)) * 8;
  static constexpr int kMaxPasses = (kBits + kDigit - 1) / kDigit;
  static constexpr std::int64_t kPairBytes = 2 * std::int64_t(sizeof(Key) + (std::is_empty_v<Value> ? 0 : sizeof(Value)));

 public:
  explicit Sorter(const KeyOrder& order) : rank_(order) {}

  /// Sorts the pairs of `a` by one thread; they end in `b` if `into_b`, else in `a`. The other one is scratch.
  void alone(P a, P b, std::int64_t count, bool into_b) const {
    if (count <= kTiny) return insert(a, b, count, into_b);
    const Survey seen = survey(a, count);
    if (seen.ordered) {
      if (into_b) b.copy(a, count);
      return;
    }
    if (count * kPairBytes > kCache)
      part_alone(a, b, count, top_shift(seen), top_shift(seen) > bottom(seen), into_b);
    else
      by_digits(a, b, count, bottom(seen), top(seen), into_b);
  }

  /// The same by several threads.
  bool together(P a, P b, std::int64_t count, bool into_b, Workers& workers, SortScratch& scratch) const {
    if (count <= kAlone) {
      alone(a, b, count, into_b);
      return !workers.stopped();
    }
    const std::int64_t most = std::int64_t(workers.threads()) * kChunksPerThread;
    const std::int64_t chunks = std::clamp<std::int64_t>(count / kLeastChunk, 1, most);
    const auto first = [&](std::int64_t chunk) { return count * chunk / chunks; };
    // Digits are counted for the highest bits right away: most keys use them all.
    int shift = std::max(int(std::bit_width(rank_.mask)) - kDigit, 0);
    SortScratch::Chunk* seen_by = scratch.chunks();
    if (!workers.run(chunks, [&](std::int64_t c) {
          const std::int64_t from = first(c), to = first(c + 1);
          seen_by[c].survey = survey(a.from(from), to - from);
          seen_by[c].survey.differing |= std::uint64_t(rank_(a.keys[0]) ^ rank_(a.keys[from]));
          if (from > 0 && rank_(a.keys[from - 1]) > rank_(a.keys[from])) seen_by[c].survey.ordered = false;
          count_digits(a.from(from), to - from, shift, seen_by[c].counts);
        }))
      return false;
    Survey seen;
    for (std::int64_t c = 0; c < chunks; ++c) {
      seen.differing |= seen_by[c].survey.differing;
      seen.ordered &= seen_by[c].survey.ordered;
    }
    if (seen.ordered) {
      if (!into_b) return true;
      return workers.run(chunks, [&](std::int64_t c) { b.from(first(c)).copy(a.from(first(c)), first(c + 1) - first(c)); });
    }
    if (top_shift(seen) != shift) {
      shift = top_shift(seen);
      if (!workers.run(chunks, [&](std::int64_t c) {
            count_digits(a.from(first(c)), first(c + 1) - first(c), shift, seen_by[c].counts);
          }))
        return false;
    }
    std::int64_t begins[kDigits + 1];
    std::int64_t place = 0;
    for (int d = 0; d < kDigits; ++d) {
      begins[d] = place;
      for (std::int64_t c = 0; c < chunks; ++c) place += std::exchange(seen_by[c].counts[d], place);
    }
    begins[kDigits] = place;
    if (!workers.run(chunks, [&](std::int64_t c) {
          scatter(a.from(first(c)), b, first(c + 1) - first(c), shift, seen_by[c].counts);
        }))
      return false;
    return parts(b, a, begins, shift > bottom(seen), !into_b, workers, scratch);
  }

 private:
  /// Sorts each of the parts that have one digit in common; `open`: lower digits differ.
  bool parts(P a, P b, const std::int64_t* begins, bool open, bool into_b, Workers& workers,
             SortScratch& scratch) const {
    const std::int64_t count = begins[kDigits];
    // Parts that would keep one thread busy while the others have nothing left to do.
    const std::int64_t large = std::max<std::int64_t>(kAlone, count / (2 * workers.threads()));
    // Others are handed out as runs of neighbours.
    std::int64_t run_first[kDigits], run_last[kDigits], runs = 0, held = 0;
    for (int d = 0; d < kDigits; ++d) {
      const std::int64_t size = begins[d + 1] - begins[d];
      if (size == 0) continue;
      if (open && size > large) {
        if (!together(a.from(begins[d]), b.from(begins[d]), size, into_b, workers, scratch)) return false;
        held = 0;
        continue;
      }
      if (held == 0 || held + size > kLeastChunk) {
        run_first[runs++] = d;
        held = 0;
      }
      run_last[runs - 1] = d + 1;
      held += size;
    }
    return workers.run(runs, [&](std::int64_t r) {
      for (std::int64_t d = run_first[r]; d < run_last[r]; ++d) {
        const std::int64_t size = begins[d + 1] - begins[d];
        if (size == 0) continue;
        if (open)
          alone(a.from(begins[d]), b.from(begins[d]), size, into_b);
        else if (into_b)
          b.from(begins[d]).copy(a.from(begins[d]), size);
      }
    });
  }

  static int top(const Survey& seen) { return int(std::bit_width(seen.differing)); }
  static int bottom(const Survey& seen) { return std::countr_zero(seen.differing); }
  static int top_shift(const Survey& seen) { return std::max(top(seen) - kDigit, 0); }

  Survey survey(P a, std::int64_t count) const {
    const Rank<Key> rank = rank_;
    const Key first = rank(a.keys[0]);
    Key differing = 0, last = first;
    bool ordered = true;
    for (std::int64_t i = 1; i < count; ++i) {
      const Key now = rank(a.keys[i]);
      differing |= now ^ first;
      ordered &= last <= now;
      last = now;
    }
    return {differing, ordered};
  }

  void count_digits(P a, std::int64_t count, int shift, std::int64_t* counts) const {
    const Rank<Key> rank = rank_;
    // Neighbours often have the same digit: two tables, so that one addition need not wait for the other.
    std::uint32_t even[kDigits] = {}, odd[kDigits] = {};
    std::fill_n(counts, kDigits, 0);
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t end = std::min<std::int64_t>(count, i + (std::int64_t(1) << 31));
      for (; i + 2 <= end; i += 2) {
        ++even[(rank(a.keys[i]) >> shift) & (kDigits - 1)];
        ++odd[(rank(a.keys[i + 1]) >> shift) & (kDigits - 1)];
      }
      for (; i < end; ++i) ++even[(rank(a.keys[i]) >> shift) & (kDigits - 1)];
      for (int d = 0; d < kDigits; ++d) counts[d] += std::int64_t(std::exchange(even[d], 0)) + std::exchange(odd[d], 0);
    }
  }

  /// Moves pairs to where their digits belong; `places` says where the next pair of each digit goes.
  void scatter(P a, P b, std::int64_t count, int shift, std::int64_t* places) const {
    const Rank<Key> rank = rank_;
    for (std::int64_t i = 0; i < count; ++i) b.move(places[(rank(a.keys[i]) >> shift) & (kDigits - 1)]++, a, i);
  }

  void part_alone(P a, P b, std::int64_t count, int shift, bool open, bool into_b) const {
    std::int64_t places[kDigits], begins[kDigits + 1];
    count_digits(a, count, shift, places);
    std::int64_t place = 0;
    for (int d = 0; d < kDigits; ++d) {
      begins[d] = place;
      place += std::exchange(places[d], place);
    }
    begins[kDigits] = place;
    scatter(a, b, count, shift, places);
    if (!open) {
      if (!into_b) a.copy(b, count);
      return;
    }
    for (int d = 0; d < kDigits; ++d)
      if (const std::int64_t size = begins[d + 1] - begins[d])
        alone(b.from(begins[d]), a.from(begins[d]), size, !into_b);
  }

  /// From the lowest digit up, all digits counted in one walk.
  void by_digits(P a, P b, std::int64_t count, int low, int high, bool into_b) const {
    const Rank<Key> rank = rank_;
    const int passes = (high - low + kDigit - 1) / kDigit;
    const int digit = (high - low + passes - 1) / passes;
    const Key digits = Key((Key(1) << digit) - 1);
    std::uint32_t counts[kMaxPasses][kDigits];
    for (int p = 0; p < passes; ++p) std::fill_n(counts[p], std::size_t(digits) + 1, 0);
    for (int p = 0; p < passes; p += 2) {  // two tables at a time: an addition need not wait for the one before
      const int shift = low + p * digit;
      std::uint32_t *first = counts[p], *second = counts[std::min(p + 1, passes - 1)];
      if (p + 1 < passes)
        for (std::int64_t i = 0; i < count; ++i) {
          const Key r = Key(rank(a.keys[i]) >> shift);
          ++first[r & digits];
          ++second[Key(r >> digit) & digits];
        }
      else
        for (std::int64_t i = 0; i < count; ++i) ++first[Key(rank(a.keys[i]) >> shift) & digits];
    }
    for (int p = 0; p < passes; ++p) {
      std::uint32_t* at = counts[p];
      const int shift = low + p * digit;
      if (at[Key(rank(a.keys[0]) >> shift) & digits] == std::uint64_t(count)) continue;  // all keys agree
      std::uint32_t place = 0;
      for (std::size_t d = 0; d <= digits; ++d) place += std::exchange(at[d], place);
      for (std::int64_t i = 0; i < count; ++i) b.move(at[Key(rank(a.keys[i]) >> shift) & digits]++, a, i);
      std::swap(a, b);
      into_b = !into_b;
    }
    if (into_b) b.copy(a, count);
  }

  void insert(P a, P b, std::int64_t count, bool into_b) const {
    const Rank<Key> rank = rank_;
    if (into_b) {
      b.copy(a, count);
      a = b;
    }
    for (std::int64_t i = 1; i < count; ++i) {
      const Key key = a.keys[i], now = rank(key);
      std::int64_t k = i;
      if (rank(a.keys[k - 1]) <= now) continue;
      [[maybe_unused]] Value value{};
      if constexpr (!std::is_empty_v<Value>) value = a.values[i];
      for (; k > 0 && rank(a.keys[k - 1]) > now; --k) a.move(k, a, k - 1);
      a.keys[k] = key;
      if constexpr (!std::is_empty_v<Value>) a.values[k] = value;
    }
  }

  const Rank<Key> rank_;
};

}  // namespace weft::algorithms::host
