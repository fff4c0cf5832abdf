// CUDA devices in Python: what they are, their memory and pools, peers. Nothing here opens the driver before Python
// asks for devices.
#include <nanobind/stl/tuple.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

/// A device behind warp's Device object. Devices live as long as the process.
struct DeviceRef {
  cuda::Device* device;
};

static_assert(driver::kMaxCudaDevices == std::size_t(cuda::kMaxDevices), "kernels have a table for each");

cuda::Device& device_at(int ordinal) { return cuda::System::shared().device(ordinal); }

/// Memory of a device that Python holds for an allocator of its own.
struct HeldMemory {
  std::shared_ptr<void> memory;
};

/// An allocator that is a Python object.
class __attribute__((visibility("hidden"))) PythonAllocator final : public cuda::Allocator {
 public:
  explicit PythonAllocator(nb::object object) : object_(std::move(object)) {}
  ~PythonAllocator() override {
    if (!nb::is_alive()) {
      object_.release();
      return;
    }
    GilAcquire gil;
    object_.reset();
  }
  const nb::object& object() const { return object_; }

  cuda::DevicePtr allocate(std::uint64_t bytes) override {
    GilAcquire gil;
    nb::object given = object_.attr("allocate")(bytes);
    return given.is_none() ? 0 : nb::cast<std::uint64_t>(given);
  }
  void deallocate(cuda::DevicePtr memory, std::uint64_t bytes) noexcept override {
    if (!nb::is_alive()) return;
    GilAcquire gil;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);  // arrays are dropped under exceptions, too
    try {
      object_.attr("deallocate")(std::uint64_t(memory), bytes);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("deallocate of an allocator");
    }
    PyErr_Restore(type, value, trace);
  }

 private:
  nb::object object_;
};

/// What a signal handler of Python raised while this thread waited for a device.
thread_local std::optional<nb::python_error> interruption;

/// Asked by waits every now and then; Python runs signal handlers on its main thread only.
bool interrupted() noexcept {
  if (syscall(SYS_gettid) != getpid() || !nb::is_alive()) return false;
  GilAcquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  interruption.emplace();
  return true;
}

nb::dict facts_of(const cuda::Device& device) {
  const cuda::DeviceFacts& f = device.facts();
  nb::dict out;
  out["name"] = f.name;
  out["arch"] = f.arch;
  out["sm_count"] = f.sm_count;
  out["max_threads_per_block"] = f.max_threads_per_block;
  out["max_shared_memory_per_block"] = f.max_shared_memory;
  out["total_memory"] = f.total_memory;
  out["uuid"] = f.uuid;
  out["pci_bus_id"] = f.pci_bus_id;
  out["is_uva"] = f.unified_addressing;
  out["is_mempool_supported"] = f.pools;
  out["is_managed_memory_supported"] = f.managed_memory;
  out["is_ipc_supported"] = f.ipc;
  return out;
}

}  // namespace

void raise_interruption() noexcept {
  if (!interruption) return PyErr_SetNone(PyExc_KeyboardInterrupt);
  interruption->restore();
  interruption.reset();
}

std::optional<int> pointer_place(std::uintptr_t address) {
  cuda::System& system = cuda::System::shared();
  cuda::ContextScope scope(system.device(0));
  unsigned type = 0;
  int ordinal = 0;
  if (system.api().pointer_attribute(&type, cuda::kPointerMemoryType, address) != cuda::kSuccess ||
      system.api().pointer_attribute(&ordinal, cuda::kPointerDeviceOrdinal, address) != cuda::kSuccess)
    return std::nullopt;
  return type == cuda::kMemoryTypeHost ? kOnPinned : ordinal;
}

runtime::MemorySpace* space_of(int place) {
  if (place == kOnCpu) return nullptr;
  if (place == kOnPinned) return &cuda::System::shared().pinned();
  return &device_at(place);
}

int place_of(const runtime::Array& array) {
  if (!array.space()) return kOnCpu;
  return array.on_host() ? kOnPinned : array.space()->ordinal();
}

