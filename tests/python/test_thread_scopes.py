"""Devices and streams of threads: scopes hold for their thread, set_device for the process, and a launch that names no
device runs where its arrays lie. Without a GPU the same programs find two devices of the fake driver (tests/fake_cuda)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import warp as wp

FAKE = os.path.normpath(os.path.join(os.environ.get("WEFT_EXTENSION_DIR", ""), "..", "..", "fake_cuda"))
needs_fake = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)

HEAD = """
import threading
import numpy as np
import warp as wp
wp.config.quiet = True

@wp.kernel
def add_one(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] += 1.0

def in_threads(*functions):
    problems = []
    def guarded(function):
        try:
            function()
        except BaseException as problem:
            problems.append(problem)
    threads = [threading.Thread(target=guarded, args=(one,)) for one in functions]
    for one in threads: one.start()
    for one in threads: one.join(60)
    assert not any(one.is_alive() for one in threads)
    if problems: raise problems[0]
"""


def run_fake(code: str, folder, devices: int = 2) -> str:
    program = folder / "program.py"
    program.write_text(HEAD + code)
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    environment = {**os.environ, "LD_LIBRARY_PATH": path, "CUDA_VISIBLE_DEVICES": ""}
    environment["WEFT_FAKE_CUDA_DEVICES"] = str(devices)
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


PROGRAMS = {
    "scopes of two threads do not meet": """
ready = threading.Barrier(3)
seen = {}
def use(name):
    with wp.ScopedDevice(name):
        ready.wait(30)
        seen[name] = (wp.get_device().alias, wp.zeros(3).device.alias, wp.empty(3).device.alias)
        ready.wait(30)
def outside():
    ready.wait(30)
    seen["none"] = wp.get_device().alias
    ready.wait(30)
before = wp.get_device()
in_threads(lambda: use("cuda:1"), lambda: use("cpu"), outside)
assert seen == {"cuda:1": ("cuda:1",) * 3, "cpu": ("cpu",) * 3, "none": before.alias}, seen
assert wp.get_device() is before
""",
    "one scope object serves several threads": """
scope = wp.ScopedDevice("cuda:1")
ready = threading.Barrier(2)
def first():
    with scope:
        ready.wait(30)
        ready.wait(30)
        assert wp.get_device() == "cuda:1"
    assert wp.get_device() == "cuda:0"
def second():
    with wp.ScopedDevice("cpu"):
        ready.wait(30)
        with scope:
            assert wp.get_device() == "cuda:1"
        assert wp.get_device() == "cpu"
        ready.wait(30)
in_threads(first, second)
""",
    "set_device is of the process, and of a scope inside of it": """
wp.set_device("cpu")
def ask():
    assert wp.get_device() == "cpu" and wp.zeros(2).device == "cpu"
in_threads(ask)
with wp.ScopedDevice("cuda:0"):
    wp.set_device("cuda:1")
    assert wp.get_device() == "cuda:1" and wp.get_device("cuda") == "cuda:1"
    in_threads(ask)
assert wp.get_device() == "cpu"
wp.set_device("cuda:1")
def ask():
    assert wp.get_device() == "cuda:1" and wp.get_device("cuda") == "cuda:1"
in_threads(ask)
""",
    "what cuda means follows the scopes": """
with wp.ScopedDevice("cuda:1"):
    with wp.ScopedDevice("cpu"):
        assert wp.get_device("cuda") == "cuda:1"
assert wp.get_device("cuda") == "cuda:0"
""",
    "launches take the device of their arrays": """
host, first, second = (wp.zeros(4, device=name) for name in ("cpu", "cuda:0", "cuda:1"))
assert wp.get_device() == "cuda:0"
for array in (host, first, second):
    wp.launch(add_one, dim=4, inputs=[array])
    wp.launch(add_one, 4, outputs=[array])
    command = wp.launch(add_one, dim=4, inputs=[array], record_cmd=True)
    assert command.device is array.device
    command.launch()
    wp.launch(add_one, inputs=[array])  # dim is that of the array
assert (host.numpy() == 4.0).all()
def go():
    wp.launch(add_one, dim=4, inputs=[host])
