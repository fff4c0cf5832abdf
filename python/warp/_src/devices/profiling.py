"""What CUDA devices spend their time on: activities measured by events (`wp.timing_begin`), and the range that an
external profiler looks at."""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.devices.device import Device, device_at, get_device, synchronize


class TimingResult:
    """How long one piece of work took on a device."""

    def __init__(self, device: Any, name: str, filter: int, elapsed: float):  # noqa: A002 - the documented name
        self.device = device
        """Where it ran."""
        self.name = name
        """What it was: "forward kernel saxpy", "memcpy HtoD", "memset", "graph"…"""
        self.filter = filter
        """Its kind, one of the `wp.TIMING_*` flags."""
        self.elapsed = elapsed
        """Milliseconds."""

    def __repr__(self) -> str:
        return f"TimingResult({str(self.device)!r}, {self.name!r}, {self.filter}, {self.elapsed})"


def timing_begin(cuda_filter: int = 0xFFFFFFFF, synchronize: bool = True) -> None:
    """Measures kernels, copies, fills and graphs on all CUDA devices from now on, those whose `wp.TIMING_*` flags the filter
    has; `wp.timing_end` gives the times. `synchronize` waits for all work before. On the CPU there is nothing to measure.
    Ranges may be nested."""
    if not isinstance(cuda_filter, int) or not 0 <= cuda_filter <= 0xFFFFFFFF:
        raise TypeError(f"cuda_filter is a combination of wp.TIMING_* flags, got {cuda_filter!r}")
    if synchronize:
        _wait()
    _weft.cuda_timing_begin(cuda_filter)


def timing_end(synchronize: bool = True) -> list[TimingResult]:
    """Ends the range that `wp.timing_begin` began: a `wp.TimingResult` for each piece of work, in the order in which they
    were queued. `synchronize` waits for all work first; without it, for the work that was measured."""
    try:
        if synchronize:
            _wait()
    except BaseException:
        _weft.cuda_timing_end()
        raise
    return [TimingResult(device_at(place), *rest) for place, *rest in _weft.cuda_timing_end()]


def _wait() -> None:
    if _weft.cuda_is_open():
        synchronize()


def _table(title: str, columns: tuple[str, str, str], rows: list[tuple[float, str, str]]) -> list[str]:
    rule = f"{'-' * 16}+{'-' * 9}+{'-' * (1 + max(len(row[2]) for row in rows))}"
    lines = [title, rule, f"{columns[0]:<16}| {columns[1]:<8}| {columns[2]}", rule]
    return [*lines, *(f"{milliseconds:12.6f} ms | {middle} | {last}" for milliseconds, middle, last in rows)]


def timing_print(results: list[TimingResult], indent: str = "") -> None:
    """Prints what `wp.timing_end` gave: all activities in their order, then sums by activity and by device."""
    if not results:
        print(f"{indent}No activity")
        return

    def summed(key: str) -> list[tuple[float, str, str]]:
        sums: dict[str, list[float]] = {}
        for one in results:
            sums.setdefault(str(getattr(one, key)), []).append(one.elapsed)
        return [(sum(times), f"{len(times):7}", name) for name, times in sums.items()]

    timeline = [(one.elapsed, f"{str(one.device):<7}", one.name) for one in results]
    lines = _table("CUDA timeline:", ("Time", "Device", "Activity"), timeline)
    lines += ["", *_table("CUDA activity summary:", ("Total time", "Count", "Activity"), summed("name"))]
    lines += ["", *_table("CUDA device summary:", ("Total time", "Count", "Device"), summed("device"))]
    print("\n".join(f"{indent}{line}" if line else "" for line in lines))


def _profile(device: Device, on: bool) -> None:
    if device.is_cuda:
        device._native.profile(on)  # type: ignore[attr-defined]


def cuda_profiler_start(device: Any = None) -> None:
    """Tells a profiler that watches the program to begin (`nsys --capture-range=cudaProfilerApi`, `ncu --profile-from-start
    off`), for the context of a device. On the CPU this does nothing."""
    _profile(get_device(device), True)


def cuda_profiler_stop(device: Any = None) -> None:
    """Tells a profiler that watches the program to pause; see `wp.cuda_profiler_start`."""
    _profile(get_device(device), False)


class ScopedCudaProfiler:
    """`with wp.ScopedCudaProfiler():` lets a profiler look at a block alone. The device is the one that is current when this
    is made."""

    def __init__(self, device: Any = None):
        self.device = get_device(device)

    def __enter__(self) -> ScopedCudaProfiler:
        _profile(self.device, True)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _profile(self.device, False)


__all__ = [
    "ScopedCudaProfiler",
    "TimingResult",
    "cuda_profiler_start",
    "cuda_profiler_stop",
    "timing_begin",
    "timing_end",
    "timing_print",
]
