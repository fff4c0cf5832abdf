// One list of keepers under one lock. Versions leave a keeper's list when they are overwritten or nobody holds them.
#include "runtime/versions.h"

#include <algorithm>
#include <mutex>

#include "runtime/errors.h"

namespace weft::runtime {

std::atomic<int> watching_keepers{0};

namespace {

std::mutex mutex;  // guards the list, and all keepers and versions in it

std::vector<VersionKeeper*>& keepers() {
  static auto* list = new std::vector<VersionKeeper*>;  // outlives everything
  return *list;
}

Array bytes_at(const Array& array, ByteRange range) {
  Array::External memory;
  memory.data = reinterpret_cast<void*>(range.lo);
  memory.space = array.space();
  return Array::wrap(types::scalar(ScalarKind::u8), {std::int64_t(range.hi - range.lo)}, std::move(memory));
}

std::string shape_text(const Array& array) {
  std::string text = "(";
  for (int d = 0; d < array.rank(); ++d) text += (d ? ", " : "") + std::to_string(array.extent(d));
  return text + (array.rank() == 1 ? ",)" : ")");
}

Hash128 sum_of(ByteRange range) {
  Hasher hasher;
  hasher.text({reinterpret_cast<const char*>(range.lo), range.hi - range.lo});
  return hasher.finish();
}

}  // namespace

void* Version::data() const {
  std::lock_guard lock(mutex);
  if (lost_)
    throw Error("the backward pass of " + needed_by_ + " needs an array of shape " + shape_text(array_) +
                " as it was, and " + lost_to_ +
                " has written to it since, outside of the tape; record that write too, or write to another array");
  if (!kept_.is_valid()) {
    if (sum_ && *sum_ != sum_of(range_))
      throw Error("the backward pass of " + needed_by_ + " needs an array of shape " + shape_text(array_) +
                  " as it was, and somebody has written to its memory since, past all that Weft can see");
    return array_.data();
  }
  return static_cast<char*>(kept_.data()) + (reinterpret_cast<std::uintptr_t>(array_.data()) - range_.lo);
}

Array Version::values() const {
  Array::External memory;
  memory.data = data();
  memory.strides = array_.strides();
  memory.space = array_.space();
  auto keep = std::make_shared<std::pair<Array, Array>>(array_, kept_);
  memory.release = [keep] {};
  return Array::wrap(array_.element(), array_.shape(), std::move(memory));
}

VersionKeeper::VersionKeeper() {
  std::lock_guard lock(mutex);
  keepers().push_back(this);
}

VersionKeeper::~VersionKeeper() {
  clear();
  std::lock_guard lock(mutex);
  std::erase(keepers(), this);
}

void VersionKeeper::clear() {
  std::lock_guard lock(mutex);
  if (!live_.empty()) --watching_keepers;
  live_.clear();
  kept_bytes_ = copies_ = 0;
}

std::vector<std::string> VersionKeeper::take_notes() {
  std::lock_guard lock(mutex);
  return std::move(notes_);
}

std::shared_ptr<Version> VersionKeeper::need(const Array& array, std::string_view by) {
  const ByteRange range = array.range();
  std::lock_guard lock(mutex);
  for (const auto& weak : live_) {
    auto version = weak.lock();
    if (version && version->range_.lo == range.lo && version->range_.hi == range.hi &&
        version->array_.data() == array.data())
      return version;
  }
  auto made = std::make_shared<Version>();
  made->array_ = array;
  made->range_ = range;
  made->needed_by_ = by;
  if (verify_ && array.on_host() && range.lo < range.hi) made->sum_ = sum_of(range);
  const bool watched = !live_.empty();
  if (live_.size() > 32 && live_.size() % 32 == 0)
    std::erase_if(live_, [](const auto& weak) { return weak.expired(); });
  live_.push_back(made);
  if (!watched) ++watching_keepers;
  return made;
}

void announce_write(ByteRange range, VersionKeeper* recording, std::string_view by) {
  if (range.lo >= range.hi) return;
  std::lock_guard lock(mutex);
  for (VersionKeeper* keeper : keepers()) {
    auto& live = keeper->live_;
    if (live.empty()) continue;
    for (std::size_t k = 0; k < live.size();) {
      std::shared_ptr<Version> version = live[k].lock();
      if (version && !version->range_.intersects(range)) {
        ++k;
        continue;
      }
      if (version && keeper == recording) {
        const std::uint64_t bytes = version->range_.hi - version->range_.lo;
        if (keeper->policy_ == VersionKeeper::OnOverwrite::refuse)
          throw Error(std::string(by) + " is about to overwrite an array of shape " + shape_text(version->array_) +
                      " whose values the backward pass of " + version->needed_by_ +
                      " needs; write to another array, or let the tape keep copies");
        version->kept_ = bytes_at(version->array_, version->range_).copy();
        keeper->kept_bytes_ += bytes;
        ++keeper->copies_;
        if (keeper->verify_)
          keeper->notes_.push_back(std::string(by) + " overwrites an array of shape " + shape_text(version->array_) +
                                   " that the backward pass of " + version->needed_by_ + " needs; the tape keeps " +
                                   std::to_string(bytes) + " bytes");
      } else if (version) {
        version->lost_ = true;
        version->lost_to_ = by;
      }
      live[k] = live.back();
      live.pop_back();
    }
    if (live.empty()) --watching_keepers;
  }
}

}  // namespace weft::runtime
