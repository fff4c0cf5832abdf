// One GPU: what it is, its primary context, memory, current stream, checks of its kernels. A device is a memory space,
// so arrays on it are ordinary arrays. Thread-safe.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/allocator.h"
#include "cuda/check_board.h"
#include "cuda/late_drops.h"
#include "cuda/print_board.h"
#include "cuda/stream.h"
#include "cuda/system.h"

namespace weft::cuda {

class Capture;
class KernelCode;
class TransferKernels;

/// What a device is; asked once.
struct DeviceFacts {
  std::string name, uuid, pci_bus_id;
  int arch = 0;  // compute capability × 10
  int sm_count = 0;
  int max_threads_per_block = 0;
  int max_shared_memory = 0;
  std::uint64_t total_memory = 0;
  bool unified_addressing = false, pools = false, managed_memory = false, ipc = false;
};

class Device final : public runtime::MemorySpace {
 public:
  /// A GPU with its primary context.
  Device(System& system, int ordinal);
  /// A context of another library on a GPU; `ordinal` is the device's number here.
  Device(System& system, int ordinal, DeviceNumber number, ContextHandle context);
  ~Device();

  System& system() const { return system_; }
  const DriverTable& api() const { return system_.api(); }
  const DeviceFacts& facts() const { return facts_; }
  DeviceNumber number() const { return number_; }
  /// The primary context, made on first use and kept for the process, as other libraries do; or another library's.
  ContextHandle context();
  bool is_primary() const { return !foreign_; }
  bool has_context() const { return context_.load(std::memory_order_acquire) != nullptr; }

  // Memory.
  const std::string& name() const override { return alias_; }
  int ordinal() const override { return ordinal_; }
  bool on_host() const override { return false; }
  /// Behind the work of the current stream; freed behind the work of all streams.
  std::shared_ptr<void> allocate(std::uint64_t bytes, bool zeroed) override;
  void copy(const ArrayDesc& to, MemorySpace* to_space, const std::shared_ptr<void>& keep_to, const ArrayDesc& from,
            MemorySpace* from_space, const std::shared_ptr<void>& keep_from, std::size_t element_size) override;
  void fill(const ArrayDesc& to, std::size_t element_size, const void* value) override;
  /// The same past a program's own allocator.
  std::shared_ptr<void> allocate_here(std::uint64_t bytes, bool zeroed);
  /// A program's own memory for arrays from now on; null: the pool's. Arrays give theirs back where it came from.
  std::shared_ptr<Allocator> allocator() const;
  void set_allocator(std::shared_ptr<Allocator> allocator);
  std::uint64_t free_memory();
  /// Waits for all work, and gives the driver what the pool holds back. Throws DriverError.
  void make_room();
  /// How much is free, for messages: ": 1 of 2 bytes are free", or nothing if the driver doesn't say.
  std::string free_text();
  /// Whether arrays come from the stream-ordered pool.
  bool pool_enabled() const { return pool_enabled_.load(std::memory_order_relaxed); }
  void enable_pool(bool on);
  std::uint64_t pool_value(int attribute);
  void set_pool_threshold(std::uint64_t bytes);
  bool can_access(Device& peer);
  /// Whether kernels here may touch plain memory of the peer; switched by enable_peer.
  bool peer_enabled(const Device& peer) const;
  void enable_peer(Device& peer, bool on);
  /// The same for the peer's pool.
  bool pool_access_enabled(const Device& peer) const;
  void enable_pool_access(Device& peer, bool on);

  // Streams.
  /// Work of the calling thread goes here unless told otherwise: the thread's own, or that of the process; one of its own
  /// at first, which waits for the legacy default stream.
  std::shared_ptr<Stream> stream();
  /// Changes the thread's own stream where it has one, else that of the process.
  void set_stream(std::shared_ptr<Stream> stream);
  /// Gives the calling thread a stream of its own, or with null none any more; returns the one before. (thread_stream.cpp)
  std::shared_ptr<Stream> set_thread_stream(std::shared_ptr<Stream> stream);
  /// The calling thread's own stream; null if it has none.
  const std::shared_ptr<Stream>* thread_stream() const;
  /// The current stream without a lock, null if there is none yet. For those who see to it that no other thread changes it
  /// meanwhile.
  const Stream* stream_now() const {
    if (thread_streams_.load(std::memory_order_relaxed)) [[unlikely]]
      if (const std::shared_ptr<Stream>* own = thread_stream()) return own->get();
    return stream_now_.load(std::memory_order_acquire);
  }
  std::shared_ptr<Stream> make_stream(int priority, bool blocking = true);
  std::shared_ptr<Stream> adopt_stream(StreamHandle handle);
  /// The legacy default stream.
  std::shared_ptr<Stream> null_stream();
  /// Waits for all work of the device, then reports failed checks.
  void synchronize();

