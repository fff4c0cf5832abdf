// Points into cells on the CPU: two digits of a radix sort, the higher one first. Threads find the cells of chunks of points
// and count their higher digits; a prefix sum over (digit, chunk) says where each chunk's points go. What has the same
// higher digit is a stretch of the table and of the points that fit into a core's cache: one thread counts its cells, which
// gives their starts, and puts the points there. Memory is walked over three times.
#include "geometry/grid_cells.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/algorithms.h"
#include "algorithms/host/workers.h"
#include "runtime/half.h"

namespace weft::geometry {
namespace {

using algorithms::pointer_to;
using algorithms::host::Workers;

constexpr int kHighBits = 11;
constexpr std::int64_t kLeastChunk = 16 * 1024;
constexpr int kPiecesPerThread = 8;

/// A number as int32: down to the next whole one, saturating; not-a-numbers are 0. No branches, so that it becomes vectors.
template <class Real>
std::int32_t floor_to_int(Real x) {
  constexpr Real kLow = Real(std::numeric_limits<std::int32_t>::min()), kEnd = -kLow;
  // The largest number below 2^31 that Real has.
  constexpr Real kHigh = sizeof(Real) == 4 ? Real(2147483520) : Real(2147483647);
  const Real number = x == x ? x : Real(0);
  const Real inside = std::min(std::max(number, kLow), kHigh);
  const std::int32_t whole = std::int32_t(inside);
  const std::int32_t floored = whole - std::int32_t(Real(whole) > inside);
  return number >= kEnd ? std::numeric_limits<std::int32_t>::max() : floored;
}

/// The remainder by an extent that is not negative.
class Wrap {
 public:
  explicit Wrap(std::int32_t extent) : extent_(std::uint32_t(extent)) {}
  bool power_of_two() const { return (extent_ & (extent_ - 1)) == 0; }
  std::uint32_t masked(std::int32_t x) const { return std::uint32_t(x) & (extent_ - 1); }
  /// Most cells are less than an extent away, and need no division.
  std::uint32_t divided(std::int32_t x) const {
    const std::uint32_t sign = std::uint32_t(x >> 31), near = std::uint32_t(x) + (sign & extent_);
    if (near < extent_) [[likely]]
      return near;
    const std::uint32_t rest = (std::uint32_t(x) ^ sign) % extent_;
    return (rest ^ sign) + (sign & extent_);
  }

 private:
  std::uint32_t extent_;
};

float widened(std::uint16_t bits) { return runtime::f16_to_float(bits); }
template <class Real>
Real widened(Real x) {
  return x;
}

/// Writes the cells of the points from `first` on, `count` of them.
template <class Number, class Real>
void find_cells(const CellsRequest& request, std::int64_t first, std::int64_t count) {
  const auto* points = pointer_to<const Number>(request.points);
  const auto* order = pointer_to<const std::int32_t>(request.order);
  std::uint32_t* const cells = pointer_to<std::uint32_t>(request.cells) + first;
  const Real inverse = Real(request.inverse_width);
  const Wrap x_wrap(request.dims[0]), y_wrap(request.dims[1]), z_wrap(request.dims[2]);
  const std::uint32_t width = std::uint32_t(request.dims[0]), height = std::uint32_t(request.dims[1]);
  const auto each = [&](const auto& point_of, const auto& wrapped) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Number* p = point_of(i);
      const std::uint32_t x = wrapped(x_wrap, floor_to_int(Real(widened(p[0])) * inverse));
      const std::uint32_t y = wrapped(y_wrap, floor_to_int(Real(widened(p[1])) * inverse));
      const std::uint32_t z = wrapped(z_wrap, floor_to_int(Real(widened(p[2])) * inverse));
      cells[i] = (z * height + y) * width + x;
    }
  };
  const auto wrapped_by_all = [&](const auto& point_of) {
    if (x_wrap.power_of_two() && y_wrap.power_of_two() && z_wrap.power_of_two())
      each(point_of, [](const Wrap& wrap, std::int32_t x) { return wrap.masked(x); });
    else
      each(point_of, [](const Wrap& wrap, std::int32_t x) { return wrap.divided(x); });
  };
  if (order)
    wrapped_by_all([&](std::int64_t i) { return points + 3 * std::int64_t(order[first + i]); });
  else
    wrapped_by_all([&](std::int64_t i) { return points + 3 * (first + i); });
}

