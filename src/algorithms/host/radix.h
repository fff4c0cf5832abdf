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
  std::uint64_t flip = 0;  // the sign's bit, where keys have signs
  int begin_bit = 0, end_bit = 0;
};

/// Keys without values.
struct NoValue {};

inline constexpr int kDigit = 8, kDigits = 1 << kDigit;
inline constexpr int kWideDigit = 12;              // the widest, of parts that lie in the cache
inline constexpr std::int64_t kTiny = 32;          // sorted by insertion
inline constexpr std::int64_t kAlone = 32 * 1024;  // pairs that one thread sorts
inline constexpr std::int64_t kLeastChunk = 16 * 1024;
inline constexpr std::int64_t kCache = 768 * 1024;  // bytes of pairs and their spare that are sorted in a core's cache
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
  int top() const { return int(std::bit_width(differing)); }
  int bottom() const { return std::countr_zero(differing); }
};

/// What threads find in their chunks.
class SortScratch {
 public:
  struct Chunk {
    Survey survey;
    std::int64_t counts[kDigits] = {};
  };
  /// Room for all the chunks that a sort by so many threads has at once.
  explicit SortScratch(int threads) : chunks_(std::size_t(threads) * kChunksPerThread) {}
  Chunk* chunks() { return chunks_.data(); }

 private:
  std::vector<Chunk> chunks_;
};

/// Sorts pairs of keys, unsigned here, and values. Floats are turned around where they are negative.
template <class Key, class Value, bool kFloats>
class Sorter {
  using P = Pairs<Key, Value>;
  static constexpr int kBits = int(sizeof(Key)) * 8;
  static constexpr std::int64_t kPairBytes =
      2 * std::int64_t(sizeof(Key) + (std::is_empty_v<Value> ? 0 : sizeof(Value)));

 public:
  explicit Sorter(const KeyOrder& order)
      : order_{Key(order.flip)},
        begin_bit_(order.begin_bit),
        mask_(order.begin_bit == order.end_bit
                  ? Key(0)
                  : Key(Key(~Key(0) >> (kBits - (order.end_bit - order.begin_bit))) << order.begin_bit)) {}

  /// Sorts the pairs of `a` by one thread; they end in `b` if `into_b`, else in `a`. The other one is scratch.
  void alone(P a, P b, std::int64_t count, bool into_b) const {
    if (count <= kTiny) return insert(a, b, count, into_b);
    Survey seen;
    survey(a, count, seen);
    if (seen.ordered)
      move_if(into_b, a, b, count);
    else
      bits(a, b, count, seen.bottom(), seen.top(), into_b);
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
    const auto in_chunks = [&](const auto& work) {
      return workers.run(chunks, [&](std::int64_t c) { work(c, first(c), first(c + 1) - first(c)); });
    };
    SortScratch::Chunk* found = scratch.chunks();
    // Digits are counted for the highest bits right away: most keys use them all.
    int shift = std::max(int(std::bit_width(mask_)) - kDigit, begin_bit_);
    if (!in_chunks([&](std::int64_t c, std::int64_t from, std::int64_t size) {
          found[c] = {};
          found[c].survey.differing = std::uint64_t((rank(a.keys[0]) ^ rank(a.keys[from])) & mask_);
          constexpr std::int64_t kBlock = 4096;  // stays in the cache for the second look
          for (std::int64_t i = 0; i < size; i += kBlock) {
            const std::int64_t block = std::min(kBlock, size - i);
            if (from + i > 0) follow(a.keys[from + i - 1], a.keys[from + i], found[c].survey);
            survey(a.from(from + i), block, found[c].survey);
            count_digits(a.from(from + i), block, shift, found[c].counts);
          }
        }))
      return false;
    Survey seen;
    for (std::int64_t c = 0; c < chunks; ++c) {
      seen.differing |= found[c].survey.differing;
      seen.ordered &= found[c].survey.ordered;
    }
    if (seen.ordered)
      return in_chunks([&](std::int64_t, std::int64_t from, std::int64_t size) {
        move_if(into_b, a.from(from), b.from(from), size);
      });
    if (const int needed = std::max(seen.top() - kDigit, begin_bit_); needed != shift) {
      shift = needed;
      if (!in_chunks([&](std::int64_t c, std::int64_t from, std::int64_t size) {
            std::fill_n(found[c].counts, kDigits, 0);
            count_digits(a.from(from), size, shift, found[c].counts);
          }))
        return false;
    }
    std::int64_t begins[kDigits + 1];
    std::int64_t place = 0;
    for (int d = 0; d < kDigits; ++d) {
      begins[d] = place;
      for (std::int64_t c = 0; c < chunks; ++c) place += std::exchange(found[c].counts[d], place);
    }
    begins[kDigits] = place;
    if (!in_chunks([&](std::int64_t c, std::int64_t from, std::int64_t size) {
          scatter(a.from(from), b, size, shift, top_digit(shift), found[c].counts);
        }))
      return false;
    return parts(b, a, begins, seen.bottom(), shift, !into_b, workers, scratch);
  }

 private:
  /// A key as an unsigned number of the same order. Loops work with a copy, which stays in registers whatever they write.
  struct Order {
    Key flip;
    Key operator()(Key key) const {
      if constexpr (kFloats)
        return key ^ Key(Key(std::make_signed_t<Key>(key) >> (kBits - 1)) | flip);
      else
        return key ^ flip;
    }
  };
  /// What decides of it.
  Key rank(Key key) const { return order_(key) & mask_; }

