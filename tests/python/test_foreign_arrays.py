"""Arrays of other libraries on GPUs, as far as any library's are: the shapes they are seen in, the streams they come with,
captures among all of it. The programs run on the fake driver, and on a GPU where there is one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import warp as wp
from test_fake_driver import FAKE

HEAD = '''
import ctypes, numpy as np, warp as wp

@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i]

class Seen:
    """An array as another library would show it."""
    def __init__(self, array, stream=None, shape=None, **changes):
        facts = {"shape": shape or array.shape, "typestr": "<f4", "data": (array.ptr, False), "version": 3, "stream": stream}
        self.__cuda_array_interface__ = {**facts, **changes}
        self.array = array

a = wp.array(np.arange(24, dtype=np.float32), device="cuda:0")
b = wp.zeros(24, device="cuda:0")
'''

CAPTURES = """
count = getattr(ctypes.CDLL("libcuda.so.1"), "weft_fake_count", None)
other, third = wp.Stream("cuda:0"), wp.Stream("cuda:0")
if count:  # a stream that the launch names waits behind the current one, which waits for the other library's
    for given, waits in ((Seen(a, other.cuda_stream), 2), (Seen(a), 0)):
        before = count(b"stream_wait")
        wp.launch(add, 24, [given, b], device="cuda:0", stream=third)
        assert count(b"stream_wait") - before == waits, count(b"stream_wait") - before
other = wp.Stream("cuda:0")
for stream in (None, 1, 2, wp.get_stream("cuda:0").cuda_stream, other.cuda_stream):
    wp.launch(add, 24, [Seen(a, stream), b], device="cuda:0")
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(add, 24, [Seen(a, stream), b], device="cuda:0")
        assert b.__cuda_array_interface__["stream"] is None
        assert wp.get_stream("cuda:0").is_blocking
        b.__dlpack__(stream=stream)
    wp.capture_launch(capture.graph)
assert b.__cuda_array_interface__["stream"] == wp.get_stream("cuda:0").cuda_stream
"""

SHAPES = """
def seen(dtype, **how):
    return wp.array(Seen(a, **how), dtype=dtype, copy=False)
assert seen(wp.vec3).shape == (8,) and seen(wp.vec3).ptr == a.ptr
assert seen(wp.vec3, shape=(2, 12)).shape == (2, 4) and seen(wp.vec3, shape=(2, 12)).strides == (48, 12)
assert seen(wp.vec3, shape=(8, 3)).shape == (8,)
assert seen(wp.mat22, shape=(6, 4)).shape == (6,) and seen(wp.mat22, shape=(3, 8)).shape == (3, 2)
assert seen(wp.mat22).shape == (6,) and seen(wp.mat22, shape=(6, 2, 2)).shape == (6,)
assert np.array_equal(seen(wp.vec3).numpy(), np.arange(24).reshape(8, 3))
for dtype, shape, changes in [(wp.vec3, (4, 5), {}), (wp.vec3, (6,), {"strides": (16,)}), (wp.mat33, (2, 12), {})]:
    try:
        seen(dtype, shape=shape, **changes)
    except RuntimeError as error:
        assert "can't be seen as an array of" in str(error), error
    else:
        raise AssertionError((dtype, shape))
try:
    wp.launch(wp.map(lambda x: x, wp.zeros(8, dtype=wp.vec3, device="cuda:0"), return_kernel=True), 8, [Seen(a), Seen(a)], device="cuda:0")
except RuntimeError as error:  # as on the CPU, a launch takes dimensions as they are
    assert "vec3" in str(error), error
else:
    raise AssertionError("flat memory for vectors")
"""

PLACES = """
class Host:
    def __array__(self, dtype=None, copy=None):
        return np.zeros(24, np.float32)
for value, device, text in [
    (Host(), "cuda:0", "expected array(dtype=float32) on cuda:0, got Host on the host; make a wp.array of it there"),
    (np.zeros(24, np.float32), "cuda:0", "expected array(dtype=float32) on cuda:0, got ndarray on the host"),
    (Seen(a), "cpu", "expected array(dtype=float32) on cpu, got Seen on a GPU; launch there, or copy it to the host"),
]:
    other = b if device == "cuda:0" else wp.zeros(24, device="cpu")
    try:
        wp.launch(add, 24, [value, other], device=device)
    except RuntimeError as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
other = wp.zeros(24, device="cpu")
wp.launch(add, 24, [Host(), other], device="cpu")
"""

SCOPES = """
base, device = wp.get_stream("cuda:0"), wp.get_device()
stream, host = wp.Stream("cuda:0"), wp.ScopedDevice("cpu")
scope, pool = wp.ScopedStream(stream), wp.ScopedMempool("cuda:0", False)
for one in (scope, pool, host):  # each may be entered again inside of itself
    with one, one:
        pass
