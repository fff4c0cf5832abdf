"""Objects that lie, change or vanish: each run is a process of its own and must end without a crash."""

import pickle

import numpy as np
import pytest
from running import run_cleanly

import warp as wp

HEADER = """
import ctypes, gc
import numpy as np
import warp as wp
wp.config.quiet = True

@wp.kernel
def double(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = 2.0 * a[i]

class Interface:
    def __init__(self, values, **changes):
        self.values = values
        self.__array_interface__ = {**values.__array_interface__, **changes}

def refused(call):
    try:
        call()
    except (RuntimeError, TypeError, ValueError, OverflowError, MemoryError):
        return True
    return False
"""


def test_lying_interfaces(tmp_path):
    out = run_cleanly(
        tmp_path,
        HEADER
        + """
lies = [
    dict(shape=(-1,)), dict(shape=(4, -2)), dict(shape=(2**62, 2**62)), dict(shape=(2**63,)), dict(shape=(2**200,)),
    dict(shape=(2**40,), strides=(2**40,)), dict(shape=(4,), strides=(2**63 - 8,)), dict(shape=(4,), strides=(-2**62,)),
    dict(shape=(4,), strides=(2**70,)), dict(shape=(2, 2), strides=(4,)), dict(shape="abc"), dict(shape=(1.5,)),
    dict(shape=None), dict(data=(0, False)), dict(data=None), dict(data=(-16, False)), dict(data=(2**64 - 8, False)),
    dict(data=(2**65, False)), dict(data=("x", False)), dict(data=(16,)), dict(data=()), dict(typestr="nonsense"),
    dict(typestr=None), dict(typestr="<f99"), dict(typestr="|O"), dict(typestr="<c8"), dict(strides=("a",)),
    dict(strides=5), dict(version="x", shape=(-1,)),
]
for lie in lies:
    thing = Interface(np.zeros(4, np.float32), **lie)
    for call in (
        lambda: wp.array(thing, dtype=float), lambda: wp.array(thing, dtype=float, copy=False),
        lambda: wp.launch(double, 4, [thing, wp.zeros(4)]), lambda: wp.launch(double, 4, [wp.zeros(4), thing]),
        lambda: wp.launch(double, 4, [wp.zeros(4), thing], record_cmd=True),
        lambda: wp.zeros(4).assign(thing),
    ):
        if not refused(call):
            # data=None means the buffer protocol: such an object has none
            print("taken:", lie)
print("end")
""",
    )
    assert out == "end\n"


def test_interfaces_that_raise_or_change(tmp_path):
    out = run_cleanly(
        tmp_path,
        HEADER
        + """
class Raises:
    @property
    def __array_interface__(self):
        raise RuntimeError("not today")
class Array:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not today")
class NotAnArray:
    def __array__(self, dtype=None, copy=None):
        return "text"
class Shape:
    shape = (4,)
class Many:
    count = 0
    values = np.ones(4, np.float32)
    @property
    def __array_interface__(self):
        Many.count += 1
        d = dict(self.values.__array_interface__)
        if Many.count % 2 == 0:
            d["shape"] = (2**60,)
        return d
class Length:
    def __len__(self): return 2**62
    def __getitem__(self, i): raise IndexError
class Keys(dict):
    def __getitem__(self, k): raise KeyError(k)
class WithKeys:
    __array_interface__ = Keys(np.ones(4, np.float32).__array_interface__)
bad = [Raises(), Array(), NotAnArray(), Shape(), Length(), WithKeys()]
for thing in bad:
    for call in (lambda: wp.array(thing, dtype=float), lambda: wp.launch(double, 4, [thing, wp.zeros(4)])):
        try:
            call()
        except (RuntimeError, TypeError, ValueError, OverflowError, MemoryError, RecursionError, KeyError):
            continue
        if type(thing) is WithKeys:
            continue
        print("taken", type(thing))
many = Many()
for _ in range(50):
    refused(lambda: wp.launch(double, 4, [many, wp.zeros(4)]))
    refused(lambda: wp.array(many, dtype=float))
print("end")
""",
    )
    assert out == "end\n"


@pytest.mark.cpu_only("in a program of its own")
def test_memory_outlives_its_owner(tmp_path):
    """Arrays keep the memory they share; NumPy views keep arrays; recorded launches keep both."""
    out = run_cleanly(
        tmp_path,
        HEADER
        + """
def shared():
    values = np.full(100_000, 3.0, np.float32)
    return wp.array(values, copy=False)
def view():
    return wp.full(100_000, 4.0, dtype=float).numpy()
def view_of_view():
    return wp.full((1000, 100), 5.0, dtype=float)[10:20].reshape((10, 100))[1]
def recorded(out):
    return wp.launch(double, 100_000, [np.full(100_000, 6.0, np.float32), out], record_cmd=True)
a, b, c, out = shared(), view(), view_of_view(), wp.zeros(100_000)
cmd = recorded(out)
gc.collect()
junk = [np.full(100_000, -1.0, np.float32) for _ in range(20)]
cmd.launch()
assert (a.numpy() == 3.0).all() and (b == 4.0).all() and (c.numpy() == 5.0).all() and (out.numpy() == 12.0).all()
interface = Interface(np.full(50_000, 7.0, np.float32))
d = wp.array(interface, copy=False)
del interface
gc.collect()
junk = [np.full(50_000, -1.0, np.float32) for _ in range(20)]
assert (d.numpy() == 7.0).all()
released = []
buffer = (ctypes.c_float * 16)(*range(16))
e = wp.array(ptr=ctypes.addressof(buffer), shape=(16,), dtype=float, deleter=lambda p, n: released.append(n))
f = e[4:8]
del e
gc.collect()
assert not released and f.list() == [4.0, 5.0, 6.0, 7.0]
del f
gc.collect()
assert released == [64], released
print("end")
""",
    )
    assert out == "end\n"


