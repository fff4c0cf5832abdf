// From a filled block to a launch under way: the form for it, and running it, queuing it or adding it to a graph.
#include "cuda/graph.h"
#include "driver/graph_writes.h"
#include "driver/launch_command.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::driver {
namespace {

/// Says why a GPU is slow.
void tell_of_order(Kernel& kernel, KernelSignature& signature, const KernelVariant& variant,
                   std::span<const std::int64_t> dims, LaunchForm form) {
  constexpr double kNoticed = 4096;  // threads: a millisecond or more
  double total = 1;
  for (std::int64_t n : dims) total *= double(n);
  if (total < kNoticed) return;
  std::string why = variant.plan ? variant.plan->ordered : "";
  if (why.empty()) why = kernel.tape_facts(signature, form).ordered;
  kernel.warn("one thread of the GPU does the work of all threads of kernel '" + kernel.name() +
              "', for a derivative depends on their order:\n" + why);
}

/// Whether a launch would lose more by the slow code of a first version than it gains by not waiting for the full one: a
/// thread of a large kernel takes some microseconds there.
bool is_large(std::span<const std::int64_t> dims) {
  constexpr double kManyThreads = 16384;
  double total = 1;
  for (std::int64_t n : dims) total *= double(n);
  return total > kManyThreads;
}

}  // namespace

WEFT_HOT const KernelVariant& Kernel::form_for(KernelSignature& signature, std::span<const std::int64_t> dims,
                                               const char* block, LaunchForm form, cuda::Device* device) {
  const KernelVariant* ready = signature.ready(form, device);
  if (!ready) [[unlikely]] {
    const Effort effort = device || is_large(dims) ? Effort::full : launch_effort();
    if (effort == Effort::first) ready = begun_form(signature, form);
    if (!ready) ready = &build(signature, form, device, effort);
    if (device && ready->in_order) tell_of_order(*this, signature, *ready, dims, form);
  }
  if (device || form.atomic_sums || form.bucket_sums || !ready->binary || ready->binary->sums().empty()) return *ready;
  if (!wants_other_sums(*ready, block, {dims, cpu_options()}, form)) return *ready;
  return form_for(signature, dims, block, form, device);
}

const KernelVariant& Kernel::build(KernelSignature& signature, LaunchForm form, cuda::Device* device, Effort effort) {
  DiagnosticSink sink;
  const KernelVariant* made = variant(signature, form, sink, device, effort);
  if (!made) throw runtime::Error(sink.render_all());
  return *made;
}

void Kernel::start(const LaunchWork& launch) {
  const LaunchPlace& place = launch.place;
  struct Owner {
    std::shared_ptr<Kernel> kernel;
    std::vector<runtime::Array> memory;
    std::shared_ptr<void> rest;
  };
  if (place.device) {
    if (place.device->capture()) {
      note_graph_launch(launch);
      place.device->keep_for_capture(std::make_shared<Owner>(Owner{launch.kernel, launch.memory, launch.owner}));
    }
    return run(launch.variant, launch.block, {launch.dims, {}, place.gpu});
  }
  if (runtime::CommandList* list = runtime::recording()) {
    note_graph_launch(launch);
    auto owner = std::make_shared<Owner>(Owner{launch.kernel, launch.memory, launch.owner});
    list->add(launch_command(*this, launch.variant, launch.block, launch.dims, launch.adjoint, std::move(owner)));
    return touch_arrays(*list, launch.signature.layout, launch.block);
  }
  LaunchRequest request{launch.dims, cpu_options()};
  request.options.descending = launch.adjoint && request.options.serial;
  run(launch.variant, launch.block, request);
}

const TapeFacts& Kernel::facts_for(KernelSignature& signature, LaunchForm form) {
  if (const TapeFacts* known = signature.known_facts(form)) return *known;
  const TapeFacts* found = nullptr;
  run_unlocked([&](const runtime::LaunchOptions&) { found = &tape_facts(signature, form); });
  return *found;
}

}  // namespace weft::driver
