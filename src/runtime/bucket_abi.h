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
  char** cursors = nullptr;  // by bucket: where the next record goes; kNoBucketRoom: nowhere yet
  void* worker = nullptr;
};
static_assert(sizeof(BucketStream) == 32, "generated code knows it");
inline constexpr std::uint64_t kBucketBlock = 4096;  // bytes of memory for records of one bucket, and where they lie
inline constexpr std::uint64_t kBucketHeader = 64;   // in front of the first record
inline constexpr std::uint64_t kNoBucketRoom = kBucketBlock;  // no record fits between this address and the next block

}  // namespace weft::runtime

extern "C" {
/// Room for the next record of a bucket, when no further one fits where the last one was written.
char* weft_rt_bucket(weft::runtime::BucketStream* stream, std::int64_t bucket);
}
