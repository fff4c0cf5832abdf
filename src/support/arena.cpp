// Arena growth: blocks double from 4 KiB to 1 MiB; an oversized request gets a block of its own.
#include "support/arena.h"

#include <algorithm>

namespace weft {

void* Arena::allocate_slow(std::size_t bytes, std::size_t align) {
  std::size_t doubled = std::min<std::size_t>(std::max<std::size_t>(reserved_, 4096), std::size_t(1) << 20);
  std::size_t size = std::max(doubled, bytes + align);
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
  reserved_ += size;
  next_ = reinterpret_cast<std::uintptr_t>(blocks_.back().get());
  end_ = next_ + size;
  return allocate(bytes, align);
}

}  // namespace weft
