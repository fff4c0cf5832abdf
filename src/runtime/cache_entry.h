// The bytes of one cache file: a header of 128 bytes, the payload, the metadata. Everything is under a 128-bit checksum;
// an entry that is not exactly what was written, for this key and by this build, does not parse.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "support/hash.h"

namespace weft::runtime {

inline constexpr std::size_t kCacheHeaderSize = 128;  // keeps a payload aligned to 64 bytes in an aligned buffer
inline constexpr std::uint32_t kCacheFormatVersion = 1;

/// The two kinds of records.
enum class CacheTable : std::uint32_t {
  object = 1,  // content key → object code
  source = 2,  // source key → content key
};

/// What an entry must be for us to believe it.
struct CacheIdentity {
  CacheTable table = CacheTable::object;
  Hash128 key;
  Hash128 build;  // hash of the build id
};

struct CacheEntryView {
  std::span<const std::byte> payload;
  std::span<const std::byte> metadata;
};

/// The header for an entry; the file is header, payload, metadata.
std::vector<std::byte> cache_entry_header(const CacheIdentity& identity, std::span<const std::byte> payload,
                                          std::span<const std::byte> metadata);

/// The parts of a file, or nothing when any byte of it is wrong.
std::optional<CacheEntryView> parse_cache_entry(std::span<const std::byte> file, const CacheIdentity& identity);

}  // namespace weft::runtime
