"""Devices: the CPU and CUDA devices, and which one is current, for the process and inside of scopes for their thread. The
CUDA driver is opened when a program first asks for devices, or for the current one; on a machine without one that costs
nothing and says nothing."""

from __future__ import annotations

import enum
import os
from _thread import _local as thread_local, allocate_lock
from typing import Any, Callable, Union

from warp import _weft


class MemoryKind(enum.IntEnum):
    """Where the memory of an array lies."""

    UNKNOWN = 0
    HOST = 1
    PINNED = 2
    CUDA_DEVICE = 3
    CUDA_MEMPOOL = 4
    CUDA_MANAGED = 5


class Device:
    """The CPU. Compares equal to its alias: `device == "cpu"`."""

    alias = "cpu"
    """The name by which programs choose the device."""
    _own_name = "cpu"
    ordinal = -1
    """The number of a CUDA device; -1 for the CPU."""
    is_cpu = True
    """True for the CPU."""
    is_cuda = False
    """True for CUDA devices."""
    is_primary = False
    is_uva = False
    """Whether host and device share one address space; False for the CPU itself."""
    is_mempool_supported = False
    """Whether the device has stream-ordered memory pools."""
    is_mempool_enabled = False
    """Whether such a pool is in use."""
    is_ipc_supported = False
    is_cubin_supported = False
    is_managed_memory_supported = False
    arch = 0
    """Compute capability × 10 of a CUDA device; 0 for the CPU."""
    sm_count = 0
    """Multiprocessors of a CUDA device; 0 for the CPU."""
    max_shared_memory_per_block = 0
    uuid: str | None = None
    """The UUID of a CUDA device."""
    pci_bus_id: str | None = None
    """The PCI address of a CUDA device."""
    has_context = False
    has_stream = False
    """Whether the device has a stream; only CUDA devices do."""
    context = None
    """The CUDA context; None for the CPU."""
    null_stream = None

    @property
    def name(self) -> str:
        """What the hardware is called."""
        return _weft.host_target()[1]

    @property
    def is_capturing(self) -> bool:
        """Whether a graph is being captured on the device; on the CPU, by the calling thread."""
        return _weft.host_capturing()

    @property
    def cores(self) -> int:
        """Threads that a launch uses."""
        return _weft.thread_count()

    @property
    def stream(self) -> Any:
        """The current stream; RuntimeError on the CPU, whose launches are done when they return."""
        raise not_cuda(self)

    @stream.setter
    def stream(self, stream: Any) -> None:
        raise not_cuda(self)

    def set_stream(self, stream: Any, sync: bool = True) -> None:
        """Makes a stream current; RuntimeError on the CPU."""
        raise not_cuda(self)

    @property
    def total_memory(self) -> int:
        """Bytes of memory that the machine has."""
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    @property
    def free_memory(self) -> int:
        """Bytes of memory that can be had now."""
        try:
            with open("/proc/meminfo", encoding="ascii") as file:
                for line in file:
                    if line.startswith("MemAvailable:"):
                        return int(line.split()[1]) * 1024
        except OSError:
            pass
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")

    def make_current(self) -> None:
        """Makes the CUDA context current; nothing to do on the CPU."""

    def can_access(self, other: Any) -> bool:
        """Whether kernels on this device can reach memory of the other one."""
        return get_device(other) is self

    def get_cuda_compile_arch(self) -> int | None:
        """The architecture that code is made for; None on the CPU."""
        return None

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return f"'{self.alias}'"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self is other
        return isinstance(other, str) and other == self.alias

    def __hash__(self) -> int:
        return hash(self._own_name)

    def __reduce__(self) -> tuple:
        return get_device, (self.alias,)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: dict) -> Device:
        return self


DeviceLike = Union[Device, str, None]
"""What is taken where a device is meant: a device, its name, or None for the current one."""

CPU = Device()

ON_CPU, ON_PINNED = -1, -2
"""Numbers for places of memory that are no CUDA device; see src/bind/kernel_object.h."""


