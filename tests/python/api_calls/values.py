"""Values and types in Python scope: members of vectors, matrices, quaternions and transforms, questions about types."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import warp as wp

from . import calls, members


@members("vec3", "__getitem__", "__setitem__", "__add__", "__mul__", "__eq__", "from_ptr")
def vector() -> None:
    v = wp.vec3(1.0, 2.0, 3.0)
    v[1] = 5.0
    assert v[1] == 5.0 and v[0:2] == wp.vec2(1.0, 5.0) and v + v == wp.vec3(2.0, 10.0, 6.0) and v * 2.0 == v + v
    assert wp.vec3.from_ptr(ctypes.addressof(v)) == v and v != wp.vec3()


@members("mat33", "__len__", "__getitem__", "__setitem__", "__add__", "__mul__", "__matmul__", "__eq__", "from_ptr")
@members("mat33", "get_row", "get_col", "set_row", "set_col")
def matrix() -> None:
    m = wp.mat33(*range(9))
    assert len(m) == 3 and m[1, 2] == 5.0 and m.get_row(1) == wp.vec3(3, 4, 5) and m.get_col(0) == wp.vec3(0, 3, 6)
    m[0, 0] = 1.0
    m.set_row(1, wp.vec3(1, 1, 1))
    m.set_col(2, wp.vec3(2, 2, 2))
    assert m == wp.mat33(1, 1, 2, 1, 1, 2, 6, 7, 2) and m + m == m * 2.0
    unit = wp.identity(3, float)
    assert m @ unit == m == m * unit and wp.mat33.from_ptr(ctypes.addressof(m)) == m


@members("quat", "__getitem__", "__setitem__", "__add__", "__mul__", "__eq__", "from_ptr")
def quaternion() -> None:
    q = wp.quat(0.0, 0.0, 0.0, 1.0)
    assert q[3] == 1.0 and q * q == q and q + q == q * 2.0 and wp.quat.from_ptr(ctypes.addressof(q)) == q
    q[0] = 2.0
    assert q.x == 2.0 and q != wp.quat()


@members("transform", "__getitem__", "__setitem__", "__add__", "__mul__", "__eq__", "from_ptr", "p", "q")
def transform() -> None:
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    assert t.p == wp.vec3(1.0, 2.0, 3.0) and t.q == wp.quat_identity() and t[1] == 2.0
    t[0] = 5.0
    assert (t * wp.transform_identity()) == t and wp.transform.from_ptr(ctypes.addressof(t)) == t
    assert (t + t)[0] == 10.0


@calls("vec", "mat", "types.vector", "types.matrix", "types.quaternion", "types.transformation")
def factories() -> None:
    assert wp.vec(3, float) is wp.types.vector(length=3, dtype=float) is wp.vec3
    assert wp.mat((2, 2), wp.float64) is wp.types.matrix(shape=(2, 2), dtype=wp.float64) is wp.mat22d
    assert wp.types.quaternion(wp.float16) is wp.quath and wp.types.transformation(wp.float64) is wp.transformd
    assert wp.types.vector(7, wp.int8)(1).x == wp.int8(1)


@calls("matrix_from_cols", "matrix_from_rows", "transform_expand")
def builders() -> None:
    a, b = wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)
    assert wp.matrix_from_cols(a, b) == wp.mat22(1, 3, 2, 4) and wp.matrix_from_rows(a, b) == wp.mat22(1, 2, 3, 4)
    assert wp.transform_expand([1, 2, 3, 0, 0, 0, 1]).p == wp.vec3(1, 2, 3)


@calls("dtype_from_numpy", "dtype_to_numpy", "types.np_dtype_to_warp_type", "types.warp_type_to_np_dtype")
def numpy_types() -> None:
    for name in ("int8", "uint16", "int64", "float16", "float32", "float64"):
        assert wp.dtype_from_numpy(np.dtype(name)) is getattr(wp, name)
        assert np.dtype(wp.dtype_to_numpy(getattr(wp, name))) == name
        assert wp.types.np_dtype_to_warp_type[np.dtype(name)] is getattr(wp, name)
        assert np.dtype(wp.types.warp_type_to_np_dtype[getattr(wp, name)]) == name
    with pytest.raises(TypeError):
        wp.dtype_from_numpy(np.complex64)


@calls("Float", "Int", "Scalar")
def generics() -> None:
    assert wp.types.types_equal(wp.Float, wp.float16, match_generic=True)
    assert wp.types.types_equal(wp.Int, wp.int8, True) and not wp.types.types_equal(wp.Int, wp.float32, True)
    assert wp.types.types_equal(wp.Scalar, wp.uint8, True)


@calls("types", "types.float_types", "types.int_types", "types.scalar_types", "types.vector_types")
@calls("types.non_atomic_types")
def lists() -> None:
    import warp.types

    assert warp.types is wp.types and wp.float32 in wp.types.float_types and wp.int8 in wp.types.int_types
    assert set(wp.types.float_types) | set(wp.types.int_types) == set(wp.types.scalar_types)
    assert wp.vec3 in wp.types.vector_types and wp.int8 in wp.types.non_atomic_types


@wp.struct
class _Some:
    x: float


_VALUES = {
    "int": 1,
    "float": 1.0,
    "vector": wp.vec3(),
    "matrix": wp.mat22(),
    "quaternion": wp.quat(),
    "struct": _Some(),
}


@calls(*(f"types.is_{name}" for name in ("int", "float", "scalar", "vector", "matrix", "quaternion", "composite")))
@calls("types.is_struct", "types.is_array", "types.is_value")
def value_questions() -> None:
    for name in _VALUES:
        for kind, value in _VALUES.items():
            assert getattr(wp.types, f"is_{name}")(value) == (name == kind)
    assert wp.types.is_scalar(wp.int8(1)) and wp.types.is_scalar(2.0) and not wp.types.is_scalar("1")
    assert wp.types.is_composite(wp.transform()) and not wp.types.is_composite(1.0)
    assert wp.types.is_array(wp.zeros(1)) and not wp.types.is_array([1])
    assert wp.types.is_array(wp.indexedarray(wp.zeros(2), [wp.array([1], dtype=int)]))
    assert wp.types.is_value(wp.vec3()) and wp.types.is_value(1) and not wp.types.is_value(wp.zeros(1))


@calls(*(f"types.type_is_{name}" for name in ("int", "float", "scalar", "vector", "matrix", "quaternion", "composite")))
@calls("types.type_is_struct", "types.type_is_array", "types.type_is_value", "types.type_is_transformation")
def type_questions() -> None:
    for name in _VALUES:
        for kind, value in _VALUES.items():
            assert getattr(wp.types, f"type_is_{name}")(type(value)) == (name == kind)
    assert wp.types.type_is_scalar(wp.int8) and not wp.types.type_is_scalar(wp.vec3)
    assert wp.types.type_is_transformation(wp.transformd) and wp.types.type_is_composite(wp.transformd)
    assert wp.types.type_is_array(wp.array) and wp.types.type_is_array(wp.indexedarray) and wp.types.type_is_value(float)
    assert not wp.types.type_is_array(wp.zeros(1))
    assert not wp.types.type_is_value(_Some)


@calls(
    "types.type_size", "types.type_length", "types.type_size_in_bytes", "types.strides_from_shape", "types.type_repr"
)
@calls("types.types_equal")
def sizes() -> None:
    assert wp.types.type_size(wp.mat33) == 9 == wp.types.type_length(wp.mat33) and wp.types.type_size(float) == 1
    assert wp.types.type_size_in_bytes(wp.vec3d) == 24 and wp.types.strides_from_shape((2, 3), wp.vec2h) == (12, 4)
    assert wp.types.type_repr(wp.vec3) == "vec3f" and wp.types.type_repr(wp.float64) == "float64"
    assert wp.types.types_equal(wp.vec3, wp.types.vector(3, float)) and not wp.types.types_equal(wp.vec3, wp.vec3d)
    assert wp.types.types_equal(float, wp.float32) and wp.types.types_equal(wp.array(dtype=int), wp.array(dtype=int))
