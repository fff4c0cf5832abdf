// Running a call: buffers into descriptors, what results begin with, samples of a batch one after another, going back.
#include "interop/xla_handlers.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "cuda/system.h"
#include "driver/gpu_launch.h"
#include "driver/taped_launch.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::interop {
namespace {

constexpr std::size_t kMaxBatchRank = 8;

/// Dimensions that a type's own components add to an array of it.
std::size_t inner_rank(const Type* element) { return element->is_mat() ? 2 : element->is_composite() ? 1 : 0; }

/// Memory of one place: the host's, or that of a device behind the work of a stream.
class Memory {
 public:
  explicit Memory(const driver::LaunchPlace& place) : place_(place) {}

  void zero(void* to, std::size_t bytes) const {
    if (bytes == 0) return;
    if (!place_.device) {
      std::memset(to, 0, bytes);
      return;
    }
    check(api().set8_async(address(to), 0, bytes, stream()));
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes == 0 || to == from) return;
    if (!place_.device) {
      std::memcpy(to, from, bytes);
      return;
    }
    check(api().copy_async(address(to), address(from), bytes, stream()));
  }

 private:
  const cuda::DriverTable& api() const { return place_.device->api(); }
  cuda::StreamHandle stream() const { return place_.gpu.stream->handle(); }
  static cuda::DevicePtr address(const void* pointer) {
    return cuda::DevicePtr(reinterpret_cast<std::uintptr_t>(pointer));
  }
  static void check(cuda::Result result) {
    if (result != cuda::kSuccess)
      throw runtime::Error("the CUDA driver refused to set or copy memory for a call of XLA (error " +
                           std::to_string(int(result)) + ")");
  }
  const driver::LaunchPlace& place_;
};

/// One buffer of the call as a parameter sees it.
struct View {
  char* data = nullptr;
  std::size_t bytes = 0;                   // of the whole buffer
  std::size_t sample_bytes = 0;            // of one sample
  std::int64_t batch[kMaxBatchRank] = {};  // its leading extents
  std::int64_t shape[kMaxRank] = {};       // of one sample, without the components of its elements
  bool present = false;
  explicit operator bool() const { return present; }
};

/// A launch with all its buffers.
class Call {
 public:
  Call(const CallTarget& target, const xla::CallFrame& frame, const driver::LaunchPlace& place)
      : target_(target), record_(target.record), frame_(frame), place_(place), memory_(place_) {
    place_.gpu.block_dim = record_.block_dim;
  }

