// Writing the table: each word at once, since kernels may be reading.
#include "geometry/object_table.h"

#include <atomic>

#include "geometry/descriptors.h"

namespace weft::geometry {

void ObjectTable::add_slab(std::uint64_t slab) {
  const std::atomic_ref count(words()[0]);
  const std::uint64_t known = count.load();
  if (known == kAllLive) return;
  if (known == kMostSlabs) return count.store(kAllLive);
  words()[1 + known * kSlabWords] = slab;
  count.store(known + 1);
}

void ObjectTable::set_kind(std::uint64_t slot, std::uint8_t kind) {
  const std::uint64_t slabs = words()[0] == kAllLive ? kMostSlabs : words()[0];
  for (std::uint64_t k = 0; k < slabs; ++k) {
    std::uint64_t* const slab = words() + 1 + k * kSlabWords;
    if (slot < slab[0] || slot - slab[0] >= kSlabBytes) continue;
    auto* const kinds = reinterpret_cast<std::uint8_t*>(slab + 1);
    return std::atomic_ref(kinds[(slot - slab[0]) / kSlotBytes]).store(kind);
  }
}

}  // namespace weft::geometry
