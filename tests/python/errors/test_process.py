"""The life of the process: interrupts, forks and the end of the interpreter, with arrays, kernels and threads alive."""

import os
import signal
import subprocess
import sys
import time

import pytest
from running import run_cleanly, run_program

KERNEL = """
import gc, os, signal, sys, threading, time
import numpy as np
import warp as wp
wp.config.quiet = True

@wp.kernel
def count(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0

@wp.kernel
def busy(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(0.0)
    for k in range(n):
        s = wp.sin(s + float(k))
    x[i] = s
"""


def start(folder, text: str) -> subprocess.Popen:
    file = folder / "program.py"
    file.write_text(KERNEL + text)
    return subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupt(process: subprocess.Popen, after: float = 0.3) -> tuple[str, str]:
    """Waits for the program's first line, sends Ctrl-C a little later, and gives what it said."""
    assert process.stdout.readline() == "ready\n"
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=120)  # a starved machine takes its time; programs that don't stop take for ever
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("Ctrl-C did not stop the program") from None


def test_interrupt_of_a_long_series_of_launches(tmp_path):
    process = start(
        tmp_path,
        """
x = wp.zeros(64, dtype=float)
wp.launch(count, dim=64, inputs=[x])
print("ready", flush=True)
try:
    while True:
        wp.launch(count, dim=64, inputs=[x])
except KeyboardInterrupt:
    values = x.numpy()
    print("stopped", (values == values[0]).all(), values[0] > 1)
wp.launch(count, dim=64, inputs=[x])
print("goes on")
""",
    )
    out, err = interrupt(process)
    assert process.returncode == 0 and out == "stopped True True\ngoes on\n", (out, err)


def test_interrupt_of_large_launches(tmp_path):
    """Ctrl-C that arrives while a kernel runs without the GIL is served as soon as it ends."""
    process = start(
        tmp_path,
        """
x = wp.zeros(10_000, dtype=float)
wp.launch(busy, dim=10_000, inputs=[x, 10])
print("ready", flush=True)
try:
    while True:
        wp.launch(busy, dim=10_000, inputs=[x, 2000])
except KeyboardInterrupt:
    print("stopped")
""",
    )
    out, err = interrupt(process)
    assert process.returncode == 0 and out == "stopped\n", (out, err)


def test_interrupt_of_one_long_launch(tmp_path):
    """A launch that would take many minutes stops in the middle."""
    process = start(
        tmp_path,
        """
x = wp.zeros(1_000_000, dtype=float)
wp.launch(busy, dim=10, inputs=[x, 10])
print("ready", flush=True)
try:
    wp.launch(busy, dim=1_000_000, inputs=[x, 500_000])
except KeyboardInterrupt:
    print("stopped")
wp.launch(count, dim=10, inputs=[x])
print("goes on")
""",
    )
    out, err = interrupt(process, after=1.0)
    assert process.returncode == 0 and out == "stopped\ngoes on\n", (out, err)


def test_interrupt_while_compiling(tmp_path):
    process = start(
        tmp_path,
        """
wp.config.cache_kernels = False
def make(k):
    @wp.kernel
    def made(x: wp.array(dtype=float)):
        x[wp.tid()] = float(k)
    return made
print("ready", flush=True)
x = wp.zeros(1, dtype=float)
k = 0
try:
    while True:
        k += 1
        wp.launch(make(k), dim=1, inputs=[x])
except KeyboardInterrupt:
    print("stopped")
wp.launch(make(-1), dim=1, inputs=[x])
print(x[0])
""",
    )
    out, err = interrupt(process)
    assert process.returncode == 0 and out == "stopped\n-1.0\n", (out, err)


