// libFuzzer target: cache entries from any bytes. Raw input must never be believed unless it is exactly what would have
// been written for its parts; and an entry damaged as the input says must never parse.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/cache_entry.h"

using weft::Hash128;
using namespace weft::runtime;

namespace {

const CacheIdentity kIdentity{CacheTable::object, Hash128{1, 2}, Hash128{3, 4}};

std::vector<std::byte> whole_entry(std::span<const std::byte> payload, std::span<const std::byte> metadata) {
  std::vector<std::byte> file = cache_entry_header(kIdentity, payload, metadata);
  file.insert(file.end(), payload.begin(), payload.end());
  file.insert(file.end(), metadata.begin(), metadata.end());
  return file;
}

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data), size);
  if (const auto view = parse_cache_entry(input, kIdentity)) {
    const std::vector<std::byte> again = whole_entry(view->payload, view->metadata);
    require(again.size() == size && std::memcmp(again.data(), data, size) == 0);
  }

  // The first bytes choose a split and a change; the rest is the content.
  if (size < 6) return 0;
  std::uint32_t where = 0;
  std::memcpy(&where, data, sizeof where);
  const std::uint8_t change = data[4];
  const std::span<const std::byte> content = input.subspan(6);
  const std::size_t split = content.empty() ? 0 : data[5] % (content.size() + 1);
  std::vector<std::byte> file = whole_entry(content.first(split), content.subspan(split));
  const auto view = parse_cache_entry(file, kIdentity);
  require(view && view->payload.size() == split && view->metadata.size() == content.size() - split);
  if (change != 0) {
    file[where % file.size()] ^= std::byte(change);
  } else {
    file.resize(where % file.size());
  }
  require(!parse_cache_entry(file, kIdentity));
  return 0;
}
