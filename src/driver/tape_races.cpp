// Tapes that watch threads (wp.config.verify_autograd_array_access): a launch that is recorded is run by the interpreter
// first, on copies of its arrays, to see whether its threads meet.
#include <algorithm>
#include <cstring>

#include "driver/taped_launch.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

/// Memory that arrays share, and its copy.
struct Shared {
  runtime::ByteRange range;
  runtime::Array copy;
};

runtime::Array bytes_at(const runtime::ByteRange& range, runtime::MemorySpace* space) {
  runtime::Array::External memory;
  memory.data = reinterpret_cast<void*>(range.lo);
  memory.space = space;
  return runtime::Array::wrap(types::scalar(ScalarKind::u8), {std::int64_t(range.hi - range.lo)}, std::move(memory));
}

}  // namespace

void check_races(const WatchedLaunch& launch, const TapeFacts& facts, LaunchForm form) {
  KernelSignature& signature = launch.signature;
  if (facts.written_elsewhere) return;  // through descriptors in memory: there is no copy of those
  std::vector<std::uint64_t> own((signature.layout.size + 7) / 8 + 1);
  char* bytes = reinterpret_cast<char*>(own.data());
  std::memcpy(bytes, launch.block, signature.layout.size);
  auto desc_of = [&](const autodiff::ArrayLeaf& leaf) -> ArrayDesc& {
    return *reinterpret_cast<ArrayDesc*>(bytes + leaf.offset);
  };
  // Arrays that overlap must overlap in their copies, too, or threads that meet through two views would not be seen.
  std::vector<Shared> parts;
  for (const autodiff::ArrayLeaf& leaf : facts.leaves) {
    if (!desc_of(leaf).data) continue;
    Shared fresh{runtime::data_range(desc_of(leaf), leaf.type->element()->size()), {}};
    if (fresh.range.lo == fresh.range.hi) continue;
    // Ranges that meet become one, so that those in the list are always apart. One pass is enough: the union of two
    // that meet has no gap, and whatever was apart from both is apart from it.
    std::erase_if(parts, [&](const Shared& part) {
      if (!part.range.intersects(fresh.range)) return false;
      fresh.range = {std::min(part.range.lo, fresh.range.lo), std::max(part.range.hi, fresh.range.hi)};
      return true;
    });
    parts.push_back(std::move(fresh));
  }
  for (Shared& part : parts) {
    part.copy = runtime::Array::empty(types::scalar(ScalarKind::u8), {std::int64_t(part.range.hi - part.range.lo)});
    part.copy.assign(bytes_at(part.range, launch.place.device));
  }
  for (const autodiff::ArrayLeaf& leaf : facts.leaves) {
    ArrayDesc& desc = desc_of(leaf);
    // Forward only: gradients are not touched, and not looked at.
    desc.grad = nullptr;
    const auto at = reinterpret_cast<std::uintptr_t>(desc.data);
    for (const Shared& part : parts)
      if (desc.data && at >= part.range.lo && at < part.range.hi) {
        desc.data = static_cast<char*>(part.copy.data()) + (at - part.range.lo);
        break;
      }
  }
  std::string found;
  launch.kernel->run_unlocked([&](const runtime::LaunchOptions& options) {
    found = launch.kernel->find_race(signature, form, bytes, {launch.dims, options});
  });
  if (!found.empty()) throw runtime::Error(found);
}

}  // namespace weft::driver
