// What is asked for while a graph is captured that can be saved: launches, copies, fills, conditions. Kept apart from the
// graph itself, which on a CUDA device is the driver's.
#pragma once
#include <map>

#include "bind/python_kernel.h"
#include "runtime/work_journal.h"

namespace weft::bind {

/// A launch, copy or fill, or a condition with lists of its own.
struct __attribute__((visibility("hidden"))) JournalStep {
  enum class Kind : std::uint8_t { copy, fill, launch, branch, loop };
  Kind kind = Kind::copy;
  runtime::Array to, from;                      // copies and fills; `to`: a condition's value
  std::vector<char> bytes;                      // a fill's value, a launch's block
  std::size_t kernel = 0;                       // a launch: of GraphJournal::kernels
  std::vector<std::int64_t> dims;               // a launch's
  driver::GpuLaunchOptions gpu;                 // a launch's
  std::vector<runtime::Array> arrays;           // a launch's
  std::shared_ptr<const void> keep;             // objects of Python that the block points to
  std::vector<std::vector<JournalStep>> lists;  // a condition's: one, or for both values
};

class __attribute__((visibility("hidden"))) GraphJournal final : public runtime::WorkJournal {
 public:
  struct Kernel {
    std::string name, text;  // IR
    driver::CompileOptions options;
    ParamLayout layout;
  };

  void copied(const runtime::Array& to, const runtime::Array& from) override;
  void filled(const runtime::Array& to, const void* value) override;
  /// Whatever can't be saved; the first one is told to who tries.
  void other(const std::string& what);
  void launched(const driver::LaunchWork& work, std::shared_ptr<const void> keep);

  std::vector<Kernel> kernels;
  std::vector<JournalStep> steps;  // of the innermost open list
  std::vector<std::vector<JournalStep>> outer;
  std::string refused;  // why it can't be saved; empty: it can

 private:
  std::map<std::pair<const driver::KernelSignature*, std::size_t>, std::size_t> known_;  // by signature and form
};

/// Tells the journal of this thread, and who gathers what graphs write, of a launch that is captured.
void note_launch(const driver::LaunchWork& work, const std::vector<nb::object>& keep);
/// The same of work that can't be saved, with a name for it.
void note_other(const std::string& what);
/// Objects that live as long as the result, whoever drops the last reference.
std::shared_ptr<const void> hold_objects(std::vector<nb::object> objects);

}  // namespace weft::bind
