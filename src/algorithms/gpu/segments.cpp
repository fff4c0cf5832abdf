// The host's half of sorts within segments: one sort by number of segment and key.
#include <bit>

#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"

namespace weft::algorithms::gpu {

void sort_segments(cuda::Device& device, const SortRequest& request, const Segments& segments) {
  const std::int64_t count = request.count;
  if (count == 0 || segments.count == 0) return;
  if (scalar_bits(request.key) != 32)
    throw runtime::ArgumentError("segments on " + device.name() + " are sorted by keys of 32 bits");
  if (count > INT32_MAX)
    throw runtime::ArgumentError("sorting segments on " + device.name() + " takes at most 2147483647 elements, got " +
                                 std::to_string(count));
  cuda::ContextScope scope(device);
  const auto blocks = [](std::int64_t threads) { return (threads - 1) / kSegmentsBlock + 1; };
  const Scratch marks(device, std::uint64_t(count) * 4, true), joined(device, std::uint64_t(count) * 16);
  const std::string mark = "weft_segment_marks";
  queue(device, mark, blocks(segments.count), kSegmentsBlock,
        SegmentMarksArguments{segments.begins, segments.ends, marks.at(), segments.count, std::uint32_t(count)},
        [&] { return segment_marks_ptx(mark); });
  scan(device, {ScalarKind::i32, marks.at(), marks.at(), 4, 4, count, true});

  const SegmentKeysArguments keys{request.keys, marks.at(), joined.at(), count};
  const std::string join = "weft_segment_keys_" + name_of(request.key), part = join + "_back";
  queue(device, join, blocks(count), kSegmentsBlock, keys, [&] { return segment_keys_ptx(join, request.key, false); });
  SortRequest both = request;
  both.key = ScalarKind::u64;
  both.keys = joined.at();
  both.spare_keys = joined.at(std::uint64_t(count) * 8);
  // Every segment brings at most two marks.
  const int number_bits = std::min(32, int(std::bit_width(2 * std::uint64_t(segments.count))));
  if (request.begin_bit == 0 && request.end_bit == 32) {
    both.end_bit = 32 + number_bits;
    sort(device, both);
  } else {
    sort(device, both);
    both.begin_bit = 32;
    both.end_bit = 32 + number_bits;
    sort(device, both);
  }
  queue(device, part, blocks(count), kSegmentsBlock, keys, [&] { return segment_keys_ptx(part, request.key, true); });
}

}  // namespace weft::algorithms::gpu