void find_cells(const CellsRequest& request, std::int64_t first, std::int64_t count) {
  switch (request.kind) {
    case ScalarKind::f16: return find_cells<std::uint16_t, float>(request, first, count);
    case ScalarKind::f64: return find_cells<double, double>(request, first, count);
    default: return find_cells<float, float>(request, first, count);
  }
}

/// The sort: which bits are the lower digit, how many higher digits and chunks there are.
class CellSort {
 public:
  CellSort(const CellsRequest& request, Workers& workers)
      : request_(request),
        workers_(workers),
        low_bits_(std::max(0, request.cell_bits() - kHighBits)),
        digits_(((request.cell_count() - 1) >> low_bits_) + 1),
        chunks_(std::clamp<std::int64_t>(request.count / kLeastChunk, 1, 4 * std::int64_t(workers.threads()))),
        places_(std::size_t(chunks_ * digits_)),
        begins_(std::size_t(digits_) + 1) {}

  bool run() {
    if (!workers_.run(chunks_, [&](std::int64_t c) { count_chunk(c); })) return false;
    std::uint32_t place = 0;
    for (std::int64_t d = 0; d < digits_; ++d) {
      begins_[std::size_t(d)] = place;
      for (std::int64_t c = 0; c < chunks_; ++c) place += std::exchange(places_[std::size_t(c * digits_ + d)], place);
    }
    begins_[std::size_t(digits_)] = place;
    if (!workers_.run(chunks_, [&](std::int64_t c) { move_chunk(c); })) return false;
    auto* starts = pointer_to<std::uint32_t>(request_.starts);
    if (low_bits_ == 0) {
      std::copy(begins_.begin(), begins_.end(), starts);
      return true;
    }
    starts[0] = 0;
    share_out();
    return workers_.run(std::int64_t(pieces_.size()) - 1, [&](std::int64_t p) {
      for (std::int64_t d = pieces_[std::size_t(p)]; d < pieces_[std::size_t(p) + 1]; ++d) sort_stretch(d);
    });
  }

 private:
  std::int64_t first_of(std::int64_t chunk) const { return request_.count * chunk / chunks_; }

  void count_chunk(std::int64_t c) {
    constexpr std::int64_t kBlock = 2048;  // stays in the cache for the second look
    const auto* cells = pointer_to<const std::uint32_t>(request_.cells);
    std::uint32_t* counts = places_.data() + c * digits_;
    const std::int64_t end = first_of(c + 1);
    for (std::int64_t i = first_of(c); i < end; i += kBlock) {
      const std::int64_t size = std::min(kBlock, end - i);
      find_cells(request_, i, size);
      for (std::int64_t k = i; k < i + size; ++k) ++counts[cells[k] >> low_bits_];
    }
  }

  void move_chunk(std::int64_t c) {
    const auto* cells = pointer_to<const std::uint32_t>(request_.cells);
    const auto* order = pointer_to<const std::int32_t>(request_.order);
    std::uint32_t* places = places_.data() + c * digits_;
    const std::int64_t end = first_of(c + 1);
    const auto number = [&](std::int64_t i) { return order ? order[i] : std::int32_t(i); };
    if (low_bits_ == 0) {
      auto* numbers = pointer_to<std::int32_t>(request_.numbers);
      for (std::int64_t i = first_of(c); i < end; ++i) numbers[places[cells[i]]++] = number(i);
      return;
    }
    auto* pairs = pointer_to<std::uint64_t>(request_.pairs);
    const int low_bits = low_bits_;
    for (std::int64_t i = first_of(c); i < end; ++i)
      pairs[places[cells[i] >> low_bits]++] = std::uint64_t(cells[i]) << 32 | std::uint32_t(number(i));
  }

