// One launch on a tape: what is kept of it, how it is run so that somebody can go back over it, and going back.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "driver/kernel.h"
#include "driver/named_objects.h"
#include "runtime/tape_log.h"
#include "runtime/versions.h"

namespace weft::driver {

class Tape;

/// A launch that a tape records or that may overwrite what some tape needs, its block filled.
struct WatchedLaunch {
  std::shared_ptr<Kernel> kernel;
  KernelSignature& signature;
  const char* block;
  std::span<const std::int64_t> dims;
  LaunchPlace place;
  std::vector<runtime::Array> memory = {};  // of all arguments
  std::vector<const runtime::Array*> arrays =
      {};                                        // as TapeFacts::leaves, where the language has them; null: it has not
  std::vector<const runtime::Array*> held = {};  // in the elements of those that are arrays of structs
  std::shared_ptr<void> owner = {};              // of `arrays` and `held`, and of what else the block points to
  bool run = true;                               // false: the work was done by other means
  bool backward = true;                          // enable_backward of the kernel
  std::function<void()> again = {};              // then: does it once more
};

/// Runs it; a tape, if one is given, records it, and so do tapes of which it repeats a step.
void launch_watched(WatchedLaunch launch, Tape* tape);

/// A launch as it ran.
struct TapedLaunch {
  std::shared_ptr<Kernel> kernel;
  KernelSignature* signature = nullptr;
  const TapeFacts* facts = nullptr;
  LaunchForm form;
  std::vector<std::uint64_t> block;  // the log's descriptors included, where there is a log
  std::int64_t extents[kMaxRank] = {};
  std::size_t rank = 0;
  LaunchPlace place;
  struct Leaf {
    const runtime::Array* array = nullptr;      // as the program has it now; null: foreign memory without a gradient
    std::shared_ptr<runtime::Version> version;  // null: the reverse reads none of its values
  };
  std::vector<Leaf> leaves;  // as TapeFacts::leaves
  /// Arrays inside structs that lie in arrays: their descriptors are in memory, so nothing can stand in for them.
  std::vector<const runtime::Array*> held;
  std::vector<std::shared_ptr<runtime::Version>> held_versions;  // none: the reverse reads none
  /// An object whose id is an argument. Its arrays stand in `held`, behind those of structs.
  struct Handle {
    std::uint32_t offset = 0;  // of the id, in the block
    std::shared_ptr<geometry::Object> object;
    std::shared_ptr<geometry::Pin> pin;                     // as kernels saw it then
    std::size_t first = 0, count = 0;                       // in `held`
    std::vector<std::shared_ptr<runtime::Version>> values;  // of those; none: the reverse reads none
  };
  std::vector<Handle> handles;
  std::vector<NamedObject> named;      // by ids in memory, where the reverse asks such objects
  std::size_t held_in_structs = 0;     // of `held`
  std::vector<runtime::Array> memory;  // of all arguments
  std::shared_ptr<void> owner;         // as in WatchedLaunch
  runtime::TapeLog log;
  bool logged = false;
  bool active = false;     // there was a gradient when it ran
  bool backward = true;    // enable_backward of the kernel
  bool in_order = true;    // its threads ran one after another
  runtime::Array numbers;  // the gradients of numbers in structs, once somebody went back
  bool run = true;         // as in WatchedLaunch, and:
  std::function<void()> again;

  char* bytes() { return reinterpret_cast<char*>(block.data()); }
  const char* bytes() const { return reinterpret_cast<const char*>(block.data()); }
  std::span<const std::int64_t> dims() const { return {extents, rank}; }
  /// Calls visit(version) for all values that going back needs.
  template <class Visit>
  void each_version(const Visit& visit) const {
    for (const Leaf& leaf : leaves)
      if (leaf.version) visit(leaf.version);
    for (const auto& version : held_versions) visit(version);
    for (const Handle& handle : handles)
      for (const auto& version : handle.values) visit(version);
  }
};

/// Gives a launch that is about to run its log, with room for a guess or for what such launches wanted before.
void make_log(TapedLaunch& launch);
/// Runs a launch with a log; on a GPU again, with a larger log, until it fits. Not while a graph is captured, and not where
/// it can't be repeated: going back then says what is wrong.
void run_with_log(TapedLaunch& launch, const std::function<void()>& run);
/// Checks a log before an adjoint reads it; in a graph on the CPU each run does.
void finish_log(runtime::TapeLog& log);
/// Remembers what a launch has written down.
void note_log(TapedLaunch& launch);

/// Throws if threads of such a launch, which is yet to run, meet in an element of an array of floats.
void check_races(const WatchedLaunch& launch, const TapeFacts& facts, LaunchForm form);

/// Stands in for the gradient of one array while nothing else has any.
struct Probe {
  runtime::ByteRange gradient;
  char* scratch = nullptr;  // laid out as the gradient
};
/// The same launch on the values of now, with the gradients that arrays have; `block` keeps its parameters.
WatchedLaunch launch_again(const TapedLaunch& launch, std::vector<std::uint64_t>& block);
/// Goes back over one launch.
void reverse(TapedLaunch& launch, const Probe* probe = nullptr);
/// Sets the gradients of numbers in structs to zero, where there are any.
void zero_numbers(TapedLaunch& launch);
/// The form that does so, for a block with these gradients.
LaunchForm adjoint_form(const TapedLaunch& launch, const char* block);

}  // namespace weft::driver
