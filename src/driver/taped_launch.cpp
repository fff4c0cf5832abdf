// Running a launch so that somebody can go back over it: what it will overwrite is announced, what its adjoint will need is
// asked for.
#include "driver/taped_launch.h"

#include <algorithm>
#include <cstring>

#include "driver/tape_repeat.h"

namespace weft::driver {
namespace {

const ArrayDesc& desc_at(const char* block, const autodiff::ArrayLeaf& leaf) {
  return *reinterpret_cast<const ArrayDesc*>(block + leaf.offset);
}

runtime::ByteRange range_at(const char* block, const autodiff::ArrayLeaf& leaf) {
  return runtime::data_range(desc_at(block, leaf), leaf.type->element()->size());
}

/// Somebody who records a launch, with the gradients that are his.
struct Recording {
  runtime::VersionKeeper* keeper;
  const char* block;  // null: whoever suspended recording tells the tape what is done
  bool backward;
};

/// Who writes to memory that the tape can't tell from any other: a kernel, with the objects that it writes to.
std::string writer_elsewhere(const std::string& by, const TapeFacts& facts) {
  for (const HandlePlace& place : facts.handles)
    if (place.written)
      return by + ", whose writes to the " + std::string(handle_user_name(place.kind)) + " '" + place.name +
             "' count for tapes as writes to all arrays,";
  return by;
}

void announce(const WatchedLaunch& launch, const TapeFacts& facts, std::span<const Recording> recordings) {
  using runtime::Passage;
  const std::string by = "kernel '" + launch.kernel->name() + "'";
  std::vector<runtime::Recorder> recorders(recordings.size());
  for (std::size_t i = 0; i < recordings.size(); ++i) recorders[i].keeper = recordings[i].keeper;
  // Through descriptors found in memory: it may be anybody's array.
  if (facts.written_elsewhere)
    runtime::announce_write(runtime::kAnywhere, recorders, writer_elsewhere(by, facts), true);
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    if (!facts.written[k]) continue;
    for (std::size_t i = 0; i < recordings.size(); ++i) {
      const char* block = recordings[i].block;
      // Of each recorder's own view: a take repeats a launch with the gradients that its arrays have now, which
      // need not be those of the launch that runs.
      recorders[i].passage = !facts.replaced[k]                               ? Passage::unchanged
                             : !recordings[i].backward                        ? Passage::disabled
                             : block && !desc_at(block, facts.leaves[k]).grad ? Passage::unseen
                                                                              : Passage::recorded;
    }
    const runtime::ArrayView view{&desc_at(launch.block, facts.leaves[k]), facts.leaves[k].type->element()->size()};
    runtime::announce_write(range_at(launch.block, facts.leaves[k]), recorders, by, facts.replaced[k], view);
  }
}

/// Whether it is a tangent whose launches see to the order of threads by themselves.
bool has_order(const WatchedLaunch& launch, LaunchForm form) {
  if (!launch.kernel->options().tangent) return false;
  bool found = false;
  launch.kernel->run_unlocked(
      [&](const runtime::LaunchOptions&) { found = launch.kernel->tangent_plan(launch.signature, form).has_order(); });
  return found;
}

/// The array behind a descriptor of a launch's block; one without an owner for foreign memory, which `owner` holds.
runtime::Array owner_of(const TapedLaunch& l, const autodiff::ArrayLeaf& leaf, const ArrayDesc& desc) {
  for (const runtime::Array& array : l.memory) {
    const ArrayDesc& other = array.desc();
    if (other.data == desc.data && other.ndim == desc.ndim && array.element() == leaf.type->element() &&
        std::equal(desc.shape, desc.shape + desc.ndim, other.shape) &&
        std::equal(desc.strides, desc.strides + desc.ndim, other.strides))
      return array;
  }
  runtime::Array::External memory;
  memory.data = desc.data;
  memory.strides = {desc.strides, std::size_t(desc.ndim)};
  memory.space = l.place.device;
  return runtime::Array::wrap(leaf.type->element(), {desc.shape, std::size_t(desc.ndim)}, std::move(memory));
}

/// Compiles the adjoint of a kernel whose names will perhaps stand for something else when somebody goes back: closures
/// that a loop makes see the last turn's values then.
void build_adjoint_now(TapedLaunch& l) {
  if (!l.kernel->names_may_change() || !l.facts->problem.empty() || (l.place.device && l.place.device->capture()))
    return;
  try {
    l.kernel->form_for(*l.signature, l.dims(), l.bytes(), adjoint_form(l, l.bytes()), l.place.device);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the backward pass says it, if there is one
    l.kernel->set_names_may_change(false);
  }
}

/// Asks for the values that going back will need, and says which arrays gradients go through.
void ask_for_values(TapedLaunch& l, runtime::VersionKeeper& keeper) {
  const TapeFacts& facts = *l.facts;
  const std::string by = "kernel '" + l.kernel->name() + "'";
  if (facts.problem.empty()) {
    for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
      // Needed somewhere that is not known: then every array is taken for needed.
      if (!facts.needed[k] && !facts.needed_elsewhere) continue;
      const ArrayDesc& desc = desc_at(l.bytes(), facts.leaves[k]);
      if (desc.data) l.leaves[k].version = keeper.need(owner_of(l, facts.leaves[k], desc), by);
    }
    const std::span<const runtime::Array* const> held(l.held);
    if (facts.needed_elsewhere)
      for (const runtime::Array* one : held.first(l.held_in_structs)) l.held_versions.push_back(keeper.need(*one, by));
    if (facts.needed_elsewhere || facts.needed_objects)
      for (TapedLaunch::Handle& handle : l.handles)
        for (const runtime::Array* one : held.subspan(handle.first, handle.count))
          handle.values.push_back(keeper.need(*one, by));
  }
  for (const autodiff::ArrayLeaf& leaf : facts.leaves)
    // A later write here that no gradient goes back over would cut the way (unreversed_writes.h).
    if (desc_at(l.bytes(), leaf).grad) keeper.note_use(range_at(l.bytes(), leaf));
}