  /// Neighbouring digits, as many to each piece of work as make about as much of it.
  void share_out() {
    const std::int64_t all = request_.count + request_.cell_count();
    const std::int64_t pieces = std::clamp<std::int64_t>(all / kLeastChunk, 1, kPiecesPerThread * workers_.threads());
    pieces_ = {0};
    std::int64_t held = 0;
    for (std::int64_t d = 0; d < digits_; ++d) {
      held += begins_[std::size_t(d) + 1] - begins_[std::size_t(d)] + (std::int64_t(1) << low_bits_);
      if (held * pieces >= all && d + 1 < digits_) {
        pieces_.push_back(d + 1);
        held = 0;
      }
    }
    pieces_.push_back(digits_);
  }

  /// Sorts the points of one higher digit. A cell's count, then the place of its next point, stands in the start of the cell
  /// behind it: once all points are there, that is what it should be.
  void sort_stretch(std::int64_t digit) {
    const std::int64_t first_cell = digit << low_bits_;
    const std::int64_t last_cell = std::min(request_.cell_count(), (digit + 1) << low_bits_);
    auto* next = pointer_to<std::uint32_t>(request_.starts) + 1;
    auto* numbers = pointer_to<std::int32_t>(request_.numbers);
    const auto* pairs = pointer_to<const std::uint64_t>(request_.pairs);
    const std::int64_t begin = begins_[std::size_t(digit)], end = begins_[std::size_t(digit) + 1];
    if (begin == end) {
      std::fill(next + first_cell, next + last_cell, std::uint32_t(begin));
      return;
    }
    std::fill(next + first_cell, next + last_cell, 0u);
    for (std::int64_t i = begin; i < end; ++i) ++next[pairs[i] >> 32];
    std::uint32_t place = std::uint32_t(begin);
    for (std::int64_t c = first_cell; c < last_cell; ++c) place += std::exchange(next[c], place);
    for (std::int64_t i = begin; i < end; ++i) numbers[next[pairs[i] >> 32]++] = std::int32_t(std::uint32_t(pairs[i]));
  }

  const CellsRequest& request_;
  Workers& workers_;
  const int low_bits_;
  const std::int64_t digits_, chunks_;
  std::vector<std::uint32_t> places_, begins_;  // of (chunk, digit); of digits
  std::vector<std::int64_t> pieces_;            // first digits
};

}  // namespace

bool sort_into_cells(const CellsRequest& request, const runtime::LaunchOptions& options) {
  Workers workers(options);
  return CellSort(request, workers).run();
}

bool order_by_group(const GroupsRequest& request, const runtime::LaunchOptions& options) {
  auto* order = pointer_to<std::int32_t>(request.order);
  for (std::int64_t i = 0; i < request.count; ++i) order[i] = std::int32_t(i);
  std::copy_n(pointer_to<const std::int32_t>(request.groups), request.count, pointer_to<std::int32_t>(request.sorted));
  return algorithms::host::sort({ScalarKind::i32, 4, request.sorted, request.order, request.spare_sorted,
                                 request.spare_order, request.count, 0, 32},
                                options);
}

bool gather_groups(Address groups, Address numbers, Address sorted, std::int64_t count,
                   const runtime::LaunchOptions& options) {
  Workers workers(options);
  const std::int64_t chunks = (count - 1) / kLeastChunk + 1;
  return workers.run(chunks, [&](std::int64_t c) {
    const auto* from = pointer_to<const std::int32_t>(groups);
    const auto* number = pointer_to<const std::int32_t>(numbers);
    auto* to = pointer_to<std::int32_t>(sorted);
    const std::int64_t end = std::min(count, (c + 1) * kLeastChunk);
    for (std::int64_t i = c * kLeastChunk; i < end; ++i) to[i] = from[number[i]];
  });
}

}  // namespace weft::geometry
