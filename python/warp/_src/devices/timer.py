"""ScopedTimer: how long a block took, printed with the nesting of timers as indentation."""

from __future__ import annotations

import time
from typing import Any, Callable

from warp._src.devices import device, profiling
from warp._src.session import logger


class ScopedTimer:
    """Measures a block: `with wp.ScopedTimer("step"):` prints "step took 1.23 ms".

    Args:
        name: what is measured.
        active: False does nothing.
        print: whether the time is printed.
        detailed: prints a profile of the Python functions called, too.
        dict: a dictionary whose list under `name` gets the milliseconds.
        use_nvtx: marks the block for NVIDIA's profilers instead of printing (needs the `nvtx` package).
        color: of that mark.
        synchronize: waits for all devices before and after.
        cuda_filter: which activities on CUDA devices are measured, `wp.TIMING_*` flags; none happen on the CPU.
        report_func: called with the activities and the indentation instead of `wp.timing_print`.
        skip_tape: keeps the timer off an active tape.
    """

    indent = -1
    """How deep timers are nested."""
    enabled = True
    """False switches all timers off."""

    def __init__(
        self,
        name: str,
        active: bool = True,
        print: bool = True,  # noqa: A002 - the documented keyword
        detailed: bool = False,
        dict: dict[str, list[float]] | None = None,  # noqa: A002
        use_nvtx: bool = False,
        color: int | str = "rapids",
        synchronize: bool = False,
        cuda_filter: int = 0,
        report_func: Callable[[list, str], None] | None = None,
        skip_tape: bool = False,
    ):
        self.name = name
        self.active = active and self.enabled
        self.print = print
        self.detailed = detailed
        self.dict = dict
        self.use_nvtx = use_nvtx
        self.color = color
        self.synchronize = synchronize
        self.skip_tape = skip_tape
        self.cuda_filter = cuda_filter
        self.report_func = report_func
        self.elapsed = 0.0
        """Milliseconds that the block took, known when it ends."""
        self.extra_msg = ""  # programs may add to the line before it is printed
        self.timing_results: list = []
        if self.dict is not None:
            self.dict.setdefault(name, [])

    def __enter__(self) -> ScopedTimer:
        if not self.active:
            return self
        if self.synchronize:
            device.synchronize()
        if self.detailed:
            import cProfile

            self.profiler = cProfile.Profile()
            self.profiler.enable()
        if self.use_nvtx:
            self._range = _nvtx_range(self.name, self.color)
        if self.cuda_filter:
            profiling.timing_begin(self.cuda_filter, synchronize=False)
        if self.print:
            ScopedTimer.indent += 1
        self.start = time.perf_counter_ns()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if not self.active:
            return
        if self.synchronize:
            device.synchronize()
        self.elapsed = (time.perf_counter_ns() - self.start) / 1e6
        if self.cuda_filter:
            self.timing_results = profiling.timing_end(synchronize=False)
        if self.detailed:
            self.profiler.disable()
            self.profiler.print_stats(sort="tottime")
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        if self.use_nvtx:
            import nvtx

            nvtx.end_range(self._range)
        if not self.print:
            return
        indent = "    " * ScopedTimer.indent
        if self.timing_results:
            (self.report_func or profiling.timing_print)(self.timing_results, indent)
        text = f"{indent}{self.name} took {self.elapsed:.2f} ms"
        print(f"{text} {self.extra_msg}" if self.extra_msg else text)
        ScopedTimer.indent -= 1


def _nvtx_range(name: str, color: int | str) -> Any:
    try:
        import nvtx
    except ImportError:
        logger.log_error("wp.ScopedTimer(use_nvtx=True) needs the package nvtx: pip install nvtx")
        raise
    return nvtx.start_range(name, color=color)