/// Keeps the objects whose ids a launch has, as they are now.
void hold_objects(TapedLaunch& l) {
  l.held_in_structs = l.held.size();
  for (const HandlePlace& place : l.facts->handles) {
    for (std::shared_ptr<geometry::Object>& object :
         objects_in({&place, 1}, l.bytes(), l.place.device, l.kernel->name())) {
      object->refresh_gradients();
      const std::vector<const runtime::Array*> arrays = object->arrays();
      l.handles.push_back({place.offset, object, object->pin(), l.held.size(), arrays.size(), {}});
      l.held.insert(l.held.end(), arrays.begin(), arrays.end());
    }
  }
}

/// What a tape keeps of a launch that is about to run.
std::unique_ptr<TapedLaunch> make_taped(WatchedLaunch launch) {
  KernelSignature& signature = launch.signature;
  auto made = std::make_unique<TapedLaunch>();
  made->kernel = launch.kernel;
  made->signature = &signature;
  made->form = tape_form(*launch.kernel, signature, launch.block, launch.dims.size());
  const TapeFacts& facts = launch.kernel->facts_for(signature, made->form);
  made->facts = &facts;
  std::copy_n(launch.dims.begin(), launch.dims.size(), made->extents);
  made->rank = launch.dims.size();
  made->place = launch.place;
  made->owner = std::move(launch.owner);
  const std::size_t own = signature.layout.size;
  const std::size_t size =
      facts.log.empty() && !facts.takes_numbers ? own : taped_layout(signature.layout, facts, true).size;
  // With room for what the taped form and its adjoint have behind the kernel's parameters.
  made->block.resize((size + 7) / 8 + 1);
  std::memcpy(made->bytes(), launch.block, own);
  made->memory = std::move(launch.memory);
  made->held = std::move(launch.held);
  hold_objects(*made);
  made->leaves.resize(facts.leaves.size());
  bool any = false;
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    if (k < launch.arrays.size()) made->leaves[k].array = launch.arrays[k];
    any |= desc_at(made->bytes(), facts.leaves[k]).grad != nullptr;
  }
  for (const runtime::Array* one : made->held) any |= one->has_grad();
  made->run = launch.run;
  made->again = std::move(launch.again);
  made->backward = launch.backward;
  // Without any gradient nothing is kept: a program that records everything pays for what it differentiates.
  made->active = any && launch.backward;
  made->logged = made->active && !facts.log.empty() && facts.problem.empty() && launch.run;
  return made;
}

/// Whether a launch must keep the order of its threads, or nobody could go back.
bool keeps_order(const TapedLaunch& l) { return l.active && !l.facts->ordered.empty() && l.facts->problem.empty(); }

void run_taped(TapedLaunch& l) {
  Kernel& kernel = *l.kernel;
  LaunchForm form = l.form;
  // The plain form otherwise, which is compiled already and shared with launches outside of tapes.
  form.taped = l.logged || keeps_order(l);
  form.objects_apart = form.objects_apart && form.taped;
  if (l.logged) make_log(l);
  const KernelVariant& variant = kernel.form_for(*l.signature, l.dims(), l.bytes(), form, l.place.device);
  LaunchRequest request{l.dims(), {}};
  request.options.serial = kernel.cpu_options().serial;
  // Noted as it ran, for going back may ask for an order that this launch did not have.
  l.in_order = in_thread_order(variant, request);
  auto work = [&] {
    kernel.start({l.kernel, *l.signature, variant, l.bytes(), l.dims(), l.place, false, l.memory, l.owner});
  };
  l.logged ? run_with_log(l, work) : work();
}

/// Gives a launch on another tape what the one that ran has written down. False: it wants something else.
bool take_over(TapedLaunch& l, const TapedLaunch& ran) {
  // A log belongs to one list of sites: that of another form would be read at the wrong places.
  if (l.logged && (!ran.logged || l.facts != ran.facts)) return false;
  if (l.logged) {
    const std::size_t own = l.signature->layout.size;
    std::memcpy(l.bytes() + own, ran.bytes() + own, l.block.size() * 8 - own);
    l.log = ran.log;
  }
  l.in_order = ran.in_order;
  return true;
}

