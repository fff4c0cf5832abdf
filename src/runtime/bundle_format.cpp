// Writing and checking the bytes of a bundle.
#include "runtime/bundle_format.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "support/checksum.h"

namespace weft::runtime {
namespace {

constexpr char kMagic[8] = {'W', 'E', 'F', 'T', 'P', 'A', 'K', '\n'};
constexpr std::uint64_t kMostEntries = 1 << 20;

/// The header as it lies in the file. Machines of other byte order would read another version number.
struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t count;
  Hash128 build;
  Hash128 group;
  std::uint64_t size;  // of the file
  std::uint64_t zero_size;
  Hash128 checksum;  // of the header with a zero checksum, and of the index
  std::byte zero[48];
};
static_assert(sizeof(Header) == kBundleHeaderSize && std::has_unique_object_representations_v<Header>);
static_assert(sizeof(BundleRow) == 80 && std::has_unique_object_representations_v<BundleRow>);

Hash128 checksum_of(Header header, std::span<const BundleRow> rows) {
  header.checksum = {};
  return Hasher().bytes(&header, sizeof header).bytes(rows.data(), rows.size_bytes()).finish();
}

Hash128 checksum_of(const BundleEntry& entry) {
  return Hasher()
      .value(entry.source)
      .value(entry.content)
      .value(checksum(entry.payload))
      .value(checksum(entry.metadata))
      .finish();
}

std::uint64_t aligned(std::uint64_t at) { return (at + kBundleAlignment - 1) / kBundleAlignment * kBundleAlignment; }

Header expected_header(const BundleIdentity& identity) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kBundleVersion;
  header.build = identity.build;
  header.group = identity.group;
  return header;
}

}  // namespace

std::vector<std::byte> bundle_bytes(const BundleIdentity& identity, std::span<const BundleEntry> entries) {
  std::vector<BundleRow> rows;
  std::uint64_t at = sizeof(Header) + entries.size() * sizeof(BundleRow);
  std::vector<BundleEntry> sorted(entries.begin(), entries.end());
  std::ranges::sort(sorted, {}, &BundleEntry::source);
  for (const BundleEntry& e : sorted) {
    at = aligned(at);
    rows.push_back({e.source, e.content, checksum_of(e), at, e.payload.size(), e.metadata.size(), e.age, 0});
    at += e.payload.size() + e.metadata.size();
  }
  Header header = expected_header(identity);
  header.count = std::uint32_t(rows.size());
  header.size = at;
  header.checksum = checksum_of(header, rows);
  std::vector<std::byte> file(at);
  std::memcpy(file.data(), &header, sizeof header);
  if (!rows.empty()) std::memcpy(file.data() + sizeof header, rows.data(), rows.size() * sizeof(BundleRow));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::ranges::copy(sorted[k].payload, file.begin() + std::ptrdiff_t(rows[k].at));
    std::ranges::copy(sorted[k].metadata, file.begin() + std::ptrdiff_t(rows[k].at + rows[k].payload_size));
  }
  return file;
}

std::optional<std::vector<BundleRow>> parse_bundle(std::span<const std::byte> file, const BundleIdentity& identity) {
  if (file.size() < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  Header expected = expected_header(identity);
  expected.count = header.count;
  expected.size = file.size();
  expected.checksum = header.checksum;
  if (std::memcmp(&expected, &header, sizeof header) != 0 || header.count > kMostEntries) return std::nullopt;
  const std::uint64_t index = std::uint64_t(header.count) * sizeof(BundleRow);
  if (index > file.size() - sizeof header) return std::nullopt;
  std::vector<BundleRow> rows(header.count);
  if (!rows.empty()) std::memcpy(rows.data(), file.data() + sizeof header, index);
  if (checksum_of(header, rows) != header.checksum) return std::nullopt;
  // Whoever can make a checksum right can write whatever he likes, and must not lead us out of the file all the same.
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const BundleRow& row = rows[k];
    const std::uint64_t room = row.at <= file.size() ? file.size() - row.at : 0;
    if (row.at > file.size() || row.at % kBundleAlignment != 0 || row.at < sizeof header + index || row.zero != 0 ||
        row.payload_size > room || row.metadata_size > room - row.payload_size ||
        (k > 0 && !(rows[k - 1].source < row.source)))
      return std::nullopt;
  }
  return rows;
}

std::optional<BundleEntry> bundle_entry(std::span<const std::byte> file, const BundleRow& row) {
  BundleEntry entry{row.source, row.content, row.age, file.subspan(row.at, row.payload_size),
                    file.subspan(row.at + row.payload_size, row.metadata_size)};
  if (checksum_of(entry) != row.checksum) return std::nullopt;
  return entry;
}

}  // namespace weft::runtime