with scope, host, scope, pool, pool:
    assert wp.get_stream("cuda:0").cuda_stream == stream.cuda_stream and not wp.is_mempool_enabled("cuda:0")
assert wp.get_stream("cuda:0").cuda_stream == base.cuda_stream and wp.is_mempool_enabled("cuda:0")
assert wp.get_device() is device
for wrong in (64, np.zeros(3).ctypes.data):  # pointers that no GPU has given out
    try:
        wp.array(ptr=wrong, shape=3, dtype=float, device="cuda:0")
    except RuntimeError as error:
        assert "is no memory of cuda:0" in str(error)
    else:
        raise AssertionError(wrong)
assert wp.array(ptr=a.ptr + 8, shape=3, dtype=float, device="cuda:0").numpy().tolist() == [2.0, 3.0, 4.0]
for handle in (None, "x" * 64, 64):
    for ask in (lambda: wp.from_ipc_handle(handle, wp.float32, 3, device="cuda:0"), lambda: wp.event_from_ipc_handle(handle, "cuda:0")):
        try:
            ask()
        except TypeError as error:
            assert "a handle is the 64 bytes that ipc_handle() gave" in str(error)
        else:
            raise AssertionError(handle)
"""

# Nothing here may wait, but for memory that a capture takes, which is there at once; with the fake driver, waits are counted.
QUEUED = """
import gc
waits = ("stream_synchronize", "event_synchronize", "context_synchronize")
driver = ctypes.CDLL("libcuda.so.1")
count = getattr(driver, "weft_fake_count", None)

def steps():
    c = wp.clone(a)
    c.fill_(1.0)
    c[::2].zero_()
    wp.copy(c[1:9], b[2:10])
    other = wp.Stream("cuda:0")
    wp.launch(add, 24, [Seen(c, 1), Seen(b, other.cuda_stream)], device="cuda:0")
    wp.array(Seen(c), copy=False)
    wp.array(Seen(c))
    c.__cuda_array_interface__, c.__dlpack__(stream=1), c.__dlpack__(stream=other.cuda_stream)
    with wp.ScopedStream(other):
        wp.launch(add, 24, [c, b], device="cuda:0")
        event = wp.record_event()
    wp.wait_event(event)
    other.wait_stream(wp.get_stream("cuda:0"))
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(add, 24, [a, b], device="cuda:0")
    wp.capture_launch(capture.graph)
    x = wp.ones(24, requires_grad=True, device="cuda:0")
    y = wp.zeros(24, requires_grad=True, device="cuda:0")
    with wp.Tape() as tape:
        wp.launch(add, 24, [x, y], device="cuda:0")
    tape.backward(grads={y: a})
    locked = wp.zeros(24, device="cpu", pinned=True)
    wp.copy(locked, a)
    recorded = wp.launch(add, 24, [a, b], device="cuda:0", record_cmd=True)
    recorded.launch()

steps()  # compiles
gc.collect()
wp.synchronize()
before = {} if count is None else {name: count(name.encode()) for name in waits}
steps()
gc.collect()  # all of it is dropped while it may run
after = {name: count(name.encode()) for name in before}
assert before == after, (before, after)
"""

# A stand-in for PyTorch before 2.10, which says by a function what stream it works on. Later ones say it in a table.
FOLLOWED = """
import sys, types
driver = ctypes.CDLL("libcuda.so.1")
last_stream = getattr(driver, "weft_fake_last_stream", None)
if last_stream:
    last_stream.restype = ctypes.c_ulong
torch = types.ModuleType("torch")
torch.utils, torch._C = types.ModuleType("torch.utils"), types.ModuleType("torch._C")
dlpack = torch.utils.dlpack = types.ModuleType("torch.utils.dlpack")
sys.modules.update({"torch": torch, "torch.utils": torch.utils, "torch.utils.dlpack": dlpack})

class Tensor:
    def __init__(self, array):
        self.array = array
        self.requires_grad = False

    def is_neg(self):
        return False

torch.Tensor = Tensor
dlpack.to_dlpack = lambda tensor: wp.to_dlpack(tensor.array)
working = [0]
torch._C._cuda_getCurrentRawStream = lambda device: working[0]

x, y = Tensor(wp.ones(24, device="cuda:0")), Tensor(wp.zeros(24, device="cuda:0"))
ours, side, chosen = wp.get_stream("cuda:0"), wp.Stream("cuda:0"), wp.Stream("cuda:0")
count = getattr(driver, "weft_fake_count", None)

def goes_to(wanted, inputs, waits, **how):
    wp.launch(add, 24, inputs, device="cuda:0", **how)  # a stream that is new waits for what made the code
    before = count(b"stream_wait") if count else 0
    wp.launch(add, 24, inputs, device="cuda:0", **how)
    if count:
        assert last_stream() == wanted.cuda_stream, (last_stream(), wanted.cuda_stream)
        assert count(b"stream_wait") - before == waits, count(b"stream_wait") - before

