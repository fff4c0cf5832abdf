"""Arrays: constructors, methods, attributes."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

from . import calls, members


def _grid() -> wp.array:
    return wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), dtype=float)


@calls("array", "array1d", "array2d", "array3d", "array4d")
def constructors() -> None:
    assert wp.array([1.0, 2.0], dtype=float).list() == [1.0, 2.0]
    for rank, make in enumerate((wp.array1d, wp.array2d, wp.array3d, wp.array4d), 1):
        made = make(np.ones((2,) * rank, np.float32), dtype=float)
        assert made.ndim == rank and made.size == 2**rank


@calls("array[T]")
def subscript() -> None:
    assert wp.types.types_equal(wp.array[wp.vec3], wp.array(dtype=wp.vec3))
    assert wp.types.types_equal(wp.array2d[float], wp.array(dtype=float, ndim=2))


@calls("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "clone")
def factories() -> None:
    assert (
        wp.empty(3).shape == (3,) and wp.zeros((2, 2)).numpy().sum() == 0.0 and wp.ones(3, dtype=int).list() == [1] * 3
    )
    a = wp.full(3, 7.0, dtype=float)
    assert a.list() == [7.0] * 3 and wp.clone(a).list() == a.list() and wp.clone(a).ptr != a.ptr
    assert wp.empty_like(a).shape == (3,) and wp.zeros_like(a).list() == [0.0] * 3
    assert wp.ones_like(a).list() == [1.0] * 3 and wp.full_like(a, 2.0).list() == [2.0] * 3


@calls("copy", "from_numpy", "from_ptr")
def copies() -> None:
    a = wp.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert a.dtype is wp.vec3 and a.shape == (2,)
    b = wp.zeros(2, dtype=wp.vec3)
    wp.copy(b, a, dest_offset=1, src_offset=0, count=1)
    assert b.numpy().tolist() == [[0, 0, 0], [0, 1, 2]]
    with pytest.warns(DeprecationWarning):
        assert wp.from_ptr(a.ptr, 2, dtype=wp.vec3).numpy().tolist() == a.numpy().tolist()


@members("array", "shape", "strides", "dtype", "ndim", "size", "capacity", "ptr", "device", "pinned", "is_contiguous")
def attributes() -> None:
    a = _grid()
    assert a.shape == (2, 3) and a.strides == (12, 4) and a.dtype is wp.float32 and a.ndim == 2 and a.size == 6
    assert a.capacity >= 24 and isinstance(a.ptr, int) and a.device == wp.get_device() and not a.pinned and a.is_contiguous


@members("array", "is_transposed", "deleter", "owner", "memory_kind")
def rare_attributes() -> None:
    a = _grid()
    assert not a.is_transposed and a.transpose().is_transposed
    assert a.deleter is None or callable(a.deleter)
    assert a.owner is True
    assert (a.memory_kind is wp.MemoryKind.HOST) == a.device.is_cpu


@members("array", "__len__", "__getitem__", "__array__", "__array_interface__", "__ctype__", "cptr", "vars")
def protocols() -> None:
    a = _grid()
    assert len(a) == 2 and a[1].list() == [3.0, 4.0, 5.0] and np.asarray(a).tolist() == a.numpy().tolist()
    interface = a.__array_interface__ if a.device.is_cpu else a.__cuda_array_interface__
    assert interface["shape"] == (2, 3) and interface["data"][0] == a.ptr
    assert a.__ctype__() is not None and a.to("cpu").cptr() is not None and isinstance(a.vars, dict)


@members("array", "__dlpack__", "__dlpack_device__")
def dlpack() -> None:
    a = _grid()
    if a.device.is_cpu:
        assert a.__dlpack_device__() == (1, 0) and np.from_dlpack(a).tolist() == a.numpy().tolist()
    else:
        assert a.__dlpack_device__() == (2, a.device.ordinal)
        with pytest.raises(BufferError):
            np.from_dlpack(a)


@calls("matmul")
@members("array", "__matmul__")
def products() -> None:
    a, b = wp.ones((2, 3)), wp.ones((3, 2))
    c, d = wp.zeros((2, 2)), wp.zeros((2, 2))
    wp.matmul(a, b, c, d, alpha=2.0)
    assert d.list() == [6.0] * 4 and (a @ b).list() == [3.0] * 4


@members("array", "__add__", "__mul__")
def arithmetic() -> None:
    a = _grid()
    assert (a + a).list() == [2.0 * x for x in range(6)] and (a * 3.0).list() == [3.0 * x for x in range(6)]


@members("array", "grad", "requires_grad", "retain_grad", "mark_read", "mark_write")
def gradients() -> None:
    a = wp.zeros(2, requires_grad=True)
    assert a.requires_grad and a.grad.list() == [0.0, 0.0] and not a.retain_grad
    a.requires_grad = False
    assert a.grad is None
    a.mark_read()
    a.mark_write()


@members("array", "zero_", "fill_", "assign", "numpy", "list", "to")
def contents() -> None:
    a = _grid()
    a.fill_(2.0)
    assert a.list() == [2.0] * 6
    a.zero_()
    assert a.numpy().sum() == 0.0
    a.assign(np.ones((2, 3)))
    assert a.to(a.device) is a and a.list() == [1.0] * 6


@members("array", "flatten", "reshape", "view", "contiguous", "transpose")
def shapes() -> None:
    a = _grid()
    assert a.flatten().shape == (6,) and a.reshape((3, 2)).shape == (3, 2) and a.view(wp.int32).dtype is wp.int32
    turned = a.transpose()
    assert turned.shape == (3, 2) and turned.contiguous().is_contiguous


@calls("indexedarray", "indexedarray1d", "indexedarray2d", "indexedarray3d", "indexedarray4d")
@members(
    "indexedarray", "__len__", "contiguous", "numpy", "list", "assign", "zero_", "fill_", "to", "__ctype__", "vars"
)
def indexed() -> None:
    a = wp.array([10.0, 11.0, 12.0, 13.0], dtype=float)
    some = wp.indexedarray(a, [wp.array([3, 1], dtype=wp.int32)])
    assert len(some) == 2 and some.list() == [13.0, 11.0] and some.contiguous().numpy().tolist() == [13.0, 11.0]
    assert some.to("cpu").numpy().tolist() == [13.0, 11.0]
    some.assign(np.array([1.0, 2.0], np.float32))
    assert a.list() == [10.0, 2.0, 12.0, 1.0]
    some.fill_(5.0)
    some.zero_()
    assert a.list() == [10.0, 0.0, 12.0, 0.0] and some.__ctype__() is not None and isinstance(some.vars, dict)
    for rank, make in enumerate((wp.indexedarray1d, wp.indexedarray2d, wp.indexedarray3d, wp.indexedarray4d), 1):
        assert make(dtype=float).ndim == rank


@members("indexedarray", "__add__", "__mul__")
def indexed_arithmetic() -> None:
    a = wp.array([10.0, 11.0, 12.0], dtype=float)
    some = wp.indexedarray(a, [wp.array([2, 0], dtype=wp.int32)])
    assert (some + some).list() == [24.0, 20.0] and (some * 2.0).list() == [24.0, 20.0]


def _buckets(data: wp.array) -> wp.fabricarray:
    attribute = {"type": (True, "f4", 1, 0, ""), "access": 2, "pointers": [data.ptr, data.ptr + 8], "counts": [2, 2]}
    return wp.fabricarray({"version": 1, "device": str(data.device), "attribs": {"p": attribute}, "owner": data}, "p")


@calls("fabricarray", "fabricarrayarray", "indexedfabricarray", "indexedfabricarrayarray")
@members("fabricarray", "__len__", "__getitem__", "contiguous", "numpy", "list", "assign", "zero_", "fill_", "to", "__ctype__")
@members("fabricarray", "vars", "__add__", "__mul__")
@members("indexedfabricarray", "__len__", "contiguous", "numpy", "list", "assign", "zero_", "fill_", "to", "__ctype__", "vars")
@members("indexedfabricarray", "__add__", "__mul__")
def over_buckets() -> None:
    data = wp.array([10.0, 11.0, 12.0, 13.0], dtype=float)
    whole = _buckets(data)
    some = whole[wp.array([3, 1], dtype=wp.int32)]
    assert len(whole) == 4 and len(some) == 2 and some.list() == [13.0, 11.0]
    assert (some + some).list() == [26.0, 22.0] and (some * 2.0).list() == [26.0, 22.0]
    assert (whole + whole).list() == (whole * 2.0).list() == [20.0, 22.0, 24.0, 26.0]
    some.assign(np.array([1.0, 2.0], np.float32))
    assert data.list() == [10.0, 2.0, 12.0, 1.0] == whole.list() == whole.contiguous().list()
    some.fill_(5.0)
    some.zero_()
    assert data.list() == [10.0, 0.0, 12.0, 0.0]
    whole.assign([1.0, 2.0, 3.0, 4.0])
    assert whole.numpy().tolist() == [1.0, 2.0, 3.0, 4.0] and some.contiguous().numpy().tolist() == some.numpy().tolist()
    whole.fill_(5.0)
    whole.zero_()
    for one in (whole, some):
        assert one.to(data.device) is one and one.__ctype__() is not None and isinstance(one.vars, dict)
    assert wp.fabricarrayarray(dtype=float).ndim == wp.indexedfabricarrayarray(dtype=float).ndim == 2


@calls("fixedarray")
def fixed() -> None:
    kind = wp.fixedarray(shape=(2, 3), dtype=float)
    assert kind.shape == (2, 3) and kind.ndim == 2 and kind.dtype is wp.float32