void register_cuda(nb::module_& m) {
  m.def(
      "cuda_open",
      [] {
        GilRelease release;  // the driver takes its time to start
        cuda::System& system = cuda::System::shared();
        system.set_interrupt(&interrupted);
        return std::tuple(system.device_count(), system.version(),
                          system.available() ? system.note() : system.problem());
      },
      "Opens the CUDA driver: number of devices, its version (0: none), why there are none or not all.");
  m.def("cuda_timing_begin", [](unsigned filter) { cuda::System::shared().timing().begin(filter); });
  m.def(
      "cuda_timing_end",
      [] {
        std::vector<cuda::TimedWork> found;
        {
          GilRelease release;
          found = cuda::System::shared().timing().end();
        }
        nb::list out;
        for (const cuda::TimedWork& one : found)
          out.append(nb::make_tuple(one.device->ordinal(), one.name, one.kind, one.milliseconds));
        return out;
      },
      "What was measured since cuda_timing_begin: device, name, kind, milliseconds.");
  m.def(
      "cuda_ptx_compiler",
      [] {
        const cuda::PtxCompiler linked(cuda::linked_ptx_compiler());
        return std::pair(linked.version(), cuda::System::is_open() && cuda::System::shared().ptx_compiler() != nullptr);
      },
      "nvPTXCompiler: its version, 0 if it is not linked in, and whether it compiles for the devices here.");
  m.def("cuda_is_open", [] { return cuda::System::is_open(); }, "Whether the CUDA driver was asked for.");
  nb::class_<HeldMemory>(m, "CudaMemory", "Memory of a CUDA device, given back with the object.")
      .def_prop_ro("address", [](const HeldMemory& h) { return reinterpret_cast<std::uintptr_t>(h.memory.get()); });
  m.def("cuda_managed_allocate", [](std::uint64_t bytes) {
    cuda::System& system = cuda::System::shared();
    cuda::ContextHandle current = nullptr;
    system.device(0);  // without one there is an exception that says why
    system.check_process();
    if (system.api().context_get(&current) != cuda::kSuccess || !current)
      throw runtime::ArgumentError("managed memory is made for the current CUDA context, and there is none");
    constexpr unsigned kForAll = 1;
    cuda::DevicePtr memory = 0;
    const cuda::Result code = system.api().memory_allocate_managed(&memory, bytes ? bytes : 1, kForAll);
    if (code == cuda::kErrorOutOfMemory) return cuda::DevicePtr(0);
    if (code != cuda::kSuccess) cuda::throw_driver_error(system.api(), code, "memory_allocate_managed");
    return memory;
  });
  m.def("cuda_managed_free", [](std::uintptr_t memory) { cuda::System::shared().api().memory_free(memory); });
  nb::class_<DeviceRef>(m, "CudaDevice", "A CUDA device; warp's Device objects use it.")
      .def("__init__", [](DeviceRef* self, int ordinal) { new (self) DeviceRef{&device_at(ordinal)}; })
      .def(
          "facts", [](const DeviceRef& d) { return facts_of(*d.device); }, "What the device is.")
      .def("context", [](const DeviceRef& d) { return reinterpret_cast<std::uintptr_t>(d.device->context()); })
      .def_prop_ro("place", [](const DeviceRef& d) { return d.device->ordinal(); })
      .def_prop_ro("number", [](const DeviceRef& d) { return d.device->number(); })
      .def_prop_ro("primary", [](const DeviceRef& d) { return d.device->is_primary(); })
      .def("has_context", [](const DeviceRef& d) { return d.device->has_context(); })
      .def("make_current",
           [](const DeviceRef& d) {
             cuda::ContextHandle context = d.device->context();
             WEFT_CUDA(d.device->api(), context_set, context);
           })
      .def(
          "profile",
          [](const DeviceRef& d, bool on) {
            cuda::ContextScope scope(*d.device);
            const auto call = on ? d.device->api().profiler_start : d.device->api().profiler_stop;
            if (!call) return;
            if (const cuda::Result code = call(); code != cuda::kSuccess)
              cuda::throw_driver_error(d.device->api(), code, on ? "profiler_start" : "profiler_stop");
          },
          nb::arg("on"), "Tells a profiler to begin or to end.")
      .def("free_memory", [](const DeviceRef& d) { return d.device->free_memory(); })
      .def(
          "synchronize",
          [](const DeviceRef& d) {
            GilRelease release;
            d.device->synchronize();
          },
          "Waits for all work; raises failed checks of kernels.")
      .def("allocator",
           [](const DeviceRef& d) -> nb::object {
             const auto own = std::dynamic_pointer_cast<PythonAllocator>(d.device->allocator());
             return own ? own->object() : nb::none();
           })
      .def(
          "set_allocator",
          [](const DeviceRef& d, nb::object allocator) {
            d.device->set_allocator(allocator.is_none() ? nullptr
                                                        : std::make_shared<PythonAllocator>(std::move(allocator)));
          },
          nb::arg("allocator").none())
      .def("take_memory",
           [](const DeviceRef& d, std::uint64_t bytes) { return HeldMemory{d.device->allocate_here(bytes, false)}; })
      .def("pool_enabled", [](const DeviceRef& d) { return d.device->pool_enabled(); })
      .def("enable_pool", [](const DeviceRef& d, bool on) { d.device->enable_pool(on); })
      .def("pool_threshold", [](const DeviceRef& d) { return d.device->pool_value(cuda::kPoolReleaseThreshold); })
      .def("set_pool_threshold", [](const DeviceRef& d, std::uint64_t n) { d.device->set_pool_threshold(n); })
      .def("pool_used", [](const DeviceRef& d) { return d.device->pool_value(cuda::kPoolUsedNow); })
      .def("pool_used_most", [](const DeviceRef& d) { return d.device->pool_value(cuda::kPoolUsedMost); })
      .def("can_access", [](const DeviceRef& d, const DeviceRef& peer) { return d.device->can_access(*peer.device); })
      .def("peer_enabled", [](const DeviceRef& d, const DeviceRef& p) { return d.device->peer_enabled(*p.device); })
      .def("enable_peer", [](const DeviceRef& d, const DeviceRef& p, bool on) { d.device->enable_peer(*p.device, on); })
      .def("pool_access_enabled",
           [](const DeviceRef& d, const DeviceRef& p) { return d.device->pool_access_enabled(*p.device); })
      .def("enable_pool_access",
           [](const DeviceRef& d, const DeviceRef& p, bool on) { d.device->enable_pool_access(*p.device, on); });
  m.def(
      "cuda_adopt_context",
      [](std::uintptr_t context) {
        // The driver looks behind any handle it is given: what is not even memory is refused here.
        char byte = 0;
        iovec here{&byte, 1}, there{reinterpret_cast<void*>(context), 1};
        if (context && process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1 && errno == EFAULT)
          throw runtime::ArgumentError("the handle " + std::to_string(context) + " is no CUDA context");
        return DeviceRef{&cuda::System::shared().adopt_context(reinterpret_cast<cuda::ContextHandle>(context))};
      },
      "The device of a CUDA context of any library; 0: the one that is current in this thread.");
  m.def("cuda_pointer_place", &pointer_place,
        "Which device's memory an address is in; None if it is no memory that CUDA knows.");
}

}  // namespace weft::bind
