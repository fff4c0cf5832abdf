// Prefix sums on the CPU, in one walk over memory. A chunk has sixteen stretches: each is summed up for itself, four in
// step, a lane of a vector for each; then, when the chunk before knows its sum, what precedes each stretch is added, while
// the numbers still lie in the cache. The stretches have a fixed length, so results do not depend on threads; and since a
// stretch's sum is the last of its own prefix sums, sums of numbers that are not negative never go down. Of integers, whose
// sums do not depend on the order, a chunk finds its sum first and its prefix sums in one go then.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "algorithms/host/host.h"
#include "algorithms/host/numbers.h"
#include "algorithms/host/workers.h"

namespace weft::algorithms::host {
namespace {

/// Numbers of a stretch. No power of two: neighbours would fall into the same places of the cache.
constexpr std::int64_t kStretch = 1008;
constexpr int kStretches = 16, kInStep = 4;
constexpr std::int64_t kFew = 16;

/// A column of numbers in memory; packed ones have a stride that the compiler knows.
template <class T, bool kPacked>
struct Column {
  char* memory;
  std::int64_t stride;
  T& operator[](std::int64_t i) const {
    return *reinterpret_cast<T*>(memory + i * (kPacked ? std::int64_t(sizeof(T)) : stride));
  }
  Column from(std::int64_t i) const { return {memory + i * (kPacked ? std::int64_t(sizeof(T)) : stride), stride}; }
};

/// 16 bytes of numbers.
template <class T>
struct Vector {
  typedef T Lanes __attribute__((vector_size(16)));
  static constexpr int kLanes = int(16 / sizeof(T));
  static Lanes load(const void* from) {
    Lanes v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(void* to, Lanes v) { std::memcpy(to, &v, sizeof v); }
  /// The prefix sums of its numbers, and the last one in all lanes.
  static Lanes prefix(Lanes v) {
    const Lanes zero = {};
    if constexpr (kLanes == 2) return v + __builtin_shufflevector(zero, v, 1, 2);
    if constexpr (kLanes == 4) {
      v += __builtin_shufflevector(zero, v, 3, 4, 5, 6);
      return v + __builtin_shufflevector(zero, v, 2, 3, 4, 5);
    }
  }
  static Lanes last(Lanes v) {
    if constexpr (kLanes == 2) return __builtin_shufflevector(v, v, 1, 1);
    if constexpr (kLanes == 4) return __builtin_shufflevector(v, v, 3, 3, 3, 3);
  }
  /// Rows become columns.
  static void turn(Lanes& a, Lanes& b) {
    const Lanes low = __builtin_shufflevector(a, b, 0, 2);
    b = __builtin_shufflevector(a, b, 1, 3);
    a = low;
  }
  static void turn(Lanes& a, Lanes& b, Lanes& c, Lanes& d) {
    const Lanes ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Lanes ba = __builtin_shufflevector(a, b, 2, 6, 3, 7), dc = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(ba, dc, 0, 1, 4, 5);
    d = __builtin_shufflevector(ba, dc, 2, 3, 6, 7);
  }
};

template <class Number, bool kPacked, bool kInclusive>
class Scan {
  using Stored = typename Number::Stored;
  using Sum = typename Number::Sum;
  using Numbers = Column<Stored, kPacked>;
  /// Rounded prefix sums can't take what precedes them any more: such numbers are summed once more instead.
  static constexpr bool kTwice = sizeof(Stored) != sizeof(Sum);
  static constexpr bool kAnyOrder = kPacked && std::is_integral_v<Sum>;

 public:
  explicit Scan(const ScanRequest& r)
      : r_(r),
        stretch_(std::max<std::int64_t>(kStretch / r.components, 8)),
        carried_(std::size_t(r.components), Sum(0)) {}

  bool run(const runtime::LaunchOptions& options) {
    const std::int64_t chunk = stretch_ * kStretches;
    const std::int64_t chunks = (r_.count - 1) / chunk + 1;
    if (r_.components > kFew) many_.resize(std::size_t(chunks * r_.components * kStretches));
    Workers workers(options);
    if (chunks == 1 || workers.threads() == 1)
      return workers.run(chunks, [&](std::int64_t i) { one_chunk(i, workers); });
    // Threads that begin to work take chunks in order, whatever the scheduler's order is.
    return workers.run(chunks, [&](std::int64_t) { one_chunk(turns_.take(), workers); });
  }

