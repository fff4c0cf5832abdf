// The bytes of a bundle: the entries of the cache that one program's file led to, in one file, so that a process that starts
// reads one file instead of two for each kernel. A header of 128 bytes, an index, the entries. Header and index are under one
// checksum, each entry under its own, which is looked at when it is used.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/hash.h"

namespace weft::runtime {

inline constexpr std::size_t kBundleHeaderSize = 128;
inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::size_t kBundleAlignment = 64;  // of payloads, as linkers want them

/// What a bundle must be for us to believe it.
struct BundleIdentity {
  Hash128 group;
  Hash128 build;  // hash of the build id
};

/// An entry: what it is found by, what it holds.
struct BundleEntry {
  Hash128 source, content;  // keys
  std::uint32_t age = 0;    // how often the bundle was written since a process used the entry
  std::span<const std::byte> payload, metadata;
};

/// The whole file.
std::vector<std::byte> bundle_bytes(const BundleIdentity& identity, std::span<const BundleEntry> entries);

/// Rows of the index as they lie in the file, in the order of source keys.
struct BundleRow {
  Hash128 source, content;
  Hash128 checksum;  // of both keys, payload and metadata
  std::uint64_t at;  // of the payload in the file; the metadata lies behind it
  std::uint64_t payload_size, metadata_size;
  std::uint32_t age;
  std::uint32_t zero;
};

/// The index of a file, or nothing when any byte of header or index is wrong, or an entry would lie outside of the file.
std::optional<std::vector<BundleRow>> parse_bundle(std::span<const std::byte> file, const BundleIdentity& identity);
/// The entry of a row of that file; nothing when any byte of it is wrong.
std::optional<BundleEntry> bundle_entry(std::span<const std::byte> file, const BundleRow& row);

}  // namespace weft::runtime
