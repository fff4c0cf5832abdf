"""Arrays: construction, attributes, indexing, views, gradients and the errors of each."""

from __future__ import annotations

import ctypes
import gc
import pickle

import numpy as np
import pytest

import warp as wp

SCALARS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


# ---- construction --------------------------------------------------------------------------------------------------


def test_dtype_is_inferred_through_numpy():
    assert wp.array([1.0, 2.0]).dtype is wp.float64
    assert wp.array([1, 2]).dtype is wp.int64
    assert wp.array([True, False]).dtype is wp.bool
    assert wp.array(np.zeros(3, np.float32)).dtype is wp.float32
    a = wp.array([wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0)])
    assert a.dtype is wp.float32 and a.shape == (2, 3)


@pytest.mark.parametrize(
    "dtype, expected", [(float, wp.float32), (int, wp.int32), (bool, wp.bool), (np.float64, wp.float64)]
)
def test_python_types_are_aliases(dtype, expected):
    assert wp.zeros(3, dtype=dtype).dtype is expected
    assert wp.array([1, 0, 1], dtype=dtype).dtype is expected


@pytest.mark.parametrize("name", [*SCALARS, "bool"])
def test_round_trip_of_every_scalar(name):
    values = np.array([0, 1, 1, 0], dtype=name)
    a = wp.array(values)
    assert a.dtype is getattr(wp, name) and a.numpy().dtype == values.dtype
    np.testing.assert_array_equal(a.numpy(), values)
    assert a.list() == values.tolist()


def test_values_convert_as_in_numpy():
    assert wp.array([1.5, -2.7], dtype=int).list() == [1, -2]
    assert wp.array(np.array([1.5, 2.5]), dtype=float).list() == [1.5, 2.5]
    assert wp.array([300], dtype=wp.uint8).list() == [44]
    assert wp.array(np.array([1, 2], dtype=">i4"), dtype=int).list() == [1, 2]
    assert wp.array([wp.float64(2.5), wp.float64(1.0)], dtype=float).list() == [2.5, 1.0]
    assert wp.array(range(4), dtype=int).list() == [0, 1, 2, 3]
    assert wp.array([2**64 - 1], dtype=wp.uint64).list() == [2**64 - 1]


@pytest.mark.parametrize(
    "data_shape, dtype, shape",
    [
        ((4, 3), wp.vec3, (4,)),
        ((12,), wp.vec3, (4,)),
        ((3,), wp.vec3, (1,)),
        ((2, 9), wp.mat33, (2,)),
        ((2, 3, 3), wp.mat33, (2,)),
        ((3, 3), wp.mat33, (1,)),
        ((2, 18), wp.mat33, (2, 2)),
        ((5, 4), wp.quat, (5,)),
        ((5, 7), wp.transform, (5,)),
        ((2, 3, 4, 5, 3), wp.vec3, (2, 3, 4, 5)),
        ((0, 3), wp.vec3, (0,)),
    ],
)
def test_trailing_dimensions_fold(data_shape, dtype, shape):
    values = np.arange(np.prod(data_shape), dtype=np.float32).reshape(data_shape)
    for data in (values, values.tolist()) if values.size else (values,):
        a = wp.array(data, dtype=dtype)
        assert a.shape == shape and a.dtype is dtype
        np.testing.assert_array_equal(a.numpy().ravel(), values.ravel())


