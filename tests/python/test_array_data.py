"""What arrays are made of: data of no dimension, -1 in shapes, extents of 1, strides, and values that don't convert."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp


@wp.struct
class Item:
    value: float
    place: wp.vec3


# ---- shapes --------------------------------------------------------------------------------------------------------


def test_data_without_dimensions():
    a = wp.array(np.array(0.25), dtype=float)
    assert a.shape == (1,) and a.numpy()[0] == 0.25
    assert wp.array(np.array(0.25)).dtype is wp.float64
    assert wp.array(np.array(3), dtype=float, shape=(1, 1)).shape == (1, 1)
    assert wp.array(np.array(3), dtype=float, shape=-1).shape == (1,)
    assert wp.array(np.array(True), dtype=float).list() == [1.0]
    with pytest.raises(RuntimeError):
        wp.array(np.array(3), dtype=float, shape=(3,))
    for number in (1, 1.0, True, np.float32(1.0), wp.float64(1.0)):
        with pytest.raises(RuntimeError, match="not a single value"):
            wp.array(number, dtype=float)


@pytest.mark.parametrize(
    "data, dtype, shape, expected",
    [
        ((18,), wp.mat33, (-1,), (2,)),
        ((18,), float, (-1, 3), (6, 3)),
        ((3, 6), float, -1, (18,)),
        ((2, 3, 4), float, (2, -1), (2, 12)),
        ((0, 3), float, (-1, 3), (0, 3)),
        ((2, 9), wp.mat33, (2,), (2,)),
        ((18,), wp.mat33, (2,), (2,)),
        ((6, 3), wp.vec3, (2, -1), (2, 3)),
    ],
)
def test_one_extent_from_the_data(data, dtype, shape, expected):
    values = np.arange(int(np.prod(data)), dtype=np.int64).reshape(data)
    for given in (values, values.tolist(), values.astype(np.float64)):
        if values.size == 0 and isinstance(given, list):
            continue
        a = wp.array(given, dtype=dtype, shape=shape)
        assert a.shape == expected
        np.testing.assert_array_equal(a.numpy().ravel(), values.ravel())


def test_one_extent_from_an_array():
    a = wp.array(np.arange(12), dtype=float)
    assert wp.array(a, shape=(-1, 4)).shape == (3, 4)
    assert wp.array([Item(), Item()], dtype=Item, shape=(-1, 1)).shape == (2, 1)
    assert a.reshape((-1, 3)).shape == (4, 3)


@pytest.mark.parametrize("shape", [(-1, -1), (-1, 5), (-2, 6), (-1, 0)])
def test_extents_that_do_not_fit(shape):
    with pytest.raises(RuntimeError):
        wp.array(np.zeros(12), dtype=float, shape=shape)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: wp.zeros(n),
        lambda n: wp.empty((n, 3)),
        lambda n: wp.full(n, 1.0),
        lambda n: wp.array(shape=(n,), dtype=float),
        lambda n: wp.array(shape=(n, 2), strides=(8, 4), dtype=float),
        lambda n: wp.zeros((n, 2), strides=(8, 4)),
        lambda n: wp.array(ptr=64, shape=(n,), dtype=float, device="cpu"),
    ],
)
def test_negative_extents(make):
    with pytest.raises(ValueError, match="Array shapes must be non-negative, got -1 in dimension 0"):
        make(-1)


@pytest.mark.parametrize(
    "shape, dtype, expected",
    [
        ((4, 3, 1), wp.vec3, (4,)),
        ((4, 1, 3, 1), wp.vec3, (4, 1)),
        ((6, 1), wp.vec3, (2,)),
        ((4, 3, 1, 1), wp.vec3, (4,)),
        ((3, 1), wp.vec3, (1,)),
        ((2, 2, 2, 1), wp.mat22, (2,)),
        ((2, 9, 1), wp.mat33, (2,)),
        ((4, 1), wp.mat22, (1,)),
        ((5, 3, 1), wp.types.matrix(shape=(3, 1), dtype=float), (5,)),
        ((5, 1), wp.types.vector(length=1, dtype=float), (5,)),
        ((0, 3, 1), wp.vec3, (0,)),
    ],
)
def test_trailing_extents_of_one(shape, dtype, expected):
    values = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    a = wp.array(values, dtype=dtype)
    assert a.shape == expected
    np.testing.assert_array_equal(a.numpy().ravel(), values.ravel())


def test_rank_of_the_data_wins():
    assert wp.array2d([1, 2], dtype=int).shape == (2,)
    assert wp.array([1, 2], dtype=int, ndim=2).shape == (2,)
    assert wp.array([], dtype=int, ndim=2).shape == (0,)
    assert wp.array(np.zeros((2, 2, 2)), dtype=int, ndim=2).shape == (2, 2, 2)
    assert wp.array(shape=(3,), dtype=int, ndim=2).shape == (3,)
    assert wp.empty(3, dtype=float, ndim=2).shape == (3,)
    assert wp.zeros((3, 2), dtype=float, ndim=2).shape == (3, 2)
    assert wp.full((3, 2), 1.0, dtype=float, ndim=2).shape == (3, 2)


# ---- layout --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [wp.zeros, wp.empty, wp.ones])
def test_strides_of_new_arrays(make):
    a = make((3, 5), dtype=float, strides=(4, 12))
    assert a.shape == (3, 5) and a.strides == (4, 12) and a.capacity == 60 and a.is_transposed
    a.assign(np.arange(15).reshape(3, 5))
    np.testing.assert_array_equal(a.numpy(), np.arange(15).reshape(3, 5))
    assert make((3, 5), dtype=wp.vec2, strides=(100, 8)).capacity == 2 * 100 + 4 * 8 + 8


def test_strides_with_values_and_gradients():
    a = wp.full((3, 5), 2.0, dtype=float, strides=(4, 12), requires_grad=True)
    assert a.numpy().tolist() == [[2.0] * 5] * 3 and a.grad.strides == (4, 12) and not a.grad.numpy().any()
    assert not wp.zeros((3, 5), dtype=wp.vec3, strides=(64, 12)).numpy().any()
    with pytest.raises(ValueError, match="expected 2 strides, got 1"):
        wp.zeros((3, 5), dtype=float, strides=(4,))
    with pytest.raises(NotImplementedError, match="Negative strides"):
        wp.zeros((3, 3), dtype=int, strides=(16, -4))
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        a[::0]


class BothInterfaces:
    """Memory that an object shows as the host's and as a GPU's."""

    def __init__(self, values):
        self.values = values
        self.__array_interface__ = values.__array_interface__

    @property
    def __cuda_array_interface__(self):
        raise AssertionError("the host's interface is to be read")


class HasBoth(BothInterfaces):
    @property
    def __cuda_array_interface__(self):
        return {**self.values.__array_interface__, "version": 3}


@pytest.mark.parametrize("copy", [True, False])
def test_host_interface_for_the_host(copy):
    values = np.arange(3, dtype=np.float32)
    a = wp.array(HasBoth(values), dtype=float, device="cpu", copy=copy)
    assert a.numpy().tolist() == [0.0, 1.0, 2.0] and (a.ptr == values.ctypes.data) is not copy


# ---- values --------------------------------------------------------------------------------------------------------


def test_fill_with_zero_clears_structs():
    a = wp.array([Item(), Item()], dtype=Item)
    item = Item()
    item.value = 3.0
    a.fill_(item)
    assert a.numpy()["value"].tolist() == [3.0, 3.0]
    a.fill_(0)
    assert a.numpy()["value"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("value", ["x", None, (1.0, 2.0), object(), 1 + 2j])
def test_values_that_do_not_convert(value):
    for dtype in (float, wp.vec3, Item):
        with pytest.raises(ValueError, match="Failed to convert the value to the array data type"):
            wp.zeros(2, dtype=dtype).fill_(value)
        with pytest.raises(ValueError, match="Failed to convert the value to the array data type"):
            wp.full(2, value, dtype=dtype)


def test_fill_refuses_without_a_trace():
    a = wp.full(3, 2.0)
    with pytest.raises(ValueError):
        a.fill_("x")
    assert a.numpy().tolist() == [2.0] * 3
    with pytest.raises(ValueError):
        wp.full(3, "x")
    with pytest.raises(ValueError):
        wp.zeros(3, dtype=int).fill_(1.5)


def test_fill_infinity_and_vectors():
    assert np.isposinf(wp.zeros(3).fill_(wp.inf).numpy()).all()
    assert np.isposinf(wp.full(2, wp.inf, dtype=wp.vec3).numpy()).all()
    assert wp.zeros(2, dtype=wp.vec3).fill_(wp.vec3(1.0, 2.0, 3.0)).numpy().tolist() == [[1.0, 2.0, 3.0]] * 2
    assert wp.zeros(2, dtype=wp.vec3).fill_([1, 2, 3]).numpy().tolist() == [[1.0, 2.0, 3.0]] * 2


@pytest.mark.parametrize("dtype", [bool, np.float64, np.int64, np.uint8])
def test_other_numbers_are_converted(dtype):
    values = np.array([0, 1, 1, 0]).astype(dtype)
    assert wp.array(values, dtype=float).numpy().tolist() == [0.0, 1.0, 1.0, 0.0]
    assert wp.array(values, dtype=int).numpy().tolist() == [0, 1, 1, 0]
    assert wp.array(values, dtype=bool).numpy().tolist() == [False, True, True, False]


@wp.kernel
def add_one(a: wp.array2d(dtype=float)):
    i, j = wp.tid()
    a[i, j] = a[i, j] + 1.0


def test_another_view_of_memory_while_capturing():
    a = wp.zeros(6, dtype=float)
    wp.load_module(device=a.device)
    with wp.ScopedCapture() as capture:
        view = wp.array(ptr=a.ptr, dtype=float, shape=(2, 3), device=a.device, copy=False)
        wp.launch(add_one, dim=(2, 3), inputs=[view])
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert a.numpy().tolist() == [2.0] * 6


def test_memory_of_others_by_a_tuple_and_by_all_else_is_the_same():
    """An address and a tuple of extents take a way of their own."""
    memory = np.arange(24, dtype=np.float32)
    address = memory.ctypes.data

    def made(shape, dtype=float, **words):
        return wp.array(ptr=address, dtype=dtype, shape=shape, device="cpu", **words)

    for plain, other in (
        (made((2, 12)), made([2, 12])),
        (made((24,)), made(24)),
        (made((8,), wp.vec3), made([8], wp.vec3)),
        (made((0, 3)), made([0, 3])),
        (made((np.int64(2), 3)), made([2, 3])),
        (made((2, 3), wp.types.vector(4, wp.float32), copy=False), made([2, 3], wp.types.vector(4, wp.float32))),
    ):
        for array in (plain, other):
            assert array.device == wp.get_device("cpu") and not array.requires_grad and array.deleter is None
        assert (plain.dtype, plain.shape, plain.strides, plain.ptr) == (other.dtype, other.shape, other.strides, other.ptr)
        np.testing.assert_array_equal(plain.numpy(), other.numpy())
    plain.fill_(3.0)
    assert (memory == 3.0).all()
    for bad in (((2.5,), float), (("2",), float), ((1, 1, 1, 1, 1), float), ((), float), ((-1,), float), ((3,), None)):
        errors = []
        for shape in (bad[0], list(bad[0])):
            with pytest.raises((TypeError, RuntimeError, ValueError)) as caught:
                made(shape, bad[1])
            errors.append((caught.type, str(caught.value).replace("[", "(").replace("]", ")").replace(",)", ")")))
        assert errors[0] == errors[1]
    for wrong in (1 << 64, 2**70):
        with pytest.raises(RuntimeError, match="is no address"):
            wp.array(ptr=wrong, dtype=float, shape=(1,), device="cpu")
