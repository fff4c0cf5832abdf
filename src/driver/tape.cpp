// The list of a tape, which tape records, and what it hears of writes.
#include "driver/tape.h"

#include <unordered_set>

#include "driver/graph_writes.h"
#include "driver/tape_repeat.h"
#include "support/hot.h"

namespace weft::driver {
namespace {

std::atomic<Tape*> recording{nullptr};
thread_local int suspended = 0;    // reasons why this thread is not recorded: it goes back over a tape, for one
std::atomic<bool> forward{false};  // some language's forward mode is active

void follow() { work_is_followed = recording.load() || forward; }

void announce_gradients_at(const Type* type, const char* at, const std::string& by) {
  if (type->is_array()) {
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(at);
    // By nobody's tape: an adjoint that is launched without one is a foreign write to all of them.
    if (desc.grad) runtime::announce_write(runtime::grad_range(desc, type->element()->size()), nullptr, by);
  }
  if (type->is_struct() || type->is_indexed_array())
    for (const Field& f : type->fields()) announce_gradients_at(f.type, at + f.offset, by);
}

}  // namespace

std::atomic<bool> work_is_followed{false};

void start_recording(Tape& tape) {
  // A function that some tape calls on its way back may begin a tape of its own.
  tape.outer_ = std::exchange(suspended, 0);
  recording = &tape;
  follow();
}

void stop_recording(Tape& tape) {
  // What start_recording has put aside holds again: the thread is where it was.
  suspended += std::exchange(tape.outer_, 0);
  recording = nullptr;
  follow();
}

WEFT_HOT Tape* recording_tape() {
  // The hot path of every launch: one relaxed load while no tape records.
  if (!work_is_followed.load(std::memory_order_relaxed)) return nullptr;
  return suspended ? nullptr : recording.load(std::memory_order_acquire);
}

const Tape* tape_in_block() { return recording.load(std::memory_order_acquire); }

runtime::VersionKeeper* keeper_for_writes(Tape* tape) {
  if (!tape && suspended) tape = recording.load(std::memory_order_acquire);
  return tape ? &tape->keeper() : nullptr;
}

void suspend_recording(int by) { suspended += by; }
bool recording_is_suspended() { return suspended != 0; }

bool forward_mode() { return forward.load(std::memory_order_relaxed) && suspended == 0; }

void set_forward_mode(bool on) {
  forward = on;
  follow();
}

void announce_array_write(const runtime::Array& array, const char* by, const runtime::Array* part_of) {
  // A captured write happens when the graph runs, and is announced again then.
  if (GraphWrites* writes = captured_writes(array)) writes->add(array.range(), std::string(by) + " in a graph");
  if (!runtime::writes_are_watched()) return;
  Tape* tape = recording_tape();
  // An element of an array has no gradient of its own; whether one goes back
  // over the write is the whole array's matter.
  const bool seen = !tape || (part_of ? part_of : &array)->has_grad();
  std::vector<runtime::Recorder> recorders;
  if (runtime::VersionKeeper* keeper = keeper_for_writes(tape))
    recorders.push_back({keeper, seen ? runtime::Passage::recorded : runtime::Passage::unseen});
  const std::vector<Repeat> repeats = Repeats::of_write(array);  // they hold the takes
  for (const Repeat& one : repeats) recorders.push_back({&one.take->keeper, runtime::Passage::recorded});
  runtime::announce_write(array.range(), recorders, by, true, {&array.desc(), array.element()->size()});
}

void announce_gradients(const KernelSignature& signature, const char* block, const std::string& kernel) {
  if (!runtime::writes_are_watched()) return;
  const std::string by = "the adjoint of kernel '" + kernel + "'";
  for (const ParamLayout::Param& p : signature.layout.params) announce_gradients_at(p.type, block + p.offset, by);
}

Tape::Tape() { Repeats::enroll(*this); }
Tape::~Tape() { Repeats::dismiss(*this); }

void Tape::add(std::unique_ptr<TapedLaunch> launch) {
  {
    std::lock_guard lock(mutex_);
    take_->steps.push_back({std::move(launch), nullptr});
    keeper().set_moment(steps().size());
  }
  Repeats::forget(*this);
}

void Tape::add(std::unique_ptr<TapedFunction> function) {
  {
    std::lock_guard lock(mutex_);
    for (const runtime::Array* one : function->arrays())
      if (one->has_grad()) keeper().note_use(one->range());
    take_->steps.push_back({nullptr, std::move(function), std::exchange(take_->asked_for, {})});
    keeper().set_moment(steps().size());
  }
  Repeats::forget(*this);
}

std::shared_ptr<runtime::Version> Tape::need(const runtime::Array& array, std::string_view by) {
  std::shared_ptr<runtime::Version> version = keeper().need(array, by);
  std::lock_guard lock(mutex_);
  take_->asked_for.push_back(version);
  return version;
}

std::vector<Tape::Step> Tape::clear() {
  // The keeper stays, with what it was told to do; graphs hold what they need.
  std::vector<Step> gone;
  {
    std::lock_guard lock(mutex_);
    gone.swap(take_->steps);
    take_->asked_for.clear();
  }
  keeper().clear();
  Repeats::forget(*this);
  return gone;
}

std::uint64_t Tape::log_bytes() const {
  std::uint64_t total = 0;
  for (const Step& step : steps())
    if (step.launch) total += step.launch->log.bytes();
  return total;
}

std::vector<const runtime::Array*> Tape::arrays() const {
  std::vector<const runtime::Array*> out;
  std::unordered_set<const runtime::Array*> seen;
  auto add = [&](const runtime::Array* one) {
    if (one && seen.insert(one).second) out.push_back(one);
  };
  for (const Step& step : steps()) {
    if (!step.launch) {
      for (const runtime::Array* one : step.function->arrays()) add(one);
      continue;
    }
    for (const TapedLaunch::Leaf& leaf : step.launch->leaves) add(leaf.array);
    for (const runtime::Array* one : step.launch->held) add(one);
  }
  return out;
}

}  // namespace weft::driver
