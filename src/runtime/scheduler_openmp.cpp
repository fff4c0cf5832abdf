// Calls on the threads of somebody else's OpenMP. A program that multiplies matrices by PyTorch or the like between its launches
// has as many threads of OpenMP as cores, and these wait for their next loop without sleeping, for milliseconds and at full priority:
// whoever brings threads of his own meets them on every core, and stands still for whole slices of the system's time. But they
// would run our chunks as readily as anything else. So a process whose calls take far longer than their work explains looks for
// an OpenMP that is loaded, and tries its threads; what takes longer decides.
//
// GNU's library, LLVM's and Intel's have one entry in common, which compilers call for a parallel region: GOMP_parallel. A region
// begun by a thread runs on the threads that this thread had in its last one, if it asks for as many as it did then.
#ifdef WEFT_SCHEDULER_TBB
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/scheduler_forms.h"

namespace weft::runtime::detail {
namespace {

using Clock = std::chrono::steady_clock;
using Parallel = void (*)(void (*)(void*), void*, unsigned threads, unsigned flags);

/// The entry of the first OpenMP that is loaded; null if none is. It is not asked for by name alone: most programs load it
/// where others can't see its names.
Parallel find_openmp() noexcept {
  struct Found {
    std::vector<std::string> paths;
  } found;
  try {
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* raw) {
          const char* name = std::strrchr(info->dlpi_name, '/');
          name = name ? name + 1 : info->dlpi_name;
          for (const char* known : {"libgomp", "libomp", "libiomp5"})
            if (std::strncmp(name, known, std::strlen(known)) == 0)
              static_cast<Found*>(raw)->paths.emplace_back(info->dlpi_name);
          return 0;
        },
        &found);
  } catch (...) {
    return nullptr;
  }
  for (const std::string& path : found.paths) {
    void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    void* entry = ::dlsym(library, "GOMP_parallel");
    if (entry) return reinterpret_cast<Parallel>(entry);  // stays loaded: it is in use
    ::dlclose(library);
  }
  return nullptr;
}

/// The threads that this process has, in order; none if nobody says.
std::vector<long> threads_now() {
  std::vector<long> found;
  DIR* const folder = ::opendir("/proc/self/task");
  if (!folder) return found;
  while (const dirent* entry = ::readdir(folder))
    if (const long thread = std::atol(entry->d_name); thread > 0) found.push_back(thread);
  ::closedir(folder);
  std::ranges::sort(found);
  return found;
}

long this_thread() noexcept { return ::syscall(SYS_gettid); }

/// Which threads calls go to. Calls that nobody has to wait for long are always the team's.
class Guest {
 public:
  static Guest& shared() {
    static auto& only = *new Guest;  // threads may outlive static destructors
    return only;
  }

  bool is_wanted() const noexcept { return left_.load(std::memory_order_relaxed) > 0; }

