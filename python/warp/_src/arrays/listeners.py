"""Who hears of what arrays do: the tape that records, and forward mode, which carries tangents along.

Copies and fills tell C++ (`_weft.set_tape_hooks`). What Python does to arrays by NumPy is told to the functions named at
the end, which lie above arrays, among the gradients.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Iterator

from warp import _weft

forward: Any = None  # the ForwardMode that is active; it hears of the same things


_own = threading.local()  # .work: how deep this thread is in work on tangents


def follows() -> Any:
    """The forward mode that follows what this thread does, or None."""
    return forward if forward is not None and _weft.forward_mode() and not getattr(_own, "work", 0) else None


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """While it lasts, forward mode does not follow this thread, which works on tangents; tapes do."""
    _own.work = getattr(_own, "work", 0) + 1
    try:
        yield
    finally:
        _own.work -= 1


def recording(*arrays: Any) -> Any:
    """Who hears of work on arrays, if one of them has a gradient: the tape that records what this thread does, or tapes that
    wait for what they have recorded before; else None."""
    return _weft.work_listener() if any(a is not None and a.requires_grad for a in arrays) else None


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """While it lasts, no tape records what this thread does."""
    _weft.TapeCore._suspend(1)
    try:
        yield
    finally:
        _weft.TapeCore._suspend(-1)


# `api/wiring.py` sets these; gradients/tape_record.py says what they do.
record_assignment: Callable[[Any, Any, bool], None]
record_gather: Callable[[Any, Any, tuple], None]
record_scatter: Callable[..., None]