@pytest.mark.cpu_only("in a program of its own")
def test_a_buffer_in_use_is_not_resized(tmp_path):
    """A bytearray or array whose memory is shared refuses to move it; afterwards it may."""
    out = run_cleanly(
        tmp_path,
        HEADER
        + """
import array
source = array.array("f", [1.0] * 1000)
a = wp.array(source, dtype=float, copy=False)
try:
    source.extend([2.0] * 100_000)
    print("moved")
except BufferError:
    pass
assert (a.numpy() == 1.0).all()
del a
gc.collect()
source.extend([2.0] * 10)
print(len(source))
""",
    )
    assert out == "1010\n"


def test_raw_pointers(tmp_path):
    """Null, negative and huge addresses and sizes are refused where that can be known."""
    out = run_cleanly(
        tmp_path,
        HEADER
        + """
for ptr in (0, None, -8, 2**64, "x", 1.5):
    for shape in ((4,), (2**62,), (-1,)):
        if not ptr and shape == (4,):
            continue  # new memory, and an array without any
        print(refused(lambda: wp.array(ptr=ptr, shape=shape, dtype=float, device="cpu")), end=" ")
print(refused(lambda: wp.array(ptr=4096, dtype=float)))
print(refused(lambda: wp.array(ptr=4096, shape=(2**62,), dtype=float)))
""",
    )
    assert "False" not in out, out


@pytest.mark.parametrize(
    "call",
    [
        lambda: wp.zeros(2**60, dtype=wp.mat44d),
        lambda: wp.zeros((2**31, 2**31, 2**31), dtype=float),
        lambda: wp.zeros(2**45, dtype=float),
        lambda: wp.empty(-1),
        lambda: wp.zeros((2, -1)),
        lambda: wp.zeros(2**63),
        lambda: wp.zeros("many"),
        lambda: wp.zeros(1.5),
        lambda: wp.zeros(3, dtype="float32x"),
        lambda: wp.zeros(3, dtype=object),
        lambda: wp.zeros(3, dtype=wp.array),
        lambda: wp.full(3, "x", dtype=float),
        lambda: wp.full(3, (1.0, 2.0), dtype=wp.vec3),
        lambda: wp.array([[1.0], [1.0, 2.0]], dtype=float),
        lambda: wp.array(["a", "b"]),
        lambda: wp.array({"a": 1}, dtype=float),
        lambda: wp.array(5.0, dtype=float),
        lambda: wp.array([1 + 2j]),
        lambda: wp.array(np.zeros(3), ptr=4096, shape=(3,), dtype=float),
        lambda: wp.copy(wp.zeros(3), wp.zeros(3, dtype=int)),
        lambda: wp.copy(wp.zeros(2), wp.zeros(3)),
        lambda: wp.copy(wp.zeros(3), wp.zeros(3), count=10),
        lambda: wp.copy(wp.zeros(3), wp.zeros(3), dest_offset=-1),
        lambda: wp.copy(wp.zeros(3), None),
        lambda: wp.zeros(6).reshape((4, 2)),
        lambda: wp.zeros((4, 4)).transpose((0, 0)),
        lambda: wp.zeros(6).view(wp.float64),
        lambda: wp.zeros(6).view(wp.vec3),
        lambda: wp.zeros(3).assign([1.0] * 4),
        lambda: wp.zeros(3).fill_("x"),
        lambda: wp.zeros(3)[5],
        lambda: wp.zeros(3)["x"],
        lambda: wp.from_numpy(np.zeros((2, 2, 2, 2, 2, 2))),
        lambda: wp.matmul(wp.zeros((2, 3)), wp.zeros((2, 3)), wp.zeros((2, 3)), wp.zeros((2, 3))),
        lambda: wp.zeros((2, 3)) @ wp.zeros((2, 3)),
    ],
)
def test_bad_arrays(call):
    errors = (RuntimeError, TypeError, ValueError, IndexError, OverflowError, MemoryError, AttributeError)
    with pytest.raises(errors) as caught:
        call()
    assert str(caught.value).strip()


def test_non_contiguous_where_contiguous_is_needed():
    """What strides can't express is refused with the cure in the message; what they can is a view."""
    turned = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4)).transpose()
    for call in (lambda: turned.reshape((12,)), turned.flatten):
        with pytest.raises(RuntimeError, match=r"contiguous"):
            call()
    assert turned.contiguous().reshape((12,)).list() == turned.numpy().flatten().tolist()


def test_things_that_do_not_pickle():
    """Kernels, functions and modules of closures say so; values, arrays and struct instances pickle."""

    @wp.kernel
    def local(x: wp.array(dtype=float)):
        x[0] = 1.0

    for thing in (local, wp.launch(local, dim=1, inputs=[wp.zeros(1)], record_cmd=True)):
        with pytest.raises((TypeError, pickle.PicklingError, AttributeError)):
            pickle.dumps(thing)
    for value in (wp.vec3(1.0, 2.0, 3.0), wp.array([1.0, 2.0], dtype=float), wp.float16(0.5), wp.mat22(*range(4))):
        again = pickle.loads(pickle.dumps(value))
        assert type(again) is type(value)
    for broken in (pickle.dumps(wp.vec3())[:-5], b"", b"\x80\x04."):
        with pytest.raises(Exception):
            pickle.loads(broken)


def test_kernels_of_modules_pickle_by_name():
    """A kernel or function at global scope goes by reference, as Python's own functions do."""
    import module_with_kernels

    for thing in (module_with_kernels.scale, module_with_kernels.half):
        assert pickle.loads(pickle.dumps(thing)) is thing
