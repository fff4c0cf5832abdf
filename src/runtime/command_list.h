// Work on the CPU that was recorded instead of run: what a graph captured on the CPU is. While a thread records, its
// launches, copies and fills of host memory become commands; running the list does them in order, without the host
// language. Commands hold the memory they work on. Recording is a matter of one thread: others work on undisturbed.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "runtime/launch.h"

namespace weft::runtime {

/// One piece of recorded work.
class Command {
 public:
  virtual ~Command() = default;
  /// Does it; `options` say how launches run.
  virtual void run(const LaunchOptions& options) const = 0;
  /// What it is, in a few words; for those who look at a graph.
  virtual std::string text() const = 0;
};

class CommandList {
 public:
  CommandList();
  ~CommandList();
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  void add(std::unique_ptr<const Command> command) { commands_.push_back(std::move(command)); }
  /// Copies elements between host arrays, as Array::assign does.
  void add_copy(Array to, Array from);
  /// Sets every element of a host array to a value, as Array::fill does.
  void add_fill(Array to, const void* value);
  /// Another list as one command. Throws ArgumentError when lists are nested too deeply.
  void add_list(std::shared_ptr<const CommandList> list);
  /// One of two lists, either of which may be null, by the value of an array of one int32 when it comes to that.
  void add_if(Array condition, std::shared_ptr<const CommandList> then, std::shared_ptr<const CommandList> otherwise);
  /// A list again and again while the value is not zero.
  void add_while(Array condition, std::shared_ptr<const CommandList> body);
  /// Keeps something as long as the list.
  void keep(std::shared_ptr<const void> thing) { kept_.push_back(std::move(thing)); }
  /// Says that commands may write to this memory.
  void touch(ByteRange range);
  bool touches(ByteRange range) const;

  std::size_t size() const { return commands_.size(); }
  /// The list as a graph in GraphViz' language, commands in their order, bodies of conditions as clusters.
  std::string dot() const;
  /// Runs all commands. Returns false when `options.interrupted` ended that early; throws what a command throws, and
  /// leaves the rest undone.
  bool run(const LaunchOptions& options) const;

 private:
  class Nested;
  struct Asking;
  void run_all(const LaunchOptions& options, Asking& asking) const;
  /// Adds the nodes of the list to `out` behind node `last` (−1: none); gives the last one. Nodes count on from `next`.
  int dot(std::string& out, int last, int& next) const;
  /// Takes in what is known of a list that becomes part of this one.
  void adopt(const std::shared_ptr<const CommandList>& list);

  std::vector<std::unique_ptr<const Command>> commands_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::map<std::uintptr_t, std::uintptr_t> touched_;  // ranges that don't meet, by their beginning
  int depth_ = 1;                                     // of nested lists
};

namespace detail {
extern std::atomic<int> recording_threads;
CommandList* recorded_now() noexcept;
}  // namespace detail

/// The list that the calling thread records into; null when it records nothing.
inline CommandList* recording() noexcept {
  return detail::recording_threads.load(std::memory_order_relaxed) == 0 ? nullptr : detail::recorded_now();
}

/// A number of the recording under way on the calling thread, another one for each; 0 when it records nothing.
std::uint64_t recording_number();
/// Begins to record on the calling thread. Throws ArgumentError if it does so already.
void begin_recording();
/// Ends that and gives the list. Throws ArgumentError if it records nothing, or inside of a branch.
std::shared_ptr<CommandList> end_recording();
/// While a thread records: what follows goes into a list of its own, until end_branch.
void begin_branch();
/// Whether what this thread records now is part of a branch: it may be done several times, or never.
bool in_branch();
std::shared_ptr<CommandList> end_branch();

/// Whether work that the calling thread has recorded may write to this memory: its values are not there yet.
bool awaits_recorded_work(ByteRange range);
/// Throws the error for something that can't be done while a graph is recorded; returns when nothing is recorded.
void refuse_while_recording(const std::string& what);

/// While it lives the calling thread works instead of recording.
class RecordingPaused {
 public:
  RecordingPaused() noexcept;
  ~RecordingPaused();
  RecordingPaused(const RecordingPaused&) = delete;
  RecordingPaused& operator=(const RecordingPaused&) = delete;
};

}  // namespace weft::runtime
