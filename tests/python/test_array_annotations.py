"""Arrays without memory: annotations, whose attributes programs set and read, and arrays at no address."""

from __future__ import annotations

import copy
import pickle
import typing

import numpy as np
import pytest

import warp as wp


@wp.struct
class Item:
    value: float
    place: wp.vec3


@wp.kernel
def fill_where_there_is_memory(maybe: wp.array(dtype=float), out: wp.array(dtype=int)):
    out[0] = maybe.shape[0]
    if maybe:
        out[1] = 1
        maybe[0] = 5.0


# ---- annotations ---------------------------------------------------------------------------------------------------


def test_shape_of_annotation_is_the_programs():
    spec = wp.array(ndim=2, dtype=float)
    spec.shape = ("nworld", "nq")
    assert spec.shape == ("nworld", "nq") and spec.ndim == 2 and spec.dtype is wp.float32
    spec.shape = ("nworld", 3)
    assert spec.shape == ("nworld", 3)
    assert len(spec) == 0 and spec.size == 0 and spec.numpy().shape == (0, 0)
    other = wp.array(ndim=2, dtype=float)
    assert other.shape == (0, 0)


def test_other_attributes_of_annotation():
    spec = wp.array(ndim=2, dtype=float)
    spec.strides = (8, 4)
    spec.dtype = wp.vec3
    spec.ndim = 3
    assert (spec.strides, spec.dtype, spec.ndim, spec.shape) == ((8, 4), wp.vec3, 3, (0, 0, 0))
    spec._is_batched = True
    assert spec._is_batched


def test_changed_annotation_is_what_kernels_get():
    spec = wp.array(dtype=int)

    def add_one(a: spec):
        i, j = wp.tid()
        a[i, j] = a[i, j] + 1.0

    assert wp.types.types_equal(spec, wp.array(dtype=int))
    spec.ndim, spec.dtype = 2, float
    add_one.__annotations__["a"] = spec
    kernel = wp.Kernel(add_one)
    a = wp.zeros((2, 2), dtype=float)
    wp.launch(kernel, dim=(2, 2), inputs=[a])
    assert a.numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    "spec, shape, data",
    [
        (wp.array(dtype=float), (0,), (0,)),
        (wp.array(dtype=float, ndim=2), (0, 0), (0, 0)),
        (wp.array2d(dtype=wp.vec3), (0, 0), (0, 0, 3)),
        (wp.array[wp.mat22], (0,), (0, 2, 2)),
        (wp.array3d[int], (0, 0, 0), (0, 0, 0)),
        (wp.array(), (0,), (0,)),
    ],
)
def test_annotations_answer_as_empty_arrays(spec, shape, data):
    assert spec.shape == shape and spec.strides == shape and spec.ndim == len(shape)
    assert spec.size == 0 and len(spec) == 0 and not spec and not spec.is_contiguous and not spec.is_transposed
    assert spec.ptr is None and spec.device is None and spec.capacity == 0 and spec.grad is None
    assert spec.numpy().shape == data and spec.list() == []
    assert not spec.pinned and not spec.requires_grad


def test_new_arrays_like_an_annotation():
    spec = wp.array(dtype=wp.vec2, ndim=2)
    for made in (wp.zeros_like(spec), wp.empty_like(spec), wp.clone(spec)):
        assert made.shape == (0, 0) and made.dtype is wp.vec2 and made._valid
    for made in (copy.copy(spec), copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))):
        assert made.dtype is wp.vec2 and made.ndim == 2 and not made._valid


def test_annotations_are_no_arguments():
    with pytest.raises(RuntimeError, match="annotation"):
        wp.launch(fill_where_there_is_memory, dim=1, inputs=[wp.array(dtype=float), wp.zeros(2, dtype=int)])


# ---- attributes of arrays with memory ------------------------------------------------------------------------------


def test_any_attribute_may_be_added():
    a = wp.zeros(3)
    a._is_batched, a.name = True, "q"
    assert a._is_batched and a.name == "q"


