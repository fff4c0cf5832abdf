// Handlers of XLA that call Python: annotated functions (warp.jax_callable) and callbacks by name.
#pragma once
#include "bind/bind.h"
#include "interop/xla_abi.h"

namespace weft::bind {

/// Calls the function that the call's attribute `weft` names, with arrays over XLA's buffers.
interop::xla::Error* call_on_host(interop::xla::CallFrame* frame) noexcept;
interop::xla::Error* call_on_cuda(interop::xla::CallFrame* frame) noexcept;
interop::xla::Error* call_on_cuda_uncaptured(interop::xla::CallFrame* frame) noexcept;

void register_xla_calls(nb::module_& m);

}  // namespace weft::bind