  bool run(ChunkQueue& queue) noexcept {
    if (here == Here::refused) return false;
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !parallel_) return false;
    // A thread that never had a region gets new threads for it, as many as there are cores. It is noticed once, and they sleep
    // from then on. Only those count that come to the region: others may be beginning meanwhile, oneTBB's above all.
    Call call{queue, this_thread(), {}, {}};
    if (here == Here::unknown) {
      try {
        call.before = threads_now();
      } catch (...) {  // no memory: another time
        return false;
      }
    }
    parallel_(&Call::run, &call, 0, 0);
    if (here == Here::unknown) here = call.newcomers.load(std::memory_order_relaxed) > 0 ? Here::refused : Here::known;
    if (here == Here::refused) left_.store(0, std::memory_order_relaxed);
    return true;
  }

  void tell(const CallTimes& call) noexcept {
    const double ideal = double(call.least.count()) * double(call.count) / call.threads;
    const double slowness = double(call.wall.count()) / std::max(ideal, 1.0);
    const bool is_slow = slowness > kSlow && double(call.wall.count()) - ideal > kWorth;
    if (!is_slow && !call.by_guest && slow_.load(std::memory_order_relaxed) == 0) return;  // most calls
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    if (call.by_guest)
      judge(slowness);
    else
      watch(slowness, is_slow);
  }

 private:
  /// What the calling thread is to OpenMP.
  enum class Here : std::uint8_t { unknown, known, refused };
  static inline thread_local Here here = Here::unknown;

  struct Call {
    ChunkQueue& queue;
    const long caller;
    std::vector<long> before;  // threads that there were; none: nobody asks
    std::atomic<int> newcomers;

    static void run(void* raw) {
      auto& shared = *static_cast<Call*>(raw);
      const long self = this_thread();
      if (!shared.before.empty() && !std::ranges::binary_search(shared.before, self))
        shared.newcomers.fetch_add(1, std::memory_order_relaxed);
      shared.queue.drain();
      if (self == shared.caller) shared.queue.await();
    }
  };

  static constexpr double kSlow = 2, kWorth = 300e3;  // times what the work explains; ns beyond it
  static constexpr int kEnough = 3;                   // slow calls more than others before something is done
  static constexpr int kTries = 6;        // of the other threads before they are judged; the first wakes them
  static constexpr int kMostOfTries = 3;  // a machine has moments in which nothing is fast: they are not to decide
  static constexpr double kBetter = 0.7;  // of the team's slowness
  static constexpr int kShortStay = 256, kLongStay = 4096;  // calls before the team is tried again
  static constexpr std::chrono::seconds kShortBan{1}, kLongBan{64};

  /// A call on the team.
  void watch(double slowness, bool is_slow) noexcept {
    const int slow = slow_.load(std::memory_order_relaxed);
    if (!is_slow) {
      if (slow == 1) stay_ = kShortStay;
      slow_.store(std::max(slow - 1, 0), std::memory_order_relaxed);
      return;
    }
    of_team_ = slow == 0 ? slowness : (of_team_ + slowness) / 2;
    slow_.store(std::min(slow + 1, kEnough), std::memory_order_relaxed);
    if (slow + 1 < kEnough || here == Here::refused || Clock::now() < next_) return;
    if (!parallel_) parallel_ = find_openmp();
    if (!parallel_) {
      next_ = Clock::now() + kShortBan;
      return;
    }
    tries_ = better_ = 0;
    left_.store(stay_, std::memory_order_relaxed);
    stay_ = std::min(stay_ * 4, kLongStay);
  }

  /// A call on the other threads.
  void judge(double slowness) noexcept {
    const int left = left_.load(std::memory_order_relaxed);
    if (left <= 0) return;
    if (++tries_ > 1) better_ += slowness <= kBetter * of_team_;
    const bool lost = tries_ == kTries && better_ < kMostOfTries;
    if (lost) next_ = Clock::now() + ban_;
    if (tries_ == kTries) ban_ = lost ? std::min(ban_ * 2, kLongBan) : kShortBan;
    left_.store(lost ? 0 : left - 1, std::memory_order_relaxed);
    if (lost || left == 1) slow_.store(0, std::memory_order_relaxed);
  }

  std::atomic<int> left_{0};  // calls that still go to the other threads
  std::atomic<int> slow_{0};  // slow calls of the team of late
  std::mutex mutex_;          // guards the rest
  Parallel parallel_ = nullptr;
  double of_team_ = 0;  // slowness, the last calls counting most
  int tries_ = 0, better_ = 0, stay_ = kShortStay;
  std::chrono::seconds ban_ = kShortBan;
  Clock::time_point next_{};  // not to be tried before
};

}  // namespace

bool openmp_is_wanted() noexcept { return Guest::shared().is_wanted(); }

bool run_on_openmp(ChunkQueue& queue) noexcept { return Guest::shared().run(queue); }

void tell_call(const CallTimes& call) noexcept { Guest::shared().tell(call); }

}  // namespace weft::runtime::detail
#endif
