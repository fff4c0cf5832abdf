// All that the process knows of CUDA: the driver, its devices, page-locked memory. Opened on first use; without a
// driver or a device it exists all the same and says why there is nothing.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/ptx_compiler.h"
#include "cuda/timing.h"
#include "runtime/memory_space.h"

namespace weft::cuda {

class Device;

/// The most devices of a process, contexts of other libraries among them.
inline constexpr int kMaxDevices = 64;

/// Thrown out of a wait that the host wants to end; see System::set_interrupt.
class Interrupted : public runtime::Error {
 public:
  Interrupted() : Error("the wait for the device was interrupted") {}
};

/// Page-locked host memory: kernels reach it, and copies to and from it run beside the host's work.
class PinnedMemory final : public runtime::MemorySpace {
 public:
  explicit PinnedMemory(class System& system) : system_(system) {}
  const std::string& name() const override { return name_; }
  int ordinal() const override { return -1; }
  bool on_host() const override { return true; }
  std::shared_ptr<void> allocate(std::uint64_t bytes, bool zeroed) override;
  void copy(const ArrayDesc&, MemorySpace*, const std::shared_ptr<void>&, const ArrayDesc&, MemorySpace*,
            const std::shared_ptr<void>&, std::size_t) override;
  void fill(const ArrayDesc&, std::size_t, const void*) override;

 private:
  System& system_;
  std::string name_ = "cpu (pinned)";
};

class System {
 public:
  explicit System(OpenedDriver driver, const PtxCompilerTable& compiler = {});
  ~System();
  /// The process's own: opens libcuda on the first call, and never goes away.
  static System& shared();
  /// Whether shared() was called: programs that stay on the CPU never open the driver.
  static bool is_open();

  bool available() const { return driver_.problem.empty(); }
  /// Why there are no devices.
  const std::string& problem() const { return driver_.problem; }
  /// Why there are fewer devices than the driver tells of; empty if there are not.
  const std::string& note() const { return note_; }
  /// 13000 for CUDA 13.0; 0 without a driver.
  int version() const { return driver_.version; }
  const DriverTable& api() const { return driver_.table; }
  /// What compiles PTX in the driver's place; null: the driver does.
  const PtxCompiler* ptx_compiler() const { return compiler_.serves(version()) ? &compiler_ : nullptr; }

  /// The GPUs.
  int device_count() const { return gpus_; }
  /// By number: GPUs come first, then contexts that were taken in. Throws Unavailable without CUDA and ArgumentError for
  /// a device that does not exist.
  Device& device(int ordinal);
  /// A device for a context of another library, null for the one that is current in this thread; a primary context is
  /// the GPU's own device. Throws ArgumentError when there is none, or too many were taken in.
  Device& adopt_context(ContextHandle context);
  PinnedMemory& pinned();
  Timing& timing() { return timing_; }
  /// Whether kernels of graphs may be started while those before them end, where the driver can (CUDA 12.3) and the code waits.
  bool early_starts() const { return can_start_early_ && early_starts_wanted_.load(std::memory_order_relaxed); }
  static void want_early_starts(bool wanted) { early_starts_wanted_ = wanted; }
  /// Whether what is captured into graphs may run at the same time where none needs what another one makes (graph_order.h).
  static bool parallel_graphs() { return parallel_graphs_.load(std::memory_order_relaxed); }
  static void want_parallel_graphs(bool wanted) { parallel_graphs_ = wanted; }

  /// Whether this is the child of a fork: CUDA does not work there.
  bool forked() const;
  /// Throws Unavailable in the child of a fork.
  void check_process() const;

  /// Asked now and then by waits, on the waiting thread; true ends the wait by an Interrupted exception.
  void set_interrupt(bool (*hook)() noexcept) { interrupt_ = hook; }
  /// Calls `done` until it says so, politely.
  template <class Done>
  void wait(Done done) {
    for (Pause pause(*this); !done();) pause.next();
  }

 private:
  /// Spins for a short time, then sleeps between looks.
  class Pause {
   public:
    explicit Pause(System& system);
    void next();

   private:
    System& system_;
    std::int64_t start_, asked_;
  };

  OpenedDriver driver_;
  PtxCompiler compiler_;
  int forks_;  // of this process's ancestors when the driver was opened
  int gpus_ = 0;
  std::string note_;
  std::mutex adopt_mutex_;
  std::atomic<int> known_{0};                     // of the places below
  std::unique_ptr<Device> devices_[kMaxDevices];  // filled one after the other
  PinnedMemory pinned_{*this};
  Timing timing_;
  bool can_start_early_ = false;
  static inline std::atomic<bool> early_starts_wanted_{true}, parallel_graphs_{true};
  std::atomic<bool (*)() noexcept> interrupt_{nullptr};
};

}  // namespace weft::cuda