def test_shape_goes_with_data():
    assert wp.array(np.arange(6, dtype=np.float32), shape=(2, 3)).shape == (2, 3)
    assert wp.array(np.arange(12), dtype=wp.vec3, shape=(2, 2)).shape == (2, 2)
    with pytest.raises(RuntimeError, match="can't become"):
        wp.array([1.0, 2.0], shape=3)


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: wp.array(3.0), RuntimeError),
        (lambda: wp.array([[1], [1, 2]], dtype=int), RuntimeError),
        (lambda: wp.array(["a", "b"], dtype=float), RuntimeError),
        (lambda: wp.array("abc"), RuntimeError),
        (lambda: wp.array(["1", "2"], dtype=int), RuntimeError),
        (lambda: wp.array([1j]), RuntimeError),
        (lambda: wp.array([{}, {}], dtype=float), RuntimeError),
        (lambda: wp.array({1: 2}, dtype=float), RuntimeError),
        (lambda: wp.array(np.zeros((1,) * 5)), RuntimeError),
        (lambda: wp.array(np.zeros(4), dtype=wp.vec3), RuntimeError),
        (lambda: wp.array([1.0], ptr=8, shape=1, dtype=float), RuntimeError),
        (lambda: wp.array([1.0], strides=(4,)), RuntimeError),
        (lambda: wp.array([1.0], shape=1, length=1), RuntimeError),
        (lambda: wp.array(ptr=8, shape=1), RuntimeError),
        (lambda: wp.array(ptr=3, shape=1, dtype=float), RuntimeError),
        (lambda: wp.array(ptr="x", shape=1, dtype=float), TypeError),
        (lambda: wp.array(ptr=-8, shape=1, dtype=float), RuntimeError),
        (lambda: wp.array(ptr=64, shape=4, capacity=15, dtype=float), RuntimeError),
        (lambda: wp.array(ptr=64, shape=4, dtype=float, owner=True), RuntimeError),
        (lambda: wp.array(shape=(1,) * 5, dtype=float), RuntimeError),
        (lambda: wp.array(shape=-1, dtype=float), ValueError),
        (lambda: wp.array(shape=2.5, dtype=float), TypeError),
        (lambda: wp.array(shape="3", dtype=float), TypeError),
        (lambda: wp.array(shape=3), RuntimeError),
        (lambda: wp.array(shape=3, dtype=str), TypeError),
        (lambda: wp.array([1.0], dtype=list), TypeError),
        (lambda: wp.array(shape=3, dtype=wp.array(dtype=float)), TypeError),
        (lambda: wp.array([1.0], dtype=float, device="gpu"), ValueError),
        (lambda: wp.array(np.zeros(2, np.float32), device="gpu"), ValueError),
        (lambda: wp.array([1.0], dtype=float, nonsense=1), TypeError),
        (lambda: wp.array(wp.array(dtype=float)), RuntimeError),
        (lambda: wp.array(dtype=float, ndim=5), RuntimeError),
        (lambda: wp.array(shape=(2, 2), strides=(8,), dtype=float), ValueError),
        (lambda: wp.array(shape=2, strides=(-4,), dtype=float), RuntimeError),
        (lambda: wp.array(shape=4, capacity=8, dtype=float), RuntimeError),
        (lambda: wp.zeros(2**62), MemoryError),
        (lambda: wp.zeros((2**40, 2**40)), MemoryError),
        (lambda: wp.zeros(2**70), OverflowError),
    ],
)
def test_bad_constructions(make, error):
    with pytest.raises(error):
        make()


def test_old_keywords():
    assert wp.zeros(n=5, dtype=float).shape == (5,)
    assert wp.empty(length=5).shape == (5,)
    assert wp.array(length=4, dtype=int).shape == (4,)
    assert wp.array(n=4, dtype=int).shape == (4,)


@pytest.mark.cpu_only("NumPy's memory is shared")
def test_copy_false_shares_memory():
    values = np.arange(6, dtype=np.float32)
    a = wp.array(values, copy=False)
    a[1] = 9.0
    assert values[1] == 9.0
    values[2] = 8.0
    assert a[2] == 8.0
    strided = wp.array(values[::2], dtype=float, copy=False)
    strided[0] = -1.0
    assert values[0] == -1.0 and strided.strides == (8,)
    backwards = wp.array(values[::-1], copy=False)
    assert backwards[0] == values[5] and backwards.strides == (-4,)
    vectors = wp.array(np.zeros((4, 3), np.float32), dtype=wp.vec3, copy=False)
    assert vectors.shape == (4,)
    converted = wp.array(np.arange(3), dtype=float, copy=False)
    assert converted.list() == [0.0, 1.0, 2.0]
    b = wp.array(a, copy=False)
    assert b.ptr == a.ptr and wp.array(a).ptr != a.ptr


@pytest.mark.cpu_only("the memory of the host is shared")
def test_copy_false_shares_read_only_memory_and_warns_of_writes(capfd):
    values = np.arange(4, dtype=np.float32)
    values.flags.writeable = False
    a = wp.array(values, copy=False)
    assert a.ptr == values.ctypes.data
    capfd.readouterr()
    a.fill_(0.0)
    assert values[3] == 0.0
    assert "is written to, though its owner calls it read-only" in capfd.readouterr().err


