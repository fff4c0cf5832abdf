// How launches that add to shared arrays run: on one worker, with copies for each worker, by atomic operations, or written down
// and added up by destination. Which is fastest depends on the machine, on the arrays and above all on where threads add, which
// nobody knows before. So the launch's own times decide: each way that may win is tried, the fastest is kept, and the others are
// tried again now and then.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/private_sums.h"

namespace weft::runtime {

enum class SumWay : std::uint8_t { alone, copies, atomics, buckets };
inline constexpr int kSumWays = 4;

/// A launch as far as the choice depends on it.
struct SumCase {
  const void* kernel = nullptr;  // whose times these are
  bool adjoint = false;
  std::int64_t threads = 0;  // of the grid
  int workers = 1;
};

/// What may be chosen.
struct SumOptions {
  bool copies = true;           // memory and arrays allow copies
  bool atomics = false;         // there is such code, or it may be made
  bool copies_expected = true;  // an estimate says that copies pay; it is tried first
  double atomics_from = 0;      // seconds that a launch must take otherwise for them to be tried
  bool buckets = false;         // the same for code that writes additions down
  double buckets_from = 0;
};

/// The way for a launch; thread-safe. Launches that the estimate says are short keep to what it says.
SumWay choose_sum_way(const SumCase& launch, const SumOptions& options);
/// What a launch by a chosen way took.
void tell_sum_time(const SumCase& launch, SumWay way, double seconds);
/// Bytes that a copy of all arrays takes; the largest number if they can't be copied.
std::uint64_t bytes_of_sums(const void* params, std::span<const SumSlot> sums);
/// Forgets all times; for tests.
void forget_sum_times();
/// For tests: has all launches that can take a way do so, whatever it takes; none: by their times.
void force_sum_way(std::optional<SumWay> way);
std::optional<SumWay> forced_sum_way();

}  // namespace weft::runtime