  // Graphs: at most one capture per device at a time.
  /// The capture under way, or null.
  Capture* capture() const { return capture_.load(std::memory_order_acquire); }
  /// Keeps something as long as the graph that is being captured, if one is.
  void keep_for_capture(std::shared_ptr<const void> thing);
  /// Drops something when all work that is queued by now is done; does not wait for that.
  void keep_until_done(std::shared_ptr<const void> thing) noexcept { late_drops_.add(std::move(thing)); }
  /// The same for things that the driver would wait for whatever the device does by then; `bytes` of the host's memory.
  void keep_until_idle(std::shared_ptr<const void> thing, std::uint64_t bytes = 0) noexcept {
    late_drops_.add_for_idle(std::move(thing), bytes);
  }
  LateDrops& late_drops() { return late_drops_; }

  CheckBoard& checks() { return checks_; }
  PrintBoard& prints() { return prints_; }
  TransferKernels& transfer_kernels();
  /// Sets conditions of graphs (graph_condition.cpp).
  const KernelCode& condition_kernel();
  /// What a layer above keeps for this device, one of each type, made as T(device) when it is first asked for: kernels of its
  /// own, for instance.
  template <class T>
  T& companion() {
    static const char kKey = 0;
    std::lock_guard lock(companions_mutex_);
    std::shared_ptr<void>& slot = companions_[&kKey];
    if (!slot) slot = std::make_shared<T>(*this);
    return *static_cast<T*>(slot.get());
  }

  /// Whether no stream has anything to do.
  bool idle();

 private:
  friend class Stream;
  friend class Capture;
  friend class LateDrops;
  void read_facts();
  /// Gives memory back, now or later: while a graph is captured, and when the driver refuses, it is tried again by the end
  /// of the capture or the next allocation.
  void release(DevicePtr memory, bool pooled) noexcept;
  bool try_release(DevicePtr memory, bool pooled) noexcept;
  void release_late() noexcept;
  std::shared_ptr<void> allocate_by(std::shared_ptr<Allocator> allocator, std::uint64_t bytes, bool zeroed);
  DevicePtr try_allocate(std::uint64_t bytes, bool pooled, StreamHandle on, Result& code);
  /// A stream that waits for all others: memory is given back there when several streams may use it.
  StreamHandle side_stream();
  /// Lets a stream wait for all others; false, and nothing is done, while another library captures one of them.
  bool order_behind_all(StreamHandle stream);
  /// A stream that never waits for others: what a graph finds ready when it is captured is made ready there.
  StreamHandle ready_stream();
  /// An event behind all work that was queued; null while another library captures one of the streams.
  std::shared_ptr<Event> mark_all_work();
  /// Waits for work on streams of other libraries that this has lost sight of, if there was any.
  void wait_for_lost_streams();
  void order_behind(StreamHandle stream, const std::vector<StreamHandle>& others);
  /// Lets memory that is given back later wait for what a stream has queued that this will not hear of again.
  void leave_behind(StreamHandle stream) noexcept;
  /// Whether such work may still run.
  bool has_left_work() noexcept;
  void begin_capture(Capture* capture);
  void end_capture();
  void check_stream(const std::shared_ptr<Stream>& stream) const;

  System& system_;
  int ordinal_;
  DeviceNumber number_ = 0;
  ContextHandle foreign_ = nullptr;  // another library's context
  std::string alias_;
  DeviceFacts facts_;
  std::atomic<ContextHandle> context_{nullptr};
  std::atomic<bool> pool_enabled_{false}, has_allocator_{false}, owes_frees_{false}, left_work_{false},
      lost_streams_{false};
  std::atomic<Capture*> capture_{nullptr};
  std::atomic<const Stream*> stream_now_{nullptr};  // stream_
  std::atomic<int> thread_streams_{0};              // threads that have a stream of their own here
  mutable std::mutex mutex_;                        // guards the rest
  PoolHandle pool_ = nullptr;
  std::shared_ptr<Allocator> allocator_;
  std::vector<StreamHandle> live_streams_;  // all but the side stream
  std::shared_ptr<Stream> stream_;          // leaves live_streams_ when it goes
  StreamHandle side_stream_ = nullptr, ready_stream_ = nullptr;
  std::vector<std::pair<DevicePtr, bool>> late_frees_;  // what could not be given back yet
  std::vector<int> peers_, pool_peers_;                 // ordinals that may be reached
  LateDrops late_drops_{*this};                         // outlives the kernels below
  std::unique_ptr<TransferKernels> transfer_;
  std::mutex condition_mutex_;  // loading asks for the context
  std::shared_ptr<KernelCode> condition_kernel_;
  std::mutex companions_mutex_;
  std::map<const void*, std::shared_ptr<void>> companions_;  // by type
  CheckBoard checks_{*this};
  PrintBoard prints_{*this};
};

/// Makes a device's context current for the calling thread and restores the one before. Throws in forked children.
class ContextScope {
 public:
  explicit ContextScope(Device& device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const DriverTable& api_;
  ContextHandle before_ = nullptr;
  bool changed_ = false;
};

}  // namespace weft::cuda