def test_ptr_and_deleter():
    memory = (ctypes.c_float * 4)(1, 2, 3, 4)
    freed = []
    a = wp.array(
        ptr=ctypes.addressof(memory),
        shape=4,
        dtype=float,
        capacity=16,
        device="cpu",
        deleter=lambda p, n: freed.append((p, n)),
    )
    assert a.list() == [1, 2, 3, 4] and a.capacity == 16
    view = a[1:3]
    del a
    gc.collect()
    assert freed == []
    view[0] = 7.0
    assert memory[1] == 7.0
    del view
    gc.collect()
    assert freed == [(ctypes.addressof(memory), 16)]
    with pytest.warns(DeprecationWarning):
        assert wp.from_ptr(ctypes.addressof(memory), 4, dtype=wp.float32, device="cpu").list() == [1, 7, 3, 4]


def test_strides_of_new_memory():
    a = wp.array(shape=(3, 2), strides=(16, 4), dtype=float)
    assert a.strides == (16, 4) and not a.is_contiguous and a.capacity == 40
    a.fill_(2.0)
    assert a.list() == [2.0] * 6
    assert wp.array(shape=4, dtype=float, capacity=64).capacity == 64


def test_annotations():
    for a, ndim in (
        (wp.array(dtype=float), 1),
        (wp.array(dtype=float, ndim=2), 2),
        (wp.array2d(dtype=float), 2),
        (wp.array[float], 1),
    ):
        assert not a._valid and a.dtype is wp.float32 and a.ndim == ndim and a.device is None
    assert wp.array3d[wp.vec3].ndim == 3 and wp.array3d[wp.vec3].dtype is wp.vec3
    assert wp.array[float, 2].ndim == 2
    assert wp.array().dtype is not None
    assert repr(wp.array(dtype=float, ndim=2)) == "array(ndim=2, dtype=float32)"
    assert isinstance(wp.zeros((2, 2)), wp.array2d) and not isinstance(wp.zeros(2), wp.array2d)
    assert wp.array1d([1.0, 2.0], dtype=float).shape == (2,)


# ---- attributes ----------------------------------------------------------------------------------------------------


def test_attributes():
    a = wp.zeros((2, 3), dtype=wp.vec3)
    assert (a.shape, a.ndim, a.strides, a.size, a.capacity) == ((2, 3), 2, (36, 12), 6, 72)
    assert a.device == wp.get_device() and a.pinned is False and a.is_contiguous and not a.is_transposed
    assert a.ptr and a.owner and len(a) == 2 and bool(a) and a == a and hash(a) == hash(a)
    assert a.transpose().is_transposed and not a.transpose().is_contiguous
    assert (a == wp.zeros((2, 3), dtype=wp.vec3)) is False
    assert set(a.vars) >= {"data", "grad", "shape", "strides", "ndim"}
    assert a.__ctype__().data == a.ptr and list(a.__ctype__().shape[:2]) == [2, 3]
    if a.device.is_cpu:
        assert ctypes.addressof(a.cptr().contents) == a.ptr
        for gaps in (a[:, 0], a[:, 1:], a.transpose()):
            with pytest.raises(RuntimeError, match="contiguous"):
                gaps.cptr()
    else:
        with pytest.raises(RuntimeError, match="of the CPU"):
            a.cptr()
    a.mark_read()
    a.mark_write()
    with pytest.raises(RuntimeError):
        a.ipc_handle()
    assert hasattr(a, "__cuda_array_interface__") == a.device.is_cuda
    a.note = "programs hang things on arrays"


def test_zero_size():
    for shape in (0, (0, 3), (3, 0), (2, 0, 4)):
        a = wp.zeros(shape, dtype=wp.vec3, requires_grad=True)
        assert a.size == 0 and a.ptr is None and a.is_contiguous and a.list() == []
        assert a.numpy().shape == a.shape + (3,)
        assert wp.clone(a).shape == a.shape and a.grad.shape == a.shape
        a.fill_(1.0)
        a.zero_()
        assert a.flatten().shape == (0,)
        np.asarray(a)
        repr(a)
        pickle.loads(pickle.dumps(a))
    assert wp.array([], dtype=float).shape == (0,)
    assert wp.array([], dtype=wp.vec3).shape == (0,)
    assert wp.zeros(5)[3:3].shape == (0,)
    with pytest.raises(IndexError):
        wp.zeros(0)[0]