  void run() {
    check_counts();
    const std::size_t count = record_.params.size();
    if (count > kFew) many_.resize(count);
    params_ = count > kFew ? many_.data() : few_.params;
    if (count <= kFew) std::uninitialized_default_construct_n(few_.params, count);
    samples_ = 1;
    std::fill_n(extents_, kMaxBatchRank, 1);
    for (std::size_t i = 0; i < count; ++i) read(record_.params[i], params_[i]);
    for (std::size_t d = 0; d < record_.batch_rank; ++d) samples_ *= extents_[d];
    for (std::size_t i = 0; i < count; ++i) begin(record_.params[i], params_[i]);
    if (has_no_threads() || samples_ == 0) return;
    if (target_.block.size() * 8 > sizeof stack_) heap_.resize(target_.block.size());
    block_ = heap_.empty() ? reinterpret_cast<char*>(stack_) : reinterpret_cast<char*>(heap_.data());
    std::memcpy(block_, target_.block.data(), target_.block.size() * 8);
    for (std::size_t i = 0; i < count; ++i) describe(i);
    std::int64_t index[kMaxBatchRank] = {};
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      for (std::size_t i = 0; i < count; ++i) point(i, index);
      if (record_.replays)
        replay(index);
      else
        launch(target_.form(place_.device), block_);
      for (std::size_t d = record_.batch_rank; d-- > 0;) {
        if (++index[d] < extents_[d]) break;
        index[d] = 0;
      }
    }
  }

 private:
  struct Param {
    View arg, ret, arg_dot, ret_dot;
  };

  [[noreturn]] void fail(const CallParam& p, const std::string& what) const {
    throw runtime::ArgumentError("kernel '" + record_.kernel + "', parameter of type " + p.type + ": " + what);
  }

  const ParamLayout::Param& place_of(const CallParam& p) const {
    return target_.layout.params[std::size_t(&p - record_.params.data())];
  }

  void check_counts() const {
    std::int64_t args = 0, rets = 0;
    for (const CallParam& p : record_.params) {
      args = std::max<std::int64_t>({args, p.arg + 1, p.arg_dot + 1});
      rets = std::max<std::int64_t>({rets, p.ret + 1, p.ret_dot + 1});
    }
    if (frame_.arguments.size != args || frame_.results.size != rets)
      throw runtime::ArgumentError("kernel '" + record_.kernel + "': the call has " +
                                   std::to_string(frame_.arguments.size) + " arguments and " +
                                   std::to_string(frame_.results.size) + " results, its record wants " +
                                   std::to_string(args) + " and " + std::to_string(rets));
  }

  WEFT_HOT View view(const CallParam& p, const xla::Arguments& list, std::int16_t index, const char* what) {
    View out;
    if (index < 0) return out;
    const xla::Buffer& buffer = buffer_at(list, std::size_t(index), what);
    const Type* type = place_of(p).type;
    const Type* element = type->element();
    const std::size_t batch = record_.batch_rank, rank = type->rank(), inner = inner_rank(element);
    const Type* scalar = element->is_scalar() ? element : element->element();
    if (scalar_of(buffer.dtype) != scalar)
      fail(p, std::string(what) + " " + std::to_string(index) + " has another type");
    if (buffer.rank != std::int64_t(batch + rank + inner))
      fail(p, std::string(what) + " " + std::to_string(index) + " has " + std::to_string(buffer.rank) + " dimensions");
    out.present = true;
    out.data = static_cast<char*>(buffer.data);
    out.sample_bytes = element->size();
    for (std::size_t d = 0; d < rank; ++d) {
      out.shape[d] = buffer.dims[batch + d];
      out.sample_bytes *= std::size_t(out.shape[d]);
    }
    if (inner > 0) {
      const std::int64_t* sides = buffer.dims + batch + rank;
      const bool fits = inner == 2 ? sides[0] == element->rows() && sides[1] == element->cols()
                                   : sides[0] == element->component_count();
      if (!fits) fail(p, std::string(what) + " " + std::to_string(index) + " has other components");
    }
    out.bytes = out.sample_bytes;
    for (std::size_t d = 0; d < batch; ++d) {
      const std::int64_t extent = out.batch[d] = buffer.dims[d];
      out.bytes *= std::size_t(extent);
      if (extent == 1) continue;
      if (extents_[d] != 1 && extents_[d] != extent) fail(p, "its batch has another size than those before");
      extents_[d] = extent;
    }
    return out;
  }

  WEFT_HOT void read(const CallParam& p, Param& out) {
    if (p.role == Role::value) return;
    out.arg = view(p, frame_.arguments, p.arg, "argument");
    out.ret = view(p, frame_.results, p.ret, "result");
    out.arg_dot = view(p, frame_.arguments, p.arg_dot, "argument");
    out.ret_dot = view(p, frame_.results, p.ret_dot, "result");
  }

  /// What a result begins with: the argument that it stands for, or zeros.
  void begin_with(const CallParam& p, const View& to, const View& from) const {
    if (!from) return memory_.zero(to.data, to.bytes);
    if (to.bytes != from.bytes) fail(p, "what is changed in place has another size than its argument");
    memory_.copy(to.data, from.data, to.bytes);
  }

  WEFT_HOT void begin(const CallParam& p, const Param& one) const {
    switch (p.role) {
      case Role::value: return;
      case Role::input:
        if (one.ret_dot) memory_.zero(one.ret_dot.data, one.ret_dot.bytes);  // a gradient, which is added to
        return;
      case Role::output:
        if (one.ret && p.zeroed) memory_.zero(one.ret.data, one.ret.bytes);
        if (!one.ret_dot) return;
        if (record_.direction == Direction::adjoint)
          begin_with(p, one.ret_dot, one.arg_dot);
        else if (p.zeroed)
          memory_.zero(one.ret_dot.data, one.ret_dot.bytes);
        return;
      case Role::in_out:
        if (one.ret) begin_with(p, one.ret, one.arg);
        if (one.ret_dot) begin_with(p, one.ret_dot, one.arg_dot);
        return;
    }
  }

  std::span<const std::int64_t> dims() const { return target_.dims(place_.device); }
  bool has_no_threads() const { return std::find(record_.dims.begin(), record_.dims.end(), 0) != record_.dims.end(); }

  /// The values that kernels see: an adjoint those of before the launch.
  const View& values(const CallParam& p, const Param& one) const {
    if (p.role == Role::input) return one.arg;
    if (record_.direction == Direction::adjoint && p.role == Role::in_out) return one.arg;
    if (one.ret) return one.ret;
    return one.arg_dot ? one.arg_dot : one.ret_dot;  // an adjoint that reads no values of it
  }
  static const View& dots(const Param& one) { return one.ret_dot ? one.ret_dot : one.arg_dot; }

  ArrayDesc& desc(std::size_t i) const {
    return *reinterpret_cast<ArrayDesc*>(block_ + target_.layout.params[i].offset);
  }
  /// A tangent's direction stands in a parameter of its own.
  ArrayDesc& dot_desc(std::size_t i) const { return desc(i + record_.params.size()); }

  void describe(std::size_t i) const {
    const CallParam& p = record_.params[i];
    if (p.role == Role::value) return;
    const Param& one = params_[i];
    const Type* type = target_.layout.params[i].type;
    const View& shown = values(p, one);
    ArrayDesc& d = desc(i);
    d = ArrayDesc{};
    d.ndim = std::int32_t(type->rank());
    std::int64_t stride = type->element()->size();
    for (int k = d.ndim - 1; k >= 0; --k) {
      d.shape[k] = shown.shape[k];
      d.strides[k] = stride;
      stride *= std::max<std::int64_t>(d.shape[k], 1);
    }
    if (record_.direction == Direction::tangent) {
      dot_desc(i) = ArrayDesc{};
      if (dots(one)) dot_desc(i) = d;
    }
  }

  /// The address of a sample in a view: dimensions that it does not share with the batch stay where they are.
  char* at(const View& view, const std::int64_t* index) const {
    std::size_t linear = 0;
    for (std::size_t d = 0; d < record_.batch_rank; ++d)
      linear = linear * std::size_t(view.batch[d]) + std::size_t(view.batch[d] == 1 ? 0 : index[d]);
    return view.data + linear * view.sample_bytes;
  }

  WEFT_HOT void point(std::size_t i, const std::int64_t* index) const {
    const CallParam& p = record_.params[i];
    if (p.role == Role::value) return;
    const Param& one = params_[i];
    desc(i).data = at(values(p, one), index);
    const View& dot = dots(one);
    if (record_.direction == Direction::tangent) {
      if (dot) dot_desc(i).data = at(dot, index);
    } else if (record_.direction == Direction::adjoint) {
      desc(i).grad = dot ? at(dot, index) : nullptr;
    }
  }

  /// The form for a launch, ready to run; one that is missing is built under the language's lock.
  WEFT_HOT const driver::KernelVariant& variant(driver::LaunchForm form, const char* block) const {
    form.large = is_large();
    driver::KernelSignature& signature = *target_.signature;
    const driver::KernelVariant* ready = signature.ready(form, place_.device);
    if (ready && (place_.device || !ready->binary || ready->binary->sums().empty())) return *ready;
    const driver::KernelVariant* found = nullptr;
    driver::LaunchForm other = form;
    if (ready && !target_.kernel->wants_other_sums(*ready, block, {dims(), target_.kernel->cpu_options()}, other))
      return *ready;
    if (ready)
      if (const driver::KernelVariant* known = signature.ready(other, place_.device)) return *known;
    CallTable::shared().host.locked(
        [&] { found = &target_.kernel->form_for(signature, dims(), block, form, place_.device); });
    return *found;
  }

  bool is_large() const {
    for (std::size_t i = 0; i < record_.params.size(); ++i) {
      if (record_.params[i].role == Role::value) continue;
      const ArrayDesc& d = desc(i);
      for (std::int32_t k = 0; k < d.ndim; ++k)
        if (d.shape[k] > INT32_MAX || d.strides[k] > INT32_MAX) return true;
    }
    return false;
  }

  WEFT_HOT void launch(driver::LaunchForm form, const char* block) const {
    const driver::KernelVariant& ready = variant(form, block);
    driver::LaunchRequest request{dims(), {}, place_.gpu};
    if (!place_.device) {
      request.options = target_.kernel->cpu_options();
      request.options.descending = form.adjoint && request.options.serial;
    }
    target_.kernel->run(ready, block, request);
  }

  /// Going back over a kernel that writes down what its adjoint can't compute again: it runs once more, on copies.
  void replay(const std::int64_t* index) {
    driver::TapedLaunch l;
    l.kernel = target_.kernel;
    l.signature = target_.signature;
    l.facts = target_.facts;
    l.form = target_.form(place_.device, true);
    l.block.assign(reinterpret_cast<const std::uint64_t*>(block_),
                   reinterpret_cast<const std::uint64_t*>(block_) + target_.block.size());
    l.rank = record_.dims.size();
    std::copy(record_.dims.begin(), record_.dims.end(), l.extents);
    l.place = place_;
    auto own = [&](std::size_t i) -> ArrayDesc& {
      return *reinterpret_cast<ArrayDesc*>(l.bytes() + target_.layout.params[i].offset);
    };
    for (std::size_t i = 0; i < record_.params.size(); ++i) {
      if (record_.params[i].role == Role::value) continue;
      own(i).grad = nullptr;
      if (record_.params[i].role == Role::in_out && params_[i].ret) own(i).data = at(params_[i].ret, index);
    }
    auto work = [&] {
      driver::make_log(l);
      driver::run_with_log(l, [&] { launch(l.form, l.bytes()); });
      driver::finish_log(l.log);
    };
    if (place_.device)
      CallTable::shared().host.locked(work);  // waiting for a GPU gives the language's lock up
    else
      work();
    for (std::size_t i = 0; i < record_.params.size(); ++i) {
      const CallParam& p = record_.params[i];
      if (p.role == Role::value) continue;
      // Outputs are again what they were before the launch.
      if (p.role == Role::output && params_[i].ret) memory_.zero(desc(i).data, params_[i].ret.sample_bytes);
      own(i) = desc(i);
    }
    launch(target_.form(place_.device), l.bytes());
    if (!place_.device) return;
    // The log is needed until the adjoint has run, which is only queued.
    for (const runtime::Array& one : l.log.arrays())
      place_.device->keep_until_done(std::make_shared<runtime::Array>(one));
  }

  static constexpr std::size_t kFew = 8;
  const CallTarget& target_;
  const CallRecord& record_;
  const xla::CallFrame& frame_;
  driver::LaunchPlace place_;
  Memory memory_;
  std::int64_t extents_[kMaxBatchRank];
  std::int64_t samples_ = 1;
  union Room {  // begun as far as there are parameters: each line of memory that a call touches counts
    Room() {}
    Param params[kFew];
  } few_;
  std::vector<Param> many_;
  Param* params_ = nullptr;
  std::uint64_t stack_[256];
  std::vector<std::uint64_t> heap_;
  char* block_ = nullptr;
};

