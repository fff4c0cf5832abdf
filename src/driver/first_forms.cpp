// Forms of a kernel that run by a first version, until a launch finds the full one made (docs/design/tiers.md).
#include <algorithm>
#include <mutex>

#include "driver/full_versions.h"
#include "driver/kernel.h"

namespace weft::driver {

std::unique_ptr<KernelVariant> KernelVariant::with(std::shared_ptr<const KernelBinary> code,
                                                   const BuildReport& made) const {
  auto out = std::make_unique<KernelVariant>();
  out->name = name;
  out->binary = std::move(code);
  out->report = made;
  out->param_bytes = param_bytes;
  out->ordered = ordered;
  out->any_order = any_order;
  out->adjoint = adjoint;
  out->plan = plan;
  out->in_order = in_order;
  out->handles = handles;
  return out;
}

const KernelVariant* Kernel::find_first(const KernelSignature& signature, LaunchForm form) const {
  const std::shared_lock lock(mutex_);
  const auto found = std::ranges::find(signature.first, form.index(), &FirstForm::index);
  return found == signature.first.end() ? nullptr : found->variant;
}

const KernelVariant* Kernel::begun_form(KernelSignature& signature, LaunchForm form) {
  const KernelVariant* first = find_first(signature, form);
  if (!first) return nullptr;
  FullVersion& full = *first->binary->full();
  if (full.is_settled()) return &adopt_full(signature, form, *first);
  full.want();  // it is launched again, so it is worth the while
  return first;
}

const KernelVariant& Kernel::adopt_full(KernelSignature& signature, LaunchForm form, const KernelVariant& first) {
  FullVersion& full = *first.binary->full();
  std::shared_ptr<const KernelBinary> binary = full.binary();
  const bool made = binary != nullptr;
  // Where it could not be made, the first version stays; launches need not look for it any more.
  auto fresh = made ? first.with(std::move(binary), full.report()) : first.with(first.binary, first.report);
  std::atomic<const KernelVariant*>& slot = this->slot(signature, form, nullptr);
  {
    const std::unique_lock lock(mutex_);
    if (const KernelVariant* ready = slot.load(std::memory_order_acquire)) return *ready;
    std::erase_if(signature.first, [&](const FirstForm& one) { return one.index == form.index(); });
    signature.owned.push_back(std::move(fresh));
    slot.store(signature.owned.back().get(), std::memory_order_release);
  }
  const KernelVariant& now = *slot.load(std::memory_order_relaxed);
  if (made) note_full_version(now);
  return now;
}

}  // namespace weft::driver
