// Runs of equal values on the CPU. Each chunk counts the runs that begin in it; then it knows how many come before, and
// where the first run behind it begins, which is where its last one ends.
#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/host/host.h"
#include "algorithms/host/numbers.h"
#include "algorithms/host/workers.h"

namespace weft::algorithms::host {
namespace {

constexpr std::int64_t kChunk = 16 * 1024;
constexpr int kAtOnce = 16;  // a count that every compiler turns into vectors

template <class T>
class Runs {
 public:
  explicit Runs(const RunsRequest& r)
      : r_(r), values_(pointer_to<const T>(r.values)), chunks_(std::size_t((r.count - 1) / kChunk + 1)) {}

  std::optional<std::int64_t> find(const runtime::LaunchOptions& options) {
    Workers workers(options);
    const std::int64_t chunks = std::int64_t(chunks_.size());
    if (!workers.run(chunks, [&](std::int64_t c) { count(c); })) return std::nullopt;
    std::int64_t runs = 0, next = r_.count;
    for (Chunk& c : chunks_) runs += std::exchange(c.runs, runs);
    for (std::int64_t c = chunks; c-- > 0;) {
      Chunk& chunk = chunks_[std::size_t(c)];
      const std::int64_t first = chunk.first;
      chunk.next = next;
      if (first >= 0) next = first;
    }
    if (!workers.run(chunks, [&](std::int64_t c) { write(c); })) return std::nullopt;
    return runs;
  }

 private:
  struct Chunk {
    std::int64_t runs = 0;    // that begin in it; then, those before it
    std::int64_t first = -1;  // where the first begins; −1: none does
    std::int64_t next = 0;    // where the first run behind the chunk begins
  };

  bool begins(std::int64_t i) const { return i == 0 || values_[i] != values_[i - 1]; }

  void count(std::int64_t number) {
    const std::int64_t from = number * kChunk, to = std::min(r_.count, from + kChunk);
    Chunk chunk;
    chunk.runs = from == 0;
    std::int64_t i = std::max<std::int64_t>(from, 1);
    for (; i + kAtOnce <= to; i += kAtOnce) {
      std::int32_t begun = 0;
      for (int k = 0; k < kAtOnce; ++k) begun += values_[i + k] != values_[i + k - 1];
      chunk.runs += begun;
    }
    for (; i < to; ++i) chunk.runs += begins(i);
    if (chunk.runs > 0)
      for (chunk.first = from; !begins(chunk.first);) ++chunk.first;
    chunks_[std::size_t(number)] = chunk;
  }

  void write(std::int64_t number) {
    const Chunk& chunk = chunks_[std::size_t(number)];
    if (chunk.first < 0) return;
    const std::int64_t to = std::min(r_.count, (number + 1) * kChunk);
    T* values = pointer_to<T>(r_.run_values);
    std::int32_t* lengths = r_.run_lengths ? pointer_to<std::int32_t>(r_.run_lengths) : nullptr;
    if (lengths)
      write<true>(chunk, to, values, lengths);
    else
      write<false>(chunk, to, values, nullptr);
  }

  /// Every element writes its run, as far as it is known by then: no branch has to be guessed.
  template <bool kLengths>
  void write(const Chunk& chunk, std::int64_t to, T* values, [[maybe_unused]] std::int32_t* lengths) const {
    std::int64_t run = chunk.runs, begin = chunk.first;
    for (std::int64_t i = begin + 1; i < to; ++i) {
      const bool next = begins(i);
      values[run] = values_[i - 1];
      if constexpr (kLengths) lengths[run] = std::int32_t(i - begin);
      run += next;
      begin = next ? i : begin;
    }
    values[run] = values_[to - 1];
    if constexpr (kLengths) lengths[run] = std::int32_t(chunk.next - begin);
  }

  const RunsRequest& r_;
  const T* const values_;
  std::vector<Chunk> chunks_;
};

}  // namespace

std::optional<std::int64_t> runs(const RunsRequest& request, const runtime::LaunchOptions& options) {
  if (request.count <= 0) return 0;
  return with_number(request.kind, [&]<class Number>(Number) -> std::optional<std::int64_t> {
    return Runs<typename Number::Stored>(request).find(options);
  });
}

}  // namespace weft::algorithms::host