 private:
  void one_chunk(std::int64_t chunk, Workers& workers) {
    const std::int64_t first = chunk * stretch_ * kStretches;
    if constexpr (kAnyOrder) return in_one_go(chunk, first, std::min(r_.count - first, stretch_ * kStretches), workers);
    std::int64_t length[kStretches];
    for (int s = 0; s < kStretches; ++s)
      length[s] = std::clamp<std::int64_t>(r_.count - first - s * stretch_, 0, stretch_);
    Sum few[kStretches * kFew];
    Sum* const sums = r_.components > kFew ? many_.data() + chunk * r_.components * kStretches : few;
    for (std::int64_t c = 0; c < r_.components; ++c)
      for (int s = 0; s < kStretches; s += kInStep) {
        const std::int64_t from = first + s * stretch_;
        within(in(c).from(from), out(c).from(from), length + s, sums + c * kStretches + s);
      }
    if (!turns_.await(chunk, workers)) return;
    for (std::int64_t c = 0; c < r_.components; ++c) {
      Sum before = carried_[std::size_t(c)];
      for (int s = 0; s < kStretches; ++s) before = before + std::exchange(sums[c * kStretches + s], before);
      carried_[std::size_t(c)] = before;
    }
    turns_.pass(chunk);
    for (std::int64_t c = 0; c < r_.components; ++c)
      for (int s = 0; s < kStretches; ++s) {
        const std::int64_t from = first + s * stretch_;
        if (from > 0 || kTwice) add(in(c).from(from), out(c).from(from), length[s], sums[c * kStretches + s]);
      }
  }

  /// A chunk of packed integers.
  void in_one_go(std::int64_t chunk, std::int64_t first, std::int64_t length, Workers& workers) {
    using V = Vector<Sum>;
    using Lanes = typename V::Lanes;
    const Stored* in = pointer_to<const Stored>(r_.in) + first;
    Stored* out = pointer_to<Stored>(r_.out) + first;
    Lanes sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * V::kLanes <= length; i += 4 * V::kLanes) {
      sums[0] += V::load(in + i);
      sums[1] += V::load(in + i + V::kLanes);
      sums[2] += V::load(in + i + 2 * V::kLanes);
      sums[3] += V::load(in + i + 3 * V::kLanes);
    }
    const Lanes all = sums[0] + sums[1] + sums[2] + sums[3];
    Sum whole = 0;
    for (int k = 0; k < V::kLanes; ++k) whole += all[k];
    for (; i < length; ++i) whole += Number::load(in[i]);
    if (!turns_.await(chunk, workers)) return;
    Sum sum = carried_[0];
    carried_[0] = sum + whole;
    turns_.pass(chunk);
    Lanes before = Lanes{} + sum;
    for (i = 0; i + V::kLanes <= length; i += V::kLanes) {
      const Lanes x = V::load(in + i), upto = V::prefix(x);
      V::store(out + i, kInclusive ? before + upto : before + upto - x);
      before += V::last(upto);
    }
    for (sum = before[0]; i < length; ++i) {
      const Sum x = Number::load(in[i]);
      out[i] = Number::store(kInclusive ? sum + x : sum);
      sum += x;
    }
  }

  Numbers in(std::int64_t component) const {
    return {pointer_to<char>(r_.in) + component * sizeof(Stored), r_.in_stride};
  }
  Numbers out(std::int64_t component) const {
    return {pointer_to<char>(r_.out) + component * sizeof(Stored), r_.out_stride};
  }

  static void step(Numbers in, Numbers out, std::int64_t i, Sum& sum) {
    const Sum x = Number::load(in[i]);
    if constexpr (kTwice) {
      sum = sum + x;
    } else if constexpr (kInclusive) {
      sum = sum + x;
      out[i] = Number::store(sum);
    } else {
      out[i] = Number::store(sum);
      sum = sum + x;
    }
  }

