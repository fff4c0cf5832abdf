// The structures of DLPack 1.x, by which libraries show each other memory: declared here, for they are an ABI and no header
// of another project is needed. Layouts are those of the standard (https://dmlc.github.io/dlpack/latest/c_api.html).
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::interop {

enum DlDeviceType : std::int32_t { kDlCpu = 1, kDlCuda = 2, kDlCudaHost = 3, kDlCudaManaged = 13 };
enum DlCode : std::uint8_t { kDlInt = 0, kDlUInt = 1, kDlFloat = 2, kDlBfloat = 4, kDlComplex = 5, kDlBool = 6 };

struct DlDevice {
  std::int32_t type = kDlCpu;
  std::int32_t id = 0;
};

struct DlDataType {
  std::uint8_t code = kDlFloat;
  std::uint8_t bits = 32;
  std::uint16_t lanes = 1;
};

struct DlTensor {
  void* data = nullptr;
  DlDevice device;
  std::int32_t ndim = 0;
  DlDataType dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  // in elements; null: packed, last index fastest
  std::uint64_t byte_offset = 0;
};

struct DlManagedTensor {
  DlTensor tensor;
  void* context = nullptr;
  void (*deleter)(DlManagedTensor*) = nullptr;
};

struct DlVersion {
  std::uint32_t major = 1;
  std::uint32_t minor = 3;
};

inline constexpr std::uint64_t kDlReadOnly = 1, kDlCopied = 2;

struct DlManagedTensorVersioned {
  DlVersion version;
  void* context = nullptr;
  void (*deleter)(DlManagedTensorVersioned*) = nullptr;
  std::uint64_t flags = 0;
  DlTensor tensor;
};

/// What a class shows as `__dlpack_c_exchange_api__`, in a capsule of the name below: its objects' memory without a capsule
/// for each. Functions return 0, or -1 with a Python exception set; all are called with the GIL.
struct DlExchangeTable {
  DlVersion version;
  DlExchangeTable* previous = nullptr;  // the table of an older major version
  int (*allocate)(DlTensor* prototype, DlManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message)) = nullptr;
  int (*managed_from_object)(void* object, DlManagedTensorVersioned** out) = nullptr;
  int (*managed_to_object)(DlManagedTensorVersioned* tensor, void** out_object) = nullptr;
  int (*tensor_from_object)(void* object, DlTensor* out) = nullptr;  // lives as long as the object; may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out) = nullptr;
};

inline constexpr const char* kExchangeTableName = "dlpack_exchange_api";

static_assert(sizeof(DlTensor) == 48 && offsetof(DlTensor, byte_offset) == 40);
static_assert(sizeof(DlManagedTensor) == 64 && offsetof(DlManagedTensor, context) == 48);
static_assert(sizeof(DlManagedTensorVersioned) == 80 && offsetof(DlManagedTensorVersioned, tensor) == 32);
static_assert(sizeof(DlExchangeTable) == 56 && offsetof(DlExchangeTable, tensor_from_object) == 40);

}  // namespace weft::interop