/// The target of a record that nobody in this process has made so far.
const CallTarget& new_target(std::string_view bytes, const Hash128& digest) {
  CallTable& table = CallTable::shared();
  std::optional<CallRecord> record = CallRecord::decode(bytes);
  if (!record) throw runtime::ArgumentError("the call's record is of another version, or damaged");
  if (table.host.unknown) table.host.unknown(bytes);
  if (const CallTarget* known = table.find(digest)) return *known;
  if (record->portable) {
    std::unique_ptr<CallTarget> made = portable_target(std::move(*record));
    made->digest = digest;
    return table.add(std::move(made));
  }
  throw std::out_of_range(
      "the program calls kernel '" + record->kernel +
      "', and no wp.jax_kernel of it lives in this process; import the module that makes it, or one "
      "like it, before the program runs, or make it with portable=True where the program is made");
}

WEFT_HOT const CallTarget& target_of(const xla::CallFrame& frame) {
  const std::string_view bytes = bytes_attribute(frame, "weft");
  const std::optional<Hash128> digest = digest_of(bytes);
  if (!digest) throw runtime::ArgumentError("the call has no attribute 'weft' with a record of what to do");
  if (const CallTarget* known = CallTable::shared().find(*digest)) return *known;
  return new_target(bytes, *digest);
}

