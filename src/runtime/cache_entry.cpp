// Writing and checking the bytes of a cache file.
#include "runtime/cache_entry.h"

#include <cstring>
#include <type_traits>

#include "support/checksum.h"

namespace weft::runtime {
namespace {

constexpr char kMagic[8] = {'W', 'E', 'F', 'T', 'O', 'B', 'J', '\n'};

/// The header as it lies in the file. Machines of other byte order would read another version number.
struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t table;
  Hash128 build;
  Hash128 key;
  std::uint64_t payload_size;
  std::uint64_t metadata_size;
  Hash128 checksum;  // of everything else: the header with a zero checksum, payload, metadata
  std::byte zero[48];
};
static_assert(sizeof(Header) == kCacheHeaderSize && std::has_unique_object_representations_v<Header>);

Hash128 checksum_of(Header header, std::span<const std::byte> payload, std::span<const std::byte> metadata) {
  header.checksum = {};
  return Hasher().bytes(&header, sizeof header).value(checksum(payload)).value(checksum(metadata)).finish();
}

Header expected_header(const CacheIdentity& identity) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kCacheFormatVersion;
  header.table = std::uint32_t(identity.table);
  header.build = identity.build;
  header.key = identity.key;
  return header;
}

}  // namespace

std::vector<std::byte> cache_entry_header(const CacheIdentity& identity, std::span<const std::byte> payload,
                                          std::span<const std::byte> metadata) {
  Header header = expected_header(identity);
  header.payload_size = payload.size();
  header.metadata_size = metadata.size();
  header.checksum = checksum_of(header, payload, metadata);
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::optional<CacheEntryView> parse_cache_entry(std::span<const std::byte> file, const CacheIdentity& identity) {
  if (file.size() < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  const std::size_t body = file.size() - sizeof header;
  if (header.payload_size > body || header.metadata_size != body - header.payload_size) return std::nullopt;
  Header expected = expected_header(identity);
  expected.payload_size = header.payload_size;
  expected.metadata_size = header.metadata_size;
  expected.checksum = header.checksum;
  if (std::memcmp(&expected, &header, sizeof header) != 0) return std::nullopt;
  CacheEntryView view;
  view.payload = file.subspan(sizeof header, std::size_t(header.payload_size));
  view.metadata = file.subspan(sizeof header + std::size_t(header.payload_size));
  if (checksum_of(header, view.payload, view.metadata) != header.checksum) return std::nullopt;
  return view;
}

}  // namespace weft::runtime
