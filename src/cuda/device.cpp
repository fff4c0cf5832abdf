// What a device is, its context, streams and waiting. Memory is in device_memory.cpp.
#include "cuda/device.h"

#include <algorithm>

#include "cuda/graph.h"
#include "cuda/transfer.h"
#include "runtime/late_work.h"

namespace weft::cuda {
namespace {

std::string uuid_text(const Uuid& uuid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid.bytes[i] >> 4];
    text += kDigits[uuid.bytes[i] & 15];
  }
  return text;
}

}  // namespace

Device::Device(System& system, int ordinal)
    : system_(system), ordinal_(ordinal), alias_("cuda:" + std::to_string(ordinal)) {
  WEFT_CUDA(api(), device_get, &number_, ordinal);
  read_facts();
}

Device::Device(System& system, int ordinal, DeviceNumber number, ContextHandle context)
    : system_(system),
      ordinal_(ordinal),
      number_(number),
      foreign_(context),
      alias_("cuda:" + std::to_string(number) + " (another context)") {
  read_facts();
}

void Device::read_facts() {
  const DriverTable& d = api();
  char text[256] = {};
  WEFT_CUDA(d, device_name, text, int(sizeof text) - 1, number_);
  facts_.name = text;
  auto attribute = [&](int which) {
    int value = 0;
    WEFT_CUDA(d, device_attribute, &value, which, number_);
    return value;
  };
  facts_.arch = attribute(kAttributeComputeMajor) * 10 + attribute(kAttributeComputeMinor);
  facts_.sm_count = attribute(kAttributeMultiprocessorCount);
  facts_.max_threads_per_block = attribute(kAttributeMaxThreadsPerBlock);
  facts_.max_shared_memory = attribute(kAttributeMaxSharedMemory);
  facts_.unified_addressing = attribute(kAttributeUnifiedAddressing) != 0;
  facts_.pools = attribute(kAttributeMemoryPools) != 0;
  facts_.managed_memory = attribute(kAttributeManagedMemory) != 0;
  facts_.ipc = attribute(kAttributeIpcEvents) != 0;
  std::size_t bytes = 0;
  WEFT_CUDA(d, device_memory, &bytes, number_);
  facts_.total_memory = bytes;
  Uuid uuid{};
  WEFT_CUDA(d, device_uuid, &uuid, number_);
  facts_.uuid = uuid_text(uuid);
  char pci[32] = {};
  WEFT_CUDA(d, device_pci, pci, int(sizeof pci) - 1, number_);
  facts_.pci_bus_id = pci;
  pool_enabled_ = facts_.pools;
}

Device::~Device() { late_drops_.drop_all(); }

ContextHandle Device::context() {
  if (ContextHandle ready = context_.load(std::memory_order_acquire)) return ready;
  system_.check_process();
  std::lock_guard lock(mutex_);
  if (ContextHandle ready = context_.load(std::memory_order_relaxed)) return ready;
  ContextHandle made = foreign_;
  if (!made) WEFT_CUDA(api(), primary_retain, &made, number_);
  if (facts_.pools) {
    WEFT_CUDA(api(), pool_default, &pool_, number_);
    // What arrays give back stays for the next ones, up to a point: the driver's default gives all of it to the system
    // at every synchronisation.
    std::uint64_t keep = std::min<std::uint64_t>(std::uint64_t(1) << 30, facts_.total_memory / 8);
    WEFT_CUDA(api(), pool_set, pool_, kPoolReleaseThreshold, &keep);
  }
  context_.store(made, std::memory_order_release);
  return made;
}

ContextScope::ContextScope(Device& device) : api_(device.api()) {
  // Whatever needs a context comes behind work that waits for code.
  runtime::LateWork::enter();
  try {
    device.system().check_process();
    ContextHandle wanted = device.context();
    WEFT_CUDA(api_, context_get, &before_);
    if (before_ == wanted) return;
    WEFT_CUDA(api_, context_set, wanted);
    changed_ = true;
  } catch (...) {
    runtime::LateWork::leave();
    throw;
  }
}

ContextScope::~ContextScope() {
  // A thread that had none keeps ours: others then find one, and the next scope is free.
  if (changed_ && before_) api_.context_set(before_);
  runtime::LateWork::leave();
}

std::shared_ptr<Stream> Device::stream() {
  if (const std::shared_ptr<Stream>* own = thread_stream()) return *own;
  {
    std::lock_guard lock(mutex_);
    if (stream_) return stream_;
  }
  auto made = make_stream(0);
  std::lock_guard lock(mutex_);
  if (!stream_) stream_ = std::move(made);
  stream_now_.store(stream_.get(), std::memory_order_release);
  return stream_;
}

void Device::check_stream(const std::shared_ptr<Stream>& stream) const {
  if (!stream || &stream->device() != this)
    throw runtime::ArgumentError("a stream of another device can't become the current one of " + alias_);
}

void Device::set_stream(std::shared_ptr<Stream> stream) {
  if (thread_stream()) {
    set_thread_stream(std::move(stream));
    return;
  }
  check_stream(stream);
  if (runtime::LateWork::waiting()) runtime::LateWork::settle();  // on the stream that it was meant for
  stream->use();
  std::lock_guard lock(mutex_);
  stream_.swap(stream);
  stream_now_.store(stream_.get(), std::memory_order_release);
}

std::shared_ptr<Stream> Device::make_stream(int priority, bool blocking) {
  ContextScope scope(*this);
  StreamHandle handle = nullptr;
  WEFT_CUDA(api(), stream_create, &handle, blocking ? kStreamDefault : kStreamNonBlocking, priority);
  return std::make_shared<Stream>(*this, handle, true, blocking);
}

std::shared_ptr<Stream> Device::adopt_stream(StreamHandle handle) {
  return std::make_shared<Stream>(*this, handle, false);
}