def test_str_and_repr():
    a = wp.array([1.0, 2.0], dtype=float)
    assert str(a) == "[1. 2.]" and repr(a) == "array([1., 2.], dtype=float32)"
    assert repr(wp.zeros((0, 2), dtype=int)) == "array([], shape=(0, 2), dtype=int32)"
    assert "1.5" in str(wp.array([1.5], dtype=wp.bfloat16))


# ---- indexing ------------------------------------------------------------------------------------------------------


def test_elements():
    a = wp.array(np.arange(12).reshape(3, 4), dtype=float)
    assert a[1, 2] == 6.0 and a[-1, -1] == 11.0 and a[1][2] == 6.0 and a[np.int64(1), np.int8(2)] == 6.0
    assert isinstance(a[0, 0], float) and isinstance(wp.zeros(1, dtype=int)[0], int)
    a[1, 2] = 100.0
    a[2][3] = 50.0
    assert a.numpy()[1, 2] == 100.0 and a.numpy()[2, 3] == 50.0
    v = wp.zeros(2, dtype=wp.vec3)
    v[1] = wp.vec3(1.0, 2.0, 3.0)
    v[0] = (4.0, 5.0, 6.0)
    assert v[1] == wp.vec3(1.0, 2.0, 3.0) and v[0][2] == 6.0
    assert [x for x in wp.array([1, 2, 3], dtype=int)] == [1, 2, 3]
    assert [row.list() for row in a[:2]] == a.numpy()[:2].tolist()
    assert a[..., 1].list() == a.numpy()[..., 1].tolist() and wp.array([5, 6])[..., 1] == 6


@pytest.mark.parametrize("key", [3, -4, (0, 4), (0, -5), (0, 0, 0), (slice(None), 9)])
def test_out_of_range(key):
    a = wp.zeros((3, 4))
    with pytest.raises(RuntimeError):
        a[key]
    with pytest.raises(IndexError):
        a[key] = 1.0


@pytest.mark.parametrize("key", [None, [0, 1], "x", 1.5, (None, 0), (Ellipsis, Ellipsis)])
def test_bad_keys(key):
    with pytest.raises(RuntimeError):
        wp.zeros((3, 4))[key]


def test_bad_values():
    a = wp.zeros(3, dtype=int)
    with pytest.raises(RuntimeError):
        a[0] = 1.5
    with pytest.raises(RuntimeError):
        a[0] = "x"
    with pytest.raises(ValueError):
        wp.zeros(3, dtype=wp.vec3)[0] = (1.0, 2.0)
    with pytest.raises(ValueError):
        a[0:2] = [1, 2, 3]
    with pytest.raises(ValueError):
        a[::0]


def test_slices_share_memory_and_grad():
    a = wp.zeros((4, 4), requires_grad=True)
    row, part = a[1], a[1:3, ::2]
    row.fill_(5.0)
    assert part.list() == [5.0, 5.0, 0.0, 0.0]
    part.grad.fill_(2.0)
    assert a.grad[2, 2] == 2.0 and row.grad.list() == [2.0, 0.0, 2.0, 0.0]
    a[2:, 1] = 7.0
    a[0] = [1.0, 2.0, 3.0, 4.0]
    a[:, 3] = np.arange(4)
    a[3] = a[0]
    expected = np.array([[1, 2, 3, 0], [5, 5, 5, 1], [0, 7, 0, 2], [1, 2, 3, 0]], np.float32)
    np.testing.assert_array_equal(a.numpy(), expected)
    v = wp.zeros(3, dtype=wp.vec3)
    v[1:] = wp.vec3(1.0, 2.0, 3.0)
    assert v.numpy().tolist() == [[0, 0, 0], [1, 2, 3], [1, 2, 3]]


# ---- methods -------------------------------------------------------------------------------------------------------


def test_fill_and_zero():
    v = wp.empty(3, dtype=wp.mat22).fill_(2)
    assert v.numpy().tolist() == [[[2.0, 2.0], [2.0, 2.0]]] * 3
    v.fill_(wp.mat22(1.0, 2.0, 3.0, 4.0))
    assert v.numpy()[2].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    v.fill_(((5.0, 6.0), (7.0, 8.0)))
    assert v.numpy()[0, 1, 0] == 7.0
    assert not v.zero_().numpy().any()
    with pytest.raises(ValueError):
        v.fill_((1.0, 2.0))
    with pytest.raises(ValueError):
        v.fill_("x")
    h = wp.empty(2, dtype=wp.float16).fill_(1.5)
    assert h.numpy().tolist() == [1.5, 1.5]


