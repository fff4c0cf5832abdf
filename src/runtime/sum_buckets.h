// Scattered additions by destination. Workers do not add: they write down place and value, in the bucket of the place. When all
// are done, each bucket, which is a range of the array that a core's own cache holds, is added up by one worker. No
// addition waits for memory or for another core, whatever order places come in; what it costs is writing and reading a
// record, both one behind the other.
#pragma once
#include <span>

#include "runtime/private_sums.h"

namespace weft::runtime {

/// Additions of one form to one array (analysis::SumStream); `sum` is its number among the slots.
struct SumStream {
  std::uint32_t sum = 0;
  ScalarKind scalar = ScalarKind::f32;
  std::uint32_t count = 1;
};

/// Whether the arrays of a launch can have buckets, and are so large that they may pay: what caches hold is added to at once.
/// `any_size`: only whether they can.
bool buckets_suit(const void* params, std::span<const SumSlot> sums, bool any_size = false);

/// Runs a kernel that writes its additions down. As runtime::launch otherwise. Throws Error where buckets_suit says no for
/// another reason than the size.
bool launch_with_buckets(const KernelCode& code, const void* params, std::size_t param_bytes,
                         std::span<const SumSlot> sums, std::span<const SumStream> streams,
                         std::span<const std::int64_t> dims, const LaunchOptions& options);

/// How many launches of the process went this way.
std::uint64_t bucket_launches();
/// How many of them had workers who may add in place to some part of an array (runtime/sum_owners.h).
std::uint64_t launches_that_own();
/// Bytes of records that all workers of later launches may keep before they add up on the way; 0: chosen. For tests.
void set_bucket_memory(std::uint64_t bytes);

}  // namespace weft::runtime
