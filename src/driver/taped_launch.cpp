// Running a launch so that somebody can go back over it: what it will overwrite is announced, what its adjoint will need is
// asked for.
#include "driver/taped_launch.h"

#include <algorithm>
#include <cstring>

#include "driver/tape.h"

namespace weft::driver {
namespace {

const ArrayDesc& desc_at(const char* block, const autodiff::ArrayLeaf& leaf) {
  return *reinterpret_cast<const ArrayDesc*>(block + leaf.offset);
}

runtime::ByteRange range_at(const char* block, const autodiff::ArrayLeaf& leaf) {
  return runtime::data_range(desc_at(block, leaf), leaf.type->element()->size());
}

void announce(const WatchedLaunch& launch, const TapeFacts& facts, Tape* tape) {
  using runtime::Passage;
  const std::string by = "kernel '" + launch.kernel->name() + "'";
  runtime::VersionKeeper* keeper = keeper_for_writes(tape);
  if (facts.written_elsewhere) runtime::announce_write(runtime::kAnywhere, keeper, by);
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    if (!facts.written[k]) continue;
    const ArrayDesc& desc = desc_at(launch.block, facts.leaves[k]);
    const Passage passage = !facts.replaced[k]   ? Passage::unchanged
                            : !launch.backward   ? Passage::disabled
                            : desc.grad || !tape ? Passage::recorded
                                                 : Passage::unseen;
    const runtime::ArrayView view{&desc, facts.leaves[k].type->element()->size()};
    runtime::announce_write(range_at(launch.block, facts.leaves[k]), keeper, by, passage, view);
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
void ask_for_values(TapedLaunch& l, Tape& tape) {
  const TapeFacts& facts = *l.facts;
  const std::string by = "kernel '" + l.kernel->name() + "'";
  if (facts.problem.empty()) {
    for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
      if (!facts.needed[k] && !facts.needed_elsewhere) continue;
      const ArrayDesc& desc = desc_at(l.bytes(), facts.leaves[k]);
      if (desc.data) l.leaves[k].version = tape.keeper().need(owner_of(l, facts.leaves[k], desc), by);
    }
    if (facts.needed_elsewhere)
      for (const runtime::Array* one : l.held) l.held_versions.push_back(tape.keeper().need(*one, by));
  }
  for (const autodiff::ArrayLeaf& leaf : facts.leaves)
    if (desc_at(l.bytes(), leaf).grad) tape.keeper().note_use(range_at(l.bytes(), leaf));
}

}  // namespace

void launch_watched(WatchedLaunch launch, Tape* tape) {
  const std::shared_ptr<Kernel>& kernel = launch.kernel;
  KernelSignature& signature = launch.signature;
  const LaunchPlace& place = launch.place;
  const std::span<const std::int64_t> dims = launch.dims;
  const LaunchForm form = form_of(signature.layout, launch.block, dims.size());
  const TapeFacts& facts = kernel->facts_for(signature, form);
  const bool serial = kernel->cpu_options().serial;
  if (tape && tape->watches_threads() && launch.run && (place.device || !serial) && !has_order(launch, form))
    check_races(launch, facts, form);
  announce(launch, facts, tape);
  if (!tape) {
    const KernelVariant& variant = kernel->form_for(signature, dims, launch.block, form, place.device);
    return kernel->start({kernel, signature, variant, launch.block, dims, place, false, launch.memory, launch.owner});
  }

  auto made = std::make_unique<TapedLaunch>();
  made->kernel = kernel;
  made->signature = &signature;
  made->facts = &facts;
  made->form = form;
  std::copy_n(dims.begin(), dims.size(), made->extents);
  made->rank = dims.size();
  made->place = place;
  made->owner = std::move(launch.owner);
  // What depends on the order of threads has to keep it, or nobody could go back.
  const bool ordered = !facts.ordered.empty();
  const ParamLayout extended = facts.log.empty() && !ordered ? ParamLayout() : log_layout(signature.layout);
  made->block.resize((std::max(extended.size, signature.layout.size) + 7) / 8 + 1);
  std::memcpy(made->bytes(), launch.block, signature.layout.size);
  made->memory = std::move(launch.memory);
  made->held = std::move(launch.held);
  made->leaves.resize(facts.leaves.size());
  bool any = false;
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    if (k < launch.arrays.size()) made->leaves[k].array = launch.arrays[k];
    any |= desc_at(made->bytes(), facts.leaves[k]).grad != nullptr;
  }
  for (const runtime::Array* one : made->held) any |= one->has_grad();
  made->backward = launch.backward;
  made->active = any = any && launch.backward;
  made->logged = any && !facts.log.empty() && facts.problem.empty() && launch.run;
  LaunchForm run_form = form;
  run_form.taped = made->logged || (ordered && any && facts.problem.empty());
  if (made->logged) make_log(*made);
  if (launch.run) {
    const KernelVariant& variant = kernel->form_for(signature, dims, made->bytes(), run_form, place.device);
    LaunchRequest request{dims, {}};
    request.options.serial = serial;
    made->in_order = in_thread_order(variant, request);
    auto work = [&] {
      kernel->start({kernel, signature, variant, made->bytes(), dims, place, false, made->memory, made->owner});
    };
    made->logged ? run_with_log(*made, work) : work();
    if (any) build_adjoint_now(*made);
  }
  made->place.gpu.stream = nullptr;  // backward passes go to the stream that is current then; this one may be gone
  if (any) ask_for_values(*made, *tape);
  tape->add(std::move(made));
}

}  // namespace weft::driver
