// Handles for other processes, and what is open of theirs.
#include "cuda/ipc.h"

#include <cstring>
#include <map>

#include "cuda/graph.h"

namespace weft::cuda {
namespace {

void need_ipc(const Device& device) {
  if (!device.facts().ipc)
    throw runtime::ArgumentError("the device " + device.name() + " can't share memory and events between processes");
}

std::mutex open_mutex;

/// What is open: the driver does not open a handle twice.
std::map<std::pair<int, std::string>, std::weak_ptr<void>>& open_handles() {
  static auto* list = new std::map<std::pair<int, std::string>, std::weak_ptr<void>>;
  return *list;
}

struct Opened {
  Opened(Device& device, DevicePtr memory) : device(device), memory(memory) {}
  Opened(const Opened&) = delete;
  ~Opened() {
    if (device.system().forked()) return;
    try {
      ContextScope scope(device);
      if (!device.capture()) device.api().context_synchronize();
      device.api().memory_close_ipc(memory);
    } catch (const runtime::Error&) {  // the device is gone, and the memory with it
    }
  }
  Device& device;
  DevicePtr memory;
};

}  // namespace

IpcHandle share_memory(Device& device, DevicePtr memory) {
  need_ipc(device);
  ContextScope scope(device);
  DevicePtr begin = 0;
  if (device.api().pointer_attribute(&begin, kPointerRangeStart, memory) == kSuccess && begin != memory)
    throw runtime::ArgumentError("only whole allocations can be shared, this array starts inside of one: share a copy");
  IpcHandle handle{};
  if (const Result code = device.api().memory_to_ipc(&handle, memory); code != kSuccess)
    throw_driver_error(device.api(), code, "memory_to_ipc",
                       "memory of a stream-ordered pool can't be shared between processes: make the array inside of "
                       "`with wp.ScopedMempool(device, False):`");
  return handle;
}

std::shared_ptr<void> open_memory(Device& device, const IpcHandle& handle) {
  need_ipc(device);
  ContextScope scope(device);
  std::pair key(device.ordinal(), std::string(handle.bytes, sizeof handle.bytes));
  std::lock_guard lock(open_mutex);
  std::weak_ptr<void>& known = open_handles()[key];
  if (std::shared_ptr<void> open = known.lock()) return open;
  DevicePtr memory = 0;
  if (const Result code = device.api().memory_from_ipc(&memory, handle, kIpcLazyPeers); code != kSuccess)
    throw_driver_error(
        device.api(), code, "memory_from_ipc",
        "a handle can be opened while the process that made it keeps the array, and not by that process");
  // The list above holds the deleter longer than the memory: what it holds goes when it is called.
  auto deleter = [opened = std::make_shared<Opened>(device, memory)](void*) mutable {
    const std::shared_ptr<Opened> gone = std::move(opened);
    if (Capture* running = gone->device.capture()) running->keep(gone);  // the graph may work on it
  };
  std::shared_ptr<void> owner(reinterpret_cast<void*>(memory), std::move(deleter));
  known = owner;
  return owner;
}

IpcHandle share_event(const Event& event) {
  need_ipc(event.device());
  ContextScope scope(event.device());
  IpcHandle handle{};
  if (const Result code = event.device().api().event_to_ipc(&handle, event.handle()); code != kSuccess)
    throw_driver_error(event.device().api(), code, "event_to_ipc",
                       "an event for several processes is made by wp.Event(interprocess=True)");
  return handle;
}

std::shared_ptr<Event> open_event(Device& device, const IpcHandle& handle) {
  need_ipc(device);
  ContextScope scope(device);
  EventHandle event = nullptr;
  if (const Result code = device.api().event_from_ipc(&event, handle); code != kSuccess)
    throw_driver_error(
        device.api(), code, "event_from_ipc",
        "a handle can be opened while the process that made it keeps the event, and not by that process");
  return std::make_shared<Event>(device, event, true);
}

}  // namespace weft::cuda