in_threads(go)
assert (host.numpy() == 5.0).all()
wp.launch(add_one, dim=4, inputs=[host], device=host.device)
try:
    wp.launch(add_one, dim=4, inputs=[host], device="cuda:0")
except RuntimeError as problem:
    assert "runs on cuda:0" in str(problem)
else:
    raise AssertionError("a named device stands")
with wp.ScopedDevice("cuda:0"):
    try:
        wp.launch(add_one, dim=4, inputs=[host])
    except RuntimeError as problem:
        assert "runs on cuda:0" in str(problem)
    else:
        raise AssertionError("a scope stands")
""",
    "launches with arrays of several devices stay on the current one": """
@wp.kernel
def both(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i]
try:
    wp.launch(both, dim=4, inputs=[wp.zeros(4, device="cpu"), wp.zeros(4, device="cuda:1")])
except RuntimeError as problem:
    assert "runs on cuda:0" in str(problem), problem
else:
    raise AssertionError("nowhere to run")
pinned = wp.zeros(4, device="cpu", pinned=True)
wp.launch(both, dim=4, inputs=[pinned, wp.zeros(4, device="cuda:1")])
wp.launch(both, dim=4, inputs=[pinned, wp.zeros(4, device="cpu")])
""",
    "streams of two threads do not meet": """
device = wp.get_device("cuda:0")
usual = device.stream
own = [wp.Stream(device) for _ in range(2)]
ready = threading.Barrier(3)
def use(stream):
    with wp.ScopedStream(stream):
        ready.wait(30)
        for _ in range(20):
            assert device.stream is stream and wp.get_stream() is stream
            x = wp.zeros(8)
            wp.launch(add_one, dim=8, inputs=[x])
        ready.wait(30)
    assert device.stream is usual
def outside():
    ready.wait(30)
    assert device.stream is usual
    ready.wait(30)
in_threads(lambda: use(own[0]), lambda: use(own[1]), outside)
assert device.stream is usual
""",
    "set_stream inside of a scope ends with it": """
device = wp.get_device("cuda:1")
usual, a, b = device.stream, wp.Stream(device), wp.Stream(device)
with wp.ScopedStream(a):
    assert wp.get_device() is device
    wp.set_stream(b)
    assert device.stream is b
    with wp.ScopedStream(a, sync_exit=True):
        assert device.stream is a
    assert device.stream is b
assert device.stream is usual and wp.get_device() == "cuda:0"
wp.set_stream(a, device)
def ask():
    assert device.stream is a
in_threads(ask)
""",
    "a capture of one thread leaves the stream of another": """
device = wp.get_device("cuda:0")
x, y = wp.zeros(4), wp.zeros(4)
wp.launch(add_one, dim=4, inputs=[x])
with wp.ScopedStream(wp.Stream(device)):
    with wp.ScopedCapture() as capture:
        wp.launch(add_one, dim=4, inputs=[x])
    assert capture.graph is not None
    wp.capture_launch(capture.graph)
""",
}


@needs_fake
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_devices(name, tmp_path):
    assert run_fake(PROGRAMS[name] + "\nprint('done')", tmp_path).endswith("done\n")


def test_a_scope_of_the_cpu_in_threads():
    """As many threads as there are devices in programs that shard: each sees its own scope, whatever others do."""
    problems = []
    outside = wp.get_device()

    def use() -> None:
        try:
            for _ in range(200):
                with wp.ScopedDevice("cpu"):
                    assert wp.get_device() == "cpu"
                    assert wp.zeros(2).device == "cpu"
                assert wp.get_device() is outside
        except BaseException as problem:  # noqa: BLE001 - told to the main thread
            problems.append(problem)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not problems and wp.get_device() is outside


def test_launch_takes_the_device_of_its_arrays(device):
    @wp.kernel
    def double(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = 2.0 * x[i]

    x = wp.array(np.arange(5, dtype=np.float32), device=device)
    problems = []

    def use() -> None:
        try:
            wp.launch(double, dim=5, inputs=[x])
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert not problems
    np.testing.assert_array_equal(x.numpy(), 2.0 * np.arange(5))