def test_interrupt_without_a_handler_ends_the_program(tmp_path):
    process = start(
        tmp_path,
        """
x = wp.zeros(64, dtype=float)
wp.launch(count, dim=64, inputs=[x])
print("ready", flush=True)
while True:
    wp.launch(count, dim=64, inputs=[x])
""",
    )
    out, err = interrupt(process)
    assert process.returncode in (-signal.SIGINT, 1, 130) and "KeyboardInterrupt" in err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_after_launches(tmp_path):
    """A child made by fork launches, compiles and allocates; parent and child go on independently."""
    out = run_cleanly(
        tmp_path,
        KERNEL
        + """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
n = 200_000
x = wp.zeros(n, dtype=float)
wp.launch(count, dim=n, inputs=[x])  # starts the threads
sys.stdout.flush()
children = []
for c in range(3):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            wp.launch(count, dim=n, inputs=[x])
            y = wp.zeros(n, dtype=float)
            @wp.kernel
            def fresh(y: wp.array(dtype=float)):
                y[wp.tid()] = float(wp.tid()) + 0.5
            wp.launch(fresh, dim=n, inputs=[y])
            good = (x.numpy() == 2.0).all() and y.numpy()[7] == 7.5 and (wp.clone(y).numpy() == y.numpy()).all()
            code = 0 if good else 2
        finally:
            os._exit(code)
    children.append(pid)
wp.launch(count, dim=n, inputs=[x])
print([os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in children], (x.numpy() == 2.0).all())
""",
    )
    assert out == "[0, 0, 0] True\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(tmp_path, method):
    """Arrays travel to worker processes by pickling; kernels by import."""
    out = run_cleanly(
        tmp_path,
        KERNEL
        + f"""
import multiprocessing, warnings
warnings.simplefilter("ignore", DeprecationWarning)
def work(a):
    wp.launch(count, dim=a.shape, inputs=[a])
    return a
if __name__ == "__main__":
    first = wp.zeros(1000, dtype=float)
    wp.launch(count, dim=1000, inputs=[first])
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        results = pool.map(work, [wp.full(1000, float(k), dtype=float) for k in range(4)])
    print([r.numpy()[0].item() for r in results])
""",
    )
    assert out == "[1.0, 2.0, 3.0, 4.0]\n"


def test_shutdown_with_live_objects(tmp_path):
    """Arrays, views, kernels, structs and recorded launches in globals, cycles and caches die quietly."""
    out = run_cleanly(
        tmp_path,
        KERNEL
        + """
import atexit
x = wp.zeros(1000, dtype=float, requires_grad=True)
view, seen = x[10:20], x.numpy()
cmd = wp.launch(count, dim=1000, inputs=[x], record_cmd=True)
cmd.launch()
class Node: pass
node = Node()
node.me, node.x, node.k, node.cmd = node, x, count, cmd
sys.modules["a_place_that_lives_long"] = node
builtins_like = __builtins__
builtins_like.kept = [x, view, count, cmd, wp.vec3(), wp.indexedarray(x, [wp.array([1, 2], dtype=int)])]
@atexit.register
def last():
    wp.launch(count, dim=1000, inputs=[x])
    print("last", x.numpy()[0])
class AtEnd:
    def __del__(self):
        try:
            self.x.zero_()
        except Exception:
            pass
end = AtEnd()
end.x = x
print("end")
""",
    )
    assert out == "end\nlast 2.0\n"


def test_shutdown_with_running_threads(tmp_path):
    """Daemon threads in the middle of launches, allocations and compiles don't keep the interpreter or crash it."""
    for _ in range(3):
        done = run_program(
            tmp_path,
            KERNEL
            + """
def forever():
    while True:
        x = wp.zeros(1000, dtype=float)
        wp.launch(count, dim=1000, inputs=[x])
        wp.launch(busy, dim=1000, inputs=[x, 50])
def compiles():
    wp.config.cache_kernels = False
    k = 0
    while True:
        k += 1
        def make(k):
            @wp.kernel
            def made(x: wp.array(dtype=float)):
                x[0] = float(k)
            return made
        wp.launch(make(k), dim=1, inputs=[wp.zeros(1, dtype=float)])
for work in (forever, forever, compiles):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.4)
print("end", flush=True)
""",
            timeout=60,
        )
        assert done.returncode == 0 and done.stdout == "end\n", done.stderr


def test_exit_inside_a_callback(tmp_path):
    """sys.exit while a kernel is being compiled (from wp.static) ends the process in order."""
    done = run_program(
        tmp_path,
        KERNEL
        + """
def leave():
    sys.exit(7)
@wp.kernel
def leaves(x: wp.array(dtype=float)):
    x[0] = wp.static(leave())
wp.launch(leaves, dim=1, inputs=[wp.zeros(1, dtype=float)])
""",
    )
    assert done.returncode in (1, 7)


@pytest.mark.skipif("WEFT_SANITIZED" in os.environ, reason="a sanitizer needs more addresses than the limit leaves")
def test_no_memory_is_an_exception(tmp_path):
    """An allocation that the system refuses is a MemoryError, and the program goes on."""
    out = run_cleanly(
        tmp_path,
        KERNEL
        + """
import resource
x = wp.zeros(10, dtype=float)
wp.launch(count, dim=10, inputs=[x])
soft = 3 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
try:
    wp.zeros(2**30, dtype=float)
    print("got it")
except MemoryError as e:
    print("refused", bool(str(e)))
wp.launch(count, dim=10, inputs=[x])
print(x.numpy()[0])
""",
    )
    assert out == "refused True\n2.0\n"


