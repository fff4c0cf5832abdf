// One list of tapes under one lock; takes that are dropped are given up after it was released, for they may hold a
// language's objects.
#include "driver/tape_repeat.h"

#include <algorithm>
#include <cstring>

#include "cuda/graph.h"
#include "driver/graph_writes.h"
#include "runtime/command_list.h"

namespace weft::driver {
namespace {

using Take = Tape::Take;

// Recursive: a language may ask for the takes of a tape (its garbage collector does) wherever it is called.
std::recursive_mutex mutex;     // guards the list, and which takes tapes have
std::atomic<int> listeners{0};  // tapes with steps that are no launches

std::vector<Tape*>& tapes() {
  static auto* list = new std::vector<Tape*>;  // outlives everything
  return *list;
}

/// The same elements of the same memory. That the memory was freed and taken again meanwhile can't be: tapes hold it.
bool same_array(const ArrayDesc& a, const ArrayDesc& b) {
  return a.data == b.data && a.ndim == b.ndim && std::equal(a.shape, a.shape + a.ndim, b.shape) &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

/// Whether two arguments are the same; their gradients don't count, nor does padding.
bool same_argument(const Type* type, const char* a, const char* b) {
  if (type->is_array())
    return same_array(*reinterpret_cast<const ArrayDesc*>(a), *reinterpret_cast<const ArrayDesc*>(b));
  // Numbers by their bits: a launch with another number is another launch, and −0 is another number.
  if (!type->is_struct() && !type->is_indexed_array()) return std::memcmp(a, b, type->size()) == 0;
  for (const Field& f : type->fields())
    if (!same_argument(f.type, a + f.offset, b + f.offset)) return false;
  return true;
}

bool is_same(TapedFunction& function, const std::vector<const runtime::Array*>& arrays) {
  if (!function.is_known()) return false;
  const std::vector<const runtime::Array*> own = function.arrays();
  return std::equal(own.begin(), own.end(), arrays.begin(), arrays.end(),
                    [](const auto* a, const auto* b) { return same_array(a->desc(), b->desc()); });
}

/// The array that a copy or a fill writes to is the last of its kernel.
bool writes_to(const Tape::Step& step, const runtime::Array& array) {
  const runtime::ByteRange range = array.range();
  auto is_it = [&](runtime::ByteRange one) { return one.lo == range.lo && one.hi == range.hi; };
  if (step.launch) {
    // A launch is told of by itself, before it writes; only copies and fills are known by what they write to.
    if (step.launch->run) return false;
    const autodiff::ArrayLeaf& leaf = step.launch->facts->leaves.back();
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(step.launch->bytes() + leaf.offset);
    return is_it(runtime::data_range(desc, leaf.type->element()->size()));
  }
  if (!step.function->is_known()) return false;
  const std::vector<const runtime::Array*> written = step.function->written();
  return std::any_of(written.begin(), written.end(), [&](const auto* one) { return one->range().intersects(range); });
}

bool is_no_launch(const Tape::Step& step) { return step.launch ? !step.launch->run : step.function->is_known(); }

/// Functions of the program are not seen when they are done again: they are taken as they are.
void pass_over(const std::vector<Tape::Step>& steps, Take& take) {
  while (take.steps.size() < steps.size()) {
    const Tape::Step& next = steps[take.steps.size()];
    if (next.launch || next.function->is_known()) return;
    take.steps.push_back(next);
    take.keeper.set_moment(take.steps.size());
  }
}

std::shared_ptr<Take> begin_take(const Tape& tape) {
  auto made = std::make_shared<Take>();
  // What the program has set for the tape holds for all of its takes.
  made->keeper.set_policy(tape.keeper().policy());
  made->keeper.set_verify(tape.keeper().verifies());
  made->capture = runtime::capture_now();
  pass_over(tape.steps(), *made);
  return made;
}

}  // namespace

bool repeats(const TapedLaunch& l, const WatchedLaunch& launch) {
  // Cheap questions first: every launch in the process is held against every tape that lives. A signature is one
  // object per kernel and types, so that its address tells.
  if (l.signature != &launch.signature || l.run != launch.run || l.place.device != launch.place.device) return false;
  if (!std::equal(launch.dims.begin(), launch.dims.end(), l.dims().begin(), l.dims().end())) return false;
  for (const ParamLayout::Param& p : launch.signature.layout.params)
    if (!same_argument(p.type, l.bytes() + p.offset, launch.block + p.offset)) return false;
  return true;
}

bool is_unconditional(const cuda::Device* device) {
  // A branch of a graph may run any number of times, none included, and nobody will say how often.
  return device ? !device->capture() || !device->capture()->in_branch() : !runtime::in_branch();
}

void Repeats::enroll(Tape& tape) {
  const std::lock_guard lock(mutex);
  tapes().push_back(&tape);
}

void Repeats::dismiss(Tape& tape) {
  forget(tape);
  const std::lock_guard lock(mutex);
  std::erase(tapes(), &tape);
  if (std::exchange(tape.listens_, false)) --listeners;
}

void Repeats::forget(Tape& tape) {
  std::shared_ptr<Take> next;
  std::vector<std::shared_ptr<Take>> graphs;
  const std::lock_guard lock(mutex);
  next.swap(tape.next_);
  graphs.swap(tape.graphs_);
  // Called after each step that is added: the last one decides, the others have. Other threads may be adding theirs.
  const std::lock_guard steps(tape.mutex_);
  const bool listens = !tape.steps().empty() && (tape.listens_ || is_no_launch(tape.steps().back()));
  if (listens != tape.listens_) listeners += listens ? 1 : -1;
  tape.listens_ = listens;
}

void Repeats::forget_begun(Tape& tape) {
  std::shared_ptr<Take> next;
  const std::lock_guard lock(mutex);
  next.swap(tape.next_);
}

template <class Fits>
std::vector<Repeat> Repeats::find(const Tape* except, const cuda::Device* device, const Fits& fits) {
  std::vector<Repeat> out;
  // Suspended is work that whoever suspended it tells the tape of in another form.
  if (recording_is_suspended() || !is_unconditional(device)) return out;
  std::vector<std::shared_ptr<Take>> dropped;
  const std::lock_guard lock(mutex);
  for (Tape* tape : tapes()) {
    const std::vector<Tape::Step>& steps = tape->steps();
    // A tape that is being recorded gets steps and repeats none. One that goes back
    // launches adjoints, which are no steps of any.
    if (tape == except || tape->records_ || tape->goes_back_ || steps.empty()) continue;
    std::shared_ptr<Take> take = tape->next_;
    // Another graph, or somebody's write to what the take has used: what has begun is not a repetition any more.
    if (take && (take->capture != runtime::capture_now() || take->keeper.is_disturbed())) {
      dropped.push_back(std::exchange(tape->next_, nullptr));
      take = nullptr;
    }
    if (!take || !fits(steps[take->steps.size()])) {
      // It does not go on with what has begun: perhaps it begins anew.
      take = nullptr;
      std::size_t first = 0;
      // The first step that could be noticed at all.
      while (first < steps.size() && steps[first].function && !steps[first].function->is_known()) ++first;
      if (first == steps.size() || !fits(steps[first])) continue;
      take = begin_take(*tape);
      dropped.push_back(std::exchange(tape->next_, take));
    }
    const Tape::Step& step = steps[take->steps.size()];
    out.push_back({tape, take, step.launch, step.function});
  }
  return out;
}

std::vector<Repeat> Repeats::of_launch(const WatchedLaunch& launch, const Tape* recorded_by) {
  return find(recorded_by, launch.place.device,
              [&](const Tape::Step& step) { return step.launch && repeats(*step.launch, launch); });
}

std::vector<Repeat> Repeats::of_function(const std::vector<const runtime::Array*>& arrays) {
  const runtime::Array& last = *arrays.back();
  return find(nullptr, last.on_host() ? nullptr : static_cast<const cuda::Device*>(last.space()),
              [&](const Tape::Step& step) { return step.function && is_same(*step.function, arrays); });
}

std::vector<Repeat> Repeats::of_write(const runtime::Array& array) {
  std::vector<Repeat> out;
  const std::lock_guard lock(mutex);
  for (Tape* tape : tapes()) {
    const std::shared_ptr<Take>& take = tape->next_;
    // A take that has begun only: what comes first of a tape is found by of_launch or of_function, when all is known
    // of it. Until then it is a write like any other.
    if (!take || take->capture != runtime::capture_now()) continue;
    const Tape::Step& step = tape->steps()[take->steps.size()];
    if (writes_to(step, array)) out.push_back({tape, take, step.launch, step.function});
  }
  return out;
}

bool Repeats::wait_for_function() {
  if (!copies_may_repeat() || tape_in_block() || recording_is_suspended()) return false;
  const std::lock_guard lock(mutex);
  return std::any_of(tapes().begin(), tapes().end(), [](const Tape* tape) {
    // It may go on with what has begun, or begin anew.
    const std::size_t at = tape->next_ ? tape->next_->steps.size() : 0;
    auto is_known = [&](std::size_t k) {
      return k < tape->steps().size() && tape->steps()[k].function && tape->steps()[k].function->is_known();
    };
    return !tape->goes_back_ && (is_known(at) || is_known(0));
  });
}

std::shared_ptr<runtime::Version> Repeats::need(const runtime::Array& array, std::string_view by) {
  const std::lock_guard lock(mutex);
  for (Tape* tape : tapes()) {
    // The function comes later, and says then which of the tapes it repeats.
    const std::vector<Tape::Step>& steps = tape->steps();
    auto waits = [&](std::size_t k) {
      if (k >= steps.size() || !steps[k].function || !steps[k].function->is_known()) return false;
      const auto arrays = steps[k].function->arrays();
      return std::any_of(arrays.begin(), arrays.end(), [&](const auto* one) { return one->data() == array.data(); });
    };
    if (tape->goes_back_) continue;
    if (!tape->next_ && waits(0)) tape->next_ = begin_take(*tape);
    if (!tape->next_ || !waits(tape->next_->steps.size())) continue;
    // Kept with the take until the function is added to it (Take::asked_for).
    tape->next_->asked_for.push_back(tape->next_->keeper.need(array, by));
    return tape->next_->asked_for.back();
  }
  return nullptr;
}

void Repeats::add(std::unique_ptr<TapedFunction> function) {
  const std::shared_ptr<TapedFunction> shared = std::move(function);
  for (const Repeat& one : of_function(shared->arrays())) {
    for (const runtime::Array* array : shared->arrays())
      if (array->has_grad()) one.take->keeper.note_use(array->range());
    finish(one, {nullptr, shared, std::move(one.take->asked_for)});
    one.take->asked_for.clear();
  }
}

void Repeats::finish(const Repeat& repeat, Tape::Step step) {
  std::vector<std::shared_ptr<Take>> dropped;
  const std::lock_guard lock(mutex);
  if (std::find(tapes().begin(), tapes().end(), repeat.tape) == tapes().end()) return;
  Tape& tape = *repeat.tape;
  Take& take = *repeat.take;
  // While the work was done, without the lock, another thread may have ended this take or begun another.
  if (tape.next_ != repeat.take || take.steps.size() >= tape.steps().size()) return;
  take.steps.push_back(std::move(step));
  take.keeper.set_moment(take.steps.size());
  pass_over(tape.steps(), take);
  if (take.steps.size() < tape.steps().size()) return;
  tape.next_ = nullptr;
  if (take.capture == 0) {
    // All is repeated: from now on backward passes go over this run. The one before goes, with its copies and logs.
    dropped.push_back(std::exchange(tape.take_, repeat.take));
    return;
  }
  // The graph does it when it runs.
  auto is_old = [&](const std::shared_ptr<Take>& one) { return one->capture == take.capture || one->graph.expired(); };
  for (auto& one : tape.graphs_)
    if (is_old(one)) dropped.push_back(one);
  std::erase_if(tape.graphs_, is_old);
  take.graph = graph_writes_of(take.capture);
  tape.graphs_.push_back(repeat.take);
}

void Repeats::give_up(const Repeat& repeat) {
  std::shared_ptr<Take> dropped;
  const std::lock_guard lock(mutex);
  if (std::find(tapes().begin(), tapes().end(), repeat.tape) == tapes().end()) return;
  if (repeat.tape->next_ == repeat.take) dropped = std::exchange(repeat.tape->next_, nullptr);
}

void Repeats::graph_runs(std::uint64_t graph) {
  std::vector<std::shared_ptr<Take>> dropped;
  const std::lock_guard lock(mutex);
  for (Tape* tape : tapes()) {
    for (const std::shared_ptr<Take>& one : tape->graphs_)
      if (one->capture == graph) dropped.push_back(std::exchange(tape->take_, one));
    // Also takes that the graph has not made: single values that it makes are there again.
    tape->take_->keeper.renew_made_by(graph);
  }
}

std::vector<std::shared_ptr<Tape::Take>> Repeats::takes() {
  const std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<Take>> out;
  for (const Tape* tape : tapes())
    if (!tape->steps().empty() && !tape->goes_back_) out.push_back(tape->take_);
  return out;
}

std::shared_ptr<Tape::Take> Repeats::take_for_backward(Tape& tape) {
  const std::lock_guard lock(mutex);
  if (const std::uint64_t graph = runtime::capture_now())
    for (const std::shared_ptr<Take>& one : tape.graphs_)
      if (one->capture == graph) return one;
  return tape.take_;
}

void Repeats::set_going_back(Tape& tape, bool on) {
  const std::lock_guard lock(mutex);
  tape.goes_back_ = on;
}

std::vector<std::shared_ptr<Tape::Take>> Tape::takes() const {
  const std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<Take>> out{take_};
  if (next_) out.push_back(next_);
  out.insert(out.end(), graphs_.begin(), graphs_.end());
  return out;
}

bool copies_may_repeat() { return listeners.load(std::memory_order_relaxed) > 0 && !recording_is_suspended(); }

}  // namespace weft::driver
