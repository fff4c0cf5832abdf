// Failed checks of GPU kernels. A kernel with checks gets a slot in page-locked memory, where the first thread whose
// check fails writes what and where; the host looks when it synchronises, and raises there. The context survives.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/driver_types.h"
#include "runtime/check_site.h"
#include "runtime/kernel_abi.h"

namespace weft::cuda {

class Device;

/// What the device writes; lies in page-locked memory.
struct CheckSlot {
  runtime::ErrorRecord record;
  std::int32_t stop = 0;  // set with the record, read by loops of debug code
  std::int32_t reserved = 0;
};

/// A launch whose checks are watched.
struct WatchedLaunch {
  std::string kernel;
  int rank = 1;
  std::span<const runtime::CheckSite> sites;
  std::shared_ptr<const void> owner;  // of the sites
};

class CheckBoard {
 public:
  explicit CheckBoard(Device& device) : device_(device) {}

  /// A clean slot for a launch on a stream. When all are taken it waits for the device. While a graph is captured the
  /// slot stays the graph's; null when there is none left.
  CheckSlot* watch(WatchedLaunch launch, StreamHandle stream);
  /// Throws the KernelError of the first failure that has been written; all failures known are forgotten then.
  void report();
  /// The same when a stream (null with `all`: every one) has nothing queued: its slots are free again.
  void report_done(StreamHandle stream, bool all);

 private:
  static constexpr std::size_t kSlots = 1024;
  struct Entry {
    WatchedLaunch launch;
    StreamHandle stream = nullptr;
    bool used = false, captured = false;
  };
  void check(bool all, StreamHandle stream, bool release);
  std::size_t find_free();

  Device& device_;
  std::mutex mutex_;
  std::shared_ptr<void> memory_;  // kSlots CheckSlots
  std::vector<Entry> entries_;
  std::size_t next_ = 0, used_ = 0;
};

}  // namespace weft::cuda
