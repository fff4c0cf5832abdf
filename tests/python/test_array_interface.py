"""Arrays of other libraries in and out: interfaces, buffers, launches on foreign memory, indexed arrays, products."""

from __future__ import annotations

import array as pyarray
import ctypes
import gc
from typing import Any

import numpy as np
import pytest

import warp as wp
from warp import _weft


@wp.kernel
def double(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = 2.0 * a[i]


@wp.kernel
def lengths(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.length(v[i])


class Interface:
    """An object with an `__array_interface__` and nothing else."""

    def __init__(self, values: np.ndarray, **changes: object):
        self.values = values
        self.__array_interface__ = {**values.__array_interface__, **changes}


class Convertible:
    """An object with `__array__` and nothing else."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.cpu_only("the memory of the host is shared")
def test_array_interface_of_arrays():
    a = wp.zeros((2, 4), dtype=wp.vec3)[:, ::2]
    interface = a.__array_interface__
    assert interface["version"] == 3 and interface["typestr"] == "<f4" and interface["shape"] == (2, 2, 3)
    assert interface["strides"] == (48, 24, 4) and interface["data"] == (a.ptr, False)
    seen = np.asarray(a)
    seen[1, 1, 2] = 5.0
    assert a[1, 1][2] == 5.0
    assert np.array(a, copy=True).base is None
    assert np.asarray(wp.ones(3), dtype=np.float64).dtype == np.float64
    assert float(np.sum(wp.ones(5))) == 5.0


@pytest.mark.cpu_only("the memory of the host is shared")
def test_dlpack_goes_out():
    a = wp.array([1.0, 2.0], dtype=float)
    seen = np.from_dlpack(a)
    assert seen.tolist() == [1.0, 2.0] and a.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("wrap", [Interface, Convertible, memoryview])
@pytest.mark.cpu_only("the memory of the host is shared")
def test_foreign_objects(wrap):
    values = np.arange(6, dtype=np.float32)
    foreign = wrap(values)
    a = wp.array(foreign)
    assert a.list() == values.tolist()
    shared = wp.array(foreign, dtype=float, copy=False)
    shared[0] = 9.0
    assert values[0] == 9.0
    assert wp.array(foreign, dtype=wp.vec3).shape == (2,)


@pytest.mark.cpu_only("the memory of the host is shared")
def test_buffers():
    assert wp.array(pyarray.array("d", [1.0, 2.0])).dtype is wp.float64
    assert wp.array((ctypes.c_int * 3)(1, 2, 3)).list() == [1, 2, 3]
    assert wp.array(bytearray(b"ab")).dtype is wp.uint8
    content = bytearray(8)
    a = wp.array(content, copy=False)
    with pytest.raises(BufferError):
        content.append(1)  # the array holds the buffer
    a[0] = 7
    assert content[0] == 7
    del a
    gc.collect()
    content.append(1)


def test_unaligned_and_swapped_memory_is_copied():
    raw = np.zeros(17, np.uint8)
    unaligned = raw[1:].view(np.float32)
    unaligned[:] = [1, 2, 3, 4]
    assert wp.array(unaligned, copy=False).list() == [1, 2, 3, 4]
    assert wp.array(np.array([1.0, 2.0], ">f4"), copy=False).list() == [1, 2]
    wide = np.zeros(4, [("pad", "u1"), ("x", "<f4")])
    wide["x"] = [1, 2, 3, 4]
    assert wp.array(wide["x"], copy=False).list() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (-1,)},
        {"shape": (2**62, 2**62)},
        {"shape": (2**40,), "strides": (2**40,)},
        {"shape": (4,), "strides": (2**63 - 8,)},
        {"shape": (4,), "strides": (-(2**62),)},
        {"shape": (2, 2), "strides": (4,)},
        {"shape": "abc"},
        {"shape": (1.5,)},
        {"shape": None},
        {"data": (0, False)},
        {"data": (-16, False)},
        {"data": (2**64 - 8, False)},
        {"data": ("x", False)},
        {"data": (16,)},
        {"typestr": "nonsense"},
        {"typestr": "<c8"},
        {"typestr": "|O"},
        {"typestr": "|V8", "descr": [("x", "|O")], "shape": (2,)},
        {"mask": np.ones(4)},
        {"strides": ("a",)},
    ],
)
def test_lying_interfaces(changes):
    lie = Interface(np.zeros(4, np.float32), **changes)
    for copy in (True, False):
        with pytest.raises(RuntimeError):
            wp.array(lie, dtype=float, copy=copy)
    with pytest.raises(RuntimeError):
        wp.launch(double, 4, [lie, wp.zeros(4)])


def test_incomplete_interfaces():
    class Odd:
        __array_interface__ = {"shape": (1,)}

    class NoDict:
        __array_interface__ = 5

    for bad in (Odd(), NoDict()):
        with pytest.raises(RuntimeError):
            wp.array(bad)
    empty = Interface(np.zeros(4, np.float32), shape=(0,), data=(0, False))
    assert wp.array(empty).shape == (0,)


@pytest.mark.cpu_only("the memory of the host is shared")
def test_launch_on_foreign_memory():
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    wp.launch(double, 8, [x, y])
    assert y.tolist() == (2 * x).tolist()
    for wrap in (Interface, Convertible, memoryview):
        y[:] = 0
        wp.launch(double, 8, [wrap(x), wrap(y)])
        assert y.tolist() == (2 * x).tolist()
    strided = np.zeros(16, np.float32)
    wp.launch(double, 8, [x[::-1], strided[::2]])
    assert strided[::2].tolist() == (2 * x[::-1]).tolist()
    frozen = x.copy()
    frozen.flags.writeable = False
    wp.launch(double, 8, [frozen, y])
    with pytest.raises(RuntimeError, match="argument 'b': the kernel writes to it, but the memory of this ndarray is read-only"):
        wp.launch(double, 8, [x, frozen])
    assert frozen.tolist() == x.tolist()
    vectors = np.arange(12, dtype=np.float32).reshape(4, 3)
    out = np.zeros(4, np.float32)
    wp.launch(lengths, 4, [vectors, out])
    np.testing.assert_allclose(out, np.linalg.norm(vectors, axis=1), rtol=1e-6)


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(8),
        np.zeros((8, 1), np.float32),
        np.zeros(8, ">f4"),
        [0.0] * 8,
        "text",
        3.0,
        np.float32(1.0),
        {},
        object(),
        np.zeros((8, 3), np.float32),
    ],
)
def test_launch_refuses_what_does_not_fit(bad):
    with pytest.raises(RuntimeError):
        wp.launch(double, 8, [bad, wp.zeros(8)])


@pytest.mark.cpu_only("the memory of the host is shared")
def test_foreign_array():
    vector = wp.vec3._wp_type_

    def seen(obj, element=None, **how):
        return _weft.foreign_array(wp.array, obj, element, **how)

    values = np.zeros((4, 3), np.float32)
    a = seen(values, vector)
    assert a.dtype is wp.vec3 and a.ptr == values.ctypes.data and a.shape == (4,)
    for bad in (np.zeros((4, 4), np.float32), np.zeros((4, 3), np.float64), np.zeros((4, 6), np.float32)[:, ::2]):
        with pytest.raises(RuntimeError, match="can't be seen as"):
            seen(bad, vector)
    assert seen(None, vector) is None and seen([1.0], vector) is None and seen("text") is None
    assert seen(np.zeros(4, np.uint16), wp.bfloat16._wp_type_).dtype is wp.bfloat16
    assert seen(np.zeros(4, np.int32), wp.uint32._wp_type_, any_sign=True).dtype is wp.uint32
    assert seen(np.zeros(12, np.float32), vector, flat=True).shape == (4,)
    assert seen(np.zeros((), np.float32), zero_rank=True).shape == (1,)


# ---- indexed arrays ------------------------------------------------------------------------------------------------


def test_indexed_arrays():
    values = np.arange(20, dtype=np.float32).reshape(4, 5)
    data = wp.array(values)
    rows, cols = wp.array([3, 0], dtype=int), wp.array([1, 1, 4], dtype=int)
    x = wp.indexedarray(data, [rows, cols])
    expected = values[np.ix_([3, 0], [1, 1, 4])]
    assert x.shape == (2, 3) and x.size == 6 and x.ndim == 2 and x.dtype is wp.float32 and len(x) == 2
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(np.asarray(x), expected)
    assert x.contiguous().list() == expected.ravel().tolist() == x.list()
    assert x[0, 2] == expected[0, 2] and x[1].numpy().tolist() == expected[1].tolist() and x[:, 1:].shape == (2, 2)
    x[1, 0] = 50.0
    assert data[0, 1] == 50.0
    part = data[rows]
    assert isinstance(part, wp.indexedarray) and part.shape == (2, 5)
    part.fill_(1.0)
    assert data[3].list() == [1.0] * 5 and data[1, 0] == 5.0
    part.assign(np.arange(10))
    assert data[0].list() == [5.0, 6.0, 7.0, 8.0, 9.0]
    data[rows] = np.zeros((2, 5))
    assert not data[0].numpy().any()
    assert data[1:, cols].shape == (3, 3) and data[2, cols].list() == [11.0, 11.0, 14.0]
    assert part.zero_().to(part.device) is part and part.device == wp.get_device()
    assert wp.zeros_like(part).shape == (2, 5) and wp.clone(part).list() == [0.0] * 10
    note = wp.indexedarray(dtype=float, ndim=2)
    assert note.dtype is wp.float32 and note.ndim == 2 and wp.indexedarray2d(dtype=float).ndim == 2
    wp.copy(part, wp.ones((2, 5)))
    assert data[3].list() == [1.0] * 5


def test_indexed_array_errors():
    data, good = wp.zeros((4, 5)), wp.array([1], dtype=int)
    for indices in (
        [wp.array([1.0], dtype=float)],
        [wp.zeros((1, 1), dtype=int)],
        [good] * 3,
        [wp.array([1], dtype=wp.int64)],
    ):
        with pytest.raises(ValueError):
            wp.indexedarray(data, indices)
    with pytest.raises(ValueError):
        wp.indexedarray([1.0], good)
    with pytest.raises(IndexError):
        wp.indexedarray(data, wp.array([9], dtype=int)).numpy()
    with pytest.raises(RuntimeError):
        wp.indexedarray(data, good).assign(np.zeros(3))
    with pytest.raises(RuntimeError, match="contiguous"):
        wp.launch(double, 1, [wp.indexedarray(wp.zeros(3), good), wp.zeros(1)])


# ---- matrix products -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_matmul(dtype):
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(-4, 5, size=s) for s in ((3, 4), (4, 5), (3, 5)))
    wa, wb, wc = (wp.array(x, dtype=dtype) for x in (a, b, c))
    d = wp.zeros((3, 5), dtype=dtype)
    wp.matmul(wa, wb, wc, d, alpha=2.0, beta=0.5, device=wp.get_device())
    np.testing.assert_array_equal(d.numpy(), (2.0 * a @ b + 0.5 * c).astype(d.numpy().dtype))
    np.testing.assert_array_equal((wa @ wb).numpy(), (a @ b).astype(d.numpy().dtype))
    wp.matmul(wb.transpose(), wa.transpose(), None, d.transpose())
    np.testing.assert_array_equal(d.numpy(), (a @ b).astype(d.numpy().dtype))
    square = wp.array(a[:, :3], dtype=dtype)
    wp.matmul(square, square, square, square)
    np.testing.assert_array_equal(square.numpy(), (a[:, :3] @ a[:, :3]).astype(d.numpy().dtype))
    nan = wp.full((3, 5), float("nan"), dtype=dtype)
    wp.matmul(wa, wb, nan, d, beta=0.0)
    assert not np.isnan(d.numpy()).any()


def test_batched_matmul():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 4, 5)
    d = wp.zeros((2, 3, 5), dtype=wp.float64)
    wp.batched_matmul(wp.array(a), wp.array(b), d, d)
    np.testing.assert_array_equal(d.numpy(), a @ b)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: wp.matmul(x, wp.zeros((4, 2)), x, x),
        lambda x: wp.matmul(x, x, x, wp.zeros((2, 3))),
        lambda x: wp.matmul(x, x, x, wp.zeros((3, 3), dtype=wp.float64)),
        lambda x: wp.matmul(x, x, None, x, beta=1.0),
        lambda x: wp.matmul(x, x, x, None),
        lambda x: wp.matmul(x, np.zeros((3, 3), np.float32), x, x),
        lambda x: wp.matmul(wp.zeros(3), x, x, x),
        lambda x: wp.zeros((3, 3), dtype=int) @ wp.zeros((3, 3), dtype=int),
        lambda x: x @ wp.zeros(3),
        lambda x: wp.batched_matmul(x, x, x, x),
    ],
)
def test_matmul_errors(call):
    with pytest.raises(RuntimeError):
        call(wp.zeros((3, 3)))


# ---- generic kernels ------------------------------------------------------------------------------------------------


@wp.kernel
def doubled(a: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = a[i] + a[i]


@wp.kernel
def row_sums(a: wp.array2d(dtype=wp.Float), out: wp.array(dtype=wp.Float)):
    i = wp.tid()
    for j in range(a.shape[1]):
        out[i] += a[i, j]


@wp.kernel
def first_of(a: Any, out: Any):
    out[0] = a[0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.float16, np.float32, np.float64])
@pytest.mark.cpu_only("the memory of the host is shared")
def test_generic_kernels_take_foreign_arrays(dtype):
    values, out = np.arange(4).astype(dtype), np.zeros(4, dtype)
    wp.launch(doubled, dim=4, inputs=[values, out])
    assert out.tolist() == [0, 2, 4, 6]
    wp.launch(doubled, dim=2, inputs=[values[::2], out[1::2]])
    assert out.tolist() == [0, 0, 4, 4]
    interface = Interface(np.zeros(4, dtype))
    wp.launch(doubled, dim=4, inputs=[memoryview(values) if dtype != np.float16 else values, interface])
    assert interface.values.tolist() == [0, 2, 4, 6]
    wp.launch(first_of, dim=1, inputs=[wp.array(values[::-1]), out])
    assert out[0] == 3


@pytest.mark.cpu_only("the memory of the host is shared")
def test_generic_kernels_do_not_guess_vectors():
    values, out = np.ones((3, 3), np.float32), np.zeros(3, np.float32)
    wp.launch(row_sums, dim=3, inputs=[values, out])
    assert out.tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(TypeError, match="array"):  # two dimensions of float32, not one of vec3
        wp.launch(doubled, dim=3, inputs=[values, values])
    with pytest.raises(TypeError, match="expected .*, got array2d.dtype=int32"):
        wp.launch(row_sums, dim=3, inputs=[np.ones((3, 3), np.int32), out])
    with pytest.raises(RuntimeError):
        wp.launch(doubled, dim=3, inputs=[[1.0, 2.0, 3.0], out])
    with pytest.raises(RuntimeError):
        wp.launch(doubled, dim=3, inputs=[np.array(["a", "b", "c"]), out])
