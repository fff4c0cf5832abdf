// Which values of arrays somebody still needs, and what happens when they are about to be overwritten. A tape's reverse
// needs arrays as its launches left them; every write in the process is announced here (cheaply: usually nobody listens).
// A write that the tape records itself makes the keeper copy the old bytes first; any other write loses them, and asking
// for them later is an error that names the writer.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/array.h"
#include "support/hash.h"

namespace weft::runtime {

class VersionKeeper;

/// What a write does to gradients that come back to the elements it writes to.
enum class Passage : std::uint8_t {
  recorded,   // the tape that records it takes them; others know nothing of it
  unchanged,  // it only adds to what is there: they go on
  disabled,   // the kernel is not differentiated: nobody takes them
  unseen,     // the array that is written through has none: nobody takes them
};

/// Which elements a write goes to; without a descriptor all of its range.
struct ArrayView {
  const ArrayDesc* desc = nullptr;
  std::size_t element = 0;  // bytes
};

/// Who records a write, and what it does to gradients there.
struct Recorder {
  VersionKeeper* keeper = nullptr;
  Passage passage = Passage::recorded;
};

/// Address, bytes, extents and strides of the elements; empty without a descriptor.
std::vector<std::int64_t> layout_of(const ArrayView& view);

/// The values of an array at one moment.
class Version {
 public:
  /// The address that stands for the array's data: its own while nobody has written, else that of the copy, which has
  /// the same strides. Throws Error when the values are lost.
  void* data() const;
  const Array& array() const { return array_; }
  /// The values as an array like `view`, which starts at the same address and spreads over the same bytes: the memory
  /// itself where nothing was written, else the copy.
  Array values(const Array& view) const;
  ByteRange range() const { return range_; }
  /// Whether the array was written to since, and nobody kept what it held: then data() throws.
  bool is_stale() const;
  /// Whether it is a copy.
  bool is_kept() const;

 private:
  friend class VersionKeeper;
  friend void announce_write(ByteRange, std::span<const Recorder>, std::string_view, bool, const ArrayView&);
  friend void announce_graph_write(ByteRange, std::uint64_t, std::string_view);
  void keep_copy();
  bool is_lost() const;
  bool differs() const;
  Array array_;
  ByteRange range_;
  std::string needed_by_;
  std::optional<Hash128> sum_;   // of the bytes, where they are checked
  Array kept_;                   // bytes of the range, once copied
  std::string lost_to_;          // who wrote without leave
  std::uint64_t recording_ = 0;  // whose result the values are (runtime/command_list.h); 0: they are there
  std::uint64_t capture_ = 0;    // the graph that makes them each time it runs (set_capture)
  std::uint64_t lost_in_ = 0;    // the recording in which that was; 0: in none
  std::uint64_t lost_when_ = 0;  // a graph that writes there when it runs, captured since; lost_to_ has its writer
  std::uint64_t kept_in_ = 0;    // the graph that was captured when it was copied
  bool lost_ = false;
};

/// While it lives, this thread does work of a recording once more: values that the recording makes are there again, although
/// they were overwritten since it was made.
class RecordingRepeated {
 public:
  explicit RecordingRepeated(std::uint64_t number);
  ~RecordingRepeated();
  RecordingRepeated(const RecordingRepeated&) = delete;

 private:
  std::uint64_t outer_;
};

/// The versions that one tape needs, and writes behind its back to arrays that it knows how to differentiate.
class VersionKeeper {
 public:
  enum class OnOverwrite : std::uint8_t { copy, refuse };

  /// A write over which no gradient goes back, to an array with a gradient that an operation of the tape had used before.
  struct Stray {
    ByteRange range;
    std::string by;
    std::size_t moment = 0;  // how many operations the tape had then
    Passage passage = Passage::recorded;
    std::vector<std::int64_t> layout{};  // address, bytes, extents and strides of the elements; empty: all of the range
  };

  VersionKeeper();
  ~VersionKeeper();
  VersionKeeper(const VersionKeeper&) = delete;

