// The fake driver as a library with the driver's own symbols, and a few functions for tests: which call fails and how,
// what was called. A test reaches them through the library that the runtime has opened.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "fake_driver.h"

namespace weft::cuda::fake {
namespace {

/// What a real driver does to the caches of the caller: many pages of code, much data.
template <int N>
__attribute__((noinline, aligned(4096))) int page_of_code(int x) {
  asm volatile("" : "+r"(x));
  return x * N + 1;
}

template <std::size_t... N>
int run_pages(std::index_sequence<N...>) {
  int x = 1;
  ((x = page_of_code<int(N)>(x)), ...);
  return x;
}

void work_like_a_driver() {
  static volatile char data[48 * 1024];
  for (std::size_t i = 0; i < sizeof data; i += 64) data[i] = char(data[i] + 1);
  [[maybe_unused]] static volatile int sink;
  sink = run_pages(std::make_index_sequence<96>());
}

int number_of(const char* variable, int missing) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : missing;
}

/// Calls come from any thread, and the fake driver is made for one.
struct Shared {
  std::recursive_mutex mutex;
  DriverTable table;
  long calls = 0;    // since reset
  long fail_at = 0;  // this one fails; 0: none
  std::string only;  // calls of this name count; empty: all
  Result code = 0;
  std::string failed;  // the call that did
  int slow = 0;        // milliseconds that making code takes at most, by chance; calls of other threads go on meanwhile
  int quiet = 0;       // 1: launches return at once: what is measured then is the caller; 2: out of cold caches

  Shared() {
    OpenedDriver opened = open();
    table = opened.table;
    // What runs is PTX, so it is older than an assembler that may be linked in, whose machine code nothing runs here.
    constexpr int kOlder = 12080;
    state().version =
        number_of("WEFT_FAKE_CUDA_VERSION", number_of("WEFT_FAKE_CUDA_RUNS", 0) ? kOlder : state().version);
    state().devices = number_of("WEFT_FAKE_CUDA_DEVICES", state().devices);
    state().arch = number_of("WEFT_FAKE_CUDA_ARCH", state().arch);
    fail_at = number_of("WEFT_FAKE_CUDA_FAIL_AT", 0);
    code = number_of("WEFT_FAKE_CUDA_CODE", 999);
    slow = number_of("WEFT_FAKE_CUDA_SLOW", 0);
  }

