"""Ctrl-C ends every launch on the CPU, whatever its kernel does: loops that never end or take for ever, wherever they are.

Each program runs endless kernels one after the other and interrupts itself; a parent that waits for it only looks whether
it got through. Limits are far above what a starved machine needs: the question is whether launches stop at all."""

import os
import subprocess
import sys

import numpy as np
import pytest
import warp as wp

BEGIN = """
import faulthandler, os, signal, sys, threading, time
faulthandler.dump_traceback_later(200, exit=True)
import numpy as np
import warp as wp
wp.config.quiet = True

@wp.kernel
def count(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0

@wp.kernel
def endless(x: wp.array(dtype=float)):
    i = wp.tid()
    while True:
        x[i] = x[i] + 1.0

def stopped(run, after=0.3):
    "Interrupts what runs; fails if that ended by itself."
    killer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    killer.start()
    try:
        run()
    except KeyboardInterrupt:
        killer.join()
    else:
        raise AssertionError("it ended by itself")
    x = wp.zeros(5, dtype=float)
    wp.launch(count, dim=5, inputs=[x])
    assert (x.numpy() == 1.0).all()
"""


def run(folder, text: str, **environment: str) -> None:
    file = folder / "program.py"
    file.write_text(BEGIN + text + "\nprint('end')\n")
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0 and done.stdout.endswith("end\n"), (done.stdout, done.stderr)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_endless_loops(tmp_path, threads):
    """In one thread, a few and many, on one worker and on several; in a function, inlined or not; in nests."""
    run(
        tmp_path,
        """
@wp.func
def search(x: wp.array(dtype=float), key: float):
    k = int(0)
    while x[k % 4] != key:
        k = k + 1
    return k

@wp.kernel
def in_function(x: wp.array(dtype=float)):
    i = wp.tid()
    if i >= 0:
        x[i] = float(search(x, -1.0))

@wp.kernel
def one_of_many(x: wp.array(dtype=float)):
    i = wp.tid()
    while i == 77_777 % x.shape[0] and x[i] >= 0.0:
        x[i] = x[i] + 1.0
    x[i] = 5.0

@wp.kernel
def nested(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for a in range(n):
        for b in range(n):
            for c in range(n):
                for d in range(3):
                    x[i] = wp.sin(x[i])

@wp.kernel
def long_loop(x: wp.array(dtype=float), n: wp.int64):
    i = wp.tid()
    s = float(0.0)
    for k in range(n):
        s = s * 0.5 + 1.0
    x[i] = s

x = wp.zeros(200_000, dtype=float)
for dim in (1, 9, 200_000):
    stopped(lambda: wp.launch(endless, dim=dim, inputs=[x]))
    x.zero_()
    stopped(lambda: wp.launch(in_function, dim=dim, inputs=[x]))
    stopped(lambda: wp.launch(nested, dim=dim, inputs=[x, 100_000]))
    stopped(lambda: wp.launch(long_loop, dim=dim, inputs=[x, 1 << 60]))
x.zero_()
stopped(lambda: wp.launch(one_of_many, dim=200_000, inputs=[x]))
stopped(lambda: wp.launch(endless, dim=(3, 5), inputs=[x[:3]]))
""",
        WEFT_NUM_THREADS=threads,
    )


def test_functions_that_are_called(tmp_path):
    """A large function is not inlined: what is left of the turns travels with the call."""
    body = "\n".join(f"    s = wp.sin(s) * {k}.5 + wp.cos(s + {k}.0) * wp.exp(-s * s)" for k in range(120))
    run(
        tmp_path,
        f"""
@wp.func
def large(s: float, n: int):
    k = int(0)
    while k < n or n < 0:
        k = (k + 1) % 1_000_000
        s = s + 1.0
{body}
    return s

@wp.kernel
def calls(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = large(x[i], n) + large(x[i] + 1.0, n)
    while n == -2:
        x[i] = large(x[i], 3)

x = wp.zeros(1000, dtype=float)
wp.launch(calls, dim=1000, inputs=[x, 3])
for n in (-1, -2):
    stopped(lambda: wp.launch(calls, dim=1000, inputs=[x, n]))
""",
    )


def test_modes(tmp_path):
    """In the order of threads, and in debug mode."""
    run(
        tmp_path,
        """
x = wp.zeros(100, dtype=float)
wp.config.cpu_threads = 1
stopped(lambda: wp.launch(endless, dim=100, inputs=[x]))
wp.config.cpu_threads = 0
wp.config.mode = "debug"
stopped(lambda: wp.launch(endless, dim=100, inputs=[x]))
wp.config.mode = "release"
""",
    )


def test_recorded_and_captured(tmp_path):
    run(
        tmp_path,
        """
for dim in (1, 100_000):
    x = wp.zeros(dim, dtype=float)
    command = wp.launch(endless, dim=dim, inputs=[x], record_cmd=True)
    stopped(command.launch)
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(count, dim=dim, inputs=[x])
        wp.launch(endless, dim=dim, inputs=[x])
        wp.launch(count, dim=dim, inputs=[x])
    stopped(lambda: wp.capture_launch(capture.graph))
""",
    )


