// Reading call frames of XLA: metadata queries, attributes, buffers, streams; and errors as XLA wants them.
#include <map>
#include <mutex>
#include <utility>

#include "cuda/system.h"
#include "interop/xla_handlers.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::interop {

WEFT_HOT bool answer_metadata(const xla::CallFrame& frame, std::uint32_t traits) {
  for (xla::Extension* at = frame.extensions; at; at = at->next) {
    if (at->type != xla::kMetadataExtension) continue;
    xla::Metadata* metadata = reinterpret_cast<xla::MetadataExtension*>(at)->metadata;
    if (!metadata) return true;
    metadata->version.major_version = xla::kMajorVersion;
    metadata->version.minor_version = xla::kMinorVersion;
    metadata->traits = traits;
    return true;
  }
  return false;
}

xla::Error* make_error(const xla::CallFrame& frame, xla::ErrorCode code, const char* message) noexcept {
  if (!frame.api || !WEFT_XLA_HAS(*frame.api, error_create) || !frame.api->error_create) return nullptr;
  xla::ErrorCreateArgs args{sizeof args, nullptr, message, code};
  return frame.api->error_create(&args);
}

xla::Error* error_in_flight(const xla::CallFrame& frame) noexcept {
  try {
    throw;
  } catch (const runtime::KernelError& e) {
    return make_error(frame, xla::kOutOfRange, e.what());
  } catch (const runtime::OutOfMemory& e) {
    return make_error(frame, xla::kResourceExhausted, e.what());
  } catch (const runtime::ArgumentError& e) {
    return make_error(frame, xla::kInvalidArgument, e.what());
  } catch (const runtime::LaunchError& e) {
    return make_error(frame, xla::kInvalidArgument, e.what());
  } catch (const std::bad_alloc&) {
    return make_error(frame, xla::kResourceExhausted, "there is no memory left");
  } catch (const std::exception& e) {
    return make_error(frame, xla::kInternal, e.what());
  } catch (...) {
    return make_error(frame, xla::kInternal, "an error that says nothing");
  }
}

WEFT_HOT std::string_view bytes_attribute(const xla::CallFrame& frame, std::string_view name) {
  const xla::Attributes& list = frame.attributes;
  for (std::int64_t i = 0; i < list.size; ++i) {
    if (std::string_view(list.names[i]->data, list.names[i]->size) != name) continue;
    if (list.types[i] == xla::kString) {
      const auto* text = static_cast<const xla::ByteSpan*>(list.values[i]);
      return {text->data, text->size};
    }
    if (list.types[i] != xla::kArrayAttribute) return {};
    const auto* array = static_cast<const xla::ArrayValue*>(list.values[i]);
    if (array->dtype != xla::kU8 && array->dtype != xla::kS8) return {};
    return {static_cast<const char*>(array->data), array->size};
  }
  return {};
}

const xla::Buffer& buffer_at(const xla::Arguments& list, std::size_t index, const char* what) {
  if (list.size < 0 || index >= std::size_t(list.size))
    throw runtime::ArgumentError("the call has " + std::to_string(list.size) + " " + what + "s, number " +
                                 std::to_string(index) + " is missing");
  if (list.types[index] != xla::kBufferArgument)
    throw runtime::ArgumentError(std::string(what) + " " + std::to_string(index) + " of the call is no buffer");
  const auto& buffer = *static_cast<const xla::Buffer*>(list.values[index]);
  if (!WEFT_XLA_HAS(buffer, dims))
    throw runtime::ArgumentError(std::string(what) + " " + std::to_string(index) + " of the call is of another XLA");
  return buffer;
}

const Type* scalar_of(xla::DataType type) {
  switch (type) {
    case xla::kPred: return types::boolean();
    case xla::kS8: return types::scalar(ScalarKind::i8);
    case xla::kS16: return types::scalar(ScalarKind::i16);
    case xla::kS32: return types::i32();
    case xla::kS64: return types::i64();
    case xla::kU8: return types::scalar(ScalarKind::u8);
    case xla::kU16: return types::scalar(ScalarKind::u16);
    case xla::kU32: return types::u32();
    case xla::kU64: return types::u64();
    case xla::kF16: return types::scalar(ScalarKind::f16);
    case xla::kF32: return types::f32();
    case xla::kF64: return types::f64();
    case xla::kBF16: return types::scalar(ScalarKind::bf16);
  }
  return nullptr;
}

namespace {

/// Gives back an error that XLA has made.
void drop_error(const xla::CallFrame& frame, xla::Error* error) {
  if (!WEFT_XLA_HAS(*frame.api, error_destroy) || !frame.api->error_destroy) return;
  xla::ErrorDestroyArgs args{sizeof args, nullptr, error};
  frame.api->error_destroy(&args);
}

/// XLA's streams, which live as long as its devices: a few for each.
class AdoptedStreams {
 public:
  const cuda::Stream* get(cuda::Device& device, void* handle) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<cuda::Stream>& slot = streams_[{&device, handle}];
    if (!slot) slot = device.adopt_stream(static_cast<cuda::StreamHandle>(handle));
    return slot.get();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<cuda::Device*, void*>, std::shared_ptr<cuda::Stream>> streams_;
};

}  // namespace

int device_ordinal(const xla::CallFrame& frame) {
  if (!frame.api || !WEFT_XLA_HAS(*frame.api, device_ordinal_get) || !frame.api->device_ordinal_get) return 0;
  xla::DeviceOrdinalGetArgs args{sizeof args, nullptr, frame.context, 0};
  xla::Error* error = frame.api->device_ordinal_get(&args);
  if (!error) return args.ordinal;
  drop_error(frame, error);
  return 0;
}

driver::LaunchPlace cuda_place(const xla::CallFrame& frame) {
  static auto* streams = new AdoptedStreams;
  struct Recent {
    void* handle = nullptr;
    cuda::ContextHandle context = nullptr;
    cuda::Device* device = nullptr;
    const cuda::Stream* stream = nullptr;
  };
  static thread_local Recent recent;
  if (!frame.api || !WEFT_XLA_HAS(*frame.api, stream_get) || !frame.api->stream_get)
    throw runtime::Error("this XLA tells no stream; JAX 0.4.31 or newer is needed");
  xla::StreamGetArgs args{sizeof args, nullptr, frame.context, nullptr};
  if (xla::Error* error = frame.api->stream_get(&args)) {
    drop_error(frame, error);
    throw runtime::Error("XLA has no stream for the call");
  }
  cuda::System& system = cuda::System::shared();
  // XLA makes the device's context current before it calls: that, not our current device, is where buffers lie.
  cuda::ContextHandle context = nullptr;
  system.api().context_get(&context);
  if (!recent.device || recent.handle != args.stream || recent.context != context) {
    // Where none is current, XLA's own count of devices says which it is.
    cuda::Device& device = context ? system.adopt_context(nullptr) : system.device(device_ordinal(frame));
    recent = {args.stream, context, &device, streams->get(device, args.stream)};
  }
  driver::LaunchPlace place;
  place.device = recent.device;
  place.gpu.stream = recent.stream;
  recent.stream->use();
  return place;
}

}  // namespace weft::interop
