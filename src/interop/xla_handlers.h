// Handlers that XLA calls: for every kernel the same few. A handler finds the call's record in the attribute `weft`, points
// the kernel's descriptors at XLA's buffers and runs it, once for each sample of a batch, on the calling thread or on the
// stream that XLA names. It touches no object of any language, throws nothing and prints nothing.
#pragma once
#include <span>

#include "interop/call_record.h"
#include "interop/xla_abi.h"

namespace weft::interop {

using XlaHandler = xla::Error* (*)(xla::CallFrame*);

/// Launches on the CPU.
xla::Error* launch_on_host(xla::CallFrame* frame) noexcept;
/// Queues launches on the stream of a CUDA device; may be captured into command buffers.
xla::Error* launch_on_cuda(xla::CallFrame* frame) noexcept;
/// The same for calls that may not: they allocate, or watch checks.
xla::Error* launch_on_cuda_uncaptured(xla::CallFrame* frame) noexcept;

/// Answers a metadata query with these traits; false: the frame is a call.
bool answer_metadata(const xla::CallFrame& frame, std::uint32_t traits);
/// An error of XLA's; null if its table can't make any.
xla::Error* make_error(const xla::CallFrame& frame, xla::ErrorCode code, const char* message) noexcept;
/// The error for the exception in flight, inside of a catch (...).
xla::Error* error_in_flight(const xla::CallFrame& frame) noexcept;
/// An attribute of bytes or text; empty if there is none.
std::string_view bytes_attribute(const xla::CallFrame& frame, std::string_view name);
/// The device of a call in XLA's count; 0 where that XLA does not tell.
int device_ordinal(const xla::CallFrame& frame);
/// Where a call of the CUDA platform runs: the device of the thread's context, and XLA's stream on it, kept for the
/// process. Throws.
driver::LaunchPlace cuda_place(const xla::CallFrame& frame);
/// The buffer at an index of a frame's arguments or results. Throws for what is none.
const xla::Buffer& buffer_at(const xla::Arguments& list, std::size_t index, const char* what);
/// The scalar type of a buffer's elements, null for one that kernels don't have.
const Type* scalar_of(xla::DataType type);

}  // namespace weft::interop