std::shared_ptr<Stream> Device::null_stream() { return adopt_stream(nullptr); }

void Device::synchronize() {
  if (!has_context()) return;  // nothing was ever queued
  if (Capture* running = capture()) running->refuse("wait for the device");
  ContextScope scope(*this);
  const PrintBoard::Shown shown(prints_);
  std::vector<StreamHandle> streams;
  {
    std::lock_guard lock(mutex_);
    streams = live_streams_;
  }
  // Each by itself first, for the driver's own wait can't be interrupted.
  for (StreamHandle stream : streams)
    system_.wait([&] {
      const Result code = api().stream_query(stream);
      if (code != kSuccess && code != kErrorNotReady) throw_driver_error(api(), code, "stream_query");
      return code == kSuccess;
    });
  system_.wait([&] { return !has_left_work(); });
  WEFT_CUDA(api(), context_synchronize);
  late_drops_.collect();
  checks_.report_done(nullptr, true);
}

bool Device::idle() {
  if (has_left_work()) return false;
  std::lock_guard lock(mutex_);
  if (capture_.load(std::memory_order_acquire)) return false;
  return std::all_of(live_streams_.begin(), live_streams_.end(), [&](StreamHandle stream) {
    int captured = 0;  // by another library: asking more would break that
    return api().stream_capturing(stream, &captured) == kSuccess && captured == 0 &&
           api().stream_query(stream) == kSuccess;
  });
}

StreamHandle Device::side_stream() {
  std::lock_guard lock(mutex_);
  if (!side_stream_) WEFT_CUDA(api(), stream_create, &side_stream_, kStreamNonBlocking, 0);
  return side_stream_;
}

StreamHandle Device::ready_stream() {
  std::lock_guard lock(mutex_);
  if (!ready_stream_) WEFT_CUDA(api(), stream_create, &ready_stream_, kStreamNonBlocking, 0);
  return ready_stream_;
}

std::shared_ptr<Event> Device::mark_all_work() {
  const StreamHandle side = side_stream();
  if (!order_behind_all(side)) return nullptr;
  auto mark = std::make_shared<Event>(*this, false);
  WEFT_CUDA(api(), event_record, mark->handle(), side, 0);
  return mark;
}

void Device::wait_for_lost_streams() {
  if (lost_streams_.exchange(false, std::memory_order_acq_rel)) WEFT_CUDA(api(), context_synchronize);
}

bool Device::order_behind_all(StreamHandle stream) {
  std::vector<StreamHandle> others;
  {
    std::lock_guard lock(mutex_);
    others = live_streams_;
  }
  for (StreamHandle other : others) {
    if (reinterpret_cast<std::uintptr_t>(other) <= 1) continue;
    int captured = 0;  // the stream would become part of that graph
    WEFT_CUDA(api(), stream_capturing, other, &captured);
    if (captured) return false;
  }
  order_behind(stream, others);
  return true;
}

void Device::order_behind(StreamHandle stream, const std::vector<StreamHandle>& others) {
  EventHandle event = nullptr;
  WEFT_CUDA(api(), event_create, &event, kEventDisableTiming);
  struct Destroy {
    const DriverTable& api;
    EventHandle event;
    ~Destroy() { api.event_destroy(event); }
  } destroy{api(), event};
  for (StreamHandle other : others) {
    if (other == stream) continue;
    WEFT_CUDA(api(), event_record, event, other, 0);
    WEFT_CUDA(api(), stream_wait, stream, event, 0);
  }
}

void Device::keep_for_capture(std::shared_ptr<const void> thing) {
  if (Capture* running = capture()) running->keep(std::move(thing));
}

TransferKernels& Device::transfer_kernels() {
  std::lock_guard lock(mutex_);
  if (!transfer_) transfer_ = std::make_unique<TransferKernels>(*this);
  return *transfer_;
}

bool Device::can_access(Device& peer) {
  if (&peer == this) return true;
  if (peer.number_ == number_) return false;  // memory belongs to its context; copies go between them
  int can = 0;
  WEFT_CUDA(api(), device_can_access_peer, &can, number_, peer.number_);
  return can != 0;
}

bool Device::peer_enabled(const Device& peer) const {
  std::lock_guard lock(mutex_);
  return &peer == this || std::find(peers_.begin(), peers_.end(), peer.ordinal_) != peers_.end();
}

void Device::enable_peer(Device& peer, bool on) {
  if (&peer == this) return;
  ContextHandle other = peer.context();
  ContextScope scope(*this);
  const Result code = on ? api().peer_enable(other, 0) : api().peer_disable(other);
  const Result already = on ? kErrorPeerAccessAlreadyEnabled : kErrorPeerAccessNotEnabled;
  if (code != kSuccess && code != already) throw_driver_error(api(), code, on ? "peer_enable" : "peer_disable");
  std::lock_guard lock(mutex_);
  std::erase(peers_, peer.ordinal_);
  if (on) peers_.push_back(peer.ordinal_);
}

bool Device::pool_access_enabled(const Device& peer) const {
  std::lock_guard lock(mutex_);
  return &peer == this || std::find(pool_peers_.begin(), pool_peers_.end(), peer.ordinal_) != pool_peers_.end();
}

void Device::enable_pool_access(Device& peer, bool on) {
  if (&peer == this) return;
  peer.context();
  PoolAccess access;
  access.location_id = number_;
  access.flags = on ? 3 : 0;
  WEFT_CUDA(api(), pool_set_access, peer.pool_, &access, 1);
  std::lock_guard lock(mutex_);
  std::erase(pool_peers_, peer.ordinal_);
  if (on) pool_peers_.push_back(peer.ordinal_);
}

}  // namespace weft::cuda
