// Regions of OpenMP around a call: what a program does with `#pragma omp parallel` around its launches. The threads of such a region
// keep their cores busy, with launches or with anything else, and only their own runtime knows of them. It is asked, and what
// they leave is what a call has.
//
// Asked are the OpenMP libraries that the process has loaded, none of which is linked: a few functions that read what belongs
// to the calling thread. In GNU's library they do no more than that. LLVM's and Intel's first make the library ready for a thread
// that they do not know, and a library that finds another one of its kind ready ends the program: so these are asked on behalf of
// a region's further threads only, which omp_get_thread_num() tells without any of that.
//
// oneTBB needs no question: workers of calls are its own, and those of a loop around a call are busy (scheduler_team.cpp).
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/scheduler_forms.h"

namespace weft::runtime::detail {
namespace {

struct OpenMp {
  int (*thread_num)() = nullptr;
  int (*in_parallel)() = nullptr;
  int (*level)() = nullptr;
  int (*team_size)(int level) = nullptr;
  bool answers_all = false;  // may be asked by every thread

  /// Threads of the regions around the calling thread, itself included; 1: there are none.
  int threads() const noexcept {
    if (!answers_all && thread_num() == 0) return 1;
    if (!in_parallel()) return 1;
    long all = 1;
    for (int k = level(); k > 0; --k) all = std::min(all * std::max(team_size(k), 1), 1L << 20);
    return int(all);
  }
};

/// Libraries are looked for again when the process has loaded others.
class Libraries {
 public:
  static Libraries& shared() {
    static auto& only = *new Libraries;  // threads may outlive static destructors
    return only;
  }

  int threads() noexcept {
    unsigned long long loaded = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* raw) {
          *static_cast<unsigned long long*>(raw) = info->dlpi_adds;
          return 1;
        },
        &loaded);
    if (loaded != seen_.load(std::memory_order_acquire)) look(loaded);
    int most = 1;
    const int count = count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i) most = std::max(most, known_[i].threads());
    return most;
  }

 private:
  static constexpr int kMost = 8;

  void look(unsigned long long loaded) noexcept {
    // Threads of a region that begins come all at once. Who looks needs the loader's lock, which a thread that waits here may have
    // (it runs a library's own start): so nobody waits for good.
    std::unique_lock lock(mutex_, std::chrono::milliseconds(20));
    if (!lock || seen_.load(std::memory_order_acquire) == loaded) return;
    try {
      std::vector<std::string> paths;
      ::dl_iterate_phdr(
          [](dl_phdr_info* info, std::size_t, void* raw) {
            const char* name = std::strrchr(info->dlpi_name, '/');
            name = name ? name + 1 : info->dlpi_name;
            for (const char* known : {"libgomp", "libomp", "libiomp5"})
              if (std::strncmp(name, known, std::strlen(known)) == 0)
                static_cast<std::vector<std::string>*>(raw)->emplace_back(info->dlpi_name);
            return 0;
          },
          &paths);
      for (const std::string& path : paths) add(path);
    } catch (...) {  // no memory: another time
      return;
    }
    seen_.store(loaded, std::memory_order_release);
  }

  void add(const std::string& path) noexcept {
    const int count = count_.load(std::memory_order_relaxed);
    void* library = count < kMost ? ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (!library) return;
    OpenMp one;
    const auto take = [&](auto& entry, const char* name) {
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(::dlsym(library, name));
      return entry != nullptr;
    };
    const bool whole = take(one.thread_num, "omp_get_thread_num") && take(one.in_parallel, "omp_in_parallel") &&
                       take(one.level, "omp_get_level") && take(one.team_size, "omp_get_team_size");
    one.answers_all = ::dlsym(library, "__kmpc_global_thread_num") == nullptr;
    const bool known = std::any_of(known_, known_ + count, [&](const OpenMp& k) { return k.level == one.level; });
    if (!whole || known) {
      ::dlclose(library);
      return;
    }
    known_[count] = one;  // the library stays loaded: it is in use
    count_.store(count + 1, std::memory_order_release);
  }

  std::atomic<unsigned long long> seen_{0};
  std::atomic<int> count_{0};
  std::timed_mutex mutex_;  // guards writing
  OpenMp known_[kMost];
};

}  // namespace

int threads_of_region() noexcept { return Libraries::shared().threads(); }

}  // namespace weft::runtime::detail
