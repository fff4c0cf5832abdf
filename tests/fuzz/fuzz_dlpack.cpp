// libFuzzer target: tensors of DLPack that nobody vouches for. An input is the fields of a tensor, its shape and strides, and
// the elements that it shall be seen as. Whatever they say, reading ends with a reason or with an array whose elements lie
// within the address space that the tensor spans; arrays that pass go out again and come back the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "interop/dlpack.h"
#include "runtime/array.h"

using namespace weft;
using namespace weft::interop;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  template <class T>
  T take() {
    T out{};
    const std::size_t n = left_ < sizeof(T) ? left_ : sizeof(T);
    std::memcpy(&out, data_, n);
    data_ += n;
    left_ -= n;
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

const Type* element_of(std::uint8_t choice) {
  switch (choice % 8) {
    case 0: return nullptr;
    case 1: return types::f32();
    case 2: return types::vec(types::f32(), 3);
    case 3: return types::mat(types::f32(), 2, 2);
    case 4: return types::scalar(ScalarKind::u32);
    case 5: return types::scalar(ScalarKind::bf16);
    case 6: return types::boolean();
    default: return types::vec(types::f64(), 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const auto choice = bytes.take<std::uint8_t>();
  const auto flags = bytes.take<std::uint8_t>();
  DlTensor tensor;
  tensor.dtype = bytes.take<DlDataType>();
  tensor.device.type = std::int8_t(bytes.take<std::uint8_t>());
  tensor.device.id = std::int8_t(bytes.take<std::uint8_t>());
  tensor.ndim = std::int8_t(bytes.take<std::uint8_t>());
  const auto address = bytes.take<std::uint64_t>();
  tensor.data = reinterpret_cast<void*>(flags & 1 ? address : address & 0xffff'ffff'fff8);
  tensor.byte_offset = flags & 2 ? bytes.take<std::uint64_t>() : 0;
  std::int64_t shape[8], strides[8];
  for (std::int64_t& n : shape) n = flags & 4 ? bytes.take<std::int64_t>() : bytes.take<std::int8_t>();
  for (std::int64_t& n : strides) n = flags & 8 ? bytes.take<std::int64_t>() : bytes.take<std::int8_t>();
  tensor.shape = flags & 16 ? nullptr : shape;
  tensor.strides = flags & 32 ? nullptr : strides;

  ForeignMemory memory;
  std::string why;
  if (!read_tensor(tensor, flags >> 6, memory, why)) {
    require(!why.empty());
    return 0;
  }
  const Type* element = element_of(choice);
  ArrayDesc desc;
  const Seen how{.any_sign = (choice & 8) != 0, .zero_rank = (choice & 16) != 0, .flat_inner = (choice & 32) != 0};
  if (!fold(memory, element, how, desc, why)) {
    require(!why.empty());
    return 0;
  }
  require(element && desc.ndim >= 1 && desc.ndim <= kMaxRank);
  std::int64_t count = 1;
  for (std::int32_t d = 0; d < desc.ndim; ++d) {
    require(desc.shape[d] >= 0);
    if (desc.shape[d] == 0) count = 0;
  }
  if (count == 0) return 0;
  const runtime::ByteRange range = runtime::data_range(desc, element->size());
  require(range.lo < range.hi && range.hi <= std::uint64_t(INT64_MAX));
  if (memory.where != Where::host) return 0;
  runtime::Array::External external;
  external.data = desc.data;
  external.strides = {desc.strides, std::size_t(desc.ndim)};
  const auto array = runtime::Array::wrap(element, {desc.shape, std::size_t(desc.ndim)}, std::move(external));
  Export shown(array);
  DlTensor again;
  shown.describe(again);
  ForeignMemory back;
  const Type* same = element;
  ArrayDesc result;
  require(read_tensor(again, 0, back, why) && fold(back, same, {}, result, why));
  require(same == element && result.data == desc.data && result.ndim == desc.ndim);
  for (std::int32_t d = 0; d < desc.ndim; ++d)
    require(result.shape[d] == desc.shape[d] && (desc.shape[d] < 2 || result.strides[d] == desc.strides[d]));
  return 0;
}
