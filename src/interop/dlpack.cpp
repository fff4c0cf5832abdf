// Checks of foreign memory, and tensors over arrays.
#include "interop/dlpack.h"

#include "cuda/device.h"
#include "runtime/errors.h"
#include "runtime/late_work.h"
#include "support/hot.h"

namespace weft::interop {
namespace {

bool refuse(std::string& why, std::string text) {
  why = std::move(text);
  return false;
}

std::string list_text(const std::int64_t* values, int count) {
  std::string text = "(";
  for (int d = 0; d < count; ++d) text += (d ? ", " : "") + std::to_string(values[d]);
  return text + (count == 1 ? ",)" : ")");
}

/// Whether all elements lie in the address space; empty memory always does.
bool within_reach(const ForeignMemory& memory, std::uint64_t item) {
  unsigned __int128 before = 0, behind = item;
  for (int d = 0; d < memory.rank; ++d) {
    if (memory.shape[d] == 0) return true;
    const std::int64_t stride = memory.strides[d];
    const auto steps = static_cast<unsigned __int128>(std::uint64_t(memory.shape[d] - 1));
    (stride < 0 ? before : behind) += steps * (stride < 0 ? -std::uint64_t(stride) : std::uint64_t(stride));
    if (before > std::uint64_t(INT64_MAX) || behind > std::uint64_t(INT64_MAX)) return false;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data);
  return address <= std::uint64_t(INT64_MAX) && before <= address && behind <= std::uint64_t(INT64_MAX) - address;
}

bool is_empty(const ForeignMemory& memory) {
  for (int d = 0; d < memory.rank; ++d)
    if (memory.shape[d] == 0) return true;
  return false;
}

/// Whether scalars of one kind may be seen as another: the same size, other sign; bool as 8-bit integers.
bool same_but_for_sign(ScalarKind a, ScalarKind b) {
  const auto group = [](ScalarKind kind) {
    switch (kind) {
      case ScalarKind::boolean:
      case ScalarKind::i8:
      case ScalarKind::u8: return 1;
      case ScalarKind::i16:
      case ScalarKind::u16: return 2;
      case ScalarKind::i32:
      case ScalarKind::u32: return 4;
      case ScalarKind::i64:
      case ScalarKind::u64: return 8;
      case ScalarKind::f16:
      case ScalarKind::bf16:
      case ScalarKind::f32:
      case ScalarKind::f64: return 0;
    }
    return 0;
  };
  return a == b || (group(a) != 0 && group(a) == group(b));
}

std::string memory_text(const ForeignMemory& memory) {
  return "memory of " + std::string(scalar_user_name(memory.scalar)) + ", shape " +
         list_text(memory.shape, memory.rank) + ", strides " + list_text(memory.strides, memory.rank) + " bytes";
}

}  // namespace

std::optional<ScalarKind> scalar_kind(DlDataType type) {
  const auto sized = [&](ScalarKind one, ScalarKind two, ScalarKind four,
                         ScalarKind eight) -> std::optional<ScalarKind> {
    switch (type.bits) {
      case 8: return one;
      case 16: return two;
      case 32: return four;
      case 64: return eight;
      default: return std::nullopt;
    }
  };
  switch (type.code) {
    case kDlInt: return sized(ScalarKind::i8, ScalarKind::i16, ScalarKind::i32, ScalarKind::i64);
    case kDlUInt: return sized(ScalarKind::u8, ScalarKind::u16, ScalarKind::u32, ScalarKind::u64);
    case kDlFloat:
      if (type.bits == 8) return std::nullopt;
      return sized(ScalarKind::f32, ScalarKind::f16, ScalarKind::f32, ScalarKind::f64);
    case kDlBfloat: return type.bits == 16 ? std::optional(ScalarKind::bf16) : std::nullopt;
    case kDlBool: return type.bits == 8 ? std::optional(ScalarKind::boolean) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<DlDataType> dl_type(const Type* scalar) {
  if (!scalar || !scalar->is_scalar()) return std::nullopt;
  const auto bits = std::uint8_t(8 * scalar->size());
  if (scalar->is_bool()) return DlDataType{kDlBool, 8, 1};
  if (scalar->scalar_kind() == ScalarKind::bf16) return DlDataType{kDlBfloat, 16, 1};
  if (scalar->is_float()) return DlDataType{kDlFloat, bits, 1};
  return DlDataType{scalar->is_signed_int() ? kDlInt : kDlUInt, bits, 1};
}

bool pack_strides(ForeignMemory& memory) {
  auto step = std::int64_t(types::scalar(memory.scalar)->size());
  for (int d = memory.rank; d-- > 0;) {
    memory.strides[d] = step;
    if (memory.shape[d] > 1 && __builtin_mul_overflow(step, memory.shape[d], &step)) return false;
  }
  return true;
}

bool read_tensor(const DlTensor& tensor, std::uint64_t flags, ForeignMemory& out, std::string& why) {
  const bool lanes = tensor.dtype.lanes > 1;
  if (tensor.ndim < 0 || tensor.ndim + int(lanes) > kMaxForeignRank)
    return refuse(why, "its DLPack tensor has " + std::to_string(tensor.ndim) + " dimensions" +
                           (tensor.ndim < 0 ? "" : "; arrays have at most 4, and two more of matrices"));
  if (tensor.ndim > 0 && !tensor.shape) return refuse(why, "its DLPack tensor has no shape");
  const std::optional<ScalarKind> scalar = scalar_kind(tensor.dtype);
  if (!scalar || tensor.dtype.lanes == 0) {
    if (tensor.dtype.code == kDlComplex)
      return refuse(why, "it holds complex numbers; pass its real and imaginary parts");
    return refuse(why, "its DLPack type (code " + std::to_string(tensor.dtype.code) + ", " +
                           std::to_string(tensor.dtype.bits) + " bits, " + std::to_string(tensor.dtype.lanes) +
                           " lanes) is none that arrays have");
  }
  switch (tensor.device.type) {
    case kDlCpu: out.where = Where::host; break;
    case kDlCudaHost: out.where = Where::pinned; break;
    case kDlCuda:
    case kDlCudaManaged: out.where = Where::cuda; break;
    default:
      return refuse(why, "it is on a device of DLPack type " + std::to_string(tensor.device.type) +
                             "; kernels run on the CPU and on CUDA devices");
  }
  if (out.where == Where::cuda && tensor.device.id < 0)
    return refuse(why, "its DLPack device has the number " + std::to_string(tensor.device.id));
  out.device = tensor.device.id;
  out.scalar = *scalar;
  out.read_only = (flags & kDlReadOnly) != 0;
  const auto size = std::int64_t(types::scalar(*scalar)->size());
  const std::int64_t item = size * tensor.dtype.lanes;
  out.rank = tensor.ndim + int(lanes);
  for (int d = 0; d < tensor.ndim; ++d) {
    out.shape[d] = tensor.shape[d];
    if (out.shape[d] < 0)
      return refuse(why, "its DLPack tensor has the extent " + std::to_string(out.shape[d]) + " in dimension " +
                             std::to_string(d));
    if (tensor.strides && __builtin_mul_overflow(tensor.strides[d], item, &out.strides[d])) {
      if (out.shape[d] > 1) return refuse(why, "a stride of its DLPack tensor reaches beyond the address space");
      out.strides[d] = item;
    }
  }
  if (lanes) {
    out.shape[tensor.ndim] = tensor.dtype.lanes;
    out.strides[tensor.ndim] = size;
  }
  if (!tensor.strides && !pack_strides(out))
    return refuse(why,
                  "its DLPack tensor of shape " + list_text(out.shape, out.rank) + " reaches beyond the address space");
  const bool empty = is_empty(out);
  if (!tensor.data && !empty) return refuse(why, "it has no memory: its data pointer is null");
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  if (tensor.byte_offset > std::uint64_t(INT64_MAX) || address > UINTPTR_MAX - tensor.byte_offset)
    return refuse(why, "the offset of its DLPack tensor reaches beyond the address space");
  out.data = tensor.data ? reinterpret_cast<void*>(address + tensor.byte_offset) : nullptr;
  if (!within_reach(out, std::uint64_t(size)))
    return refuse(why, "its DLPack tensor of shape " + list_text(out.shape, out.rank) + " and strides " +
                           list_text(out.strides, out.rank) + " bytes reaches beyond the address space");
  return true;
}

WEFT_HOT bool read_packed(const DlTensor& tensor, const Type*& element, ArrayDesc& out) {
  const bool composite = element && !element->is_scalar();
  if (composite && !element->is_composite() && !element->is_mat()) return false;
  const int inner_rank = !composite ? 0 : element->is_mat() ? 2 : 1, rank = tensor.ndim - inner_rank;
  if (tensor.device.type != kDlCpu || tensor.dtype.lanes != 1 || tensor.byte_offset != 0 || rank < 1 ||
      rank > kMaxRank || !tensor.data || !tensor.shape || !tensor.strides)
    return false;
  const std::optional<ScalarKind> kind = scalar_kind(tensor.dtype);
  if (!kind) return false;
  const Type* scalar = composite ? element->element() : element ? element : types::scalar(*kind);
  if (scalar->scalar_kind() != *kind) return false;
  const auto size = std::int64_t(scalar->size());
  std::int64_t count = 1;
  if (composite) {  // its components are the last dimensions
    const std::int64_t* const sides = tensor.shape + rank;
    const std::int64_t* const steps = tensor.strides + rank;
    count = std::int64_t(element->component_count());
    const bool fits = inner_rank == 1 ? sides[0] == count && steps[0] == 1
                                      : sides[0] == element->rows() && sides[1] == element->cols() &&
                                            steps[0] == sides[1] && steps[1] == 1;
    if (!fits) return false;
  }
  for (int d = rank; d-- > 0;) {
    const std::int64_t extent = tensor.shape[d];
    if (extent < 1 || tensor.strides[d] != count) return false;
    out.shape[d] = extent;
    out.strides[d] = count * size;
    if (__builtin_mul_overflow(count, extent, &count) || count > INT64_MAX / 8) return false;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  if (count < 2 || address % scalar->align() != 0 || address > std::uintptr_t(INT64_MAX - count * size)) return false;
  if (!composite) element = scalar;
  out.data = tensor.data;
  out.grad = nullptr;
  out.ndim = rank;
  return true;
}

bool fold(const ForeignMemory& memory, const Type*& element, Seen how, ArrayDesc& out, std::string& why) {
  const Type* given = types::scalar(memory.scalar);
  if (!element) {
    if (memory.bits_only) return refuse(why, "the meaning of its 16-bit elements is not known; give a dtype");
    element = given;
  }
  if (!element->is_numeric()) return refuse(why, memory_text(memory) + " can't be seen as " + element->user_name());
  const Type* wanted = element->is_scalar() ? element : element->element();
  const bool bits = wanted->scalar_kind() == ScalarKind::bf16 && memory.scalar == ScalarKind::u16;
  const bool same = wanted == given && !memory.bits_only;
  if (!same && !bits && !(how.any_sign && same_but_for_sign(wanted->scalar_kind(), memory.scalar)))
    return refuse(why, memory_text(memory) + " can't be seen as " + element->user_name() +
                           ": the elements are of another type; convert it first");
  if (memory.rank < 0 || memory.rank > kMaxForeignRank) return refuse(why, "it has too many dimensions");

  std::int64_t inner[2] = {std::int64_t(element->component_count()), 0};
  int inner_rank = element->is_scalar() ? 0 : 1;
  if (element->is_mat()) inner[0] = element->rows(), inner[1] = element->cols(), inner_rank = 2;
  const auto size = std::int64_t(given->size());
  const bool empty = is_empty(memory);
  std::int64_t bytes = size;  // of all elements, which may share memory
  for (int d = 0; d < memory.rank && !empty; ++d)
    if (__builtin_mul_overflow(bytes, memory.shape[d], &bytes))
      return refuse(why,
                    "its shape " + list_text(memory.shape, memory.rank) + " has more elements than can be counted");
  int rank = memory.rank - inner_rank;
  bool packed = rank >= 0;
  for (std::int64_t d = inner_rank - 1, step = size; packed && d >= 0; --d) {
    const int at = rank + int(d);
    packed = memory.shape[at] == inner[d] && (inner[d] < 2 || empty || memory.strides[at] == step);
    step *= inner[d];
  }
  std::int64_t flat = 0;  // elements in a last dimension of their scalars
  if (!packed && how.flat_inner && inner_rank > 0 && memory.rank > 0) {
    const std::int64_t last = memory.shape[memory.rank - 1], count = std::int64_t(element->component_count());
    if (last > 0 && last % count == 0 && (memory.strides[memory.rank - 1] == size || last == 1)) {
      flat = last / count;
      packed = true;
      rank = flat == 1 && memory.rank > 1 ? memory.rank - 1 : memory.rank;
    }
  }
  if (!packed)
    return refuse(why, memory_text(memory) + " can't be seen as an array of " + element->user_name() +
                           ": its last dimensions must be " + list_text(inner, inner_rank) + ", one after the other");
  if (rank > kMaxRank)
    return refuse(why, memory_text(memory) + " leaves " + std::to_string(rank) + " dimensions for an array of " +
                           element->user_name() + "; arrays have at most 4");
  if (rank == 0 && !how.zero_rank) return refuse(why, "it has no dimension; give it the shape (1,)");
  const auto align = std::int64_t(element->align());
  if (reinterpret_cast<std::uintptr_t>(memory.data) % std::uintptr_t(align) != 0 && !empty)
    return refuse(why, "its memory is not aligned to the " + std::to_string(align) + " bytes of " +
                           element->user_name() + "; pass a copy");
  for (int d = 0; d < rank; ++d) {
    const bool cut = flat && d == memory.rank - 1;
    out.shape[d] = cut ? flat : memory.shape[d];
    out.strides[d] = cut ? std::int64_t(element->size()) : memory.strides[d];
    if (out.strides[d] % align != 0) {
      if (out.shape[d] > 1 && !empty)
        return refuse(why, "a stride of " + std::to_string(out.strides[d]) + " bytes does not fit elements of " +
                               element->user_name() + "; pass a copy");
      out.strides[d] = std::int64_t(element->size());
    }
  }
  if (rank == 0) rank = 1, out.shape[0] = 1, out.strides[0] = std::int64_t(element->size());
  out.ndim = rank;
  out.data = memory.data;
  out.grad = nullptr;
  return true;
}

Export::Export(const runtime::Array& array) : array_(array) {
  runtime::LateWork::expose(array);
  const Type* element = array.element();
  if (!element || !element->is_numeric())
    throw runtime::ArgumentError("DLPack knows numbers only; an array of " +
                                 (element ? element->user_name() : "nothing") + " can't be shown to other libraries");
  const Type* scalar = element->is_scalar() ? element : element->element();
  type_ = *dl_type(scalar);
  const auto size = std::int64_t(scalar->size());
  rank_ = array.rank();
  for (int d = 0; d < rank_; ++d) shape_[d] = array.extent(d), strides_[d] = array.strides()[std::size_t(d)] / size;
  if (element->is_scalar()) return;
  if (element->is_mat()) {
    shape_[rank_] = element->rows(), strides_[rank_++] = element->cols();
    shape_[rank_] = element->cols(), strides_[rank_++] = 1;
  } else {
    shape_[rank_] = element->component_count(), strides_[rank_++] = 1;
  }
}

void Export::describe(DlTensor& out) {
  out.data = array_.size() ? array_.data() : nullptr;
  runtime::MemorySpace* space = array_.space();
  if (!space)
    out.device = {kDlCpu, 0};
  else if (space->on_host())
    out.device = {kDlCudaHost, 0};
  else
    out.device = {kDlCuda, static_cast<cuda::Device*>(space)->number()};
  out.ndim = rank_;
  out.dtype = type_;
  out.shape = shape_;
  out.strides = strides_;
  out.byte_offset = 0;
}

namespace {

/// A managed tensor and what it points to, in one piece.
template <class Managed>
struct Packet {
  explicit Packet(const runtime::Array& array) : memory(array) {
    memory.describe(managed.tensor);
    managed.context = this;
    managed.deleter = [](Managed* self) { delete static_cast<Packet*>(self->context); };
  }
  Managed managed;
  Export memory;
};

}  // namespace

DlManagedTensor* Export::managed(const runtime::Array& array) { return &(new Packet<DlManagedTensor>(array))->managed; }

DlManagedTensorVersioned* Export::managed_versioned(const runtime::Array& array, bool read_only) {
  auto* made = new Packet<DlManagedTensorVersioned>(array);
  made->managed.flags = read_only ? kDlReadOnly : 0;
  return &made->managed;
}

}  // namespace weft::interop
