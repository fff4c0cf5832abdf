// Full versions of kernels that began with a first one (docs/design/tiers.md): made by a few threads of low priority when a
// kernel turns out to be launched again, or at once where somebody waits.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "driver/kernel_binary.h"

namespace weft::driver {

class CodeQueue;

/// The full version of one kernel, shared by all that run its first one; or the code that launches on a GPU wait for
/// (docs/design/tiers.md, "GPUs"). Thread-safe.
class FullVersion : public std::enable_shared_from_this<FullVersion> {
 public:
  /// Makes the binary; null where that fails, and then maybe why.
  using Maker = std::function<std::shared_ptr<const KernelBinary>(BuildReport& report, std::string& problem)>;
  enum class State : std::uint8_t { idle, wanted, begun, done, failed };

  /// A full version that can be made by `make`, in a time that goes by `cost`.
  static std::shared_ptr<FullVersion> create(Maker make, double cost = 1);
  /// Code that a launch waits for: all idle cores see to it, and launches that wait for it follow (runtime/late_work.h).
  static std::shared_ptr<FullVersion> create_wanted(Maker make);

  State state() const { return state_.load(std::memory_order_acquire); }
  /// Whether nothing changes any more.
  bool is_settled() const { return state() >= State::done; }
  /// Has it made in the background, if nobody has asked for that yet.
  void want();
  /// Says whether the kernel was only compiled ahead of need so far: then nobody runs it, and nobody waits for this.
  void set_unclaimed(bool unclaimed) { unclaimed_.store(unclaimed, std::memory_order_relaxed); }
  bool is_unclaimed() const { return unclaimed_.load(std::memory_order_relaxed); }
  /// Says what a launch by the first version took: of those that wait, the one is made next that has cost most for its size.
  void note_launch(double seconds) { lost_.fetch_add(seconds, std::memory_order_relaxed); }
  /// Makes it now, or waits for whoever does.
  void finish();
  /// The code, once it is done; null before, and where making it failed.
  std::shared_ptr<const KernelBinary> binary() const;
  BuildReport report() const;
  /// When it was asked for, begun and done, in seconds of a clock that only goes forward.
  struct Times {
    double wanted = 0, begun = 0, done = 0;
  };
  Times times() const;
  /// Why it failed; empty if nobody knows.
  std::string problem() const;

 private:
  friend class CodeQueue;
  FullVersion(Maker make, CodeQueue& queue, double cost) : queue_(queue), cost_(cost), make_(std::move(make)) {}
  double gain() const { return lost_.load(std::memory_order_relaxed) / cost_; }
  /// Nobody waits for it any more.
  void unwant();
  /// Begins if nobody has. True: it was made here.
  bool make();

  CodeQueue& queue_;
  const double cost_;
  std::atomic<double> lost_{0};  // seconds
  std::atomic<bool> unclaimed_{false};
  std::atomic<State> state_{State::idle};
  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable settled_;
  Maker make_;
  std::shared_ptr<const KernelBinary> binary_;
  BuildReport report_;
  std::string problem_;
  Times times_;
};

/// How many threads make code that launches wait for; 0: as many as there are cores but one, at most 16. For tests: more.
void set_urgent_threads(int threads);

/// Makes the full versions of all kernels that run by their first one, and waits for them.
void finish_full_versions();
/// How many kernels of the process run by a first version whose full one is not made yet.
std::size_t count_first_versions();

/// Whether launches begin large kernels with a first version, and from which size on (see first_version_pays). For tests:
/// 0 has every kernel begin with one.
struct FirstVersions {
  bool enabled = true;
  double least_cost = kUsual;
  static constexpr double kUsual = -1;
};
void set_first_versions(FirstVersions setting);
FirstVersions first_versions();

}  // namespace weft::driver
