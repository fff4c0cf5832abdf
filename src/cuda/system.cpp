// Devices of the process, page-locked memory, waiting.
#include "cuda/system.h"

#include <pthread.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "cuda/device.h"
#include "support/check.h"

namespace weft::cuda {
namespace {

std::atomic<System*> the_system{nullptr};

/// Counts how often a process became its own child: asking the system for its number would cost each launch a call.
std::atomic<int> fork_count{0};

int forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return fork_count.load(std::memory_order_relaxed);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::int64_t kSpinNs = 2'000'000;  // most waits end sooner; sleeping would add its own latency
constexpr std::int64_t kAskNs = 50'000'000;  // between two questions whether to go on waiting

constexpr int kOldestWithEarlyStarts = 12030;  // in graphs

}  // namespace

System::System(OpenedDriver driver, const PtxCompilerTable& compiler)
    : driver_(std::move(driver)), compiler_(compiler), forks_(forks()) {
  if (!available()) return;
  can_start_early_ = version() >= kOldestWithEarlyStarts && api().launch_with;
  int count = 0;
  try {
    WEFT_CUDA(driver_.table, device_count, &count);
    for (int i = 0; i < std::min(count, kMaxDevices / 2); ++i) {
      devices_[i] = std::make_unique<Device>(*this, i);
      known_ = gpus_ = i + 1;
    }
  } catch (const runtime::Error& error) {
    // Those before it have their numbers; a device whose number were another one's would be worse than none.
    const std::string text = "cuda:" + std::to_string(gpus_) + " can't be asked what it is: " + error.what();
    (gpus_ == 0 ? driver_.problem : note_) = text;
  }
}

System::~System() = default;

System& System::shared() {
  static System* system = [] {
    auto* made = new System(open_driver(), linked_ptx_compiler());
    the_system.store(made, std::memory_order_release);
    return made;
  }();
  return *system;
}

bool System::is_open() { return the_system.load(std::memory_order_acquire) != nullptr; }

Device& System::device(int ordinal) {
  if (!available()) throw Unavailable("CUDA is not available: " + problem());
  if (ordinal < 0 || ordinal >= known_.load(std::memory_order_acquire))
    throw runtime::ArgumentError("there is no CUDA device " + std::to_string(ordinal) + "; this machine has " +
                                 std::to_string(device_count()));
  return *devices_[std::size_t(ordinal)];
}

Device& System::adopt_context(ContextHandle context) {
  if (!available()) throw Unavailable("CUDA is not available: " + problem());
  check_process();
  ContextHandle before = nullptr;
  WEFT_CUDA(api(), context_get, &before);
  if (!context) context = before;
  if (!context)
    throw runtime::ArgumentError("no CUDA context is current in this thread; make one current, or give its handle");
  DeviceNumber number = 0;
  WEFT_CUDA(api(), context_set, context);
  const Result code = api().context_device(&number);
  api().context_set(before);
  if (code != kSuccess) throw_driver_error(api(), code, "context_device", "the handle is no CUDA context");
  std::lock_guard lock(adopt_mutex_);
  const int known = known_.load(std::memory_order_relaxed);
  for (int i = 0; i < known; ++i) {
    Device& device = *devices_[i];
    if (device.number() == number && device.context() == context) return device;
  }
  if (known == kMaxDevices)
    throw runtime::ArgumentError("a process can have " + std::to_string(kMaxDevices) +
                                 " CUDA devices, contexts of other libraries among them");
  devices_[known] = std::make_unique<Device>(*this, known, number, context);
  known_.store(known + 1, std::memory_order_release);
  return *devices_[known];
}

PinnedMemory& System::pinned() {
  if (!available()) throw Unavailable("page-locked memory needs a CUDA device: " + problem());
  return pinned_;
}

bool System::forked() const { return fork_count.load(std::memory_order_relaxed) != forks_; }

void System::check_process() const {
  if (forked())
    throw Unavailable(
        "CUDA can't be used in a process made by fork(), because its parent used it; start processes by "
        "multiprocessing's 'spawn' method");
}

System::Pause::Pause(System& system) : system_(system), start_(now_ns()), asked_(start_) {}

void System::Pause::next() {
  const std::int64_t now = now_ns();
  if (now - start_ < kSpinNs) return;
  std::this_thread::sleep_for(std::chrono::microseconds(now - start_ < 100 * kSpinNs ? 50 : 500));
  if (now - asked_ < kAskNs) return;
  asked_ = now;
  if (auto* hook = system_.interrupt_.load(std::memory_order_relaxed); hook && hook()) throw Interrupted();
}

namespace {

/// Page-locked memory, given back with the object. Copies may still be under way: the driver waits for them.
struct Locked {
  Locked(Device& device, void* memory) : device(device), memory(memory) {}
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    if (device.system().forked()) return;
    try {
      ContextScope inside(device);
      device.api().host_free(memory);
    } catch (const runtime::Error&) {  // the device is gone, and the memory with it
    }
  }
  Device& device;
  void* memory;
};

}  // namespace

std::shared_ptr<void> PinnedMemory::allocate(std::uint64_t bytes, bool zeroed) {
  ContextScope scope(system_.device(0));
  const DriverTable& api = system_.api();
  void* memory = nullptr;
  auto allocate = [&] {
    return api.host_allocate(&memory, std::max<std::uint64_t>(bytes, 1), kHostPortable | kHostMapped);
  };
  Result code = allocate();
  if (code == kErrorOutOfMemory) {  // what is about to be given back
    system_.device(0).late_drops().wait_for_idle();
    code = allocate();
  }
  if (code == kErrorOutOfMemory)
    throw runtime::OutOfMemory(bytes, "no page-locked memory of " + std::to_string(bytes) + " bytes");
  if (code != kSuccess) throw_driver_error(api, code, "host_allocate");
  if (zeroed) std::memset(memory, 0, bytes);
  return {memory, [&device = system_.device(0), bytes](void* p) {
            if (!device.system().forked()) device.keep_until_idle(std::make_shared<Locked>(device, p), bytes);
          }};
}

void PinnedMemory::copy(const ArrayDesc&, MemorySpace*, const std::shared_ptr<void>&, const ArrayDesc&, MemorySpace*,
                        const std::shared_ptr<void>&, std::size_t) {
  WEFT_CHECK(false, "host memory is copied by the host");
}

void PinnedMemory::fill(const ArrayDesc&, std::size_t, const void*) {
  WEFT_CHECK(false, "host memory is filled by the host");
}

}  // namespace weft::cuda
