"""Memory of this process and how much of a stress test to run: WEFT_STRESS=1 asks for the full form."""

from __future__ import annotations

import ctypes
import gc
import os
import typing

FULL = os.environ.get("WEFT_STRESS", "0") not in ("", "0")


def resident_kib() -> int:
    """Memory that the process holds now, after everything that can be given back was."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:  # not glibc
        pass
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def growth_kib(step: typing.Callable[[int], object], count: int, warm_up: int) -> int:
    """How much memory `count` steps leave behind after `warm_up` steps."""
    for k in range(warm_up):
        step(k)
    before = resident_kib()
    for k in range(warm_up, warm_up + count):
        step(k)
    return resident_kib() - before