class _ThreadChoice(thread_local):
    """What scopes of the calling thread chose."""

    device: Device | None = None  # None: outside of scopes
    cuda: Device | None = None  # what "cuda" means there

    def __init__(self) -> None:
        self.before: list[tuple[Device | None, Device | None]] = []  # of the scopes around, outermost first


choice = _ThreadChoice()


class _Selection:
    """The devices of the machine and the one that is current for the process."""

    __slots__ = (
        "aliases",
        "current",
        "devices",
        "last_cuda",
        "lock",
        "mapped",
        "on_cpu",
        "problem",
        "scopes",
        "started",
        "version",
    )

    def __init__(self) -> None:
        self.current: Device | None = None  # None: nobody has asked yet
        self.devices: list[Device] | None = None  # CUDA devices
        self.mapped: dict[int, Device] = {}  # contexts of other libraries, by place; those unmapped stay
        self.aliases: dict[str, Device] = {}  # names given by map_cuda_device
        self.last_cuda: Device | None = None  # what "cuda" means
        self.on_cpu = False  # the current device is known to be the CPU, in whichever thread
        self.scopes = 0  # how many threads' scopes chose another device than the CPU
        self.lock = allocate_lock()  # guards `scopes`
        self.problem = ""  # why there are no CUDA devices
        self.version = 0  # of the driver
        self.started: Callable[[], None] | None = None  # told when devices were first asked for; `api/wiring.py` sets it

    def find(self) -> list[Device]:
        """The CUDA devices."""
        if self.devices is None:
            count, self.version, self.problem = _weft.cuda_open()
            found: list[Device] = []
            if count:
                from warp._src.devices.cuda_device import CudaDevice

                found = [CudaDevice(n) for n in range(count)]
                self.last_cuda = found[0]
            self.devices = found
            self.tell()
            if self.started is not None:
                self.started()
        return self.devices

    def tell(self) -> None:
        """Tells launches which objects and names are which devices."""
        found = self.devices or []
        numbers: dict[Any, int] = {}
        for device in [*found, *self.mapped.values()]:
            numbers[device] = device.ordinal
        numbers.update({f"cuda:{n}": n for n in range(len(found))})
        numbers.update({name: device.ordinal for name, device in self.aliases.items()})
        if len(found) == 1 and not self.mapped:
            numbers["cuda"] = 0
        _weft.set_launch_devices(numbers)

    def all(self) -> list[Device]:
        """The CUDA devices, then the contexts of other libraries that have a name."""
        named = [d for d in self.mapped.values() if self.aliases.get(d.alias) is d]
        return [*self.find(), *named]

    def use(self, device: Device) -> None:
        """Makes a device current for the process."""
        with self.lock:
            self.current = device
            self.on_cpu = device is CPU and not self.scopes
        if device.is_cuda:
            self.last_cuda = device
        _weft.set_launch_device(device.ordinal)

    def now(self) -> Device:
        """The current device of the process; the first CUDA device unless a program chose one."""
        if self.current is None:
            found = self.find()
            self.use(found[0] if found else CPU)
        return self.current  # type: ignore[return-value]

    def enter(self, device: Device) -> None:
        """Begins a scope of the calling thread."""
        choice.before.append((choice.device, choice.cuda))
        self._choose(device, device if device.is_cuda else choice.cuda)

    def leave(self) -> None:
        """Ends the calling thread's innermost scope; nothing to do in a thread that has none (a scope that was entered in
        another one)."""
        if choice.before:
            self._choose(*choice.before.pop())

    def replace(self, device: Device) -> None:
        """Makes a device current: inside of a scope for its thread and until its end, else for the process."""
        if choice.before:
            self._choose(device, device if device.is_cuda else choice.cuda)
        else:
            self.use(device)

    def _choose(self, device: Device | None, cuda: Device | None) -> None:
        counts = [one is not None and one is not CPU for one in (choice.device, device)]
        if counts[0] != counts[1]:
            with self.lock:
                self.scopes += 1 if counts[1] else -1
                self.on_cpu = self.current is CPU and not self.scopes
        choice.device, choice.cuda = device, cuda
        _weft.set_thread_device(None if device is None else device.ordinal)