goes_to(ours, [x, y], 0)  # the legacy default stream, which CUDA orders with ours
working[0] = side.cuda_stream
goes_to(side, [x, y], 1)  # memory of ours that is dropped later waits for it
goes_to(side, [a, y], 3)  # an array of ours: its stream before and behind
goes_to(chosen, [x, y], 0, stream=chosen)
with wp.ScopedStream(chosen):
    goes_to(chosen, [x, y], 0)
working[0] = chosen.cuda_stream  # it is asked for, not remembered
goes_to(chosen, [x, y], 1)
"""

# A stand-in for later ones: a class with an exchange table, which is ours, and so are the streams that it tells.
TABLED = """
import sys, types
torch = types.ModuleType("torch")
sys.modules["torch"] = torch

class Tensor(wp.array):
    requires_grad = False

torch.Tensor = Tensor
driver = ctypes.CDLL("libcuda.so.1")
last_stream = getattr(driver, "weft_fake_last_stream", None)
if last_stream:
    last_stream.restype = ctypes.c_ulong
x, y = (Tensor(np.full(24, value, np.float32), device="cuda:0") for value in (3.0, 1.0))
wp.launch(add, 24, [x, y], device="cuda:0")
wp.launch(add, 24, [a, y], device="cuda:0")
wp.launch(add, 12, [x[::2], y], device="cuda:0")  # not packed
with wp.ScopedStream(wp.Stream("cuda:0")) as side:
    wp.launch(add, 24, [x, y], device="cuda:0")
    assert not last_stream or last_stream() == side.cuda_stream
with wp.ScopedCapture("cuda:0") as capture:
    wp.launch(add, 24, [Tensor(np.ones(24, np.float32), device="cuda:0"), y], device="cuda:0")  # the graph holds it
wp.capture_launch(capture.graph)
if not last_stream:
    assert np.array_equal(y.numpy(), np.arange(24) + 8.0 + 3.0 * (np.arange(24) < 12))
if wp.get_cuda_device_count() > 1:
    try:
        wp.launch(add, 24, [Tensor(np.ones(24, np.float32), device="cuda:1"), y], device="cuda:0")
    except RuntimeError as error:
        assert "'x'" in str(error), error
    else:
        raise AssertionError("memory of another device")
host = Tensor(np.ones(24, np.float32), device="cpu")
try:
    wp.launch(add, 24, [host, y], device="cuda:0")
except RuntimeError as error:
    assert "'x'" in str(error), error
else:
    raise AssertionError("memory of the host")
"""

LOCKED = """
try:
    import torch
except ImportError:
    torch = None
locked = wp.array(np.arange(8, dtype=np.float32), device="cpu", pinned=True)
assert wp.from_dlpack(locked.__dlpack__()).pinned
assert not wp.from_dlpack(locked.__dlpack__(dl_device=(1, 0))).pinned  # who asks for plain memory of the host gets it
if torch:
    tensor = wp.to_torch(locked)
    assert tensor.data_ptr() == locked.ptr and tensor.tolist() == list(range(8))
    seen = wp.from_torch(tensor)  # torch says nothing of pages, the driver does
    assert seen.pinned and seen.ptr == locked.ptr
    assert not wp.from_torch(torch.zeros(4)).pinned
    tensor.requires_grad_()
    seen = wp.from_torch(tensor)  # its gradient is torch's, of ordinary memory
    assert not seen.pinned and seen.grad.ptr == tensor.grad.data_ptr()
    seen = wp.from_torch(tensor, grad=wp.zeros(8, device="cpu", pinned=True))
    assert seen.pinned and seen.grad.pinned
"""

PROGRAMS = {"followed": FOLLOWED, "tabled": TABLED, "locked": LOCKED, "queued": QUEUED, "captures": CAPTURES, "shapes": SHAPES, "places": PLACES, "scopes": SCOPES}


def run(program: str, folder: str, environment: dict[str, str]) -> None:
    path = os.path.join(folder, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD + program + "\nwp.synchronize()\nprint('done')\n")
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.endswith("done\n") and done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_the_fake_driver(name, tmp_path):
    if not os.path.exists(os.path.join(FAKE, "libcuda.so.1")):
        pytest.skip("the fake driver was not built (target fake_cuda)")
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    run(PROGRAMS[name], str(tmp_path), {**os.environ, "LD_LIBRARY_PATH": path, "CUDA_VISIBLE_DEVICES": ""})


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_gpu(name, tmp_path, gpu_environment):
    if not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    run(PROGRAMS[name], str(tmp_path), gpu_environment)
