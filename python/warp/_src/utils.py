"""Small helpers that programs lean on: timers, start-up, what a bug report needs."""

from __future__ import annotations

import sys
import time

from warp import _weft
from warp._src import config
from warp._src.device import CPU

_initialized = False
_indent = -1


def init() -> None:
    """Starts the runtime and, unless `wp.config.quiet`, says what it found. Called by itself where needed."""
    global _initialized
    if _initialized:
        return
    _initialized = True
    if config.quiet:
        return
    triple, cpu, lanes = _weft.host_target()
    print(f"Warp {config.version} initialized (Weft {_weft.version()}):")
    print("   CUDA not enabled in this build")
    print("   Devices:")
    print(f'     "{CPU.alias}"      : {cpu} ({triple}, {_weft.thread_count()} threads, {lanes} lanes)')
    print(f"   Kernel cache:\n     {_weft.cache_folder() or 'none'}")


def is_initialized() -> bool:
    return _initialized


class ScopedTimer:
    """Measures a block: `with wp.ScopedTimer("step"):` prints "step took 1.23 ms"."""

    def __init__(
        self,
        name: str,
        active: bool = True,
        print: bool = True,  # noqa: A002 - the documented keyword
        detailed: bool = False,
        dict: dict | None = None,  # noqa: A002
        use_nvtx: bool = False,
        color: str = "rapids",
        synchronize: bool = False,
        cuda_filter: int = 0,
        report_func: object = None,
        skip_tape: bool = False,
    ):
        self.name = name
        self.active = active
        self.print = print
        self.dict = dict
        self.elapsed = 0.0
        if dict is not None and name not in dict:
            dict[name] = []

    def __enter__(self) -> ScopedTimer:
        global _indent
        if self.active:
            _indent += 1
            self.start = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        global _indent
        if not self.active:
            return
        self.elapsed = (time.perf_counter() - self.start) * 1000.0
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        if self.print:
            sys.stdout.write("   " * _indent + f"{self.name} took {self.elapsed:.2f} ms\n")
        _indent -= 1


def report() -> str:
    """What a bug report needs, as text."""
    import platform

    import numpy

    triple, cpu, lanes = _weft.host_target()
    lines = [
        f"weft {_weft.version()} (build {_weft.build_id()}), API of warp {config.version}",
        f"python {platform.python_version()} on {platform.platform()}, numpy {numpy.__version__}",
        f"cpu {cpu}, {triple}, {lanes} lanes, {_weft.thread_count()} threads",
        f"kernel cache {_weft.cache_folder() or 'none'}",
    ]
    return "\n".join(lines)