/// The full way: any direction, batch and place.
void run_in_full(const CallTarget& target, const xla::CallFrame& frame, bool on_cuda) {
  if (target.record.batch_rank > kMaxBatchRank)
    throw runtime::ArgumentError("kernel '" + target.record.kernel + "': more than 8 nested batches");
  const driver::LaunchPlace place = on_cuda ? cuda_place(frame) : driver::LaunchPlace{};
  std::optional<cuda::ContextScope> context;
  if (place.device) context.emplace(*place.device);
  try {
    Call(target_on(target, place.device), frame, place).run();
  } catch (const driver::NeedsBlock&) {  // nothing has run yet
    target.kernel->set_shares_memory(true);
    Call(target_on(target, place.device), frame, place).run();
  }
}

WEFT_HOT xla::Error* run_call(xla::CallFrame* frame, bool on_cuda, std::uint32_t traits) noexcept {
  if (answer_metadata(*frame, traits)) return nullptr;
  if (!WEFT_XLA_HAS(*frame, attributes)) return make_error(*frame, xla::kInvalidArgument, "the call is of another XLA");
  if (frame->stage != xla::kExecute) return nullptr;
  try {
    const CallTarget& target = target_of(*frame);
    if (on_cuda || !target.quick || !target.quick->run(target, *frame)) run_in_full(target, *frame, on_cuda);
    return nullptr;
  } catch (const std::out_of_range& e) {
    return make_error(*frame, xla::kNotFound, e.what());
  } catch (...) {
    return error_in_flight(*frame);
  }
}

}  // namespace

WEFT_HOT xla::Error* launch_on_host(xla::CallFrame* frame) noexcept { return run_call(frame, false, 0); }
xla::Error* launch_on_cuda(xla::CallFrame* frame) noexcept {
  return run_call(frame, true, xla::kCommandBufferCompatible);
}
xla::Error* launch_on_cuda_uncaptured(xla::CallFrame* frame) noexcept { return run_call(frame, true, 0); }

}  // namespace weft::interop
