// One list of keepers under one lock. Versions leave a keeper's list when they are overwritten or nobody holds them.
#include "runtime/versions.h"

#include <algorithm>
#include <mutex>

#include "runtime/command_list.h"
#include "runtime/errors.h"

namespace weft::runtime {

std::atomic<int> watching_keepers{0};

namespace {

// One lock for all: announcements come from any thread, and usually there is none (watching_keepers is 0).
std::mutex mutex;  // guards the list, and all keepers and versions in it
thread_local std::uint64_t captured_graph = 0;
thread_local std::uint64_t repeated_recording = 0;

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

std::vector<std::int64_t> layout_of(const ArrayView& view) {
  if (!view.desc) return {};
  const ArrayDesc& d = *view.desc;
  std::vector<std::int64_t> out{std::int64_t(reinterpret_cast<std::uintptr_t>(d.data)), std::int64_t(view.element)};
  out.insert(out.end(), d.shape, d.shape + d.ndim);
  out.insert(out.end(), d.strides, d.strides + d.ndim);
  return out;
}

Array copy_of_memory(const Array& array) {
  const ByteRange range = array.range();
  // No element: nothing to copy, and no address to give.
  if (range.lo == range.hi) return array;
  if (CommandList* list = recording()) list->keep(std::make_shared<const Array>(array));
  // The whole stretch, gaps of strided arrays included: the copy is then good for the same strides and for any view of
  // it, and copying bytes is faster than following strides.
  auto bytes = std::make_shared<Array>(bytes_at(array, range).copy());
  Array::External memory;
  // With negative strides the first element is not at the lowest address.
  memory.data = static_cast<char*>(bytes->data()) + (reinterpret_cast<std::uintptr_t>(array.data()) - range.lo);
  memory.strides = array.strides();
  memory.space = array.space();
  memory.release = [bytes] {};
  return Array::wrap(array.element(), array.shape(), std::move(memory));
}

bool Version::is_lost() const {
  // When the recording is run again it makes its values anew, and a write from outside since then means nothing. A
  // write inside of the recording, behind their making, comes again with them: those are lost.
  const bool made_again = recording_ && recording_ == repeated_recording && lost_in_ != recording_;
  return (lost_ && !made_again) || (lost_when_ && lost_when_ == captured_graph);
}

bool Version::differs() const {
  // Only in debug mode: a NumPy view writes without telling anybody.
  return !kept_.is_valid() && sum_ && *sum_ != sum_of(range_);
}

bool Version::is_stale() const {
  std::lock_guard lock(mutex);
  return is_lost() || differs();
}

bool Version::is_kept() const {
  std::lock_guard lock(mutex);
  return kept_.is_valid();
}

void* Version::data() const {
  std::lock_guard lock(mutex);
  if (is_lost())
    throw Error("the backward pass of " + needed_by_ + " needs an array of shape " + shape_text(array_) +
                " as it was, and " + lost_to_ +
                " has written to it since, outside of the tape; record that write too, or write to another array; "
                "tape.replay() runs the recorded launches again, on the values of now");
  if (differs())
    throw Error("the backward pass of " + needed_by_ + " needs an array of shape " + shape_text(array_) +
                " as it was, and somebody has written to its memory since, past all that Weft can see; tape.replay() "
                "runs the recorded launches again, on the values of now");
  if (!kept_.is_valid()) return array_.data();
  // Where the array's first element lies in the copied stretch.
  return static_cast<char*>(kept_.data()) + (reinterpret_cast<std::uintptr_t>(array_.data()) - range_.lo);
}

RecordingRepeated::RecordingRepeated(std::uint64_t number) : outer_(repeated_recording) { repeated_recording = number; }
RecordingRepeated::~RecordingRepeated() { repeated_recording = outer_; }

void Version::keep_copy() {
  // Values of before the recording are there, and lost when it is run; others come to be when it is run.
  std::optional<RecordingPaused> now;
  if (recording_ != recording_number()) now.emplace();
  if (CommandList* list = recording()) list->keep(std::make_shared<const Array>(array_));
  kept_ = bytes_at(array_, range_).copy();
  kept_in_ = captured_graph;
}

Array Version::values(const Array& view) const {
  Array::External memory;
  memory.data = data();
  memory.strides = view.strides();
  memory.space = view.space();
  auto keep = std::make_shared<std::pair<Array, Array>>(array_, kept_);
  memory.release = [keep] {};
  return Array::wrap(view.element(), view.shape(), std::move(memory));
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
  if (watches()) --watching_keepers;
  live_.clear();
  gone_.clear();
  uses_.clear();
  strays_.clear();
  disturbed_ = false;
  longest_live_ = longest_use_ = 0;
  moment_ = 0;
  kept_bytes_ = copies_ = 0;
}

std::vector<std::string> VersionKeeper::take_notes() {
  std::lock_guard lock(mutex);
  return std::move(notes_);
}

std::vector<VersionKeeper::Stray> VersionKeeper::strays() const {
  std::lock_guard lock(mutex);
  return strays_;
}

std::shared_ptr<Version> VersionKeeper::need(const Array& array, std::string_view by) {
  const ByteRange range = array.range();
  std::lock_guard lock(mutex);
  // Launch after launch asks for the same arrays: as long as nobody wrote, one version serves them all. What nobody
  // holds any more is dropped on the way.
  for (auto [it, end] = live_.equal_range(range.lo); it != end;) {
    auto version = it->second.lock();
    if (version && version->range_.hi == range.hi && version->array_.data() == array.data()) return version;
    it = version ? std::next(it) : live_.erase(it);
  }
  auto made = std::make_shared<Version>();
  made->array_ = array;
  made->range_ = range;
  made->needed_by_ = by;
  made->recording_ = recording_number();
  made->capture_ = captured_graph;
  if (verify_ && array.on_host() && range.lo < range.hi && !recording()) made->sum_ = sum_of(range);
  watch(made);
  return made;
}

void VersionKeeper::watch(const std::shared_ptr<Version>& version) {
  const ByteRange range = version->range_;
  // Before the entry is in: the counter says whether this keeper has any.
  if (!watches()) ++watching_keepers;
  live_.emplace(range.lo, version);
  // Ranges are ordered by where they begin; the longest bounds how far before a write one may begin that still reaches
  // into it. An interval tree would be exact, and is not needed: arrays of a program are of like sizes.
  longest_live_ = std::max(longest_live_, range.hi - range.lo);
}

bool VersionKeeper::is_disturbed() const {
  std::lock_guard lock(mutex);
  return disturbed_;
}

void VersionKeeper::renew(const std::shared_ptr<Version>& version) {
  std::lock_guard lock(mutex);
  version->lost_when_ = 0;
  if (version->sum_) version->sum_ = sum_of(version->range_);
  if (!version->lost_) return;
  version->lost_ = false;
  watch(version);
}

void VersionKeeper::renew_unseen(const std::shared_ptr<Version>& version) {
  {
    std::lock_guard lock(mutex);
    version->sum_.reset();
  }
  renew(version);
}

void VersionKeeper::renew_made_by(std::uint64_t graph) {
  std::lock_guard lock(mutex);
  auto again = [&](const std::weak_ptr<Version>& entry) {
    const std::shared_ptr<Version> version = entry.lock();
    if (version && version->capture_ != graph) return false;
    if (version) {
      version->lost_ = false;
      version->kept_ = {};
      watch(version);
    }
    return true;
  };
  std::erase_if(gone_, again);
}

void VersionKeeper::set_moment(std::size_t moment) {
  std::lock_guard lock(mutex);
  moment_ = moment;
}

void VersionKeeper::note_use(ByteRange range) {
  if (range.lo >= range.hi) return;
  std::lock_guard lock(mutex);
  for (auto [it, end] = uses_.equal_range(range.lo); it != end; ++it)
    if (it->second == range.hi) return;
  if (!watches()) ++watching_keepers;
  uses_.emplace(range.lo, range.hi);
  longest_use_ = std::max(longest_use_, range.hi - range.lo);
}

bool VersionKeeper::uses(ByteRange range) const {
  for (auto it = first_near(uses_, range.lo, longest_use_); it != uses_.end() && it->first < range.hi; ++it)
    if (range.intersects({it->first, it->second})) return true;
  return false;
}

void VersionKeeper::note_stray(ByteRange range, std::string_view by, Passage passage, const ArrayView& view) {
  // Only writes to what the tape has used matter; a temporary buffer that it never saw may be written freely.
  if (!uses(range)) return;
  disturbed_ = disturbed_ || passage == Passage::recorded;
  for (const Stray& known : strays_)
    if (known.moment == moment_ && known.range.lo == range.lo && known.range.hi == range.hi &&
        known.layout == layout_of(view))
      return;
  strays_.push_back({range, std::string(by), moment_, passage, layout_of(view)});
}

void VersionKeeper::overwrite(ByteRange range, bool recorded, std::string_view by, std::uint64_t graph) {
  for (auto it = first_near(live_, range.lo, longest_live_); it != live_.end() && it->first < range.hi;) {
    std::shared_ptr<Version> version = it->second.lock();
    // A graph that makes the values makes them again before it overwrites them.
    if (version && (!version->range_.intersects(range) || (graph && version->capture_ == graph))) {
      ++it;
      continue;
    }
    if (version && recorded) {
      const std::uint64_t bytes = version->range_.hi - version->range_.lo;
      if (policy_ == OnOverwrite::refuse)
        throw Error(std::string(by) + " is about to overwrite an array of shape " + shape_text(version->array_) +
                    " whose values the backward pass of " + version->needed_by_ +
                    " needs; write to another array, or let the tape keep copies");
      // Writes are announced before they happen, so these are still the old bytes.
      version->keep_copy();
      kept_bytes_ += bytes;
      ++copies_;
      if (verify_)
        notes_.push_back(std::string(by) + " overwrites an array of shape " + shape_text(version->array_) +
                         " that the backward pass of " + version->needed_by_ + " needs; the tape keeps " +
                         std::to_string(bytes) + " bytes");
    } else if (version && captured_graph && version->capture_ != captured_graph) {
      // The write happens when the graph runs, and is announced again then; for what the graph does next it is done.
      version->lost_when_ = captured_graph;
      version->lost_to_ = by;
      disturbed_ = true;
      ++it;
      continue;
    } else if (version) {
      version->lost_ = true;
      version->lost_to_ = by;
      version->lost_in_ = recording_number();
      disturbed_ = true;
    }
    // What the graph copies itself it will copy again.
    if (version && version->capture_ && (version->lost_ || version->kept_in_ != version->capture_))
      gone_.push_back(version);
    // Copied or lost, no later write can change it; dead ones go as well.
    it = live_.erase(it);
  }
}

void announce_write(ByteRange range, std::span<const Recorder> recorders, std::string_view by, bool replaces,
                    const ArrayView& view) {
  if (range.lo >= range.hi) return;
  std::lock_guard lock(mutex);
  for (VersionKeeper* keeper : keepers()) {
    if (!keeper->watches()) continue;
    const auto recorder =
        std::find_if(recorders.begin(), recorders.end(), [&](const Recorder& one) { return one.keeper == keeper; });
    const bool recorded = recorder != recorders.end();
    // Every other tape sees a write that it did not record: its gradient can't know of it.
    keeper->overwrite(range, recorded, by);
    if (!recorded && replaces) {
      keeper->note_stray(range, by, Passage::recorded, view);
    } else if (recorded && (recorder->passage == Passage::disabled || recorder->passage == Passage::unseen)) {
      keeper->note_stray(range, by, recorder->passage, view);
    }
    if (!keeper->watches()) --watching_keepers;
  }
}

void announce_graph_write(ByteRange range, std::uint64_t graph, std::string_view by) {
  if (range.lo >= range.hi) return;
  std::lock_guard lock(mutex);
  for (VersionKeeper* keeper : keepers()) {
    if (!keeper->watches()) continue;
    keeper->overwrite(range, false, by, graph);
    keeper->disturbed_ = keeper->disturbed_ || keeper->uses(range);
    if (!keeper->watches()) --watching_keepers;
  }
}

void set_capture(std::uint64_t graph) { captured_graph = graph; }
std::uint64_t capture_now() { return captured_graph; }

}  // namespace weft::runtime
