// Conditions inside graphs: nodes whose body is a graph of its own, run by a value that a small kernel hands to the
// driver just before (and, in loops, after each run). While a body is captured the capture of the graph around it rests:
// the same stream captures both, so that programs need not know where their work goes.
#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/module.h"

namespace weft::cuda {
namespace {

constexpr int kOldestWithConditions = 12040;

/// The driver's own linker knows the function that it calls; no library of a toolkit is needed.
constexpr char kSetter[] = R"(.version 6.0
.target sm_50
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);
.visible .entry set_graph_condition(.param .align 8 .b8 args[24])
{
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [args];
  ld.param.u64 %rd2, [args+8];
  ld.param.u32 %r1, [args+16];
  ld.global.u32 %r2, [%rd2];
  setp.ne.u32 %p1, %r2, 0;
  selp.u32 %r3, 1, 0, %p1;
  xor.b32 %r3, %r3, %r1;
  {
    .param .b64 condition;
    .param .b32 value;
    st.param.b64 [condition], %rd1;
    st.param.b32 [value], %r3;
    call.uni cudaGraphSetConditional, (condition, value);
  }
  ret;
}
)";

struct SetterArguments {
  ConditionHandle condition = 0;
  DevicePtr value = 0;
  std::uint32_t negated = 0, reserved = 0;
};

}  // namespace

const KernelCode& Device::condition_kernel() {
  std::lock_guard lock(condition_mutex_);
  if (!condition_kernel_) condition_kernel_ = std::make_shared<KernelCode>(*this, kSetter, "set_graph_condition");
  return *condition_kernel_;
}

void Capture::need_conditions() const {
  const DriverTable& api = device().api();
  const int version = device().system().version();
  if (version < kOldestWithConditions || !api.capture_begin_into || !api.graph_add_node || !api.graph_condition)
    throw Unavailable("conditions inside of a graph need a driver of CUDA 12.4 or newer, this one is of CUDA " +
                      std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
                      ": update the NVIDIA driver, or call wp.capture_if and wp.capture_while outside of the capture");
  if (external_)
    throw runtime::ArgumentError(
        "conditions can't become part of a graph that another library captures; capture it by wp.capture_begin");
}

void Capture::set_condition(ConditionHandle condition, DevicePtr value, bool negated) const {
  const SetterArguments arguments{condition, value, negated};
  device().condition_kernel().launch(stream_->handle(), 1, 1, &arguments, sizeof arguments);
}

ConditionHandle Capture::condition(DevicePtr value, bool negated) {
  need_conditions();
  ContextScope scope(device());
  std::vector<GraphNodeHandle> leaves;
  ConditionHandle made = 0;
  WEFT_CUDA(device().api(), graph_condition, &made, so_far(leaves), device().context(), 0, 0);
  conditional_ = true;
  set_condition(made, value, negated);
  return made;
}

void Capture::begin_branch(ConditionHandle condition, DevicePtr value, bool loop) {
  need_conditions();
  ContextScope scope(device());
  const DriverTable& api = device().api();
  std::vector<GraphNodeHandle> leaves;
  Branch branch{so_far(leaves), nullptr, condition, value, loop};
  GraphNodeParams params;
  params.condition = condition;
  params.kind = loop ? kConditionWhile : kConditionIf;
  params.context = device().context();
  WEFT_CUDA(api, graph_add_node, &branch.node, branch.outer, leaves.data(), nullptr, leaves.size(), &params);
  GraphHandle ended = nullptr;
  if (const Result code = api.capture_end(stream_->handle(), &ended); code != kSuccess)
    throw_driver_error(api, code, "capture_end",
                       "work on other streams that belongs to the graph must be waited for before a condition");
  branches_.push_back(branch);
  if (const Result code =
          api.capture_begin_into(stream_->handle(), params.bodies[0], nullptr, nullptr, 0, kCaptureRelaxed);
      code != kSuccess) {
    branches_.pop_back();
    api.capture_begin_into(stream_->handle(), branch.outer, &branch.node, nullptr, 1, kCaptureRelaxed);
    throw_driver_error(api, code, "capture_begin_into");
  }
}

void Capture::end_branch() {
  if (branches_.empty()) throw runtime::ArgumentError("no branch of a condition is being captured");
  const Branch branch = branches_.back();
  branches_.pop_back();
  const DriverTable& api = device().api();
  std::exception_ptr failed;
  if (branch.loop) {
    try {
      ContextScope scope(device());
      set_condition(branch.condition, branch.value, false);
    } catch (const runtime::Error&) {
      failed = std::current_exception();
    }
  }
  GraphHandle body = nullptr;
  const Result code = end_stream_capture(body);
  // The graph around it goes on in any case, so that it can be ended.
  const Result resumed =
      api.capture_begin_into(stream_->handle(), branch.outer, &branch.node, nullptr, 1, kCaptureRelaxed);
  if (code != kSuccess)
    throw_driver_error(api, code, "capture_end",
                       "something that a condition's body can't hold was done while it was captured");
  if (failed) std::rethrow_exception(failed);
  if (resumed != kSuccess) throw_driver_error(api, resumed, "capture_begin_into");
}

}  // namespace weft::cuda
