// Sums and inner products on the CPU. The numbers are cut into units: some rows of the length, a stretch of the columns.
// A unit is added up in many lanes, the sums of a column's units by a binary tree. All of it follows from the extents of
// the request, so the number of threads changes nothing.
#include <algorithm>
#include <vector>

#include "algorithms/host/host.h"
#include "algorithms/host/numbers.h"
#include "algorithms/host/workers.h"

namespace weft::algorithms::host {
namespace {

constexpr std::int64_t kUnit = 4096;        // numbers of a unit, about
constexpr std::int64_t kColumns = 512;      // the widest unit
constexpr std::int64_t kLeastRows = 64;     // of a unit, if there are so many
constexpr std::int64_t kPiece = 32 * 1024;  // numbers that are worth a piece of work
constexpr int kLanes = 32;                  // of a sum of packed numbers

template <class Number, bool kProduct>
class Sums {
  using Stored = typename Number::Stored;
  using Sum = typename Number::Sum;

 public:
  explicit Sums(const SumRequest& r)
      : r_(r),
        a_(pointer_to<const Stored>(r.a)),
        b_(pointer_to<const Stored>(r.b)),
        width_(std::min(r.inner, kColumns)),
        stretches_((r.inner - 1) / width_ + 1),
        rows_(std::max(kUnit / width_, kLeastRows)),
        parts_(std::max<std::int64_t>((r.length - 1) / rows_ + 1, 1)) {}

  bool run(const runtime::LaunchOptions& options) {
    Workers workers(options);
    const std::int64_t units = r_.outer * parts_ * stretches_;
    if (parts_ > 1) sums_.resize(std::size_t(r_.outer * parts_ * r_.inner));
    // Small units are handed out together.
    const std::int64_t numbers = std::max<std::int64_t>(std::min(rows_, r_.length) * width_, 1);
    const std::int64_t together = std::max<std::int64_t>(kPiece / numbers, 1);
    const bool done = workers.run((units - 1) / together + 1, [&](std::int64_t piece) {
      for (std::int64_t u = piece * together; u < std::min(units, (piece + 1) * together); ++u) unit(u);
    });
    if (!done || parts_ == 1) return done;
    const std::int64_t columns = r_.outer * stretches_;
    const std::int64_t joined = std::max<std::int64_t>(kPiece / (parts_ * width_), 1);
    return workers.run((columns - 1) / joined + 1, [&](std::int64_t piece) {
      for (std::int64_t c = piece * joined; c < std::min(columns, (piece + 1) * joined); ++c) join(c);
    });
  }

 private:
  static Sum term(const Stored* a, const Stored* b, std::int64_t i) {
    if constexpr (kProduct)
      return Number::load(a[i]) * Number::load(b[i]);
    else
      return Number::load(a[i]);
  }

  void unit(std::int64_t number) {
    const std::int64_t stretch = number % stretches_, part = number / stretches_ % parts_;
    const std::int64_t outer = number / stretches_ / parts_;
    const std::int64_t column = stretch * width_, width = std::min(width_, r_.inner - column);
    const std::int64_t row = part * rows_, rows = std::min(rows_, r_.length - row);
    const std::int64_t at = (outer * r_.length + row) * r_.inner + column;
    Sum sums[kColumns];
    if (r_.inner == 1)
      sums[0] = packed(at, rows);
    else if (r_.inner < kLanes)
      narrow(at, rows, sums);
    else
      wide(at, rows, width, sums);
    if (parts_ > 1)
      std::copy_n(sums, width, &sums_[std::size_t((outer * parts_ + part) * r_.inner + column)]);
    else
      give(sums, outer, column, width);
  }

  void give(const Sum* sums, std::int64_t outer, std::int64_t column, std::int64_t width) {
    Stored* out = pointer_to<Stored>(r_.out) + outer * r_.inner + column;
    for (std::int64_t k = 0; k < width; ++k) out[k] = Number::store(sums[k]);
  }

  /// Numbers of one column side by side: lanes that fold in halves.
  Sum packed(std::int64_t at, std::int64_t count) const {
    const Stored *a = a_ + at, *b = kProduct ? b_ + at : nullptr;
    Sum lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lanes[k] = lanes[k] + term(a, b, i + k);
    for (int k = 0; i + k < count; ++k) lanes[k] = lanes[k] + term(a, b, i + k);
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) lanes[k] = lanes[k] + lanes[k + half];
    return lanes[0];
  }

  /// Few columns: several rows at once are a row of lanes.
  void narrow(std::int64_t at, std::int64_t rows, Sum* sums) const {
    const Stored *a = a_ + at, *b = kProduct ? b_ + at : nullptr;
    const std::int64_t inner = r_.inner, lanes = (2 * kLanes / inner) * inner, count = rows * inner;
    Sum lane[2 * kLanes] = {};
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
      for (std::int64_t k = 0; k < lanes; ++k) lane[k] = lane[k] + term(a, b, i + k);
    for (std::int64_t k = 0; i + k < count; ++k) lane[k] = lane[k] + term(a, b, i + k);
    for (std::int64_t k = inner; k < lanes; ++k) lane[k % inner] = lane[k % inner] + lane[k];
    std::copy_n(lane, inner, sums);
  }

  void wide(std::int64_t at, std::int64_t rows, std::int64_t width, Sum* sums) const {
    std::fill_n(sums, width, Sum(0));
    for (std::int64_t row = 0; row < rows; ++row, at += r_.inner) {
      const Stored *a = a_ + at, *b = kProduct ? b_ + at : nullptr;
      for (std::int64_t k = 0; k < width; ++k) sums[k] = sums[k] + term(a, b, k);
    }
  }

  /// The tree over the parts of a stretch of columns.
  void join(std::int64_t number) {
    const std::int64_t outer = number / stretches_, column = number % stretches_ * width_;
    const std::int64_t width = std::min(width_, r_.inner - column);
    Sum* sums = &sums_[std::size_t(outer * parts_ * r_.inner + column)];
    for (std::int64_t step = 1; step < parts_; step *= 2)
      for (std::int64_t part = 0; part + step < parts_; part += 2 * step) {
        Sum *to = sums + part * r_.inner, *from = sums + (part + step) * r_.inner;
        for (std::int64_t k = 0; k < width; ++k) to[k] = to[k] + from[k];
      }
    give(sums, outer, column, width);
  }

  const SumRequest& r_;
  const Stored *const a_, *const b_;
  const std::int64_t width_, stretches_;  // columns of a unit; units side by side
  const std::int64_t rows_, parts_;       // rows of a unit; units one below the other
  std::vector<Sum> sums_;                 // (outer, part, inner), if there are several parts
};

}  // namespace

bool sum(const SumRequest& request, const runtime::LaunchOptions& options) {
  if (request.outer <= 0 || request.inner <= 0) return true;
  return with_number(request.kind, [&]<class Number>(Number) {
    if (request.b) return Sums<Number, true>(request).run(options);
    return Sums<Number, false>(request).run(options);
  });
}

}  // namespace weft::algorithms::host
