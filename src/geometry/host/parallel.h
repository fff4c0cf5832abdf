// Work of the builder on all threads of the runtime's scheduler, with IEEE arithmetic whatever the host's threads are set to.
// Pieces are cut by the data alone where their results would depend on the cut.
#pragma once
#include <algorithm>
#include <cstdint>

#include "runtime/fp_control.h"
#include "runtime/scheduler.h"

namespace weft::geometry {

/// Runs f(0 … count−1); an exception of one is thrown when all have ended.
template <class F>
void in_parallel(std::int64_t count, const F& f) {
  runtime::parallel_for(count, [&](std::int64_t i) {
    const runtime::FpControlScope defaults;
    f(i);
  });
}

/// Runs f(chunk, first, last) for chunks of `size` out of `count`.
template <class F>
void in_chunks(std::uint64_t count, std::uint64_t size, const F& f) {
  in_parallel(std::int64_t((count + size - 1) / size), [&](std::int64_t chunk) {
    const std::uint64_t first = std::uint64_t(chunk) * size;
    f(std::size_t(chunk), first, std::min(first + size, count));
  });
}

}  // namespace weft::geometry