/// Runs a launch that tapes record, `repeats` of it as a step of before.
void record(WatchedLaunch launch, Tape* tape, const std::vector<Repeat>& repeats,
            std::vector<std::unique_ptr<TapedLaunch>> again) {
  const Tape::Running running(tape);
  std::unique_ptr<TapedLaunch> own = tape ? make_taped(std::move(launch)) : nullptr;
  // One runs for all: one that has something to write down.
  TapedLaunch* first = own.get();
  for (const auto& one : again)
    if (!first || (!first->logged && (one->logged || keeps_order(*one)))) first = one.get();
  // Once for all tapes: a second run would do its work twice.
  if (first->run) run_taped(*first);
  // Behind the run: what going back needs are values as the launch left them,
  // and what it overwrote was announced before.
  auto settle = [&](TapedLaunch& l, runtime::VersionKeeper& keeper) {
    if (l.run && l.active) build_adjoint_now(l);
    if (l.run && l.active) l.named = objects_named_in_memory(l);
    l.place.gpu.stream = nullptr;  // backward passes go to the stream that is current then; this one may be gone
    if (l.active) ask_for_values(l, keeper);
  };
  for (std::size_t k = 0; k < again.size(); ++k) {
    if (again[k].get() != first && !take_over(*again[k], *first)) {
      Repeats::give_up(repeats[k]);
      continue;
    }
    if (again[k].get() == first && own) take_over(*own, *first);
    settle(*again[k], repeats[k].take->keeper);
  }
  if (own) settle(*own, tape->keeper());
  for (std::size_t k = 0; k < again.size(); ++k) Repeats::finish(repeats[k], {std::move(again[k]), nullptr});
  if (own) tape->add(std::move(own));
}

}  // namespace

WatchedLaunch launch_again(const TapedLaunch& l, std::vector<std::uint64_t>& block) {
  block = l.block;
  char* bytes = reinterpret_cast<char*>(block.data());
  WatchedLaunch launch{l.kernel, *l.signature, bytes, l.dims(), l.place};
  launch.memory = l.memory;
  for (std::size_t k = 0; k < l.leaves.size(); ++k) {
    const runtime::Array* array = l.leaves[k].array;
    auto& desc = *reinterpret_cast<ArrayDesc*>(bytes + l.facts->leaves[k].offset);
    if (array && array->is_valid() && array->data() == desc.data) desc.grad = array->desc().grad;
    launch.arrays.push_back(array);
  }
  launch.held.assign(l.held.begin(), l.held.begin() + std::ptrdiff_t(l.held_in_structs));
  launch.owner = l.owner;
  launch.run = l.run;
  launch.backward = l.backward;
  launch.again = l.again;
  return launch;
}

void launch_watched(WatchedLaunch launch, Tape* tape) {
  const std::shared_ptr<Kernel>& kernel = launch.kernel;
  KernelSignature& signature = launch.signature;
  const LaunchPlace& place = launch.place;
  const LaunchForm form = tape_form(*kernel, signature, launch.block, launch.dims.size());
  const TapeFacts& facts = kernel->facts_for(signature, form);
  const bool serial = kernel->cpu_options().serial;
  if (tape && tape->watches_threads() && launch.run && (place.device || !serial) && !has_order(launch, form))
    check_races(launch, facts, form);
  std::vector<Recording> recordings;
  if (runtime::VersionKeeper* keeper = keeper_for_writes(tape))
    recordings.push_back({keeper, tape ? launch.block : nullptr, launch.backward});
  const std::vector<Repeat> repeats = Repeats::of_launch(launch, tape);
  // Takes get the launch with the arrays of their first recording: gradients are found under those objects.
  std::vector<std::unique_ptr<TapedLaunch>> again;
  std::vector<std::uint64_t> block;
  for (const Repeat& one : repeats) {
    WatchedLaunch same = launch_again(*one.launch, block);
    same.place = launch.place;
    again.push_back(make_taped(std::move(same)));
    again.back()->numbers = one.launch->numbers;
    recordings.push_back({&one.take->keeper, again.back()->bytes(), one.launch->backward});
  }
  // All keepers hear of it before it runs, as one write: those that record it
  // copy what they need, all others lose it.
  if (launch.run || !recordings.empty()) announce(launch, facts, recordings);  // else it was announced when it was done
  if (tape || !repeats.empty()) {
    try {
      return record(std::move(launch), tape, repeats, std::move(again));
    } catch (...) {
      for (const Repeat& one : repeats) Repeats::give_up(one);
      throw;
    }
  }
  if (!launch.run) return;
  LaunchForm plain = form;
  plain.objects_apart = false;
  const KernelVariant& variant = kernel->form_for(signature, launch.dims, launch.block, plain, place.device);
  kernel->start({kernel, signature, variant, launch.block, launch.dims, place, false, launch.memory, launch.owner});
}

}  // namespace weft::driver
