"""How much array memory was allocated: `wp.ScopedMemoryTracker`, and `wp.print_memory_report` for the whole process."""

from __future__ import annotations

from typing import Any, Callable

from warp import _weft


def _size(count: int) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count} B" if unit == "B" else f"{count:.2f} {unit}"
        count = count / 1024  # type: ignore[assignment]
    return ""


class ScopedMemoryTracker:
    """`with wp.ScopedMemoryTracker("step"):` reports how much array memory a block allocated and still holds."""

    def __init__(
        self,
        name: str = "root",
        active: bool = True,
        print: bool = True,  # noqa: A002 - the documented keyword
        report_func: Callable[[str], None] | None = None,
    ):
        self.name = name
        self.active = active
        self.print = print
        self.report_func = report_func
        self.clear()

    def __enter__(self) -> ScopedMemoryTracker:
        self.clear()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if self.active and (self.print or self.report_func):
            self.report()

    def clear(self) -> None:
        """Counts from now on."""
        self._start = _weft.memory_stats()

    def text(self) -> str:
        """The report as text."""
        live, blocks, peak, total = _weft.memory_stats()
        live0, blocks0, peak0, total0 = self._start
        held = f"{blocks - blocks0:+d} ({'-' if live < live0 else '+'}{_size(abs(live - live0))})"
        lines = [
            f"Allocation Tracking Report ({self.name})",
            f"  Total allocations:   cpu  {total - total0}",
            f"  Change of live ones: cpu  {held}",
            f"  Live allocations:    cpu  {blocks} ({_size(live)})",
            f"  Peak of the process: cpu  {_size(peak)}",
        ]
        return "\n".join(lines)

    def report(self, file: Any = None, sort: str = "size", max_items: int = 10) -> None:
        """Prints the report, or hands it to report_func."""
        if self.report_func is not None:
            self.report_func(self.text())
        else:
            print(self.text(), file=file)


_since_start: ScopedMemoryTracker | None = None


def track_memory(wanted: bool) -> None:
    """Starts or stops counting for `wp.print_memory_report`; config.track_memory calls it."""
    global _since_start
    _since_start = ScopedMemoryTracker("process") if wanted else None


def print_memory_report(file: Any = None, sort: str = "size", max_items: int = 10) -> None:
    """Prints how much array memory was allocated since `wp.config.track_memory = True`."""
    if _since_start is None:
        raise RuntimeError(
            "Allocation tracking is not active. Set wp.config.track_memory = True first, or use "
            "wp.ScopedMemoryTracker as a context manager."
        )
    _since_start.report(file, sort, max_items)


__all__ = ["ScopedMemoryTracker", "print_memory_report"]
