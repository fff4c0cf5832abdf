// Histograms on the CPU. Few bins are counted by each chunk of the values for itself, many by all threads in one table;
// counts are whole numbers, so the order does not matter.
#include <algorithm>
#include <atomic>
#include <vector>

#include "algorithms/host/host.h"
#include "algorithms/host/numbers.h"
#include "algorithms/host/workers.h"

namespace weft::algorithms::host {
namespace {

constexpr std::int64_t kLeastChunk = 16 * 1024;
constexpr std::int64_t kFewBins = 16 * 1024;

template <class Number>
class Histogram {
  using Stored = typename Number::Stored;

 public:
  explicit Histogram(const HistogramRequest& r)
      : r_(r), values_(pointer_to<const Stored>(r.values)), counts_(pointer_to<std::int32_t>(r.counts)) {}

  bool run(const runtime::LaunchOptions& options) {
    std::fill_n(counts_, r_.bins, 0);
    if (r_.count <= 0) return true;
    Workers workers(options);
    const std::int64_t chunks =
        std::clamp<std::int64_t>(r_.count / kLeastChunk, 1, 4 * std::int64_t(workers.threads()));
    const auto first = [&](std::int64_t c) { return r_.count * c / chunks; };
    if (r_.bins > kFewBins)
      return workers.run(chunks, [&](std::int64_t c) {
        for (std::int64_t i = first(c); i < first(c + 1); ++i)
          if (const std::int64_t bin = bin_of(values_[i]); bin >= 0)
            std::atomic_ref(counts_[bin]).fetch_add(1, std::memory_order_relaxed);
      });
    std::vector<std::int32_t> tables(std::size_t(chunks * r_.bins));
    const bool done = workers.run(chunks, [&](std::int64_t c) {
      std::int32_t* table = &tables[std::size_t(c * r_.bins)];
      for (std::int64_t i = first(c); i < first(c + 1); ++i)
        if (const std::int64_t bin = bin_of(values_[i]); bin >= 0) ++table[bin];
    });
    for (std::int64_t c = 0; c < chunks; ++c)
      for (std::int64_t b = 0; b < r_.bins; ++b) counts_[b] += tables[std::size_t(c * r_.bins + b)];
    return done;
  }

 private:
  /// −1: in none.
  std::int64_t bin_of(Stored stored) const {
    double value;
    if constexpr (sizeof(Stored) == 2)
      value = double(Number::load(stored));
    else
      value = double(stored);
    if (!(value >= r_.lower && value < r_.upper)) return -1;
    // The product may be rounded up to the end.
    return std::min(std::int64_t((value - r_.lower) / (r_.upper - r_.lower) * double(r_.bins)), r_.bins - 1);
  }

  const HistogramRequest& r_;
  const Stored* const values_;
  std::int32_t* const counts_;
};

}  // namespace

bool histogram(const HistogramRequest& request, const runtime::LaunchOptions& options) {
  if (request.bins <= 0) return true;
  return with_number(request.kind, [&]<class Number>(Number) { return Histogram<Number>(request).run(options); });
}

}  // namespace weft::algorithms::host
