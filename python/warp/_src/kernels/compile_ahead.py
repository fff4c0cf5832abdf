"""Compiling ahead: while a program waits for the first launches of a module's kernels, idle cores compile those that are
defined after them.

It works as a file system reads ahead. Nothing happens until two kernels of a module had to be compiled; then a window of
kernels behind the last one is compiled, the far end first, so that nobody waits for a kernel that has only just been
begun. Kernels that were compiled ahead and then launched widen the window; those that are never launched fill it, which
ends the matter. Nothing is seen of them: they stay in memory, without an entry on disk, errors are left to the launch,
and kernels whose compilation runs code of the program (wp.static) are left alone.

The threads end when there is nothing to do, when the interpreter exits, and before a fork.
"""

from __future__ import annotations

import atexit
import os
import threading
import typing
import weakref

from warp._src.session import settings

if typing.TYPE_CHECKING:
    from warp._src.kernels.definitions import Kernel, Module

_FIRST_WINDOW = 4  # kernels compiled ahead of need before it is known whether they are launched
_LARGEST_WINDOW = 16
_MOST_THREADS = 4
_PATIENCE = 0.25  # seconds for which a thread without work waits


class _Neighbours:
    """The kernels of one module, in the order of their definition, and how far launches have come."""

    def __init__(self, module: Module):
        self.order: list[weakref.ref[Kernel]] = []
        # By id, and looked at twice: a dictionary with weak keys calls Python when a kernel dies, and a Ctrl-C that came while
        # C++ compiled would be raised, and lost, in there.
        self.places: dict[int, int] = {}
        self.module = weakref.ref(module)
        self.kernels = 0  # of the module, when `order` was made
        self.window = _FIRST_WINDOW
        self.last = -1  # the place of the kernel that was wanted last
        self.begun: set[int] = set()  # places of kernels that were compiled ahead and not wanted yet
        self.seen: set[int] = set()  # places that need no look any more

    def wanted(self, kernel: Kernel) -> bool:
        """Notes a first launch; says whether there may be something to compile ahead."""
        module = self.module()
        if module is None:
            return False
        if self.kernels != module.kernel_count or self._place(kernel) is None:
            self._arrange(module)
        place = self._place(kernel)
        if place is None:
            return False
        self.last = place
        self.seen.add(place)
        if place in self.begun:
            self.begun.remove(place)
            self.window = min(self.window + 2, _LARGEST_WINDOW)
        return True

    def _place(self, kernel: Kernel) -> int | None:
        place = self.places.get(id(kernel))
        return place if place is not None and self.order[place]() is kernel else None

    def _arrange(self, module: Module) -> None:
        begun = [self.order[i] for i in self.begun]
        alive = list(module.kernels.values())
        self.order = [weakref.ref(k) for k in alive]
        self.places = {id(k): i for i, k in enumerate(alive)}
        still = (self._place(k) for k in (ref() for ref in begun) if k is not None)
        self.begun = {place for place in still if place is not None}
        self.seen = set(self.begun)
        self.kernels = module.kernel_count

    def next(self) -> Kernel | None:
        """The kernel to compile now."""
        if len(self.begun) >= self.window:
            return None
        for place in range(min(self.last + self.window, len(self.order) - 1), self.last, -1):
            if place in self.seen:
                continue
            self.seen.add(place)
            kernel = self.order[place]()
            if kernel is not None and kernel._current is None:
                self.begun.add(place)
                return kernel
        return None


_neighbours: weakref.WeakKeyDictionary[Module, _Neighbours] = weakref.WeakKeyDictionary()
_state = threading.Condition()
_busy: _Neighbours | None = None  # whose kernels are compiled ahead
_threads = 0
_paused = False


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def wanted(kernel: Kernel) -> None:
    """A kernel is about to be launched for the first time."""
    global _busy, _threads
    module = kernel.module
    with _state:
        neighbours = _neighbours.get(module)
        if neighbours is None:
            neighbours = _neighbours[module] = _Neighbours(module)
        if not neighbours.wanted(kernel) or _paused:
            return
        _busy = neighbours
        _state.notify_all()
        while _threads < min(_cores() - 1, _MOST_THREADS):
            _threads += 1
            threading.Thread(target=_work, name="weft-ahead", daemon=True).start()


def _next() -> Kernel | None:
    """The next kernel, after some waiting if need be; None: it is time to end."""
    global _threads
    with _state:
        for last_try in (False, True):
            if _paused:
                break
            kernel = _busy.next() if _busy is not None else None
            if kernel is not None:
                return kernel
            if not last_try:
                _state.wait(_PATIENCE)
        _threads -= 1
        _state.notify_all()
        return None


def _work() -> None:
    while (kernel := _next()) is not None:
        try:
            epoch = settings.epoch
            native = kernel.prepare()
            if epoch == settings.epoch:
                native.build_ahead()
        except BaseException:  # the launch of that kernel says it; the thread must live to be counted out
            pass
        del kernel


def _stop() -> None:
    """Ends the threads: none may hold a lock in the child of a fork, or ask for Python's when that is gone."""
    global _paused
    with _state:
        _paused = True
        _state.notify_all()
        while _threads:
            _state.wait()


def _go_on() -> None:
    global _paused
    _paused = False


os.register_at_fork(before=_stop, after_in_parent=_go_on, after_in_child=_go_on)
atexit.register(_stop)  # at once: nobody waits for a thread's patience
