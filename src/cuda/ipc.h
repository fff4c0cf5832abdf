// Memory and events shared between processes: handles of 64 bytes go from one to the other by whatever way.
#pragma once
#include "cuda/device.h"

namespace weft::cuda {

/// The handle of an allocation; `memory` must be its beginning. Throws ArgumentError for a place inside of one and
/// DriverError for memory that can't be shared, that of stream-ordered pools.
IpcHandle share_memory(Device& device, DevicePtr memory);
/// Opens another process's memory; closed when the last owner is gone and all work here that may use it is done. One
/// handle opened several times is one piece of memory.
std::shared_ptr<void> open_memory(Device& device, const IpcHandle& handle);

/// The handle of an event that was made for several processes.
IpcHandle share_event(const Event& event);
/// Opens another process's event.
std::shared_ptr<Event> open_event(Device& device, const IpcHandle& handle);

}  // namespace weft::cuda
