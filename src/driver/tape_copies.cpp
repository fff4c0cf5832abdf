// Kernels whose adjoints are those of copies and fills; they run backwards only.
#include "driver/tape_copies.h"

#include <cstring>

#include "driver/tape_repeat.h"

namespace weft::driver {
namespace {

/// For rank 2:
///
///   @wp.kernel
///   def copy_2(src: wp.array(dtype=Any, ndim=2), dest: wp.array(dtype=Any, ndim=2)):
///       i, j = wp.tid()
///       dest[i, j] = src[i, j]
///
/// The adjoint of such a kernel is the gradient of a copy, for every type and layout of arrays.
std::string kernels_text() {
  std::string text = "import warp as wp\nfrom typing import Any\n";
  for (int rank = 1; rank <= kMaxRank; ++rank) {
    const std::string n = std::to_string(rank);
    std::string index = "i";
    for (int d = 1; d < rank; ++d) index += std::string(", ") + "ijkl"[d];
    const std::string dest = "dest: wp.array(dtype=Any, ndim=" + n + ")";
    text += "@wp.kernel\ndef copy_" + n + "(src: wp.array(dtype=Any, ndim=" + n + "), " + dest + "):\n    " + index +
            " = wp.tid()\n    dest[" + index + "] = src[" + index + "]\n";
    text += "@wp.kernel\ndef fill_" + n + "(" + dest + "):\n    " + index + " = wp.tid()\n    dest[" + index +
            "] = dest.dtype()\n";
  }
  return text;
}

std::shared_ptr<Kernel> kernel_for(const char* kind, int rank) {
  static const auto* program = new Program(Program::compile(kernels_text(), "<copies and fills>"));  // outlives tapes
  return program->kernel(kind + std::to_string(rank)).internal();
}

/// A launch of one of these over arrays of one shape.
struct CopyLaunch {
  std::shared_ptr<Kernel> kernel;
  KernelSignature* signature;
  std::vector<std::uint64_t> block;
  std::vector<std::int64_t> dims;
  LaunchPlace place;

  CopyLaunch(const char* kind, const std::vector<runtime::Array>& arrays)
      : kernel(kernel_for(kind, arrays.back().rank())),
        dims(arrays.back().shape().begin(), arrays.back().shape().end()),
        place{gpu_of(arrays.back())} {
    std::vector<const Type*> types;
    for (const runtime::Array& one : arrays) types.push_back(one.type());
    signature = &kernel->signature(types);
    block.resize(signature->layout.size / 8 + 1);
    for (std::size_t k = 0; k < arrays.size(); ++k)
      std::memcpy(bytes() + signature->layout.params[k].offset, &arrays[k].desc(), sizeof(ArrayDesc));
  }
  char* bytes() { return reinterpret_cast<char*>(block.data()); }
};

void record(const char* kind, const std::vector<std::shared_ptr<Array::Impl>>& arrays, Tape* tape,
            std::function<void()> again) {
  std::vector<runtime::Array> memory;
  std::vector<const runtime::Array*> leaves;
  for (const auto& one : arrays) {
    memory.push_back(one->array);
    leaves.push_back(&one->array);
  }
  CopyLaunch launch(kind, memory);
  WatchedLaunch watched{launch.kernel, *launch.signature, launch.bytes(), launch.dims, launch.place};
  watched.memory = std::move(memory);
  watched.arrays = std::move(leaves);
  watched.owner = std::make_shared<ArrayOwner>(ArrayOwner{arrays});
  // The copy itself was made by other means; the launch stands on the tape for its adjoint.
  watched.run = false;
  watched.again = std::move(again);
  launch_watched(std::move(watched), tape);
}

/// A copy to another device, or between arrays whose gradients share memory: what is taken from one must not be seen while
/// it is added to the other.
class MovedGradient final : public TapedFunction {
 public:
  MovedGradient(std::shared_ptr<Array::Impl> to, std::shared_ptr<Array::Impl> from, std::function<void()> again)
      : to_(std::move(to)), from_(std::move(from)), again_(std::move(again)) {}

  void backward() override {
    const runtime::Array &to = to_->array, &from = from_->array;
    if (!to.has_grad() || !from.has_grad()) return;
    const auto taken = runtime::Array::empty(from.element(), from.shape(), true, from.space());
    // On the source's device, and in memory of its own: then `to` can be cleared and
    // `from` added to, even where they overlap.
    taken.grad().assign(to.grad());
    announce_array_write(to.grad(), "a backward pass");
    to.grad().fill_zero();
    CopyLaunch launch("copy_", {from, taken});
    announce_gradients(*launch.signature, launch.bytes(), launch.kernel->name());
    LaunchForm form = form_of(launch.signature->layout, launch.bytes(), launch.dims.size(), &launch.signature->order);
    form.adjoint = true;
    const KernelVariant& variant =
        launch.kernel->form_for(*launch.signature, launch.dims, launch.bytes(), form, launch.place.device);
    const std::vector<runtime::Array> memory{from, taken};
    launch.kernel->start(
        {launch.kernel, *launch.signature, variant, launch.bytes(), launch.dims, launch.place, true, memory, nullptr});
  }
  std::vector<const runtime::Array*> arrays() const override { return {&from_->array, &to_->array}; }
  std::vector<const runtime::Array*> written() const override { return {&to_->array}; }
  bool is_known() const override { return true; }
  bool can_run_again() const override { return true; }
  void run_again() override { again_(); }

 private:
  std::shared_ptr<Array::Impl> to_, from_;
  std::function<void()> again_;
};

}  // namespace

void record_copy(const std::shared_ptr<Array::Impl>& to, const std::shared_ptr<Array::Impl>& from,
                 std::function<void()> again) {
  Tape* tape = recording_tape();
  // Nothing comes back to an array without a gradient, and nothing has to be ended there.
  if (!to->array.has_grad() || to->array.size() == 0) return;
  // What is copied carries no derivative: as a fill it ends the gradient of what was there.
  if (!from || !from->array.has_grad()) return record("fill_", {to}, tape, std::move(again));
  const bool apart = gpu_of(to->array) != gpu_of(from->array);
  if (!apart && !to->array.grad().range().intersects(from->array.grad().range()))
    return record("copy_", {from, to}, tape, std::move(again));
  auto moved = std::make_unique<MovedGradient>(to, from, std::move(again));
  tape ? tape->add(std::move(moved)) : Repeats::add(std::move(moved));
}

}  // namespace weft::driver
