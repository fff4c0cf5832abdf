"""How programs end: with graphs, streams, events, tapes and arrays alive, in any order, in the middle of a capture, while
kernels run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import warp as wp

PROGRAM = """
import random, sys, threading, time
import warp as wp

wp.config.quiet = True

@wp.kernel
def add(x: wp.array(dtype=float), v: float):
    i = wp.tid()
    x[i] = x[i] + v

@wp.kernel
def work(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(0.0)
    for k in range(n):
        s = 0.5 * s + wp.sin(s + float(k))
    x[i] = x[i] + s

device, order = sys.argv[1], int(sys.argv[2])
large, x = wp.zeros(50000, device=device), wp.ones(10, requires_grad=True, device=device)
made = {}
if device != "cpu":
    made["stream"], made["event"] = wp.Stream(device), wp.Event(device, enable_timing=True)
    made["stream"].record_event(made["event"])
    made["locked"] = wp.zeros(1000, device="cpu", pinned=True)
with wp.ScopedCapture(device) as capture:
    inside = wp.zeros(10, device=device)
    wp.launch(add, 10, [inside, 1.0], device=device)
made["graph"], made["inside"] = capture.graph, inside
with wp.Tape() as tape:
    wp.launch(add, 10, [x, 1.0], device=device)
made["tape"], made["recorded"] = tape, wp.launch(add, 10, [inside, 1.0], device=device, record_cmd=True)
wp.capture_launch(capture.graph)
wp.launch(work, 50000, [large, 1000], device=device)
names = list(made)
random.Random(order).shuffle(names)
globals().update({"kept_" + str(k): made[name] for k, name in enumerate(names)})
made["itself"] = made
if order == 1:
    wp.capture_begin(device)
if order == 2:
    made.clear()
    sys.exit(0)
if order == 3:
    def forever():
        mine = wp.zeros(1000, device=device)
        while True:
            wp.launch(add, 1000, [mine, 1.0], device=device)
    for _ in range(2):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.2)
"""


@pytest.mark.parametrize("order", range(4))
def test_programs_end_quietly(order, device, tmp_path: Path, gpu_environment):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(path), device.alias, str(order)]
    done = subprocess.run(command, env=gpu_environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done.stdout + done.stderr


def test_errors_with_all_of_it_alive(device, tmp_path: Path, gpu_environment):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + "\nwp.capture_begin(device)\nraise RuntimeError('mine')\n", encoding="utf-8")
    command = [sys.executable, str(path), device.alias, "0"]
    done = subprocess.run(command, env=gpu_environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr.endswith("RuntimeError: mine\n") and "During handling" not in done.stderr
    assert wp.zeros(1).numpy()[0] == 0.0