selection = _Selection()


def place_of(device: Any, pinned: Any = False) -> int:
    """The number by which C++ knows a device's memory; RuntimeError for page-locked memory without CUDA."""
    chosen = CPU if pinned and device is None else get_device(device)
    if not pinned:
        return chosen.ordinal
    if chosen is not CPU:
        raise RuntimeError(f"page-locked memory is the CPU's, not that of {chosen}; leave pinned= or device= out")
    if not selection.find():
        raise RuntimeError("pinned memory needs a CUDA device, and there is none here; leave pinned= out")
    return ON_PINNED


def device_at(place: int) -> Device:
    """The device of such a number."""
    if place < 0:
        return CPU
    found = selection.find()
    return found[place] if place < len(found) else selection.mapped[place]


def not_cuda(device: object) -> RuntimeError:
    """The error for what only CUDA devices have."""
    return RuntimeError(f"Device {device} is not a CUDA device: it has no streams, events or memory pools")


def get_device(ident: Any = None) -> Device:
    """The device of that name; None is the current one. ValueError for unknown names."""
    if ident is None:
        return choice.device or selection.current or selection.now()
    if isinstance(ident, Device):
        return ident
    if isinstance(ident, str):
        if ident == "cpu":
            return CPU
        if ident in selection.aliases:
            return selection.aliases[ident]
        if ident == "cuda":
            found = selection.find()
            if not found:
                raise RuntimeError(
                    f"CUDA is not available: no device 'cuda'; use device='cpu' ({selection.problem})"
                )
            return choice.cuda or selection.last_cuda or found[0]
        if ident.startswith("cuda:") and ident[5:].isdecimal():
            found = selection.find()
            if int(ident[5:]) < len(found):
                return found[int(ident[5:])]
            if not found:
                raise ValueError(f"Invalid device identifier: {ident}; use device='cpu' ({selection.problem})")
            last = f"cuda:{len(found) - 1}"
            why = f" ({selection.problem})" if selection.problem else ""
            raise ValueError(f"Invalid device identifier: {ident}; the last CUDA device here is {last}{why}")
    raise ValueError(
        f"Invalid device identifier: {ident}; names are 'cpu', 'cuda', 'cuda:0' and so on, and what wp.map_cuda_device made"
    )


def get_devices() -> list[Device]:
    """All devices: the CPU, then CUDA devices."""
    return [CPU, *selection.all()]


def get_cuda_devices() -> list[Device]:
    """All CUDA devices."""
    return selection.all()


def map_cuda_device(alias: str, context: Any = None) -> Device:
    """Gives a name to a CUDA context: a handle (a number or ctypes.c_void_p), or None for the one that is current in the
    calling thread. A device is made for a context that has none; the device of a known context gets the name."""
    if not isinstance(alias, str) or not alias:
        raise TypeError(f"the alias of a device is a name, not {alias!r}")
    if alias == "cpu" or alias == "cuda" or (alias.startswith("cuda:") and alias[5:].isdecimal()):
        raise ValueError(f"{alias!r} is a device's own name; choose another alias")
    if not selection.find():
        raise RuntimeError(f"CUDA is not available: no context to map ({selection.problem})")
    handle = getattr(context, "value", context)
    native = _weft.cuda_adopt_context(0 if handle is None else int(handle))
    known = selection.aliases.get(alias)
    place = native.place
    if known is not None and known.ordinal != place:
        raise ValueError(f"the alias {alias!r} is taken by another device; call wp.unmap_cuda_device first")
    if place < len(selection.find()):
        device = selection.find()[place]
    elif place in selection.mapped:
        device = selection.mapped[place]
    else:
        from warp._src.devices.cuda_device import CudaDevice

        device = selection.mapped[place] = CudaDevice(place)
    for name in [n for n, d in selection.aliases.items() if d is device]:
        del selection.aliases[name]
    device.alias = alias
    selection.aliases[alias] = device
    selection.tell()
    return device