def test_reinitialisation_in_one_process(tmp_path):
    """init, many times, from many threads at once."""
    out = run_cleanly(
        tmp_path,
        KERNEL
        + """
threads = [threading.Thread(target=wp.init) for _ in range(16)]
for t in threads: t.start()
for t in threads: t.join()
x = wp.zeros(4, dtype=float)
wp.launch(count, dim=4, inputs=[x])
print(x.list())
""",
    )
    assert out == "[1.0, 1.0, 1.0, 1.0]\n"


def test_python_code_inside_a_launch(tmp_path):
    """Arguments whose reading runs Python code that launches, changes the lists, raises or asks to leave."""
    out = run_cleanly(
        tmp_path,
        KERNEL
        + """
class Thing:
    def __init__(self, make):
        self.make = make
    def __array__(self, dtype=None, copy=None):
        return self.make()
@wp.kernel
def take(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    b[wp.tid()] = a[wp.tid()] + 1.0
def ones():
    return np.ones(4, np.float32)
b = wp.zeros(4, dtype=float)
def launches():
    x = wp.zeros(4, dtype=float)
    wp.launch(take, 4, [Thing(ones), x])
    return x.numpy()
wp.launch(take, 4, [Thing(launches), b])
print(b.list())
args = []
def clears():
    args.clear()
    gc.collect()
    return ones()
args[:] = [Thing(clears), wp.zeros(4, dtype=float)]
wp.launch(take, 4, args)
def grows():
    args.extend([1.0] * 100_000)
    return ones()
args[:] = [Thing(grows), wp.zeros(4, dtype=float)]
wp.launch(take, 4, args)
wp.launch(take, 4, [Thing(clears), wp.zeros(4, dtype=float)], record_cmd=True).launch()
def fails():
    raise ZeroDivisionError("inside")
for make in (fails, lambda: sys.exit(5)):
    try:
        wp.launch(take, 4, [Thing(make), b])
    except (RuntimeError, TypeError, ZeroDivisionError, SystemExit) as e:
        print("refused")
""",
    )
    assert out == "[3.0, 3.0, 3.0, 3.0]\nrefused\nrefused\n"


def test_kernels_that_compile_kernels(tmp_path):
    """wp.static may launch another kernel; one that launches itself, or goes on for ever, is an exception."""
    out = run_cleanly(
        tmp_path,
        KERNEL
        + """
def value_of(kernel):
    x = wp.zeros(1, dtype=float)
    wp.launch(kernel, dim=1, inputs=[x])
    return float(x[0])
@wp.kernel
def inner(x: wp.array(dtype=float)):
    x[0] = 5.0
@wp.kernel
def outer(x: wp.array(dtype=float)):
    x[0] = wp.static(value_of(inner)) + 1.0
print(value_of(outer))
@wp.kernel
def itself(x: wp.array(dtype=float)):
    x[0] = wp.static(value_of(itself))
try:
    value_of(itself)
except RuntimeError as e:
    print("itself" in str(e) and "wp.static" in str(e))
def endless(k):
    @wp.kernel
    def deeper(x: wp.array(dtype=float)):
        x[0] = wp.static(value_of(endless(k + 1)))
    return deeper
try:
    value_of(endless(0))
except RuntimeError as e:
    print("deep" in str(e))
print(value_of(outer))
""",
        timeout=200,
    )
    assert out == "6.0\nTrue\nTrue\n6.0\n"


def test_output_that_cannot_be_written(tmp_path):
    """Kernels that print while sys.stdout is gone or raises end as if they had printed."""
    done = run_program(
        tmp_path,
        KERNEL
        + """
@wp.kernel
def talks(x: wp.array(dtype=float)):
    print(x[0])
class Broken:
    def write(self, text):
        raise ValueError("no paper")
    def flush(self):
        pass
out = sys.stdout
x = wp.zeros(1, dtype=float)
for stdout in (Broken(), None, 5):
    sys.stdout = stdout
    wp.launch(talks, dim=1, inputs=[x])
sys.stdout = out
wp.launch(talks, dim=1, inputs=[x])
print("end")
""",
    )
    assert done.returncode == 0 and done.stdout.split() == ["0", "end"], (done.stdout, done.stderr)
