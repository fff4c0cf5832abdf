// Sorts of whole arrays and of segments on the CPU.
#include "algorithms/host/host.h"
#include "algorithms/host/radix.h"
#include "support/check.h"

namespace weft::algorithms::host {
namespace {

KeyOrder order_of(const SortRequest& r) {
  const bool has_sign = r.key != ScalarKind::u32 && r.key != ScalarKind::u64;
  return {has_sign ? std::uint64_t(1) << (scalar_bits(r.key) - 1) : 0, r.begin_bit, r.end_bit};
}

/// Calls f with the sorter for a request, its pairs and their spare.
template <class F>
bool with_sorter(const SortRequest& r, const F& f) {
  const auto call = [&]<class Key, class Value>(Key, Value) {
    const Pairs<Key, Value> a{pointer_to<Key>(r.keys), pointer_to<Value>(r.values)};
    const Pairs<Key, Value> b{pointer_to<Key>(r.spare_keys), pointer_to<Value>(r.spare_values)};
    if (r.key == ScalarKind::f32 || r.key == ScalarKind::f64) return f(Sorter<Key, Value, true>(order_of(r)), a, b);
    return f(Sorter<Key, Value, false>(order_of(r)), a, b);
  };
  const auto with_key = [&]<class Key>(Key key) {
    if (r.value_bytes == 0) return call(key, NoValue{});
    if (r.value_bytes == 4) return call(key, std::uint32_t());
    WEFT_CHECK(r.value_bytes == 8);
    return call(key, std::uint64_t());
  };
  return scalar_bits(r.key) == 32 ? with_key(std::uint32_t()) : with_key(std::uint64_t());
}

/// Whether no two segments have an element in common.
bool are_apart(std::span<const std::int32_t> begins, std::span<const std::int32_t> ends) {
  bool in_order = true;
  for (std::size_t s = 1; s < begins.size() && in_order; ++s) in_order = ends[s - 1] <= begins[s];
  if (in_order) return true;
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < begins.size(); ++s)
    if (begins[s] < ends[s]) order.push_back(s);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return begins[a] < begins[b]; });
  for (std::size_t k = 1; k < order.size(); ++k)
    if (ends[order[k - 1]] > begins[order[k]]) return false;
  return true;
}

}  // namespace

bool sort(const SortRequest& request, const runtime::LaunchOptions& options) {
  if (request.count <= 1 || request.begin_bit == request.end_bit) return true;
  return with_sorter(request, [&](const auto& sorter, const auto& a, const auto& b) {
    Workers workers(options);
    SortScratch scratch(request.count > kAlone ? workers.threads() : 0);
    return sorter.together(a, b, request.count, false, workers, scratch);
  });
}

bool sort_segments(const SortRequest& request, std::span<const std::int32_t> begins, std::span<const std::int32_t> ends,
                   const runtime::LaunchOptions& options) {
  return with_sorter(request, [&](const auto& sorter, const auto& a, const auto& b) {
    Workers workers(options);
    const auto size = [&](std::size_t s) { return std::int64_t(ends[s]) - begins[s]; };
    if (!are_apart(begins, ends)) {  // then their order matters
      for (std::size_t s = 0; s < begins.size(); ++s) {
        if (!workers.goes_on()) return false;
        sorter.alone(a.from(begins[s]), b.from(begins[s]), size(s), false);
      }
      return true;
    }
    SortScratch scratch(request.count > kAlone ? workers.threads() : 0);
    // Large ones by all threads, one after the other; small ones in groups that are worth a piece of work.
    const std::int64_t large = std::max<std::int64_t>(kAlone, request.count / (2 * workers.threads()));
    std::vector<std::size_t> groups{0};
    std::int64_t held = 0;
    for (std::size_t s = 0; s < begins.size(); ++s) {
      if (size(s) > large) {
        if (!sorter.together(a.from(begins[s]), b.from(begins[s]), size(s), false, workers, scratch)) return false;
        continue;
      }
      held += size(s) + 1;
      if (held < kLeastChunk) continue;
      groups.push_back(s + 1);
      held = 0;
    }
    if (groups.back() < begins.size()) groups.push_back(begins.size());
    return workers.run(std::int64_t(groups.size()) - 1, [&](std::int64_t g) {
      for (std::size_t s = groups[std::size_t(g)]; s < groups[std::size_t(g) + 1]; ++s)
        if (size(s) > 1 && size(s) <= large) sorter.alone(a.from(begins[s]), b.from(begins[s]), size(s), false);
    });
  });
}

}  // namespace weft::algorithms::host
