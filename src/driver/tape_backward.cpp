// Going back over a whole tape, and what must be seen to between its steps: arrays that keep their gradients readable, and
// writes that no gradient goes back over.
#include "driver/gradient_values.h"
#include "driver/tape_repeat.h"
#include "driver/unreversed_writes.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

void reverse_step(const Tape::Step& step) {
  if (step.launch)
    reverse(*step.launch);
  else
    step.function->backward();
}

/// The gradient of an array's last values. A store's adjoint takes the gradient of what was written, element by element;
/// what the last store to an element took is put back at the end.
class RetainedGradient {
 public:
  explicit RetainedGradient(const runtime::Array& array) : array_(array), taken_(array), known_(taken_.size()) {}

  void before(const Tape& tape, std::size_t index) {
    now_.reset();
    stored_.reset();
    // Steps that don't write to it take nothing, and are not gone over twice.
    if (!tape.writes(index, array_)) return;
    now_.emplace(array_);
    if (tape.steps()[index].launch) find_stores(*tape.steps()[index].launch);
  }

  void after() {
    if (!now_) return;
    std::optional<GradientValues> left;
    if (!stored_) left.emplace(array_);  // a function says nothing of its own: what it changed counts
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const bool found = stored_ ? !stored_->negative(i) : left->value(i) != now_->value(i);
      // Steps come from the last to the first: the first one met is the last that stored, and
      // its gradient is that of the final value.
      if (!found || known_[i]) continue;
      taken_.take(i, *now_);
      known_[i] = true;
    }
  }

  void finish() {
    GradientValues values(array_);
    for (std::size_t i = 0; i < known_.size(); ++i)
      if (known_[i]) values.take(i, taken_);
    values.write_to(array_.grad());
  }

 private:
  /// Which elements a launch stored is found by going back over it with a gradient of −0 alone: a store leaves +0.
  void find_stores(TapedLaunch& launch) {
    GradientValues nothing(array_);
    nothing.set_all_negative_zero();
    // A copy that lies as the gradient does: views of it keep their strides.
    runtime::Array scratch = runtime::copy_of_memory(array_.grad());
    nothing.write_to(scratch);
    const Probe probe{runtime::grad_range(array_.desc(), array_.element()->size()),
                      reinterpret_cast<char*>(scratch.range().lo)};
    reverse(launch, &probe);
    // Read as the gradient of an array, which is what it stood for.
    runtime::Array seen = array_;
    seen.set_grad(scratch);
    stored_.emplace(seen);
  }

  const runtime::Array& array_;
  GradientValues taken_;
  std::vector<bool> known_;
  std::optional<GradientValues> now_, stored_;
};

/// While it lives, a tape goes back.
class GoingBack {
 public:
  explicit GoingBack(Tape& tape) : tape_(tape) { Repeats::set_going_back(tape_, true); }
  ~GoingBack() { Repeats::set_going_back(tape_, false); }
  GoingBack(const GoingBack&) = delete;

 private:
  Tape& tape_;
  RecordingSuspended suspended_;
};

}  // namespace

void Tape::backward(const std::function<void()>& seed, const std::vector<const runtime::Array*>& retained) {
  const GoingBack going_back(*this);
  // In a graph that holds the launches, too, it goes back over those.
  const std::shared_ptr<Take> last = std::exchange(take_, Repeats::take_for_backward(*this));
  try {
    // Before anything is read: values that the program has changed are taken as
    // they are now, where that means something.
    renew_rewritten(*take_);
    go_back(seed, retained);
  } catch (...) {
    take_ = last;
    throw;
  }
  take_ = last;
}

void Tape::go_back(const std::function<void()>& seed, const std::vector<const runtime::Array*>& retained) {
  std::vector<FarSide> far_sides;
  // Before the seeds: a far side remembers what the gradients were, to see that nothing comes to them.
  for (const UnreversedWrite& one : unreversed_writes(*this)) far_sides.emplace_back(one);
  seed();
  std::vector<RetainedGradient> kept;
  for (const runtime::Array* one : retained) kept.emplace_back(*one);
  for (std::size_t k = steps().size(); k-- > 0;) {
    for (RetainedGradient& one : kept) one.before(*this, k);
    reverse_step(steps()[k]);
    for (RetainedGradient& one : kept) one.after();
    for (const FarSide& one : far_sides)
      // The write fell between steps k − 1 and k: what has come back so far must not go past it.
      if (one.moment() == k) one.check();
  }
  // At the end, for earlier steps of the tape still had to read zeros there.
  for (RetainedGradient& one : kept) one.finish();
}

void Tape::replay() {
  if (records_) throw runtime::Error("a tape can't replay in its own block: what it runs would be recorded");
  const std::shared_ptr<Take> first = take_;
  for (const Step& step : first->steps)
    if (step.launch ? !step.launch->run && !step.launch->again : !step.function->can_run_again())
      throw runtime::Error(
          "the tape can't run again what it only knows how to go back over (a function given to "
          "record_func, or values that came from outside of arrays); run it yourself, with the "
          "recorded launches in their order: the tape sees that, and goes back over it");
  // A take that somebody has begun is not what this run goes on with.
  Repeats::forget_begun(*this);
  // Of the take as it was when this began: the last launch of the run replaces it.
  for (const Step& step : first->steps) {
    std::vector<std::uint64_t> block;
    if (!step.launch)
      step.function->run_again();
    else if (step.launch->run)
      launch_watched(launch_again(*step.launch, block), recording_tape());
    else
      step.launch->again();
  }
  // The run was to be seen as a repetition, by the same code that sees a program's own. If it was not, going
  // back would use the old values in silence.
  if (take_ == first && Repeats::take_for_backward(*this) == first && !first->steps.empty())
    throw runtime::Error(
        "what the tape ran again is not what it has recorded: arrays have changed their memory, or other "
        "threads have written to them meanwhile; reset the tape and record anew");
}

bool Tape::writes(std::size_t step, const runtime::Array& array) const {
  const TapedLaunch* launch = steps().at(step).launch.get();
  // A function does not say: it may.
  if (!launch) return true;
  const TapeFacts& facts = *launch->facts;
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(launch->bytes() + facts.leaves[k].offset);
    const std::size_t element = facts.leaves[k].type->element()->size();
    if (facts.written[k] && runtime::data_range(desc, element).intersects(array.range())) return true;
  }
  return facts.written_elsewhere;
}

}  // namespace weft::driver