  Result count(const char* name) {
    if (!only.empty() && only != name) return kSuccess;
    if (++calls != fail_at) return kSuccess;
    failed = name;
    return code;
  }
};

Result quick(int how) {
  if (how == 2) work_like_a_driver();
  return kSuccess;
}

/// What an assembler takes. Chance is the same in every run, but for the order of threads.
void take_time(int most) {
  static std::mutex mutex;
  static std::mt19937 chance(7);
  int milliseconds = 0;
  {
    const std::lock_guard lock(mutex);
    milliseconds = int(chance() % unsigned(most + 1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// Threads that make code wait here while a test looks at what waits for it: by no clock, however busy the machine is.
class Hold {
 public:
  static Hold& only() {
    static auto* one = new Hold;
    return *one;
  }
  void set(bool on) {
    const std::lock_guard lock(mutex_);
    holder_ = on ? std::this_thread::get_id() : std::thread::id();
    changed_.notify_all();
  }
  /// Never the thread that holds the others: what it makes does not wait, and the test sees that. A minute is for ever.
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(1),
                      [&] { return holder_ == std::thread::id() || holder_ == std::this_thread::get_id(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id holder_;
};

Shared& shared() {
  static auto* one = new Shared;  // arrays are given back until the process ends
  return *one;
}

}  // namespace
}  // namespace weft::cuda::fake

using namespace weft::cuda;

extern "C" {

#define ARGUMENTS(...) __VA_ARGS__
#define ENTRY(name, symbol, parameters, arguments)                           \
  Result symbol parameters {                                                 \
    fake::Shared& all = fake::shared();                                      \
    if (all.quiet && fake_is_cheap(#name)) return fake::quick(all.quiet);    \
    if (all.slow && fake_makes_code(#name)) fake::take_time(all.slow);       \
    if (fake_makes_code(#name)) fake::Hold::only().pass();                   \
    std::lock_guard lock(all.mutex);                                         \
    if (const Result told = all.count(#name); told != kSuccess) return told; \
    return all.table.name arguments;                                         \
  }

static constexpr bool fake_is_cheap(const char* name) { return __builtin_strcmp(name, "launch") == 0; }
static constexpr bool fake_makes_code(const char* name) { return __builtin_strcmp(name, "link_complete") == 0; }

#include "exports.inc"

/// The n-th call from now on gives `code`, and none after it; `call` (an entry of the table) counts only those. 0: none.
void weft_fake_fail(long nth, Result code, const char* call) {
  fake::Shared& all = fake::shared();
  std::lock_guard lock(all.mutex);
  all.calls = 0;
  all.fail_at = nth;
  all.code = code;
  all.only = call ? call : "";
  all.failed.clear();
}

/// Every call of an entry gives `code` from now on; 0: it works again.
void weft_fake_break(const char* call, Result code) {
  fake::Shared& all = fake::shared();
  std::lock_guard lock(all.mutex);
  if (code)
    fake::state().failing[call] = code;
  else
    fake::state().failing.erase(call);
}

/// Calls since weft_fake_fail.
long weft_fake_calls() {
  fake::Shared& all = fake::shared();
  std::lock_guard lock(all.mutex);
  return all.calls;
}

/// The entry that failed; empty: none did. Valid until the next call of weft_fake_fail.
const char* weft_fake_failed() {
  fake::Shared& all = fake::shared();
  std::lock_guard lock(all.mutex);
  return all.failed.c_str();
}

/// How often an entry that the fake driver notes was called.
int weft_fake_count(const char* call) {
  fake::Shared& all = fake::shared();
  std::lock_guard lock(all.mutex);
  return fake::state().count(call);
}

/// How launches are: 0 as usual, 1 nothing at all, 2 nothing but what a driver does to the caches.
void weft_fake_quiet(int how) { fake::shared().quiet = how; }
/// Seconds of one such launch by itself.
double weft_fake_seconds(int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) fake::quick(2);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / count;
}

/// The last launch: its grid, its block and, of a kernel (float, array), the array's address.
unsigned long weft_fake_last(int which) {
  const fake::State::Launch& last = fake::state().launches.back();
  unsigned long address = 0;
  if (last.arguments.size() >= 16) std::memcpy(&address, last.arguments.data() + 8, sizeof address);
  return which == 0 ? last.grid : which == 1 ? last.block : address;
}
/// And its stream.
unsigned long weft_fake_last_stream() { return reinterpret_cast<unsigned long>(fake::state().launches.back().stream); }
/// And the number.
double weft_fake_argument() {
  float number = 0;
  std::memcpy(&number, fake::state().launches.back().arguments.data(), sizeof number);
  return double(number);
}

/// Making code takes up to so many milliseconds from now on; as the variable WEFT_FAKE_CUDA_SLOW says.
void weft_fake_slow(int milliseconds) { fake::shared().slow = milliseconds; }

/// From now on threads but the caller's make no code until it is called with 0.
void weft_fake_hold(int on) { fake::Hold::only().set(on != 0); }

/// The nodes of the graph that was captured last, and of them the longest chain of which each comes behind the one before.
void weft_fake_graph(int* nodes, int* chain) {
  const auto& all = fake::state().nodes;
  std::map<GraphNodeHandle, int> lengths;
  *nodes = *chain = 0;
  for (const fake::State::Node& node : all) {
    if (node.graph != all.back().graph) continue;
    int& length = lengths[node.handle] = 1;
    for (GraphNodeHandle before : node.behind) length = std::max(length, lengths[before] + 1);
    *chain = std::max(*chain, length);
    ++*nodes;
  }
}

/// Device memory in use, and the most there is.
unsigned long weft_fake_allocated() { return fake::state().allocated; }
void weft_fake_memory(unsigned long limit) { fake::state().memory_limit = limit; }
/// So many questions whether work is done are answered by "not yet".
void weft_fake_busy(int questions) { fake::state().not_ready = questions; }
}
