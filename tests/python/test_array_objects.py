"""Arrays as Python objects: structs and bfloat16 as elements, pickling, copying, lifetime, size."""

from __future__ import annotations

import copy as pycopy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import warp as wp

SCALARS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@wp.struct
class Particle:
    position: wp.vec3
    mass: float
    id: int


@wp.struct
class Holder:
    values: wp.array(dtype=float)
    scale: float


# ---- structs and bfloat16 ------------------------------------------------------------------------------------------


@pytest.mark.cpu_only("NumPy sees the memory")
def test_arrays_of_structs():
    p = Particle()
    p.position, p.mass, p.id = wp.vec3(1.0, 2.0, 3.0), 4.0, 5
    a = wp.array([p, Particle()], dtype=Particle)
    assert a.dtype is Particle and a.shape == (2,) and a[0].mass == 4.0 and a[0].position == p.position
    values = a.numpy()
    assert values["mass"].tolist() == [4.0, 0.0] and values["position"].shape == (2, 3)
    values["id"][1] = 77
    assert a[1].id == 77 and [x.id for x in a.list()] == [5, 77]
    a[1] = p
    assert a[1].id == 5
    again = wp.array(a.numpy(), dtype=Particle)
    assert again[0].mass == 4.0 and wp.array(a.numpy(), dtype=Particle, copy=False).ptr == a.ptr
    assert wp.array([[p, p], [p, p]], dtype=Particle).shape == (2, 2)
    assert wp.array([(wp.vec3(1.0), 2.0, 3)], dtype=Particle)[0].id == 3
    assert wp.array([p, p]).dtype is Particle
    assert wp.zeros(3, dtype=Particle).fill_(p)[2].mass == 4.0
    with pytest.raises(RuntimeError):
        wp.array([p, 3.0], dtype=Particle)
    with pytest.raises(RuntimeError):
        wp.array([[p], [p, p]], dtype=Particle)


def test_structs_keep_their_arrays():
    def fill(target):
        h = Holder()
        h.values, h.scale = wp.array([1.0, 2.0, 3.0], dtype=float), 2.0
        target[0] = h
        return weakref.ref(h.values)

    a = wp.zeros(2, dtype=Holder)
    ref = fill(a[:1])
    gc.collect()
    assert ref() is not None and a[0].values.list() == [1.0, 2.0, 3.0]
    b = wp.clone(a)
    inner = b[0].values
    del a, b
    gc.collect()
    assert inner.list() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError):
        pickle.dumps(wp.zeros(1, dtype=Holder))


def test_bfloat16():
    values = np.array([1.0, 1.00390625, 3.14159, -2.5, np.inf, np.nan, 1.0039062501], np.float64)
    a = wp.array(values, dtype=wp.bfloat16)
    for i, x in enumerate(values):
        same = float(wp.bfloat16(x))
        assert float(a[i]) == same or (same != same and float(a[i]) != float(a[i]))
    bits = a.numpy().view(np.uint16)
    assert wp.array(bits, dtype=wp.bfloat16)[2] == a[2]
    a[0] = 2.0
    assert float(a[0]) == 2.0 and a.list()[3] == -2.5


# ---- Python's protocols --------------------------------------------------------------------------------------------


def test_pickle_and_copy():
    a = wp.array(np.arange(6).reshape(2, 3), dtype=float, requires_grad=True)
    a.grad.fill_(3.0)
    for b in (pickle.loads(pickle.dumps(a)), pycopy.copy(a), pycopy.deepcopy(a)):
        assert b.dtype is a.dtype and b.shape == a.shape and b.list() == a.list() and b.ptr != a.ptr
        assert b.grad.list() == [3.0] * 6
    t = pickle.loads(pickle.dumps(a.transpose()))
    assert t.shape == (3, 2) and t.list() == a.transpose().list()
    v = pickle.loads(pickle.dumps(wp.ones(2, dtype=wp.vec3)))
    assert v.dtype is wp.vec3
    note = pickle.loads(pickle.dumps(wp.array(dtype=wp.vec3, ndim=2)))
    assert note.ndim == 2 and note.dtype is wp.vec3
    shared = pycopy.deepcopy([a, a])
    assert shared[0] is shared[1]


@pytest.mark.cpu_only("NumPy sees the memory")
def test_memory_lives_as_long_as_anyone_needs_it():
    values = wp.array([1.0, 2.0], dtype=float).numpy()
    gc.collect()
    assert values.tolist() == [1.0, 2.0]
    source = np.arange(3, dtype=np.float32)
    ref = weakref.ref(source)
    a = wp.array(source, copy=False)
    view = a[1:]
    del source, a
    gc.collect()
    assert ref() is not None and view.list() == [1.0, 2.0]
    del view
    gc.collect()
    assert ref() is None


def test_shutdown_with_live_arrays_is_silent():
    code = (
        "import warp as wp, numpy as np, sys\n"
        "keep = [wp.zeros(4), wp.array(np.zeros(3, np.float32), copy=False), wp.ones(2)[1:]]\n"
        "class C: pass\nc = C(); c.self = c; c.a = wp.array(np.ones(2, np.float32), copy=False); sys.keep = c\n"
        "m = memoryview(wp.zeros(3).numpy())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_huge_array():
    with open("/proc/meminfo") as f:
        free = int(next(line for line in f if line.startswith("MemAvailable")).split()[1]) << 10
    count = (1 << 31) + 16
    if free < 3 * count:
        pytest.skip("not enough memory for an array of 2^31 elements")
    a = wp.empty(count, dtype=wp.uint8)
    assert a.size == count and len(a) == count and a.capacity == count
    a[count - 1] = 7
    tail = a[count - 4 :]
    assert tail[3].value == 7 and a[-1].value == 7
    assert a.numpy()[count - 1] == 7 and a.reshape((2, count // 2))[1, -1].value == 7


def test_views_keep_what_a_program_gave_an_array_over_a_pointer():
    source = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, device="cpu")
    over = wp.array(ptr=source.ptr, dtype=float, shape=(4,), device="cpu", copy=False)
    over._ref = source
    alive = weakref.ref(source)
    views = [over[1:], over.reshape((2, 2)), over.view(wp.int32)]
    of_grad = wp.array([5.0, 6.0, 7.0, 8.0], dtype=float, device="cpu")
    slope = wp.array(ptr=of_grad.ptr, dtype=float, shape=(4,), device="cpu", copy=False)
    slope._ref = of_grad
    over.grad = slope
    gradient, grad_alive = over[2:].grad, weakref.ref(of_grad)
    del source, over, of_grad, slope
    gc.collect()
    assert grad_alive() is not None and gradient.numpy().tolist() == [7.0, 8.0]
    del gradient
    assert alive() is not None and views[0].numpy().tolist() == [2.0, 3.0, 4.0]
    del views
    gc.collect()
    assert alive() is None


def test_an_array_is_no_number_and_no_text():
    one = wp.array([1.0], dtype=float, device="cpu")
    with pytest.raises(TypeError, match="float"):
        float(one)
    with pytest.raises(TypeError, match="int"):
        int(one)
