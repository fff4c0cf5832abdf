"""What programs ask of types by the names in warp.types and warp._src.types."""

import ctypes
import typing

import numpy as np
import pytest

import warp as wp
import warp._src.types as inner


@wp.struct
class Pair:
    a: float
    b: wp.vec3


def test_paths():
    from warp._src.types import Any, Int, Vector, type_length, type_scalar_type
    from warp.types import get_type_code, type_ctype, type_is_composite, type_is_int, type_to_warp, type_typestr

    assert Any is typing.Any and Int is wp.types.Int and issubclass(wp.vec3, Vector)
    assert type_length(wp.vec3) == 3 and type_length(float) == 1 and type_scalar_type is inner.type_scalar_type
    assert type_is_int(wp.uint8) and type_is_int(int) and not type_is_int(bool) and not type_is_int(wp.float64)
    assert type_is_composite(wp.mat22) and not type_is_composite(float)
    assert callable(get_type_code) and callable(type_ctype) and callable(type_to_warp) and callable(type_typestr)
    assert wp.types.ARRAY_MAX_DIMS == 4 and wp.types.LAUNCH_MAX_DIMS == 4
    assert wp.types.scalar_and_bool_types == (*wp.types.scalar_types, wp.bool)


def test_scalar_types():
    assert wp.types.type_scalar_type(wp.vec3d) is wp.float64 and wp.types.type_scalar_type(wp.quat) is wp.float32
    for same in (float, wp.float64, bool, Pair):
        assert wp.types.type_scalar_type(same) is same
    assert [wp.types.type_to_warp(t) for t in (float, int, bool)] == [wp.float32, wp.int32, wp.bool]
    for same in (wp.vec3, wp.float64, np.float32, "x"):
        assert wp.types.type_to_warp(same) is same
    assert wp.dtype_to_numpy(wp.float16) is np.float16 and wp.types.dtype_to_numpy(float) is np.float32


def test_c_types_and_interface_names():
    assert wp.types.type_ctype(float) is ctypes.c_float and wp.types.type_ctype(wp.uint64) is ctypes.c_uint64
    assert wp.types.type_ctype(wp.float16) is ctypes.c_uint16 and wp.types.type_ctype(wp.vec3d) is wp.vec3d
    names = {wp.int8: "|i1", wp.uint16: "<u2", wp.int64: "<i8", wp.float16: "<f2", wp.bfloat16: "<u2", wp.bool: "|b1"}
    for cls, name in (names | {wp.vec3d: "<f8", wp.mat22: "<f4", float: "<f4"}).items():
        assert wp.types.type_typestr(cls) == name
    for wrong in (wp.types.type_ctype, wp.types.type_typestr):
        with pytest.raises(TypeError):
            wrong(Pair)


@pytest.mark.parametrize(
    "annotation, code",
    [
        (float, "f4"),
        (bool, "b"),
        (wp.uint8, "u1"),
        (wp.bfloat16, "bf2"),
        (wp.vec3, "v3f4"),
        (wp.types.vector(12, wp.float16), "v12f2"),
        (wp.mat33d, "m33f8"),
        (wp.types.matrix((2, 3), wp.uint8), "m23u1"),
        (wp.quat, "qf4"),
        (wp.transformd, "tf8"),
        (wp.array(dtype=float), "a1f4"),
        (wp.array(dtype=wp.vec3, ndim=2), "a2v3f4"),
        (wp.indexedarray(dtype=wp.vec3, ndim=3), "ia3v3f4"),
        (typing.Any, "?"),
        (wp.array(dtype=typing.Any), "a1?"),
        (wp.Scalar, "s?"),
        (tuple[float, wp.vec3], "tpl2f4v3f4"),
        (tuple[wp.vec3, ...], "tpl2v3f4?"),
        (wp.array(dtype=wp.Float, ndim=2), "a2f?"),
    ],
)
def test_codes(annotation, code):
    assert wp.types.get_type_code(annotation) == code


def test_codes_of_structs_and_signatures():
    def other():
        @wp.struct
        class Pair:
            a: float
            b: wp.vec2

        return Pair

    code = wp.types.get_type_code(Pair)
    assert code.startswith("Pair_") and wp.types.get_type_code(wp.array(dtype=Pair)) == "a1" + code
    assert wp.types.get_type_code(other()) != code
    assert wp.types.get_signature([int, wp.vec3]) == "i4_v3f4"
    with pytest.raises(TypeError, match="Unrecognized type 'abc'"):
        wp.types.get_type_code("abc")
