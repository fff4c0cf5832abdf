"""Threads for the tests of this folder: many at once, that change at every chance, so that what they share shows itself whatever
else the machine does. Nothing here waits for a time."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Callable, Iterator


@contextlib.contextmanager
def changing_often() -> Iterator[None]:
    """Python changes threads after each few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(work: Callable[[int], Any], count: int = 8) -> list[Any]:
    """What work(k) gives in `count` threads that begin together; raises what one of them raised."""
    results: list[Any] = [None] * count
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def run(k: int) -> None:
        try:
            start.wait()
            results[k] = work(k)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    with changing_often():
        threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return results
