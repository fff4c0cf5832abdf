// What generated CPU code that writes additions down (runtime/sum_buckets.h) and the launcher agree on, beyond kernel_abi.h: plain C
// layouts, known to codegen by offset.
#pragma once
#include <cstdint>

namespace weft::runtime {

/// Where a worker writes down the additions of a stream, by the place that they go to. A record is the place, in words of four
/// bytes from `base` on, and the scalars behind it. Kernels that write down find the address of their streams in the
/// eight bytes in front of their parameters.
struct BucketStream {
  char* base = nullptr;      // of the array
  std::uint64_t shift = 0;   // an element's number, shifted by so much, is its bucket's
  char** cursors = nullptr;  // by bucket: where the next record goes
  void* worker = nullptr;
  // Words of the array to which nobody else adds while a chunk runs (runtime/sum_owners.h): additions there may be made at once.
  std::uint32_t own_first = 0, own_words = 0;
};
static_assert(sizeof(BucketStream) == 40, "generated code knows it");
/// Bytes in front of a worker for the next records of a bucket, at a multiple of their number. When no further record fits, who has
/// written the last one has them put away (weft_rt_bucket).
inline constexpr std::uint64_t kBucketUnit = 256;

}  // namespace weft::runtime

extern "C" {
/// Puts the unit of a bucket away: the next record goes to its begin again.
void weft_rt_bucket(weft::runtime::BucketStream* stream, std::int64_t bucket);
}
