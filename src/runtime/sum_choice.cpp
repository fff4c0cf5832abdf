// Times of launches by kernel, size and workers.
#include "runtime/sum_choice.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>

namespace weft::runtime {
namespace {

constexpr double kWorthKnowing = 100e-6;  // seconds: shorter launches vary too much, and win too little
constexpr double kForget = 1.05;          // a best time counts by so much less with every later one: data change
constexpr double kChanged = 1.25;         // times the best: other data, or other work on the machine
constexpr int kBelieved = 3;              // such times in turn are the data's
constexpr int kTries = 3;                 // of a way before it is judged: the first finds cold memory
constexpr int kLookAgain = 64;            // launches between two tries of a way that lost
constexpr double kHopeless = 3;           // times the best: not looked at again before eight times as many launches
constexpr std::size_t kMostCases = 4096;

std::atomic<int> forced{-1};

struct Way {
  double best = 0;  // seconds; 0: never tried
  int tries = 0;
  int longer = 0;  // times in turn that were much longer than that
  double least_longer = 0;

  void note(double seconds) {
    const bool is_longer = tries > 0 && seconds > kChanged * best;
    least_longer = longer > 0 ? std::min(least_longer, seconds) : seconds;
    longer = is_longer ? longer + 1 : 0;
    best = tries == 0 ? seconds : std::min(best * kForget, seconds);
    tries = std::min(tries + 1, 1000);
    if (longer < kBelieved) return;
    best = least_longer;
    longer = 0;
  }
};
struct Record {
  Way ways[kSumWays];
  std::uint32_t launches = 0;
};

struct Times {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Record> by_case;
};
Times& times() {
  static auto& only = *new Times;  // threads may outlive static destructors
  return only;
}

/// Sizes within a factor of the fourth root of two or so are one case.
std::uint64_t key_of(const SumCase& launch) {
  const auto size = std::uint64_t(std::max<std::int64_t>(launch.threads, 1));
  const int bits = std::bit_width(size);
  const std::uint64_t finer = bits > 3 ? size >> (bits - 3) & 3 : size & 3;
  const std::uint64_t rest = std::uint64_t(bits) << 18 | finer << 16 | std::uint64_t(launch.adjoint) << 15 |
                             std::uint64_t(launch.workers & 0x7fff);
  return (reinterpret_cast<std::uintptr_t>(launch.kernel) ^ rest * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
}

}  // namespace

void force_sum_way(std::optional<SumWay> way) { forced.store(way ? int(*way) : -1, std::memory_order_relaxed); }

std::optional<SumWay> forced_sum_way() {
  const int way = forced.load(std::memory_order_relaxed);
  return way < 0 ? std::nullopt : std::optional(SumWay(way));
}

SumWay choose_sum_way(const SumCase& launch, const SumOptions& options) {
  if (const auto way = forced_sum_way()) [[unlikely]] {
    const bool open[kSumWays] = {true, options.copies, options.atomics, options.buckets};
    if (open[int(*way)]) return *way;
  }
  const SumWay expected = options.copies && options.copies_expected ? SumWay::copies : SumWay::alone;
  std::lock_guard lock(times().mutex);
  auto& cases = times().by_case;
  if (cases.size() > kMostCases) cases.clear();
  Record& record = cases[key_of(launch)];
  ++record.launches;
  const Way& first = record.ways[int(expected)];
  if (first.tries < kTries || first.best < kWorthKnowing) return expected;
  const bool open[kSumWays] = {true, options.copies, options.atomics && first.best >= options.atomics_from,
                               options.buckets && first.best >= options.buckets_from};
  int winner = int(expected);
  for (int w = 0; w < kSumWays; ++w) {
    if (!open[w]) continue;
    // Each way is tried a few times; one that is plainly worse at the first try needs no second one.
    const bool judged =
        record.ways[w].tries >= kTries || (record.ways[w].tries > 0 && record.ways[w].best > 2 * first.best);
    if (!judged) return SumWay(w);
    if (record.ways[w].best < record.ways[winner].best) winner = w;
  }
  if (record.launches % kLookAgain == 0)
    for (int w = 0; w < kSumWays; ++w) {
      const bool hopeless = record.ways[w].best > kHopeless * record.ways[winner].best;
      const std::uint32_t every = hopeless ? 8 * kLookAgain : kLookAgain;
      if (open[w] && w != winner && record.launches / every % kSumWays == std::uint32_t(w) &&
          record.launches % every == 0)
        return SumWay(w);
    }
  return SumWay(winner);
}

void tell_sum_time(const SumCase& launch, SumWay way, double seconds) {
  std::lock_guard lock(times().mutex);
  const auto found = times().by_case.find(key_of(launch));
  if (found == times().by_case.end()) return;
  found->second.ways[int(way)].note(seconds);
}

void forget_sum_times() {
  std::lock_guard lock(times().mutex);
  times().by_case.clear();
}

}  // namespace weft::runtime