def test_contiguous_arrays_take_a_shape():
    a = wp.array(np.arange(6), dtype=float, requires_grad=True)
    a.grad.fill_(2.0)
    at = a.ptr
    a.shape = (2, 3)
    assert (a.shape, a.strides, a.ndim, a.size, a.ptr) == ((2, 3), (12, 4), 2, 6, at)
    assert a.numpy().tolist() == [[0, 1, 2], [3, 4, 5]] and a.grad.numpy().tolist() == [[2, 2, 2], [2, 2, 2]]
    a.shape = (-1,)
    assert a.shape == (6,) and a.grad.shape == (6,)
    with pytest.raises(RuntimeError):
        a.shape = (4, 2)
    with pytest.raises(RuntimeError):
        a[::2].shape = (3, 1)
    assert a.shape == (6,)


def test_what_memory_decides_stays():
    a = wp.zeros((2, 3))
    a.strides, a.ndim, a.dtype, a.ptr = a.strides, a.ndim, a.dtype, a.ptr  # as they are
    for name, value in (("strides", (4, 8)), ("ndim", 1), ("dtype", wp.int32), ("ptr", a.ptr + 4)):
        with pytest.raises(AttributeError):
            setattr(a, name, value)


# ---- arrays at no address ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ptr", [0, np.uint64(0)])
def test_null_pointer(ptr):
    a = wp.array(ptr=ptr, shape=(3,), dtype=float)
    assert (a.shape, a.size, len(a), a.strides, a.ndim, a.dtype) == ((3,), 3, 3, (4,), 1, wp.float32)
    assert not a.ptr and a.capacity == 0 and str(a.device) == str(wp.get_device())
    out = wp.zeros(2, dtype=int)
    wp.launch(fill_where_there_is_memory, dim=1, inputs=[a, out])
    assert out.numpy().tolist() == [3, 0]
    for use in (a.numpy, a.zero_, lambda: a[0], lambda: a.fill_(1.0), lambda: wp.clone(a), lambda: a.reshape(-1)):
        with pytest.raises(RuntimeError):
            use()
    with pytest.raises(RuntimeError, match="expected"):
        wp.launch(fill_where_there_is_memory, dim=1, inputs=[wp.array(ptr=ptr, shape=3, dtype=int), out])


def test_memory_let_go():
    a = wp.zeros((2, 3), dtype=wp.vec3, requires_grad=True)
    a.ptr = None
    assert a.ptr is None and a.shape == (2, 3) and a.dtype is wp.vec3 and a.grad is None and a.size == 6
    b = wp.full(3, 1.0)
    out = wp.zeros(2, dtype=int)
    wp.launch(fill_where_there_is_memory, dim=1, inputs=[b, out])
    assert out.numpy().tolist() == [3, 1] and b.numpy()[0] == 5.0
    b.ptr = None
    out.zero_()
    wp.launch(fill_where_there_is_memory, dim=1, inputs=[b, out])
    assert out.numpy().tolist() == [3, 0]


def test_null_pointer_of_structs():
    a = wp.array(ptr=0, shape=(2,), dtype=Item)
    assert a.dtype is Item and a.shape == (2,)


# ---- truth ---------------------------------------------------------------------------------------------------------


def test_truth_follows_the_length():
    assert not wp.zeros(0) and not wp.zeros((0, 3)) and wp.zeros((3, 0)) and wp.zeros(1)
    picked = wp.zeros(4)[wp.array([1, 2], dtype=int)]
    assert picked and not wp.indexedarray(wp.zeros(4), [wp.zeros(0, dtype=int)])


# ---- unions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "annotation",
    [wp.array(dtype=float), wp.array[wp.vec3], wp.array2d[int], wp.indexedarray(dtype=float), wp.tile(dtype=float, shape=4)],
    ids=["array", "brackets", "two", "indexed", "tile"],
)
def test_objects_that_annotate_stand_in_unions(annotation):
    for union in (annotation | None, None | annotation):
        assert union is typing.Any or set(typing.get_args(union)) == {annotation, type(None)}
    assert annotation | int is typing.Any or int in typing.get_args(annotation | int)


def test_arrays_with_elements_are_no_part_of_unions():
    values = wp.zeros(3, dtype=int)
    with pytest.raises(TypeError):
        values | None
    with pytest.raises(TypeError):
        wp.indexedarray(values, wp.zeros(1, dtype=int)) | None
