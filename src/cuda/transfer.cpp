// Simplifying strided copies, and moving elements between a device and anywhere.
#include "cuda/transfer.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "cuda/graph.h"
#include "support/check.h"

namespace weft::cuda {
namespace {

/// The argument block of the kernels; transfer_ptx.cpp knows the offsets.
struct Arguments {
  DevicePtr to = 0, from = 0;
  std::int64_t count = 0;
  std::int64_t extent[kTransferRank] = {1, 1, 1, 1, 1};
  std::int64_t to_stride[kTransferRank] = {};
  std::int64_t from_stride[kTransferRank] = {};
};

struct FillArguments {
  Arguments base;
  unsigned char value[kMaxFillBytes] = {};
};
static_assert(sizeof(Arguments) == 24 + 3 * 8 * kTransferRank && offsetof(FillArguments, value) == sizeof(Arguments),
              "the kernels know these offsets");

Arguments arguments_for(const TransferShape& shape, DevicePtr to, DevicePtr from) {
  Arguments a;
  a.to = to;
  a.from = from;
  a.count = shape.count;
  for (int d = 0; d < shape.rank; ++d) {
    const int at = kTransferRank - shape.rank + d;
    a.extent[at] = shape.extent[std::size_t(d)];
    a.to_stride[at] = shape.to_stride[std::size_t(d)];
    a.from_stride[at] = shape.from_stride[std::size_t(d)];
  }
  return a;
}

DevicePtr address(const void* p) { return reinterpret_cast<DevicePtr>(p); }

std::int64_t element_count(const ArrayDesc& array) {
  std::int64_t n = 1;
  for (int d = 0; d < array.ndim; ++d) n *= array.shape[d];
  return n;
}

ArrayDesc packed_like(const ArrayDesc& array, std::size_t element_size, void* data) {
  ArrayDesc out = array;
  out.data = data;
  std::int64_t stride = std::int64_t(element_size);
  for (int d = array.ndim - 1; d >= 0; --d) {
    out.strides[d] = stride;
    stride *= array.shape[d];
  }
  return out;
}

bool is_packed(const ArrayDesc& array, std::size_t element_size) {
  return transfer_shape(array, &array, element_size).packed();
}

/// Page-locked memory for what programs read now and then: a number that says whether to go on, the count of a list. The driver copies
/// to other memory only when it has waited for all work, and by way of a buffer of its own.
struct ReadBuffer {
  static constexpr std::size_t kBytes = 16 << 10;