  /// The array's values of now; `by` names who needs them.
  std::shared_ptr<Version> need(const Array& array, std::string_view by);
  /// Says that an operation of the tape has used values here that gradients go through.
  void note_use(ByteRange range);
  /// Says how many operations the tape has.
  void set_moment(std::size_t moment);
  std::vector<Stray> strays() const;
  /// Whether somebody else has written where the tape knows of values.
  bool is_disturbed() const;
  /// Says that what the array holds now are the values of a version that was overwritten.
  void renew(const std::shared_ptr<Version>& version);
  /// The same for values that are about to be written, which nobody can check.
  void renew_unseen(const std::shared_ptr<Version>& version);
  /// The same for all that a graph makes, which is about to run.
  void renew_made_by(std::uint64_t graph);
  /// Forgets all.
  void clear();
  /// Notes every copy that is made, and checks by sums that nobody wrote unannounced (a NumPy view can).
  void set_verify(bool on) { verify_ = on; }
  bool verifies() const { return verify_; }
  std::vector<std::string> take_notes();
  void set_policy(OnOverwrite policy) { policy_ = policy; }
  OnOverwrite policy() const { return policy_; }
  /// Bytes of the copies that still live, and how many copies were made.
  std::uint64_t kept_bytes() const { return kept_bytes_; }
  std::uint64_t copies() const { return copies_; }

 private:
  friend void announce_write(ByteRange, std::span<const Recorder>, std::string_view, bool, const ArrayView&);
  friend void announce_graph_write(ByteRange, std::uint64_t, std::string_view);
  using Live = std::multimap<std::uintptr_t, std::weak_ptr<Version>>;
  /// The first entry whose range may reach an address; ranges are no longer than the longest.
  template <class Map>
  static auto first_near(Map& map, std::uintptr_t address, std::uintptr_t longest) {
    return map.lower_bound(address > longest ? address - longest : 0);
  }
  bool watches() const { return !live_.empty() || !uses_.empty(); }
  void overwrite(ByteRange range, bool recorded, std::string_view by, std::uint64_t graph = 0);
  bool uses(ByteRange range) const;
  void watch(const std::shared_ptr<Version>& version);
  void note_stray(ByteRange range, std::string_view by, Passage passage, const ArrayView& view);

  Live live_;                                 // not overwritten so far, by first address
  std::vector<std::weak_ptr<Version>> gone_;  // made by graphs, and overwritten since
  std::uintptr_t longest_live_ = 0, longest_use_ = 0;
  std::multimap<std::uintptr_t, std::uintptr_t> uses_;  // ranges, by first address
  std::vector<Stray> strays_;
  std::size_t moment_ = 0;
  bool disturbed_ = false;
  OnOverwrite policy_ = OnOverwrite::copy;
  std::uint64_t kept_bytes_ = 0, copies_ = 0;
  bool verify_ = false;
  std::vector<std::string> notes_;
};

/// A private copy of all bytes that an array spreads over, seen through the same shape and strides.
Array copy_of_memory(const Array& array);

/// Keepers with something to lose; read without a lock by everybody who writes.
extern std::atomic<int> watching_keepers;
inline bool writes_are_watched() { return watching_keepers.load(std::memory_order_relaxed) > 0; }

/// To be called before memory is written. `recorders` are the keepers of the tapes that record this write; `replaces`:
/// others see more than an addition. Throws Error if a keeper refuses.
void announce_write(ByteRange range, std::span<const Recorder> recorders, std::string_view by, bool replaces,
                    const ArrayView& view = {});
/// The same with one recorder, or none (null).
inline void announce_write(ByteRange range, VersionKeeper* recording, std::string_view by,
                           Passage passage = Passage::recorded, const ArrayView& view = {}) {
  const Recorder recorder{recording, passage};
  announce_write(range, {&recorder, recording ? 1U : 0U}, by, passage != Passage::unchanged, view);
}
/// The same for a write of a graph that is about to run: values that the graph itself made in the first place come again.
void announce_graph_write(ByteRange range, std::uint64_t graph, std::string_view by);
/// Says which graph the calling thread captures; 0: none.
void set_capture(std::uint64_t graph);
std::uint64_t capture_now();
/// The same for writes whose place nobody knows.
inline constexpr ByteRange kAnywhere{0, UINTPTR_MAX};

}  // namespace weft::runtime
