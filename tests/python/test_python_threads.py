"""Launches from several Python threads, which give up Python's lock and come back to it one by one (src/bind/gil_door.h)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import warp as wp


@wp.kernel
def work(x: wp.array(dtype=float), turns: int):
    i = wp.tid()
    v = x[i]
    for _ in range(turns):
        v = v * 0.5 + 0.5
    x[i] = v + 1.0


def launch_often(x: wp.array, times: int, between=lambda: None) -> None:
    for _ in range(times):
        wp.launch(work, dim=64, inputs=[x, 3000], device="cpu")
        between()


def test_every_launch_of_many_threads_is_done():
    arrays = [wp.ones(64, dtype=float, device="cpu") for _ in range(8)]
    launch_often(arrays[0], 50)  # long enough to be known for it
    arrays[0].fill_(1.0)
    betweens = [lambda: None, lambda: time.sleep(0.0005), lambda: sum(range(3000)), lambda: wp.zeros(4, device="cpu")]
    threads = [
        threading.Thread(target=launch_often, args=(x, 40 + 10 * k, betweens[k % len(betweens)])) for k, x in enumerate(arrays)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
        assert not one.is_alive()
    for x in arrays:
        assert np.allclose(x.numpy(), 2.0)


def test_threads_that_end_or_leave_hold_up_nobody():
    """The one who came in last may never go out again."""
    x, y = wp.ones(64, dtype=float, device="cpu"), wp.ones(64, dtype=float, device="cpu")
    for _ in range(20):
        ended = threading.Thread(target=launch_often, args=(x, 3))
        ended.start()
        ended.join(60)
        launch_often(y, 3)
    assert np.allclose(x.numpy(), 2.0) and np.allclose(y.numpy(), 2.0)
    waits = threading.Event()
    left = threading.Thread(target=launch_often, args=(x, 1, waits.wait))
    left.start()
    launch_often(y, 50)
    waits.set()
    left.join(60)


def test_a_program_may_end_while_threads_launch():
    program = """
import threading, time
import warp as wp
from test_python_threads import launch_often
wp.config.quiet = True
for _ in range(4):
    x = wp.ones(64, dtype=float, device="cpu")
    threading.Thread(target=launch_often, args=(x, 10**9), daemon=True).start()
time.sleep(0.5)
"""
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
