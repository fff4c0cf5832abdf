// Logs of taped launches (runtime/tape_log.h). On the CPU there is room for whatever a launch writes down. On a GPU memory
// can't grow while a kernel runs: a launch whose log was too small is run again, from the values of before, with as much as
// it wanted.
#include "driver/array_copies.h"
#include "driver/early_read.h"
#include "driver/taped_launch.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

constexpr int kMaxRuns = 4;  // threads that race may want more each time

void write_descs(TapedLaunch& l) {
  // The log's arrays are the last parameters of the taped form, behind the kernel's own.
  const ParamLayout extended = log_layout(l.signature->layout);
  ArrayDesc descs[runtime::TapeLog::kArrays];
  l.log.write_descs(descs);
  for (std::size_t k = 0; k < runtime::TapeLog::kArrays; ++k)
    std::memcpy(l.bytes() + extended.params[l.signature->layout.params.size() + k].offset, &descs[k], sizeof descs[k]);
}

double threads_of(const TapedLaunch& l) {
  double threads = 1;
  for (std::int64_t extent : l.dims()) threads *= double(extent);
  return threads;
}

/// Whether there was enough.
bool fits(TapedLaunch& l, cuda::Device& device) {
  bool enough = false;
  // Waiting for the GPU: whatever lock the language has (Python's) must be free meanwhile.
  l.kernel->run_unlocked([&](const runtime::LaunchOptions&) {
    const std::int64_t counted = EarlyRead(device, l.log.counter()).wait()[0];
    enough = l.log.fits(counted);
  });
  return enough;
}

}  // namespace

void make_log(TapedLaunch& l) {
  runtime::KernelCode code;
  code.name = l.kernel->name();
  code.tid_dims_read = 0;
  const std::int64_t threads = runtime::launch_size(code, l.dims());
  const std::uint32_t page = l.facts->log.page_words;
  // What launches of this signature wanted before, per thread; 0 the first time, for which the log guesses.
  auto words = std::int64_t(l.signature->log_words * double(threads));
  if (l.place.device && l.place.device->capture() && words < runtime::TapeLog::guess(page, threads))
    words = 0;  // the graph may be run on other numbers, and can't have more then
  l.log = runtime::TapeLog(l.facts->log.fixed_words, page, threads, l.place.device, words);
  write_descs(l);
}

void finish_log(runtime::TapeLog& log) {
  runtime::CommandList* list = runtime::recording();
  if (!list) return log.finish();
  class Check final : public runtime::Command {
   public:
    explicit Check(const runtime::TapeLog& log) : log_(log) {}
    void run(const runtime::LaunchOptions&) const override { log_.finish(); }
    std::string text() const override { return "check of a log"; }

   private:
    mutable runtime::TapeLog log_;  // shares the memory
  };
  // A graph on the CPU runs the check each time, since each run writes anew; so
  // the memory must stay as long as the graph.
  list->keep(std::make_shared<const std::vector<runtime::Array>>(log.keep_open()));
  if (!log.settled()) list->add(std::make_unique<Check>(log));
}

void note_log(TapedLaunch& l) {
  double words = double(l.log.words()) / threads_of(l), most = l.signature->log_words;
  // A maximum over launches of several threads, without a lock; a failed
  // exchange has put the present value into `most`.
  while (words > most && !l.signature->log_words.compare_exchange_weak(most, words)) {
  }
}

void run_with_log(TapedLaunch& l, const std::function<void()>& run) {
  if (!l.place.device) {
    run();
    return finish_log(l.log);
  }
  cuda::Device& device = *l.place.device;
  const cuda::ContextScope scope(device);
  const StreamJoin join(device, l.place.gpu.stream);  // the log is made on the current stream, and read there
  const bool captured = device.capture();
  if (captured) l.log.keep_open();  // each run of the graph writes anew, and nobody can look at it now
  if (captured || l.log.settled() || l.facts->written_elsewhere) {
    join.before_launch();
    run();
    return join.before_copies();
  }
  std::vector<autodiff::ArrayLeaf> written;
  for (std::size_t k = 0; k < l.facts->leaves.size(); ++k)
    if (l.facts->written[k]) written.push_back(l.facts->leaves[k]);
  join.before_copies();
  ArrayCopies before(l.bytes(), written, device);
  for (int runs = 1;; ++runs) {
    join.before_launch();
    run();
    join.before_copies();
    const bool enough = fits(l, device);
    note_log(l);
    if (enough) break;
    // The log stays too small, and going back over it says so.
    if (runs == kMaxRuns) return;
    // A launch that adds to what is there must not add twice: all that it writes is put back before it runs again.
    before.restore();
    try {
      l.log = {};
      make_log(l);
    } catch (const runtime::OutOfMemory& e) {
      throw runtime::OutOfMemory(
          e.bytes(),
          "kernel '" + l.kernel->name() +
              "' overwrites in loops what its backward pass needs, and there is no memory to write it down: " +
              e.what() + "; launch fewer threads at a time or split the loop");
    }
  }
  l.log.shrink();
  write_descs(l);
}

}  // namespace weft::driver
