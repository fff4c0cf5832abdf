"""Functions of the kernel language called from Python: the overload whose types are exactly those of the values."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest
import warp as wp


@wp.func
def kind(x: int):
    return "int"


@wp.func
def kind(x: wp.uint8):  # noqa: F811
    return "uint8"


@wp.func
def kind(x: wp.vec3):  # noqa: F811
    return "vec3"


@wp.func
def kind(x: wp.mat22):  # noqa: F811
    return "mat22"


@wp.func
def kind(x: bool):  # noqa: F811
    return "bool"


@wp.func
def half(x: float):
    return x * 0.5


@wp.func
def scaled(x: float, y: int = 2):
    return x * float(y)


@wp.func
def first(a: wp.array(dtype=float)):
    return "floats"


@wp.func
def first(a: wp.array2d(dtype=float)):  # noqa: F811
    return "rows"


@wp.func
def first(a: wp.array(dtype=int)):  # noqa: F811
    return "ints"


@wp.func
def anything(x: Any):
    return "any"


@wp.func
def anything(x: float):  # noqa: F811
    return "float"


@wp.struct
class Point:
    x: float


@wp.struct
class Mass:
    x: float
    m: float


@wp.func
def of_point(p: Point):
    return p.x


class Mode(enum.IntEnum):
    ON = 1


@pytest.mark.parametrize(
    "value, chosen",
    [
        (1, "int"),
        (True, "bool"),
        (wp.int32(3), "int"),
        (wp.uint8(3), "uint8"),
        (wp.vec3(), "vec3"),
        (wp.mat22(), "mat22"),
    ],
)
def test_the_exact_type_decides(value, chosen):
    assert kind(value) == kind(x=value) == chosen


@pytest.mark.parametrize(
    "value", [1.0, "s", None, (1, 2, 3), wp.vec2(), wp.vec3d(), wp.int64(1), np.int32(1), np.zeros(3), Mode.ON]
)
def test_no_overload_fits(value):
    with pytest.raises(RuntimeError, match="Error calling function 'kind', no overload found for arguments "):
        kind(value)


def test_words_name_the_arguments():
    with pytest.raises(RuntimeError) as raised:
        half(1)
    assert str(raised.value) == "Error calling function 'half', no overload found for arguments (1,)"


def test_a_single_function_is_checked_alike():
    assert half(3.0) == half(x=3.0) == 1.5 and half(wp.float32(3.0)) == 1.5
    for value in (1, True, "s", None, np.float32(1.0), wp.float64(1.0)):
        with pytest.raises(RuntimeError, match="no overload found for arguments"):
            half(value)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        half()
    with pytest.raises(TypeError, match="too many positional arguments"):
        half(1.0, 2.0)


def test_defaults_and_keywords():
    assert scaled(1.0) == 2.0 and scaled(1.0, 3) == 3.0 and scaled(y=4, x=1.0) == 4.0
    with pytest.raises(RuntimeError, match="no overload found"):
        scaled(1.0, y=3.0)


def test_arrays_by_element_and_rank():
    assert first(wp.zeros(3)) == "floats"
    assert first(wp.zeros((3, 2))) == "rows"
    assert first(wp.zeros(3, dtype=int)) == "ints"
    for value in (wp.zeros(3, dtype=wp.vec3), np.zeros(3, np.float32), [1.0], None):
        with pytest.raises(RuntimeError, match="no overload found"):
            first(value)


def test_structs_fit_their_own_type():
    p = Point()
    p.x = 3.0
    assert of_point(p) == 3.0
    with pytest.raises(RuntimeError, match="no overload found"):
        of_point(Mass())


def test_any_comes_after_what_fits_exactly():
    assert anything(1.0) == "float"
    assert anything(1) == anything("s") == anything(None) == anything(wp.vec3()) == "any"


def test_generic_arrays_need_an_array():
    @wp.func
    def ranked(a: wp.array(dtype=Any, ndim=2)):
        return a.shape[0]

    assert ranked(wp.zeros((4, 2))) == 4
    for value in (1.0, wp.zeros(4)):
        with pytest.raises(RuntimeError, match="no overload found"):
            ranked(value)


def test_functions_that_were_annotated_with_local_types():
    wide = wp.types.vector(length=5, dtype=float)

    @wp.func
    def total(v: wide):
        return v[0] + v[4]

    assert total(wide(1.0, 0.0, 0.0, 0.0, 2.0)) == 3.0


def overloaded(c):
    @wp.func
    def f():
        return c

    @wp.func
    def f(x: int):  # noqa: F811
        return f() * x

    @wp.func
    def f(x: Any, y: Any):  # noqa: F811
        return f() + int(x) * int(y)

    return f


def test_overloads_inside_of_a_function_belong_to_its_call(device):
    two, three = overloaded(2), overloaded(3)
    assert two() == 2 and three(4) == 12 and len(two.overloads) == 3
    assert three(2.0, wp.uint8(2)) == 7

    @wp.kernel
    def both(out: wp.array(dtype=int)):
        out[0] = two()
        out[1] = three(4)
        out[2] = two(5) + three()
        out[3] = two(1.5, 2.0)

    out = wp.zeros(4, dtype=int)
    wp.launch(both, 1, [out])
    assert out.numpy().tolist() == [2, 12, 13, 4]


def test_a_function_declared_again_inside_of_a_function_replaces_the_first():
    for step in (1, 2):

        @wp.func
        def again(x: int):
            return x + step

    assert len(again.overloads) == 1 and again(1) == 3


def test_annotations_that_leave_extents_open():
    from warp._src.kernels.python_calls import _is_composite_of

    single = ("type", wp.types.type_handle(float))
    wide = wp.types.matrix((2, 3), float)
    assert _is_composite_of(wp.vec3(), ("generic_vector", None, 0))
    assert _is_composite_of(wp.vec3(), ("generic_vector", single, 3))
    assert not _is_composite_of(wp.vec3(), ("generic_vector", None, 2))
    assert not _is_composite_of(wp.vec3d(), ("generic_vector", single, 0))
    assert _is_composite_of(wide(), ("generic_matrix", None, 2, 0))
    assert not _is_composite_of(wide(), ("generic_matrix", None, 3, 2))
    assert not _is_composite_of(1.0, ("generic_matrix", None, 0, 0))


def test_a_choice_is_remembered_only_where_classes_decide_it():
    for _ in range(2):
        assert [kind(v) for v in (1, True, wp.uint8(1), wp.vec3(), wp.mat22())] == ["int", "bool", "uint8", "vec3", "mat22"]
        with pytest.raises(RuntimeError, match="no overload found"):
            kind(1.0)
        assert first(wp.zeros(1)) == "floats" and first(wp.zeros(1, dtype=int)) == "ints" and first(wp.zeros((1, 1))) == "rows"
        assert scaled(2.0) == 4.0 and scaled(2.0, 3) == 6.0 and scaled(2.0, y=4) == 8.0
        with pytest.raises(TypeError):
            scaled(2.0, 3, 4)


def test_what_is_remembered_is_forgotten_with_a_new_overload():
    @wp.func
    def which(x: Any):
        return "any"

    @wp.func
    def exact(x: int):
        return "int"

    assert which(1) == which(1) == "any"
    which.add_overload(exact)
    assert which(1) == which(1) == "int" and which(1.0) == "any"


def test_classes_without_end_are_not_all_remembered():
    @wp.func
    def rows(v: Any):
        return len(v)

    for length in range(2, 130):
        vector = wp.types.vector(length, float)
        assert rows(vector()) == rows(vector()) == length
    assert len(rows._chosen) <= 64
