// libFuzzer target: bundles of the cache from any bytes. Raw input must never lead out of itself, and what is believed must be
// what would have been written; a bundle damaged as the input says must never give an entry that was not put in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/bundle_format.h"

using weft::Hash128;
using namespace weft::runtime;

namespace {

const BundleIdentity kIdentity{Hash128{1, 2}, Hash128{3, 4}};

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data), size);
  if (const auto rows = parse_bundle(input, kIdentity))
    for (const BundleRow& row : *rows) bundle_entry(input, row);

  // The first bytes choose a split and a change; the rest is the content of two entries.
  if (size < 6) return 0;
  std::uint32_t where = 0;
  std::memcpy(&where, data, sizeof where);
  const std::uint8_t change = data[4];
  const std::span<const std::byte> content = input.subspan(6);
  const std::size_t split = content.empty() ? 0 : data[5] % (content.size() + 1);
  const std::vector<BundleEntry> entries = {
      {Hash128{9, 9}, Hash128{5, 5}, 0, content.first(split), content.subspan(split)},
      {Hash128{8, 8}, Hash128{6, 6}, 3, content, {}}};
  std::vector<std::byte> file = bundle_bytes(kIdentity, entries);
  const auto whole = parse_bundle(file, kIdentity);
  require(whole && whole->size() == 2 && (*whole)[0].source == Hash128{8, 8});
  for (const BundleRow& row : *whole) require(bundle_entry(file, row).has_value());
  if (change != 0) {
    file[where % file.size()] ^= std::byte(change);
  } else {
    file.resize(where % file.size());
  }
  if (const auto rows = parse_bundle(file, kIdentity)) {
    require(file.size() == (*rows)[1].at + (*rows)[1].payload_size + (*rows)[1].metadata_size);
    for (const BundleRow& row : *rows) {
      const auto entry = bundle_entry(file, row);
      if (!entry) continue;
      const BundleEntry& put = row.source == Hash128{9, 9} ? entries[0] : entries[1];
      require(entry->payload.size() == put.payload.size() && entry->metadata.size() == put.metadata.size());
      require(put.payload.empty() || std::memcmp(entry->payload.data(), put.payload.data(), put.payload.size()) == 0);
    }
  }
  return 0;
}