  explicit ReadBuffer(Device& device) : memory(device.system().pinned().allocate(kBytes, false)) {}
  std::mutex mutex;
  const std::shared_ptr<void> memory;
};

}  // namespace

TransferShape transfer_shape(const ArrayDesc& to, const ArrayDesc* from, std::size_t element_size) {
  TransferShape s;
  std::uint64_t bits = element_size | address(to.data);
  if (from) bits |= address(from->data);
  for (int d = 0; d < to.ndim; ++d) {
    if (to.shape[d] < 2) continue;
    bits |= std::uint64_t(to.strides[d]);
    if (from) bits |= std::uint64_t(from->strides[d]);
  }
  s.word = int(std::min<std::uint64_t>(bits & (~bits + 1), 8));
  s.count = element_count(to) * (std::int64_t(element_size) / s.word);
  auto add = [&](std::int64_t extent, std::int64_t to_stride, std::int64_t from_stride) {
    if (extent == 1) return;
    // An outer dimension whose step is the whole of the next one is the same run of words.
    if (s.rank > 0) {
      const auto last = std::size_t(s.rank - 1);
      if (s.to_stride[last] == to_stride * extent && s.from_stride[last] == from_stride * extent) {
        s.extent[last] *= extent;
        s.to_stride[last] = to_stride;
        s.from_stride[last] = from_stride;
        return;
      }
    }
    const auto at = std::size_t(s.rank++);
    s.extent[at] = extent;
    s.to_stride[at] = to_stride;
    s.from_stride[at] = from_stride;
  };
  for (int d = 0; d < to.ndim; ++d) add(to.shape[d], to.strides[d], from ? from->strides[d] : 0);
  add(std::int64_t(element_size) / s.word, s.word, s.word);
  return s;
}

void TransferKernels::run(const TransferShape& shape, bool fill, const void* arguments, std::size_t size,
                          StreamHandle stream) {
  int log = 0;
  while ((1 << log) < shape.word) ++log;
  const KernelCode* code = nullptr;
  {
    std::lock_guard lock(mutex_);
    std::unique_ptr<KernelCode>& slot = code_[fill][log];
    if (!slot) {
      const std::string text = transfer_ptx(shape.word, fill);
      slot = std::make_unique<KernelCode>(device_, std::span(text.c_str(), text.size() + 1),
                                          (fill ? "weft_fill_" : "weft_copy_") + std::to_string(shape.word));
    }
    code = slot.get();
  }
  constexpr unsigned kBlock = 256;
  const TimedScope timed(device_, stream, kTimeBuiltin, "", code->entry());
  code->launch(stream, blocks_for(shape.count, kBlock, std::int64_t(device_.facts().sm_count) * 64), kBlock, arguments,
               size);
}

void TransferKernels::copy(const TransferShape& shape, DevicePtr to, DevicePtr from, StreamHandle stream) {
  const Arguments a = arguments_for(shape, to, from);
  run(shape, false, &a, sizeof a, stream);
}

void TransferKernels::fill(const TransferShape& shape, DevicePtr to, const void* value, std::size_t size,
                           StreamHandle stream) {
  WEFT_CHECK(size <= kMaxFillBytes);
  FillArguments a;
  a.base = arguments_for(shape, to, 0);
  std::memcpy(a.value, value, size);
  run(shape, true, &a, sizeof a, stream);
}

void Device::copy(const ArrayDesc& to, MemorySpace* to_space, const std::shared_ptr<void>& keep_to,
                  const ArrayDesc& from, MemorySpace* from_space, const std::shared_ptr<void>& keep_from,
                  std::size_t element_size) {
  ContextScope scope(*this);
  const std::shared_ptr<Stream> on = stream();
  const std::size_t bytes = std::size_t(element_count(to)) * element_size;
  const bool to_device = to_space && !to_space->on_host(), from_device = from_space && !from_space->on_host();
  keep_for_capture(keep_to);
  keep_for_capture(keep_from);
  if (to_device && from_device && to_space != from_space) {  // between devices: packed on both sides of the way
    auto& target = static_cast<Device&>(*to_space);
    auto& source = static_cast<Device&>(*from_space);
    const std::shared_ptr<Stream> behind = (this == &target ? source : target).stream();
    ArrayDesc sent = from, received = to;
    std::shared_ptr<void> sent_memory, received_memory;
    if (!is_packed(from, element_size)) {
      sent_memory = source.allocate(bytes, false);
      sent = packed_like(from, element_size, sent_memory.get());
      source.copy(sent, &source, sent_memory, from, &source, keep_from, element_size);
    }
    if (!is_packed(to, element_size)) {
      received_memory = target.allocate(bytes, false);
      received = packed_like(to, element_size, received_memory.get());
    }
    on->wait(*behind);
    {
      const TimedScope timed(*this, on->handle(), kTimeCopy, "memcpy PtoP");
      WEFT_CUDA(api(), copy_peer_async, address(received.data), target.context(), address(sent.data), source.context(),
                bytes, on->handle());
    }
    behind->wait(*on);
    if (received_memory) target.copy(to, &target, keep_to, received, &target, received_memory, element_size);
    return;
  }
  const TransferShape shape = transfer_shape(to, &from, element_size);
  const OrderedWork order(*this, on->handle(), [&]() -> std::optional<Touched> {
    if (!to_device || !from_device) return std::nullopt;
    return Touched{{runtime::data_range(from, element_size)}, {runtime::data_range(to, element_size)}};
  });
  if (!shape.packed()) {
    if (to_device && from_device)
      return transfer_kernels().copy(shape, address(to.data), address(from.data), on->handle());
    // One side is the host's, which Array::assign has packed: the device's is packed on the way.
    const std::shared_ptr<void> middle = allocate(bytes, false);
    const ArrayDesc packed = packed_like(to, element_size, middle.get());
    copy(packed, this, middle, from, from_space, keep_from, element_size);
    copy(to, to_space, keep_to, packed, this, middle, element_size);
    return;
  }
  const bool waits = !to_device && !to_space;  // plain host memory is read right after
  if (waits) {
    if (Capture* running = capture())
      running->refuse("copy to host memory that is not page-locked (numpy(), list(), printing) or has gaps");
    if (bytes <= ReadBuffer::kBytes) {
      auto& buffer = companion<ReadBuffer>();
      // Not waited for: who has it may wait for long, and ask Python meanwhile whether to go on.
      if (std::unique_lock lock(buffer.mutex, std::try_to_lock); lock) {
        {
          const TimedScope timed(*this, on->handle(), kTimeCopy, "memcpy DtoH");
          WEFT_CUDA(api(), copy_async, address(buffer.memory.get()), address(from.data), bytes, on->handle());
        }
        on->synchronize();
        std::memcpy(to.data, buffer.memory.get(), bytes);
        return;
      }
    }
    on->synchronize();
  }
  {
    const char* way = to_device ? from_device ? "memcpy DtoD" : "memcpy HtoD" : "memcpy DtoH";
    const TimedScope timed(*this, on->handle(), kTimeCopy, way);
    WEFT_CUDA(api(), copy_async, address(to.data), address(from.data), bytes, on->handle());
  }
  if (waits) WEFT_CUDA(api(), stream_synchronize, on->handle());
}

void Device::fill(const ArrayDesc& to, std::size_t element_size, const void* value) {
  ContextScope scope(*this);
  const std::shared_ptr<Stream> on = stream();
  const auto* bytes = static_cast<const unsigned char*>(value);
  auto touched = [&] { return Touched{{}, {runtime::data_range(to, element_size)}}; };
  // The shortest period of the value: 0.0 in a vec3 is one byte again and again.
  std::size_t period = 1;
  while (period < element_size &&
         (element_size % period != 0 || std::memcmp(bytes, bytes + period, element_size - period) != 0))
    ++period;
  if (period <= 4 && period != 3 && is_packed(to, element_size)) {
    const std::size_t count = std::size_t(element_count(to)) * element_size / period;
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, period);
    const OrderedWork order(*this, on->handle(), touched);
    const TimedScope timed(*this, on->handle(), kTimeFill, "memset");
    if (period == 1)
      WEFT_CUDA(api(), set8_async, address(to.data), std::uint8_t(word), count, on->handle());
    else if (period == 2)
      WEFT_CUDA(api(), set16_async, address(to.data), std::uint16_t(word), count, on->handle());
    else
      WEFT_CUDA(api(), set32_async, address(to.data), word, count, on->handle());
    return;
  }
  if (element_size <= kMaxFillBytes) {
    const OrderedWork order(*this, on->handle(), touched);
    return transfer_kernels().fill(transfer_shape(to, nullptr, element_size), address(to.data), value, element_size,
                                   on->handle());
  }
  // Too large for arguments: one element is sent, then copied over all.
  const std::shared_ptr<void> one = allocate(element_size, false);
  WEFT_CUDA(api(), copy_async, address(one.get()), address(value), element_size,
            capture() ? ready_stream() : on->handle());
  if (capture()) WEFT_CUDA(api(), stream_synchronize, ready_stream());
  ArrayDesc still = to;
  still.data = one.get();
  std::fill_n(still.strides, kMaxRank, 0);
  transfer_kernels().copy(transfer_shape(to, &still, element_size), address(to.data), address(one.get()), on->handle());
}

}  // namespace weft::cuda
