"""Devices. A CPU today; CUDA devices come with their own issue."""

from __future__ import annotations

import platform

from warp import _weft


class Device:
    """The CPU. Compares equal to its alias: `device == "cpu"`."""

    alias = "cpu"
    name = platform.processor() or platform.machine()
    ordinal = -1
    is_cpu = True
    is_cuda = False
    is_uva = False
    is_mempool_supported = False
    is_mempool_enabled = False
    is_primary = True
    arch = 0

    @property
    def cores(self) -> int:
        """Threads that a launch uses."""
        return _weft.thread_count()

    @property
    def stream(self) -> None:
        raise RuntimeError("Device cpu has no streams")

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return f"'{self.alias}'"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self is other
        return isinstance(other, str) and other == self.alias

    def __hash__(self) -> int:
        return hash(self.alias)


CPU = Device()


def get_device(ident: object = None) -> Device:
    """The device of that name; None is the current one."""
    if ident is None or ident is CPU or ident == "cpu":
        return CPU
    if isinstance(ident, str) and (ident == "cuda" or ident.startswith("cuda:")):
        raise RuntimeError(f"CUDA is not available: no device '{ident}'; use device='cpu'")
    raise ValueError(f"Invalid device identifier: {ident!r}")


def get_devices() -> list[Device]:
    return [CPU]


def get_cuda_devices() -> list[Device]:
    return []


def get_cuda_device_count() -> int:
    return 0


def get_preferred_device() -> Device:
    return CPU


def set_device(ident: object) -> None:
    get_device(ident)


def is_cpu_available() -> bool:
    return True


def is_cuda_available() -> bool:
    return False


def is_device_available(device: object) -> bool:
    return device is CPU or device == "cpu"


class ScopedDevice:
    """`with wp.ScopedDevice("cpu"):` makes a device current and restores the previous one."""

    def __init__(self, device: object):
        self.device = get_device(device)

    def __enter__(self) -> Device:
        return self.device

    def __exit__(self, *exc: object) -> None:
        return None


def synchronize() -> None:
    """Waits for all work; CPU launches are done when they return."""


def synchronize_device(device: object = None) -> None:
    get_device(device)


def synchronize_stream(stream: object = None) -> None:
    """Nothing to wait for on the CPU."""
