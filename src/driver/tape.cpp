// The list of a tape, which tape records, and what it hears of writes.
#include "driver/tape.h"

#include <unordered_set>

#include "driver/graph_writes.h"
#include "driver/tape_repeat.h"
#include "support/hot.h"

namespace weft::driver {
namespace {

std::atomic<Tape*> recording{nullptr};  // of threads that have none of their own

struct Own {
  Tape* tape = nullptr;
  bool forward = false;  // some language's forward mode is active
  int suspended = 0;     // reasons why this thread is not recorded: it goes back over a tape, for one
  bool apart = false;    // it has to do with its own alone
};
thread_local Own own;
thread_local std::vector<Own> put_aside;  // what a thread was at before it worked apart

Tape* tape_of_block() {
  if (own.tape || own.apart) return own.tape;
  return recording.load(std::memory_order_acquire);
}

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

std::atomic<int> followers{0};

void start_recording(Tape& tape) {
  // A function that some tape calls on its way back may begin a tape of its own.
  tape.outer_ = std::exchange(own.suspended, 0);
  tape.records_ = true;
  own.tape = &tape;
  Tape* none = nullptr;
  if (!own.apart) recording.compare_exchange_strong(none, &tape);
  ++followers;
}

void stop_recording(Tape& tape) {
  // What start_recording has put aside holds again: the thread is where it was.
  own.suspended += std::exchange(tape.outer_, 0);
  own.tape = nullptr;
  Tape* same = &tape;
  recording.compare_exchange_strong(same, nullptr);
  tape.records_ = false;
  --followers;
}

void WorkApart::begin() {
  put_aside.push_back(own);
  own = {};
  own.apart = true;
}

void WorkApart::end() {
  own = put_aside.back();
  put_aside.pop_back();
}

Tape* tape_of_thread() { return own.tape; }

WEFT_HOT Tape* recording_tape() {
  // The hot path of every launch: one relaxed load while no tape records.
  if (followers.load(std::memory_order_relaxed) == 0) return nullptr;
  return own.suspended ? nullptr : tape_of_block();
}

const Tape* tape_in_block() { return tape_of_block(); }

runtime::VersionKeeper* keeper_for_writes(Tape* tape) {
  if (!tape && own.suspended) tape = tape_of_block();
  return tape ? &tape->keeper() : nullptr;
}

void suspend_recording(int by) { own.suspended += by; }
bool recording_is_suspended() { return own.suspended != 0; }

bool forward_mode() { return followers.load(std::memory_order_relaxed) != 0 && own.forward && own.suspended == 0; }

void set_forward_mode(bool on) {
  own.forward = on;
  followers += on ? 1 : -1;
}

bool has_forward_mode() { return own.forward; }

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

Tape::Running::Running(Tape* tape) : tape_(tape) {
  if (!tape_) return;
  const std::lock_guard lock(tape_->mutex_);
  ++tape_->running_;
}

Tape::Running::~Running() {
  if (!tape_) return;
  const std::lock_guard lock(tape_->mutex_);
  // Under the lock: who waits may drop the tape as soon as it is told.
  if (--tape_->running_ == 0) tape_->ended_.notify_all();
}

bool Tape::wait_for_launches(std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, most, [&] { return running_ == 0; });
}

int Tape::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

std::vector<Tape::Step> Tape::steps_of_now() const {
  const std::lock_guard lock(mutex_);
  return take_->steps;
}

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