def test_gradients(tmp_path):
    """The adjoint of a kernel runs its loops backwards; a custom gradient may have loops of its own. And tangents."""
    run(
        tmp_path,
        """
@wp.kernel
def powers(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(1.0)
    k = int(0)
    while k < n[0]:
        s = s * wp.sin(x[i] + s)
        k = k + 1
    y[i] = s

@wp.func
def plain(a: float):
    return a * a

@wp.func_grad(plain)
def adj_plain(a: float, adj_ret: float):
    while adj_ret != -1.0:
        wp.adjoint[a] += adj_ret

@wp.kernel
def with_custom(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = plain(x[i])

for dim in (1, 10_000):
    x = wp.ones(dim, dtype=float, requires_grad=True)
    y = wp.zeros(dim, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(with_custom, dim=dim, inputs=[x], outputs=[y])
    y.grad.fill_(1.0)
    stopped(lambda: tape.backward())
    n = wp.array([3], dtype=int)
    tape = wp.Tape()
    with tape:
        wp.launch(powers, dim=dim, inputs=[x, n], outputs=[y])
    y.grad.fill_(1.0)
    tape.backward()
    n.fill_(2_000_000_000)
    wp.config.verify_autograd_array_access = dim == 1  # the interpreter goes first
    def forward():
        with wp.Tape():
            wp.launch(powers, dim=dim, inputs=[x, n], outputs=[y])
    stopped(forward)
""",
    )


def test_other_threads_run(tmp_path):
    """A launch that looked short keeps the interpreter's lock at first, and gives it up when it takes long."""
    run(
        tmp_path,
        """
x = wp.zeros(1, dtype=float)
ticks = []
def tick():
    global x, command
    while len(ticks) < 20:
        time.sleep(0.01)
        ticks.append(1)
        x = wp.zeros(1, dtype=float)  # the launch keeps its own
        if command:
            command.set_param_at_index(0, x)
    os.kill(os.getpid(), signal.SIGINT)

command = None
for recorded in (False, True):
    x = wp.zeros(1, dtype=float)
    command = wp.launch(endless, dim=1, inputs=[x], record_cmd=True) if recorded else None
    wp.launch(count, dim=1, inputs=[x])
    ticks.clear()
    beside = threading.Thread(target=tick)
    beside.start()
    try:
        if recorded:
            command.launch()
        else:
            wp.launch(endless, dim=1, inputs=[x])
    except KeyboardInterrupt:
        pass
    beside.join()
    assert len(ticks) == 20
""",
    )


def test_endless_launch_of_another_thread(tmp_path):
    """Only the main thread serves signals. A daemon thread in an endless kernel keeps neither it nor the end waiting."""
    run(
        tmp_path,
        """
for dim in (1, 10_000):
    y = wp.zeros(dim, dtype=float)
    threading.Thread(target=lambda: wp.launch(endless, dim=dim, inputs=[y]), daemon=True).start()
    time.sleep(0.3)
    x = wp.zeros(100_000, dtype=float)
    wp.launch(count, dim=100_000, inputs=[x])
    assert (x.numpy() == 1.0).all()
    stopped(lambda: wp.launch(endless, dim=100_000, inputs=[x]))
""",
    )


def test_handlers(tmp_path):
    """A handler that returns lets the kernel run on; one that raises something else ends it with that."""
    run(
        tmp_path,
        """
seen = []
class Enough(Exception):
    pass
def handler(number, frame):
    seen.append(number)
    y = wp.zeros(3, dtype=float)
    wp.launch(count, dim=3, inputs=[y])  # a launch inside of a launch
    assert (y.numpy() == 1.0).all()
    if len(seen) == 3:
        raise Enough
signal.signal(signal.SIGINT, handler)
def kill():
    for k in range(1, 4):
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        while len(seen) < k:
            time.sleep(0.01)
for dim in (1, 100_000):
    seen.clear()
    x = wp.zeros(dim, dtype=float)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        wp.launch(endless, dim=dim, inputs=[x])
        raise AssertionError
    except Enough:
        pass
    killer.join()
    assert len(seen) == 3
""",
    )


@wp.kernel
def up(lo: int, hi: int, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(i)
    for k in range(lo, hi):
        s = s + wp.float64(k)
    y[i] = s


@wp.kernel
def by(lo: int, hi: int, step: int, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(i)
    for k in range(lo, hi, step):
        s = s + wp.float64(k)
    y[i] = s


@wp.kernel
def apart(n: int, y: wp.array(dtype=wp.float64)):
    """Lanes that run differently often."""
    i = wp.tid()
    s = wp.float64(i)
    for k in range(n - i):
        s = s + wp.float64(k)
    y[i] = s


@wp.kernel
def fixed(y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(i)
    for k in range(5000):
        s = s + wp.float64(k)
    for k in range(150000, 0, -1):
        s = s - wp.float64(k)
    y[i] = s


END = 2**31 - 1


@pytest.mark.parametrize(
    "lo, hi, step",
    [(0, 0, 1), (5, 0, 1), (0, 5, 1), (0, 4096, 1), (0, 65535, 1), (0, 65536, 1), (0, 65537, 1), (-70000, 140000, 1)]
    + [(END - 300, END, 1), (0, 131072, 2), (0, 131073, 2), (0, 400000, 3), (200000, -3, -1), (-END - 1, END, 65535)],
)
def test_long_loops_are_whole(lo, hi, step):
    """Loops of every length give what they should: long ones run in two parts."""
    y = wp.zeros(37, dtype=wp.float64, device="cpu")
    expected = float(sum(range(lo, hi, step))) + np.arange(37)
    wp.launch(by, dim=37, inputs=[lo, hi, step], outputs=[y], device="cpu")
    assert (y.numpy() == expected).all()
    if step == 1:
        wp.launch(up, dim=37, inputs=[lo, hi], outputs=[y], device="cpu")
        assert (y.numpy() == expected).all()


def test_long_loops_of_other_kinds():
    y = wp.zeros(37, dtype=wp.float64, device="cpu")
    wp.launch(fixed, dim=37, outputs=[y], device="cpu")
    assert (y.numpy() == sum(range(5000)) - sum(range(150001)) + np.arange(37)).all()
    wp.launch(apart, dim=37, inputs=[100_000], outputs=[y], device="cpu")
    assert (y.numpy() == [sum(range(100_000 - i)) + i for i in range(37)]).all()