  /// The prefix sums of each stretch for itself, and its whole sum.
  void within(Numbers in, Numbers out, const std::int64_t* length, Sum* sums) const {
    Sum a = 0, b = 0, c = 0, d = 0;
    const Numbers in1 = in.from(stretch_), in2 = in.from(2 * stretch_), in3 = in.from(3 * stretch_);
    const Numbers out1 = out.from(stretch_), out2 = out.from(2 * stretch_), out3 = out.from(3 * stretch_);
    std::int64_t i = 0;
    if constexpr (kPacked && !kTwice && !kAnyOrder) {
      Sum begun[kInStep] = {};
      i = in_vectors(&in[0], &out[0], length[3], begun);
      a = begun[0], b = begun[1], c = begun[2], d = begun[3];
    }
    for (; i < length[3]; ++i) {
      step(in, out, i, a);
      step(in1, out1, i, b);
      step(in2, out2, i, c);
      step(in3, out3, i, d);
    }
    for (std::int64_t k = i; k < length[0]; ++k) step(in, out, k, a);
    for (std::int64_t k = i; k < length[1]; ++k) step(in1, out1, k, b);
    for (std::int64_t k = i; k < length[2]; ++k) step(in2, out2, k, c);
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
  }

  /// The same for the greater part of stretches of `length`: a lane for each stretch. Gives how far it came.
  std::int64_t in_vectors(const Stored* in, Stored* out, std::int64_t length, Sum* sums) const {
    using V = Vector<Sum>;
    using Lanes = typename V::Lanes;
    const std::int64_t s = stretch_;
    const auto next = [](Lanes& sum, Lanes& x) {
      const Lanes upto = sum + x;
      x = kInclusive ? upto : sum;
      sum = upto;
    };
    std::int64_t i = 0;
    if constexpr (V::kLanes == 4) {
      Lanes sum = {};
      for (; i + 4 <= length; i += 4) {
        __builtin_prefetch(in + 4 * s + 4 * i);  // the next four stretches, a line of the cache each time
        Lanes a = V::load(in + i), b = V::load(in + s + i), c = V::load(in + 2 * s + i), d = V::load(in + 3 * s + i);
        V::turn(a, b, c, d);
        next(sum, a), next(sum, b), next(sum, c), next(sum, d);
        V::turn(a, b, c, d);
        V::store(out + i, a), V::store(out + s + i, b), V::store(out + 2 * s + i, c), V::store(out + 3 * s + i, d);
      }
      V::store(sums, sum);
    } else {
      Lanes first = {}, second = {};
      for (; i + 2 <= length; i += 2) {
        __builtin_prefetch(in + 4 * s + 4 * i);
        Lanes a = V::load(in + i), b = V::load(in + s + i), c = V::load(in + 2 * s + i), d = V::load(in + 3 * s + i);
        V::turn(a, b), V::turn(c, d);
        next(first, a), next(second, c), next(first, b), next(second, d);
        V::turn(a, b), V::turn(c, d);
        V::store(out + i, a), V::store(out + s + i, b), V::store(out + 2 * s + i, c), V::store(out + 3 * s + i, d);
      }
      V::store(sums, first), V::store(sums + 2, second);
    }
    return i;
  }

  /// Adds what precedes a stretch to its prefix sums.
  static void add(Numbers in, Numbers out, std::int64_t length, Sum before) {
    if constexpr (kTwice) {
      Sum sum = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const Sum x = Number::load(in[i]), upto = sum + x;
        out[i] = Number::store(before + (kInclusive ? upto : sum));
        sum = upto;
      }
    } else if constexpr (kPacked) {
      using V = Vector<Sum>;
      Stored* p = &out[0];
      std::int64_t i = 0;
      for (; i + V::kLanes <= length; i += V::kLanes) V::store(p + i, V::load(p + i) + before);
      for (; i < length; ++i) p[i] = Number::store(before + Number::load(p[i]));
    } else {
      for (std::int64_t i = 0; i < length; ++i) out[i] = Number::store(before + Number::load(out[i]));
    }
  }

  const ScanRequest& r_;
  const std::int64_t stretch_;  // elements
  std::vector<Sum> many_;       // of stretches, where elements have more than kFew numbers
  std::vector<Sum> carried_;    // what precedes the chunk whose turn it is
  Turns turns_;
};

}  // namespace

bool scan(const ScanRequest& request, const runtime::LaunchOptions& options) {
  if (request.count <= 0 || request.components <= 0) return true;
  return with_number(request.kind, [&]<class Number>(Number) {
    constexpr std::int64_t size = sizeof(typename Number::Stored);
    const bool packed = request.components == 1 && request.in_stride == size && request.out_stride == size;
    if (packed && request.inclusive) return Scan<Number, true, true>(request).run(options);
    if (packed) return Scan<Number, true, false>(request).run(options);
    if (request.inclusive) return Scan<Number, false, true>(request).run(options);
    return Scan<Number, false, false>(request).run(options);
  });
}

}  // namespace weft::algorithms::host