def unmap_cuda_device(alias: str) -> None:
    """Takes back a name that map_cuda_device gave. Arrays and streams of the device stay usable as long as its context."""
    device = selection.aliases.get(alias)
    if device is None:
        raise RuntimeError(f"no device was mapped to the alias {alias!r}")
    del selection.aliases[alias]
    if device.ordinal < len(selection.find()):
        device.alias = f"cuda:{device.ordinal}"
    else:
        if selection.current is device:
            selection.use(selection.find()[0])
        if selection.last_cuda is device:
            selection.last_cuda = selection.find()[0]
    selection.tell()


def get_cuda_device(ordinal: int | None = None) -> Device:
    """A CUDA device by its number; None is the current one. RuntimeError where there is none."""
    if ordinal is None:
        return get_device("cuda")
    if not isinstance(ordinal, int):
        raise TypeError(f"a CUDA device has a number, not {ordinal!r}; wp.get_device takes names")
    found = selection.find()
    if not 0 <= ordinal < len(found):
        raise RuntimeError(
            f"there is no CUDA device {ordinal}; this machine has {len(found)}"
            if found
            else f"CUDA is not available: there is no CUDA device {ordinal} ({selection.problem})"
        )
    return found[ordinal]


def get_cuda_device_count() -> int:
    """How many CUDA devices there are."""
    return len(selection.find())


def get_cuda_driver_version() -> tuple[int, int] | None:
    """The newest CUDA version that the driver supports; None without one."""
    selection.find()
    return (selection.version // 1000, selection.version % 1000 // 10) if selection.version else None


def get_cuda_toolkit_version() -> tuple[int, int] | None:
    """The CUDA version that machine code for GPUs is made with: of the PTX compiler that is linked in, else of the driver;
    None where there is neither."""
    version = _weft.cuda_ptx_compiler()[0]
    return (version // 1000, version % 1000 // 10) if version else get_cuda_driver_version()


def get_cuda_supported_archs() -> list[int]:
    """Architectures that code can be compiled for on CUDA devices; empty where there is none."""
    return [70, 72, 75, 80, 86, 87, 89, 90] if selection.find() else []


def get_preferred_device() -> Device:
    """The first CUDA device, or the CPU where there is none."""
    found = selection.find()
    return found[0] if found else CPU


def set_device(ident: Any) -> None:
    """Makes a device the current one, which is used where no device is given: for the whole process, or inside of
    `ScopedDevice` and `ScopedStream` for their thread, until they end."""
    selection.replace(get_device(ident))


def is_cpu_available() -> bool:
    """Whether kernels can run on the CPU; they always can."""
    return True


def is_cuda_available() -> bool:
    """Whether there is a CUDA device."""
    return bool(selection.find())


def is_device_available(device: Any) -> bool:
    """Whether there is such a device."""
    try:
        return get_device(device) in get_devices()
    except (RuntimeError, ValueError):
        return False


def can_access(device: Any, resource: Any) -> bool:
    """Whether kernels on a device can reach an array or another object that lies on a device."""
    return get_device(device).can_access(getattr(resource, "device", resource))


class ScopedDevice:
    """`with wp.ScopedDevice("cuda:0"):` makes a device current for the calling thread and restores the previous one. Other
    threads keep theirs."""

    def __init__(self, device: Any):
        self.device = get_device(device)

    def __enter__(self) -> Device:
        selection.enter(self.device)
        return self.device

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        selection.leave()


def synchronize() -> None:
    """Waits for the work of all CUDA devices; CPU launches are done when they return. Raises what kernels' checks found
    meanwhile."""
    _weft.host_refuse("wait for the device")
    if _weft.cuda_is_open():
        for device in [*selection.find(), *selection.mapped.values()]:
            device._native.synchronize()  # type: ignore[attr-defined]


def synchronize_device(device: Any = None) -> None:
    """Waits for the work of a device; CPU launches are done when they return."""
    chosen = get_device(device)
    if chosen.is_cuda:
        chosen._native.synchronize()  # type: ignore[attr-defined]
    else:
        _weft.host_refuse("wait for the device")
