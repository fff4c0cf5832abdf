"""Who hears of what arrays do: the tape that records, and forward mode, which carries tangents along.

Copies and fills tell C++ (`_weft.set_tape_hooks`). What Python does to arrays by NumPy is told to the functions named at
the end, which lie above arrays, among the gradients.
"""

from __future__ import annotations

import contextlib
from _thread import _local as thread_local
from typing import Any, Callable, Iterator

from warp import _weft


class _Own(thread_local):
    """What concerns the calling thread alone."""

    work = 0  # how deep it is in work on tangents
    forward: Any = None  # its ForwardMode, which hears of the same things


_own = _Own()


def active_forward() -> Any:
    """The forward mode that launches of this thread run in, or None."""
    return _own.forward if _weft.forward_mode() else None


def begin_forward(mode: Any) -> Any:
    """Lets a forward mode follow this thread; the one before, which is put aside (`apart`)."""
    before, _own.forward = _own.forward, mode
    _weft.set_forward_mode(True)
    return before


def end_forward(before: Any) -> None:
    """Ends what `begin_forward` began."""
    _weft.set_forward_mode(False)
    _own.forward = before


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """While it lasts, this thread works for another engine than the program, PyTorch's or JAX's: it is followed only by tapes
    and forward modes that it begins itself."""
    _weft.begin_work_apart()
    try:
        yield
    finally:
        _weft.end_work_apart()


def follows() -> Any:
    """The forward mode that follows what this thread does, or None."""
    return None if _own.work else active_forward()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """While it lasts, forward mode does not follow this thread, which works on tangents; tapes do."""
    _own.work += 1
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


# gradients/tape_record.py sets these: a tape or a forward mode that listens has loaded it.
record_assignment: Callable[[Any, Any, bool], None]
record_gather: Callable[[Any, Any, tuple], None]
record_scatter: Callable[..., None]
