// Reading and writing bundles. They are read whole, not mapped: a file that somebody cuts off while it is mapped ends the
// process.
#include "runtime/cache_bundles.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace weft::runtime {
namespace {

constexpr std::uint64_t kMostBytes = 16 << 20;  // of a bundle; what does not fit is found by itself
constexpr std::uint64_t kMostFresh = 64 << 20;  // that wait to be written
constexpr std::uint32_t kOldAge = 8;            // entries that so many writers did not use go

constexpr std::int64_t kTouchSeconds = 24 * 60 * 60;  // finer would write to the disk in every process

std::atomic<std::uint64_t> clears{0};

/// All bundles of the process, for its end. Never destroyed: threads may outlive static destructors.
struct Living {
  std::mutex mutex;
  std::vector<CacheBundles*> all;
};
Living& living() {
  static auto& only = *new Living;
  return only;
}

/// At the end of the process. A child of a fork may have been made while another thread held a lock, which stays locked in
/// it: it leaves bundles to its parent.
const pid_t process = ::getpid();
void flush_all() {
  if (::getpid() != process) return;
  std::lock_guard lock(living().mutex);
  for (CacheBundles* bundles : living().all) bundles->flush();
}

}  // namespace

void note_cache_cleared() noexcept { clears.fetch_add(1, std::memory_order_relaxed); }

CacheBundles::CacheBundles(std::string folder, std::string_view build_id)
    : folder_(std::move(folder)), build_(hash_bytes(build_id.data(), build_id.size())), cleared_(clears.load()) {
  if (folder_.empty()) return;
  [[maybe_unused]] static const int at_exit = std::atexit(flush_all);
  std::lock_guard lock(living().mutex);
  living().all.push_back(this);
}

CacheBundles::~CacheBundles() {
  {
    std::lock_guard lock(living().mutex);
    std::erase(living().all, this);
  }
  flush();
}

std::string CacheBundles::path_of(const Hash128& group) const { return folder_ + "/" + group.hex() + ".pak"; }

CacheBundles::File CacheBundles::read(const Hash128& group) const {
  File file;
  const std::string path = path_of(group);
  FileBytes bytes;
  std::int64_t modified = 0;
  const ReadResult result = read_cache_file(path, kMostBytes, bytes, &modified);
  if (result == ReadResult::missing) return file;
  std::optional<std::vector<BundleRow>> rows;
  if (result == ReadResult::whole) rows = parse_bundle(bytes.span(), {group, build_});
  if (!rows) {
    ::unlink(path.c_str());
    return file;
  }
  if (::time(nullptr) - modified > kTouchSeconds) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // for who prunes
  file.bytes = std::move(bytes);
  file.rows = std::move(*rows);
  return file;
}

void CacheBundles::forget_if_cleared() {
  const std::uint64_t now = clears.load(std::memory_order_relaxed);
  if (now == cleared_) return;
  cleared_ = now;
  groups_.clear();
  fresh_bytes_ = 0;
}

std::optional<BundleHit> CacheBundles::get(const Hash128& group, const Hash128& source) noexcept {
  if (folder_.empty()) return std::nullopt;
  try {
    std::lock_guard lock(mutex_);
    forget_if_cleared();
    Group& state = groups_[group];
    if (!state.looked) {
      state.looked = true;
      state.file = read(group);
    }
    const auto row = std::ranges::lower_bound(state.file.rows, source, {}, &BundleRow::source);
    if (row == state.file.rows.end() || row->source != source) return std::nullopt;
    const auto [used, first] = state.used.try_emplace(source, true);
    if (!first && !used->second) return std::nullopt;
    const std::optional<BundleEntry> entry = bundle_entry(state.file.bytes.span(), *row);
    used->second = entry.has_value();
    if (!entry) return std::nullopt;
    return BundleHit{entry->content, entry->payload, entry->metadata, state.file.bytes.memory};
  } catch (...) {
    return std::nullopt;
  }
}

void CacheBundles::drop(const Hash128& group, const Hash128& source) noexcept {
  try {
    std::lock_guard lock(mutex_);
    groups_[group].used[source] = false;
  } catch (...) {
    // Out of memory: it is looked at and dropped again.
  }
}

void CacheBundles::add(const Hash128& group, const Hash128& source, const Hash128& content,
                       std::span<const std::byte> payload, std::span<const std::byte> metadata) noexcept {
  if (folder_.empty()) return;
  try {
    std::lock_guard lock(mutex_);
    forget_if_cleared();
    const std::uint64_t bytes = payload.size() + metadata.size();
    if (bytes > kMostBytes / 4 || fresh_bytes_ + bytes > kMostFresh) return;
    Group& state = groups_[group];
    Fresh fresh{content, {payload.begin(), payload.end()}, {metadata.begin(), metadata.end()}};
    if (!state.fresh.insert_or_assign(source, std::move(fresh)).second) return;
    fresh_bytes_ += bytes;
    // A process that never ends by itself leaves bundles as well.
    if (state.fresh.size() < state.flush_at) return;
    state.flush_at *= 2;
    write(group, state);
  } catch (...) {
    // Out of memory: found by itself the next time as well.
  }
}

void CacheBundles::write(const Hash128& group, Group& state) const {
  const File before = read(group);  // others may have written since
  std::vector<BundleEntry> entries;
  std::uint64_t total = 0;
  const auto take = [&](const BundleEntry& entry) {
    const std::uint64_t bytes = entry.payload.size() + entry.metadata.size() + sizeof(BundleRow) + kBundleAlignment;
    if (total + bytes > kMostBytes - kBundleHeaderSize) return;
    total += bytes;
    entries.push_back(entry);
  };
  for (const auto& [source, fresh] : state.fresh) take({source, fresh.content, 0, fresh.payload, fresh.metadata});
  // What this process used comes before what it did not, and that by age.
  std::vector<BundleEntry> others;
  for (const BundleRow& row : before.rows) {
    const auto used = state.used.find(row.source);
    if (state.fresh.contains(row.source) || (used != state.used.end() && !used->second)) continue;
    const std::uint32_t age = used != state.used.end() ? 0 : row.age + 1;
    if (age > kOldAge) continue;
    if (std::optional<BundleEntry> entry = bundle_entry(before.bytes.span(), row)) {
      entry->age = age;
      others.push_back(*entry);
    }
  }
  std::ranges::stable_sort(others, {}, &BundleEntry::age);
  for (const BundleEntry& entry : others) take(entry);
  write_cache_file(folder_, path_of(group), {bundle_bytes({group, build_}, entries)});
}

void CacheBundles::flush() noexcept {
  if (folder_.empty()) return;
  try {
    std::lock_guard lock(mutex_);
    forget_if_cleared();
    for (auto& [group, state] : groups_) {
      if (state.fresh.empty()) continue;
      write(group, state);
      state.fresh.clear();
      state.looked = false;  // the next key is looked up in what was written
    }
    fresh_bytes_ = 0;
  } catch (...) {
    // Out of memory or of disk: the next process finds all by itself.
  }
}

}  // namespace weft::runtime
