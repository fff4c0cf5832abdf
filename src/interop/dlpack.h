// Memory of other libraries as arrays, and arrays for other libraries. Whatever protocol told of the memory, it becomes a
// ForeignMemory; nothing in it is believed before it was checked here.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "interop/dlpack_abi.h"
#include "runtime/array.h"

namespace weft::interop {

/// Dimensions of memory that can become an array: four of its own and two of a matrix.
inline constexpr int kMaxForeignRank = kMaxRank + 2;

enum class Where : std::uint8_t { host, pinned, cuda };

/// Strided memory of plain numbers, as another library describes it.
struct ForeignMemory {
  void* data = nullptr;
  ScalarKind scalar = ScalarKind::f32;
  bool bits_only = false;  // 16 bits that nobody says the meaning of: bfloat16 where that is wanted
  int rank = 0;
  std::int64_t shape[kMaxForeignRank] = {};
  std::int64_t strides[kMaxForeignRank] = {};  // bytes
  Where where = Where::host;
  int device = 0;  // the number of a CUDA device among those of the driver
  bool read_only = false;
};

/// Reads a DLTensor. False, with the reason in `why`, for what is no memory of numbers that arrays can have, or can't be
/// true: ranks, extents and strides out of range, no data, odd types, other devices.
bool read_tensor(const DlTensor& tensor, std::uint64_t flags, ForeignMemory& out, std::string& why);

/// The usual tensor at once: several numbers without gaps on the host, as elements of their own type, or of a composite type of
/// it whose components are the last dimensions; `element` is null or that type. False says nothing: read_tensor and fold do.
bool read_packed(const DlTensor& tensor, const Type*& element, ArrayDesc& out);

/// Gives packed strides, last index fastest; for protocols that leave them out. False if they don't fit in 64 bits.
bool pack_strides(ForeignMemory& memory);

/// How memory may be seen as elements.
struct Seen {
  bool any_sign = false;    // int32 memory as uint32 elements and the like; bool memory as 8-bit integers
  bool zero_rank = false;   // no dimension left is one of extent 1
  bool host_first = false;  // an object that shows memory of the host and of a GPU is meant by the host's
  bool flat_inner = false;  // components of vectors and matrices may lie flat in the last dimension
};

/// Describes memory as an array of elements: trailing dimensions fold into vectors and matrices, for which they must be
/// packed. A null element takes the scalars as they are. False, with the reason in `why`, if it can't be.
bool fold(const ForeignMemory& memory, const Type*& element, Seen how, ArrayDesc& out, std::string& why);

/// The type of scalars in DLPack; of null, or what is no scalar, nothing.
std::optional<DlDataType> dl_type(const Type* scalar);
std::optional<ScalarKind> scalar_kind(DlDataType type);

/// An array for other libraries: components of vectors and matrices are dimensions of their own. It holds the memory.
class Export {
 public:
  /// Throws ArgumentError for elements that other libraries don't know: structs.
  explicit Export(const runtime::Array& array);
  /// Fills a tensor that points into this object.
  void describe(DlTensor& out);

  /// On the heap, freed by their deleters. They hold the memory.
  static DlManagedTensor* managed(const runtime::Array& array);
  static DlManagedTensorVersioned* managed_versioned(const runtime::Array& array, bool read_only);

 private:
  runtime::Array array_;
  DlDataType type_;
  int rank_ = 0;
  std::int64_t shape_[kMaxForeignRank], strides_[kMaxForeignRank];
};

}  // namespace weft::interop