def test_assign():
    a = wp.zeros((2, 3))
    a.assign(np.arange(6).reshape(2, 3))
    assert a.list() == [0, 1, 2, 3, 4, 5]
    a.assign([9, 8, 7])
    assert a.list() == [9, 8, 7, 3, 4, 5]
    a.transpose().assign(wp.array(np.arange(6).reshape(3, 2), dtype=wp.float64))
    assert a.numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(RuntimeError):
        a.assign(np.zeros(7))
    v = wp.zeros(2, dtype=wp.vec3)
    v.assign(np.arange(6))
    assert v.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_copy_function():
    a, b = wp.array(np.arange(8), dtype=float), wp.zeros(8)
    wp.copy(b, a, dest_offset=2, src_offset=1, count=3)
    assert b.list() == [0, 0, 1, 2, 3, 0, 0, 0]
    wp.copy(a[1:], a[:-1])
    assert a.list() == [0, 0, 1, 2, 3, 4, 5, 6]
    m = wp.zeros((2, 4)).transpose()
    wp.copy(m, wp.array(np.arange(8), dtype=float))
    assert m.numpy().ravel().tolist() == list(range(8))
    for bad in (
        lambda: wp.copy(b, wp.zeros(8, dtype=int)),
        lambda: wp.copy(wp.zeros(4), b),
        lambda: wp.copy(b, a, dest_offset=5, count=4),
        lambda: wp.copy(b, a, src_offset=9),
        lambda: wp.copy(b, a, count=-1),
        lambda: wp.copy(wp.zeros((4, 4))[:, :2], a, src_offset=1, count=1),
    ):
        with pytest.raises(RuntimeError):
            bad()
    with pytest.raises(TypeError):
        wp.copy(b, [1.0])


def test_reshape_flatten_view_transpose():
    a = wp.array(np.arange(12), dtype=float)
    assert a.reshape((3, -1)).shape == (3, 4) and a.reshape(12).shape == (12,)
    a.reshape((3, 4))[1, 1] = 50.0
    assert a[5] == 50.0
    assert a.reshape((3, 4)).flatten().shape == (12,)
    t = a.reshape((3, 4)).transpose()
    assert t.shape == (4, 3) and t[1, 1] == 50.0 and t.contiguous().is_contiguous and a.contiguous() is a
    assert wp.zeros((2, 3, 4)).transpose((2, 0, 1)).shape == (4, 2, 3)
    assert wp.zeros((2, 3)).transpose((-1, -2)).shape == (3, 2)
    for bad in (
        lambda: a.reshape(5),
        lambda: a.reshape((-1, -1)),
        lambda: t.flatten(),
        lambda: t.reshape(12),
        lambda: a.reshape((1,) * 5),
    ):
        with pytest.raises(RuntimeError):
            bad()
    for axes in ((0, 0), (0, 5)):
        with pytest.raises((RuntimeError, ValueError)):
            t.transpose(axes)
    with pytest.raises(ValueError):
        t.transpose((0,))
    bits = wp.array([1.0], dtype=float).view(wp.uint32)
    assert bits.numpy()[0] == 0x3F800000
    v = wp.array(np.arange(12).reshape(4, 3), dtype=float).view(wp.vec3)
    assert v.shape == (4,) and v.view(float).shape == (4, 3) and v.view(float)[1, 1] == 4.0
    for bad in (wp.float64, wp.vec2, wp.float16):
        with pytest.raises(TypeError):
            v.view(bad)
        with pytest.raises(RuntimeError):
            v.view(bad)


def test_long_chains_of_views_end_quietly():
    a = wp.zeros(4)
    for _ in range(50000):
        a = a.view(wp.int32).view(wp.float32)[:].reshape(4)
    assert a.list() == [0.0] * 4
    del a


