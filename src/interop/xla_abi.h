// The part of XLA's foreign function interface (FFI) that this library uses, declared here: the extension is built without
// XLA and loads beside any version of it. Declared is what is the same in versions 0.1 to 0.3 of that interface (call
// frame, buffers, attributes, errors, stream, metadata, and the order of the function table); state and registration of
// types, which changed, are not used. A unit test compares every offset with the header of an installed jaxlib.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::interop::xla {

/// Answers of the metadata query: the interface that this file describes.
inline constexpr int kMajorVersion = 0, kMinorVersion = 1;

enum ExtensionType : std::int32_t { kMetadataExtension = 1 };

struct Extension {
  std::size_t struct_size;
  ExtensionType type;
  Extension* next;
};

struct ApiVersion {
  std::size_t struct_size;
  Extension* extensions;
  std::int32_t major_version;
  std::int32_t minor_version;
};

enum ErrorCode : std::int32_t {
  kInvalidArgument = 3,
  kNotFound = 5,
  kResourceExhausted = 8,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
};

struct Error;             // opaque
struct ExecutionContext;  // opaque
struct InternalApi;       // opaque

struct ErrorCreateArgs {
  std::size_t struct_size;
  Extension* extensions;
  const char* message;
  ErrorCode code;
};

struct ErrorDestroyArgs {
  std::size_t struct_size;
  Extension* extensions;
  Error* error;
};

/// Element types, by the numbers of xla::PrimitiveType.
enum DataType : std::int32_t {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 16,
};

struct Buffer {
  std::size_t struct_size;
  Extension* extensions;
  DataType dtype;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};

inline constexpr std::int32_t kBufferArgument = 1;  // the only type of arguments and results

enum AttributeType : std::int32_t { kArrayAttribute = 1, kDictionary = 2, kScalarAttribute = 3, kString = 4 };

struct ByteSpan {
  const char* data;
  std::size_t size;
};

struct ScalarValue {
  DataType dtype;
  void* value;
};

struct ArrayValue {
  DataType dtype;
  std::size_t size;
  void* data;
};

struct Arguments {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  std::int32_t* types;
  void** values;  // Buffer*
};

struct Attributes {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  AttributeType* types;
  ByteSpan** names;  // ascending
  void** values;     // ByteSpan*, ScalarValue*, ArrayValue*
};

enum Stage : std::int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

struct Api;

struct CallFrame {
  std::size_t struct_size;
  Extension* extensions;
  const Api* api;
  ExecutionContext* context;
  Stage stage;
  Arguments arguments;
  Arguments results;
  Attributes attributes;
};

struct StreamGetArgs {
  std::size_t struct_size;
  Extension* extensions;
  ExecutionContext* context;
  void* stream;  // out
};

struct DeviceOrdinalGetArgs {
  std::size_t struct_size;
  Extension* extensions;
  ExecutionContext* context;
  std::int32_t ordinal;  // out
};

inline constexpr std::uint32_t kCommandBufferCompatible = 1;  // of Metadata::traits

struct Metadata {
  std::size_t struct_size;
  ApiVersion version;    // out
  std::uint32_t traits;  // out
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

/// The function table; entries are there as far as struct_size reaches.
struct Api {
  std::size_t struct_size;
  Extension* extensions;
  ApiVersion version;
  const InternalApi* internal;
  Error* (*error_create)(ErrorCreateArgs*);
  void (*error_message)(void*);
  void (*error_destroy)(ErrorDestroyArgs*);
  void* handler_register;
  Error* (*stream_get)(StreamGetArgs*);
  void* type_register;
  void* context_get;
  void* state_set;
  void* state_get;
  void* memory_allocate;
  void* memory_free;
  void* pool_schedule;
  void* pool_threads;
  void* future_create;
  void* future_set_available;
  void* future_set_error;
  void* run_id_get;
  Error* (*device_ordinal_get)(DeviceOrdinalGetArgs*);
};

/// Whether a struct that was handed over is large enough to have a member.
#define WEFT_XLA_HAS(object, member) \
  ((object).struct_size >= offsetof(std::remove_cvref_t<decltype(object)>, member) + sizeof((object).member))

}  // namespace weft::interop::xla
