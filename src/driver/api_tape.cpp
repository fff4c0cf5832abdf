// Tapes of the public API.
#include <atomic>

#include "driver/program_impl.h"
#include "driver/tape.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"

namespace weft {

struct Tape::Impl {
  driver::Tape tape;
};

namespace {

using driver::guarded;

std::atomic<bool> recording{false};  // some tape does

/// A function of the program on a tape.
class ProgramStep final : public driver::TapedFunction {
 public:
  ProgramStep(std::function<void()> work, const std::vector<Array>& arrays)
      : work_(std::make_shared<std::function<void()>>(std::move(work))) {
    for (const Array& one : arrays)
      if (one.is_valid()) owner_.arrays.push_back(one.internal());
  }

  void backward() override {
    if (runtime::CommandList* list = runtime::recording())
      list->add(std::make_unique<Call>(work_));  // it works on values, which come to be when the graph runs
    else
      (*work_)();
  }
  std::vector<const runtime::Array*> arrays() const override {
    std::vector<const runtime::Array*> out;
    for (const auto& one : owner_.arrays) out.push_back(&one->array);
    return out;
  }
  const driver::ArrayOwner& owner() const { return owner_; }

 private:
  class Call final : public runtime::Command {
   public:
    explicit Call(std::shared_ptr<std::function<void()>> work) : work_(std::move(work)) {}
    void run(const runtime::LaunchOptions&) const override {
      const runtime::RecordingRepeated again(recording_);
      (*work_)();
    }
    std::string text() const override { return "call of the program"; }

   private:
    std::shared_ptr<std::function<void()>> work_;
    std::uint64_t recording_ = runtime::recording_number();
  };

  std::shared_ptr<std::function<void()>> work_;
  driver::ArrayOwner owner_;
};

/// Arrays of the program on a tape whose gradients are to be read after a backward pass.
std::vector<const runtime::Array*> retained_arrays(const driver::Tape& tape) {
  std::vector<const runtime::Array*> out;
  auto add = [&](const driver::ArrayOwner& owner) {
    for (const auto& one : owner.arrays)
      if (one->retains_grad && one->array.has_grad() && std::find(out.begin(), out.end(), &one->array) == out.end())
        out.push_back(&one->array);
  };
  for (const driver::Tape::Step& step : tape.steps()) {
    if (step.launch) add(*static_cast<const driver::ArrayOwner*>(step.launch->owner.get()));
    if (const auto* function = dynamic_cast<const ProgramStep*>(step.function.get())) add(function->owner());
  }
  return out;
}

void go_back(driver::Tape& tape, const std::function<void()>& seed) {
  guarded([&] { tape.backward(seed, retained_arrays(tape)); });
}

}  // namespace

Tape::Tape(bool keep_copies) : impl_(std::make_shared<Impl>()) {
  using Policy = runtime::VersionKeeper::OnOverwrite;
  impl_->tape.keeper().set_policy(keep_copies ? Policy::copy : Policy::refuse);
}

Tape::Recording::Recording(const Tape& tape) {
  if (recording.exchange(true)) throw Error("a tape records already, and only one can at a time");
  tape_ = tape.impl_;
  driver::start_recording(tape.impl_->tape);
}

Tape::Recording::~Recording() {
  driver::Tape& tape = static_cast<Impl*>(tape_.get())->tape;
  driver::stop_recording(tape);
  while (!tape.wait_for_launches(std::chrono::seconds(1))) continue;
  recording = false;
}

void Tape::record_function(std::function<void()> backward, const std::vector<Array>& arrays) const {
  impl_->tape.add(std::make_unique<ProgramStep>(std::move(backward), arrays));
}

void Tape::backward(const Array& loss) const {
  if (loss.size() != 1)
    throw ArgumentError("the loss is an array of one element; this one has " + std::to_string(loss.size()));
  if (!loss.requires_grad()) throw ArgumentError("the loss has no gradient; call set_requires_grad before recording");
  go_back(impl_->tape, [&] { loss.grad().fill(1); });
}

void Tape::backward(const std::vector<std::pair<Array, Array>>& gradients) const {
  for (const auto& [array, gradient] : gradients) {
    if (!array.requires_grad()) throw ArgumentError("an array that a gradient is given for has none of its own");
    if (gradient.type() != array.type() || gradient.shape() != array.shape())
      throw ArgumentError("a gradient has the type and shape of its array");
  }
  go_back(impl_->tape, [&] {
    for (const auto& [array, gradient] : gradients) array.grad().assign(gradient);
  });
}

void Tape::backward() const {
  go_back(impl_->tape, [] {});
}

void Tape::replay() const {
  guarded([&] { impl_->tape.replay(); });
}

void Tape::zero() const {
  guarded([&] {
    const driver::RecordingSuspended suspended;
    for (const runtime::Array* one : impl_->tape.arrays()) {
      if (!one->is_valid() || !one->has_grad()) continue;
      driver::announce_array_write(one->grad(), "a fill with zeros");
      one->zero_grad();
    }
  });
}

void Tape::reset() const {
  zero();
  impl_->tape.clear();
}

std::size_t Tape::size() const { return impl_->tape.steps().size(); }
std::uint64_t Tape::kept_bytes() const { return impl_->tape.keeper().kept_bytes(); }
std::uint64_t Tape::log_bytes() const { return impl_->tape.log_bytes(); }

}  // namespace weft