def test_grad():
    a = wp.zeros(3, requires_grad=True)
    assert a.requires_grad and a.grad is a.grad and a.grad.dtype is wp.float32 and not a.grad.requires_grad
    a.grad.fill_(2.0)
    a.requires_grad = False
    assert a.grad is None
    a.requires_grad = True
    assert a.grad.list() == [0.0] * 3
    g = wp.ones(3)
    for _ in range(3):
        a.grad = g
    assert a.grad is g and a[1:].grad.ptr == g.ptr + 4
    a.grad = None
    assert not a.requires_grad
    assert wp.array([1.0], dtype=float, grad=wp.ones(1)).grad[0] == 1.0
    assert wp.zeros_like(wp.zeros(2, requires_grad=True)).requires_grad
    assert wp.clone(wp.zeros(2, requires_grad=True)).requires_grad
    assert not wp.clone(wp.zeros(2, requires_grad=True), requires_grad=False).requires_grad
    assert wp.zeros(2).to("cpu", requires_grad=True).requires_grad
    assert wp.zeros(2, retain_grad=True).retain_grad and not a.retain_grad
    for bad in (wp.ones(2), wp.ones(3, dtype=int)):
        with pytest.raises(ValueError, match="gradient array is incompatible"):
            a.grad = bad
    with pytest.raises(ValueError, match="gradient array is incompatible"):
        a.grad = np.zeros(3)


def test_factories():
    assert wp.zeros(3).dtype is wp.float32 and wp.zeros((2, 2), dtype=int).list() == [0] * 4
    assert wp.zeros([2, 3]).shape == (2, 3) and wp.zeros(np.int64(3)).shape == (3,)
    assert wp.ones(2, dtype=wp.vec2).numpy().tolist() == [[1, 1], [1, 1]]
    assert wp.full(2, 3).dtype is wp.int32 and wp.full(2, 3.0).dtype is wp.float32 and wp.full(2, True).dtype is wp.bool
    assert wp.full(2, wp.float64(2.0)).dtype is wp.float64 and wp.full(2, wp.vec3(1.0)).dtype is wp.vec3
    assert wp.full(2, (1.0, 2.0)).dtype is wp.vec2 and wp.full(2, [[1.0, 2.0], [3.0, 4.0]]).dtype is wp.mat22
    assert wp.full(2, np.float64(1.0)).dtype is wp.float64 and wp.full(2, 7, dtype=float).list() == [7.0, 7.0]
    a = wp.zeros((2, 3), dtype=wp.vec3)
    for made in (wp.zeros_like(a), wp.empty_like(a), wp.ones_like(a), wp.full_like(a, 3.0), wp.clone(a)):
        assert made.shape == a.shape and made.dtype is wp.vec3 and made.ptr != a.ptr
    assert wp.zeros().shape == (0,)
    with pytest.raises(RuntimeError):
        wp.zeros(3, n=3)
    for bad in (
        lambda: wp.zeros(3, foo=1),
        lambda: wp.zeros_like([1]),
        lambda: wp.zeros(3, dtype=object),
        lambda: wp.zeros("3"),
    ):
        with pytest.raises(TypeError):
            bad()


def test_from_numpy_folds():
    assert wp.from_numpy(np.zeros((4, 3), np.float32)).dtype is wp.vec3
    assert wp.from_numpy(np.zeros((4, 3, 3), np.float32)).dtype is wp.mat33
    assert wp.from_numpy(np.zeros(4)).dtype is wp.float64
    assert wp.from_numpy(np.zeros((4, 3)), dtype=float).shape == (4, 3)
    values = np.zeros(4, np.float32)
    assert wp.from_numpy(values).ptr != values.ctypes.data


@pytest.mark.cpu_only("")
@pytest.mark.skipif(wp.is_cuda_available(), reason="there is CUDA")
def test_pinned_memory_needs_cuda():
    a = wp.zeros(3)
    for make in (
        lambda: wp.zeros(3, pinned=True),
        lambda: wp.empty(3, pinned=True),
        lambda: wp.ones(3, pinned=True),
        lambda: wp.full(3, 1.0, pinned=True),
        lambda: wp.array(np.zeros(3), pinned=True),
        lambda: wp.array([1.0], dtype=float, pinned=True),
        lambda: wp.zeros_like(a, pinned=True),
        lambda: wp.clone(a, pinned=True),
    ):
        with pytest.raises(RuntimeError, match="CUDA"):
            make()
    assert a.memory_kind == wp.MemoryKind.HOST and not a.pinned and not wp.zeros_like(a, pinned=False).pinned
    assert wp.array(dtype=float).memory_kind == wp.MemoryKind.UNKNOWN