  static void move_if(bool wanted, P a, P b, std::int64_t count) {
    if (wanted) b.copy(a, count);
  }

  /// Sorts each of the parts that have a digit in common by the bits from low to high, those below the digit.
  bool parts(P a, P b, const std::int64_t* begins, int low, int high, bool into_b, Workers& workers,
             SortScratch& scratch) const {
    const std::int64_t count = begins[kDigits];
    // Parts that would keep one thread busy while the others have nothing left to do.
    const std::int64_t large = std::max<std::int64_t>(kAlone, count / (2 * workers.threads()));
    // The others are handed out as runs of neighbours.
    std::int64_t run_first[kDigits], run_last[kDigits], runs = 0, held = 0;
    for (int d = 0; d < kDigits; ++d) {
      const std::int64_t size = begins[d + 1] - begins[d];
      if (size == 0) continue;
      if (size > large && low < high) {
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
      for (std::int64_t d = run_first[r]; d < run_last[r]; ++d)
        bits(a.from(begins[d]), b.from(begins[d]), begins[d + 1] - begins[d], low, high, into_b);
    });
  }

  /// Whether a key follows another one.
  void follow(Key before, Key key, Survey& seen) const {
    if (rank(before) > rank(key)) seen.ordered = false;
  }

  /// Adds what is to be known of keys that lie side by side.
  void survey(P a, std::int64_t count, Survey& seen) const {
    const Order order = order_;
    const Key mask = mask_, first = order(a.keys[0]);
    constexpr int kAtOnce = 16;  // a count that every compiler turns into vectors
    Key differing = 0, fallen = 0;
    std::int64_t i = 1;
    for (; i + kAtOnce <= count; i += kAtOnce)
      for (int k = 0; k < kAtOnce; ++k) {
        const Key now = order(a.keys[i + k]), before = order(a.keys[i + k - 1]);
        differing |= now ^ first;
        fallen |= Key((before & mask) > (now & mask));
      }
    for (; i < count; ++i) {
      const Key now = order(a.keys[i]), before = order(a.keys[i - 1]);
      differing |= now ^ first;
      fallen |= Key((before & mask) > (now & mask));
    }
    seen.differing |= std::uint64_t(differing & mask);
    seen.ordered &= fallen == 0;
  }

  /// The mask of the digit that begins at `shift`: no bits above the highest that decides, which need not be alike.
  Key top_digit(int shift) const { return Key(mask_ >> shift) & Key(kDigits - 1); }

  void count_digits(P a, std::int64_t count, int shift, std::int64_t* counts) const {
    const Order order = order_;
    const Key digit = top_digit(shift);
    for (std::int64_t i = 0; i < count; ++i) ++counts[Key(order(a.keys[i]) >> shift) & digit];
  }

  /// Moves pairs to where their digits belong; `places` says where the next pair of each digit goes.
  template <class Place>
  void scatter(P a, P b, std::int64_t count, int shift, Key digit, Place* places) const {
    const Order order = order_;
    for (std::int64_t i = 0; i < count; ++i)
      b.move(std::int64_t(places[Key(order(a.keys[i]) >> shift) & digit]++), a, i);
  }

  /// Sorts by the bits from low to high; those above are alike, or do not decide.
  void bits(P a, P b, std::int64_t count, int low, int high, bool into_b) const {
    if (low >= high) return move_if(into_b, a, b, count);
    if (count <= kTiny) return insert(a, b, count, into_b);
    if (count * kPairBytes <= kCache) return by_digits(a, b, count, low, high, into_b);
    const int shift = std::max(high - kDigit, low);
    std::int64_t places[kDigits] = {}, begins[kDigits + 1];
    count_digits(a, count, shift, places);
    std::int64_t place = 0;
    for (int d = 0; d < kDigits; ++d) {
      begins[d] = place;
      place += std::exchange(places[d], place);
    }
    begins[kDigits] = place;
    scatter(a, b, count, shift, top_digit(shift), places);
    for (int d = 0; d < kDigits; ++d)
      bits(b.from(begins[d]), a.from(begins[d]), begins[d + 1] - begins[d], low, shift, !into_b);
  }

  /// From the lowest digit up. More keys are worth more counters.
  void by_digits(P a, P b, std::int64_t count, int low, int high, bool into_b) const {
    const int most = count < 2048 ? 8 : count < 16384 ? 11 : kWideDigit;
    const int passes = (high - low + most - 1) / most, width = (high - low + passes - 1) / passes;
    std::uint32_t counts[1 << kWideDigit];
    const Order order = order_;
    for (int shift = low; shift < high; shift += width) {
      const Key digit = Key(Key(mask_ >> shift) & Key((Key(1) << width) - 1));
      std::fill_n(counts, std::size_t(digit) + 1, 0);
      for (std::int64_t i = 0; i < count; ++i) ++counts[Key(order(a.keys[i]) >> shift) & digit];
      if (counts[Key(order(a.keys[0]) >> shift) & digit] == std::uint32_t(count)) continue;  // all keys agree
      std::uint32_t place = 0;
      for (std::size_t d = 0; d <= digit; ++d) place += std::exchange(counts[d], place);
      scatter(a, b, count, shift, digit, counts);
      std::swap(a, b);
      into_b = !into_b;
    }
    move_if(into_b, a, b, count);
  }

  void insert(P a, P b, std::int64_t count, bool into_b) const {
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

  const Order order_;
  const int begin_bit_;
  const Key mask_;  // the bits that decide
};

}  // namespace weft::algorithms::host
