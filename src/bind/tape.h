// A tape behind wp.Tape: launches and functions in the order in which they ran, the versions of arrays that going back
// over them needs, and the logs of what kernels overwrote.
#pragma once
#include <variant>

#include "bind/kernel_object.h"
#include "runtime/tape_log.h"
#include "runtime/versions.h"

namespace weft::bind {

/// A launch as it ran.
struct __attribute__((visibility("hidden"))) TapedLaunch {
  std::shared_ptr<KernelObject> kernel;
  driver::KernelSignature* signature = nullptr;
  const driver::TapeFacts* facts = nullptr;
  driver::ArrayFacts form;
  std::vector<std::uint64_t> block;  // the log's descriptors included, where there is a log
  std::int64_t extents[kMaxRank] = {};
  std::size_t rank = 0;
  LaunchPlace place;
  struct Leaf {
    nb::object object;                          // the array in Python; none: foreign memory without a gradient
    std::shared_ptr<runtime::Version> version;  // null: the reverse reads none of its values
  };
  std::vector<Leaf> leaves;  // as TapeFacts::leaves
  /// Arrays inside structs that lie in arrays: their descriptors are in memory, so nothing can stand in for them.
  std::vector<std::shared_ptr<runtime::Version>> held;
  std::vector<nb::object> held_objects;
  std::vector<runtime::Array> arrays;  // memory of all arguments
  std::vector<nb::object> keep;
  runtime::TapeLog log;
  bool logged = false;
  bool active = false;   // there was a gradient when it ran
  bool backward = true;  // enable_backward of the kernel
  bool in_order = true;  // its threads ran one after another
  nb::object arguments;  // (kernel, dim, max_blocks, inputs, outputs, device, block_dim) for those who look

  char* bytes() { return reinterpret_cast<char*>(block.data()); }
  std::span<const std::int64_t> dims() const { return {extents, rank}; }
};

struct __attribute__((visibility("hidden"))) TapeObject {
  runtime::VersionKeeper keeper;
  struct Step {
    std::unique_ptr<TapedLaunch> launch;  // or:
    nb::object function;                  // called on the way back
    nb::object arrays;                    // whose gradients it touches
  };
  std::vector<Step> steps;

  void add(Step step) {
    steps.push_back(std::move(step));
    keeper.set_moment(steps.size());
  }
  bool watch_threads = false;  // launches are searched for threads that meet
  int outer = 0;               // why the work of the thread was not to be recorded when the block began
};

/// What launches are told by the tape that records, and by those that watch.
struct __attribute__((visibility("hidden"))) LaunchOnTape {
  TapeObject* tape = nullptr;  // null: not recorded
  nb::object arguments;
  bool run = true;       // false: the work was done by other means
  bool backward = true;  // enable_backward of the kernel
};

/// The arrays of a launch's arguments.
struct __attribute__((visibility("hidden"))) LaunchArrays {
  std::vector<runtime::Array> memory;
  std::vector<nb::object> objects;  // as TapeFacts::leaves; none where an array has no object
  /// Adds those of one argument.
  void add(PyObject* value, const Type* type);
};

/// A launch that a tape records or that may overwrite what some tape needs. The block is filled.
void launch_watched(const std::shared_ptr<KernelObject>& kernel, driver::KernelSignature& signature,
                    LaunchArrays arrays, const char* block, std::vector<nb::object> keep,
                    std::span<const std::int64_t> dims, const LaunchPlace& place, LaunchOnTape how);

/// (number of operations before it, what happened and what to do, first address, last address, layout, [(array with a
/// gradient that the tape used there, whether it wrote to it)]) of each write that no gradient goes back over.
nb::list list_strays(TapeObject& tape);

/// Gives a launch that is about to run its log, with room for a guess or for what such launches wanted before.
void make_log(TapedLaunch& launch);
/// Runs a launch with a log; on a GPU again, with a larger log, until it fits. Not while a graph is captured, and not where
/// the kernel writes to arrays that it finds in memory: there finish_log says whether it did.
void run_with_log(TapedLaunch& launch, const std::function<void()>& run);
/// To be called before a log is read.
void finish_log(runtime::TapeLog& log);
/// Remembers how much the launch wanted to write down, for the next one.
void note_log(TapedLaunch& launch);

/// Throws if threads of such a launch, which is yet to run, meet in an element of an array of floats.
void check_races(KernelObject& kernel, driver::KernelSignature& signature, const driver::TapeFacts& facts,
                 driver::ArrayFacts form, const char* block, std::span<const std::int64_t> dims,
                 const LaunchPlace& place);

/// The tape that records now, or null.
TapeObject* recording_tape();

/// Whether a tape records or forward mode is active, whichever thread it concerns: if not, launches need not ask on.
extern std::atomic<bool> work_is_followed;

/// Whether the work of this thread is followed by forward mode: launches, copies and fills then go through Python.
bool forward_mode();

/// Python functions that record copies (dest, src) and fills (dest) between and of arrays, and that list the arrays which
/// the structs in an array hold.
struct __attribute__((visibility("hidden"))) TapeHooks {
  nb::object copied, filled, held;
};
TapeHooks& tape_hooks();
/// Whether the hooks want to hear of copies and fills by this thread.
inline bool copies_are_heard() { return recording_tape() || forward_mode(); }

/// To be called before the CPU, or a copy, writes to an array, which may be an element of another one.
void announce_array_write(const runtime::Array& array, const char* by, const runtime::Array* part_of = nullptr);
/// To be called before an adjoint writes to the gradients of a block's arrays: some tape may have recorded work on them.
void announce_gradients(const driver::KernelSignature& signature, const char* block, const std::string& kernel);

}  // namespace weft::bind
