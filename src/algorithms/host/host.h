// The algorithms on the CPU, by several threads. Results have the same bytes for every number of threads. Each gives false
// when the host wanted to stop before the end (LaunchOptions::interrupted); what was to be written is then in between.
#pragma once
#include <optional>
#include <span>

#include "algorithms/requests.h"
#include "runtime/launch.h"

namespace weft::algorithms::host {

/// Also of integers of 4 and 8 bytes, whose sums wrap around.
bool sum(const SumRequest& request, const runtime::LaunchOptions& options = {});
bool scan(const ScanRequest& request, const runtime::LaunchOptions& options = {});
bool sort(const SortRequest& request, const runtime::LaunchOptions& options = {});
/// Sorts within segments, each from a begin to its end, which lie within the count. Where segments overlap, they are
/// sorted one after the other.
bool sort_segments(const SortRequest& request, std::span<const std::int32_t> begins, std::span<const std::int32_t> ends,
                   const runtime::LaunchOptions& options = {});
/// How many runs there are; nothing when it was stopped. The results overlap nothing.
std::optional<std::int64_t> runs(const RunsRequest& request, const runtime::LaunchOptions& options = {});
bool histogram(const HistogramRequest& request, const runtime::LaunchOptions& options = {});

}  // namespace weft::algorithms::host
