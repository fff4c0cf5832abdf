"""Vectors and matrices with open extents or component types as annotations, and tuples inside of tuples of results."""

from __future__ import annotations

import typing
from typing import Any, Tuple

import numpy as np
import pytest
import warp as wp

vec8 = wp.types.vector(length=8, dtype=float)


# ---- functions -------------------------------------------------------------------------------------------------------


@wp.func
def total(v: wp.types.vector(length=Any, dtype=float)):
    s = float(0.0)
    for i in range(len(v)):
        s += v[i]
    return s


@wp.func
def trace_of(m: wp.types.matrix((Any, Any), wp.Float)) -> wp.Float:
    s = m[0, 0]
    for i in range(1, len(m)):
        s += m[i, i]
    return s


@wp.func
def int_sum(v: wp.types.vector(3, wp.Int)) -> wp.Int:
    return v[0] + v[1] + v[2]


@wp.func
def corner(m: wp.types.matrix(shape=(2, Any), dtype=wp.Scalar)) -> wp.Scalar:
    return m[1, 0]


@wp.kernel
def use_all(floats: wp.array(dtype=float), doubles: wp.array(dtype=wp.float64), ints: wp.array(dtype=wp.int64)):
    floats[0] = total(wp.vec2(1.0, 2.0))
    floats[1] = total(wp.vec4(1.0, 2.0, 3.0, 4.0))
    floats[2] = total(vec8(1.0))
    floats[3] = trace_of(wp.mat22(1.0, 2.0, 3.0, 4.0))
    floats[4] = corner(wp.matrix(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, shape=(2, 3)))
    doubles[0] = trace_of(wp.identity(n=3, dtype=wp.float64))
    ints[0] = int_sum(wp.vec3l(wp.int64(1), wp.int64(2), wp.int64(3)))
    ints[1] = wp.int64(int_sum(wp.vec3ub(wp.uint8(1), wp.uint8(2), wp.uint8(250))))


@pytest.mark.parametrize("lanes", [0, 1])
def test_functions_take_every_length(device, lanes):
    if lanes:
        wp.config.cpu_lanes = lanes
    try:
        floats, doubles, ints = wp.zeros(5), wp.zeros(1, dtype=wp.float64), wp.zeros(2, dtype=wp.int64)
        wp.launch(use_all, dim=1, inputs=[floats, doubles, ints])
        assert floats.numpy().tolist() == [3.0, 10.0, 8.0, 5.0, 4.0]
        assert doubles.numpy().tolist() == [3.0]
        assert ints.numpy().tolist() == [6, 253]
    finally:
        wp.config.cpu_lanes = 0


@pytest.mark.cpu_only("runs in the interpreter of Python")
def test_functions_called_from_python():
    assert total(wp.vec2(1.0, 2.0)) == 3.0
    assert trace_of(wp.mat22(1.0, 2.0, 3.0, 4.0)) == 5.0


def test_annotations_that_are_objects_are_known(device):
    length = Any

    def make(width):
        def body(m: wp.types.matrix((length, width), float), out: wp.array(dtype=float)):
            out[0] = m[0, width - 1]

        body.__annotations__ = {"m": wp.types.matrix((Any, width), float), "out": wp.array(dtype=float)}
        return wp.kernel(body, module="unique")

    out = wp.zeros(1)
    wp.launch(make(2), dim=1, inputs=[wp.mat22(1.0, 2.0, 3.0, 4.0), out])
    assert out.numpy()[0] == 2.0
    with pytest.raises((RuntimeError, TypeError), match=r"expected mat\[Any,3,float32\], got mat22"):
        wp.launch(make(3), dim=1, inputs=[wp.mat22(1.0, 2.0, 3.0, 4.0), out])


# ---- which overload --------------------------------------------------------------------------------------------------


@wp.func
def which(v: Any):
    return 0


@wp.func
def which(v: wp.types.vector(length=Any, dtype=wp.Scalar)):  # noqa: F811
    return 1


@wp.func
def which(v: wp.types.vector(length=Any, dtype=float)):  # noqa: F811
    return 2


@wp.func
def which(v: wp.types.vector(length=3, dtype=wp.Float)):  # noqa: F811
    return 3


@wp.func
def which(v: wp.vec3):  # noqa: F811
    return 4


@wp.func
def which(m: wp.types.matrix((2, Any), wp.Float)):  # noqa: F811
    return 5


@wp.func
def which(m: wp.types.matrix((Any, Any), wp.Float)):  # noqa: F811
    return 6


@wp.func
def which(a: wp.array(dtype=wp.types.vector(2, Any))):  # noqa: F811
    return 7


@wp.func
def which(a: wp.array(dtype=Any)):  # noqa: F811
    return 8


@wp.kernel
def choose(vectors: wp.array(dtype=wp.vec2), out: wp.array(dtype=int)):
    out[0] = which(1.0)
    out[1] = which(wp.vec2i(1, 2))
    out[2] = which(wp.vec2(1.0, 2.0))
    out[3] = which(wp.vec3d())
    out[4] = which(wp.vec3())
    out[5] = which(wp.mat22())
    out[6] = which(wp.mat33())
    out[7] = which(vectors)
    out[8] = which(out)


def test_narrow_overloads_come_first(device):
    out = wp.zeros(9, dtype=int)
    wp.launch(choose, dim=1, inputs=[wp.zeros(1, dtype=wp.vec2), out])
    assert out.numpy().tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]


# ---- kernels ---------------------------------------------------------------------------------------------------------


@wp.kernel
def sum_rows(
    rows: wp.array(dtype=wp.types.vector(Any, float)),
    scale: wp.types.vector(Any, wp.Float),
    out: wp.array(dtype=float),
):
    i = wp.tid()
    s = float(0.0)
    for k in range(len(rows[i])):
        s += rows[i][k]
    out[i] = s * float(scale[0]) + float(len(scale))


def test_kernels_are_made_from_launch_arguments(device):
    out = wp.zeros(2)
    for kind, scale in ((wp.vec2, wp.vec2d(2.0, 0.0)), (wp.vec4, wp.vec3(2.0, 0.0, 0.0)), (vec8, wp.vec4h(2.0))):
        rows = wp.ones(2, dtype=kind)
        wp.launch(sum_rows, dim=2, inputs=[rows, scale, out])
        assert out.numpy().tolist() == [2.0 * kind._length_ + len(scale)] * 2


def test_wrong_arguments_are_refused(device):
    out = wp.zeros(1)
    with pytest.raises((RuntimeError, TypeError), match="'rows'"):
        wp.launch(sum_rows, dim=1, inputs=[wp.zeros(1), wp.vec2(), out])
    with pytest.raises((RuntimeError, TypeError), match="'rows'"):
        wp.launch(sum_rows, dim=1, inputs=[wp.zeros(1, dtype=wp.vec2i), wp.vec2(), out])
    with pytest.raises((RuntimeError, TypeError), match="'scale'"):
        wp.launch(sum_rows, dim=1, inputs=[wp.zeros(1, dtype=wp.vec2), wp.vec2i(), out])


def test_overload_fixes_the_types(device):
    wp.overload(sum_rows, [wp.array(dtype=wp.vec3), wp.vec2, wp.array(dtype=float)])
    with pytest.raises(TypeError, match="cannot be generic"):
        wp.overload(sum_rows, [wp.array(dtype=wp.types.vector(Any, float)), wp.vec2, wp.array(dtype=float)])
    out = wp.zeros(1)
    wp.launch(sum_rows, dim=1, inputs=[wp.ones(1, dtype=wp.vec3), wp.vec2(1.0), out])
    assert out.numpy()[0] == 5.0


@wp.kernel
def squares(rows: wp.array(dtype=wp.types.matrix((Any, 2), wp.Float)), out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = wp.ddot(rows[i], rows[i])


def test_gradients_of_generic_kernels(device):
    kind = wp.types.matrix(shape=(3, 2), dtype=wp.float64)
    rows = wp.array(np.arange(12.0).reshape(2, 3, 2), dtype=kind, requires_grad=True)
    out = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, dim=2, inputs=[rows], outputs=[out])
    tape.backward(grads={out: wp.ones(2, dtype=wp.float64)})
    assert np.allclose(rows.grad.numpy(), 2.0 * rows.numpy())


def test_a_class_of_generic_vectors():
    generic = wp.types.vector(length=Any, dtype=float)
    assert generic is wp.types.vector(Any, wp.float32) and generic is not wp.types.vector(Any, wp.Float)
    assert wp.types.type_is_vector(generic) and not wp.types.type_is_matrix(generic)
    assert wp.types.type_repr(generic) == "vector(length=Any, dtype=float32)"
    assert wp.types.type_repr(wp.types.matrix((2, Any), wp.Int)) == "matrix(shape=(2, Any), dtype=Int)"
    assert wp.types.types_equal(generic, wp.vec3, match_generic=True)
    assert not wp.types.types_equal(generic, wp.vec3d, match_generic=True)
    assert not wp.types.types_equal(generic, wp.vec3)
    with pytest.raises(TypeError, match="annotations"):
        generic(1.0, 2.0)
    with pytest.raises((TypeError, RuntimeError)):
        wp.zeros(3, dtype=generic)
    with pytest.raises(TypeError):
        wp.types.vector("three", Any)
    with pytest.raises(ValueError):
        wp.types.matrix((Any, 0), float)


@wp.func
def mixed(v: wp.vec(3, wp.Int), m: wp.mat((2, Any), wp.Scalar)):
    return float(v[0]) + float(m[1, 1])


@wp.kernel
def use_old_names(out: wp.array(dtype=float)):
    out[0] = mixed(wp.vec3l(wp.int64(7)), wp.mat22d(wp.float64(2.0)))


def test_old_names(device):
    assert wp.vec(3, wp.Int) is wp.types.vector(3, wp.Int)
    out = wp.zeros(1)
    wp.launch(use_old_names, dim=1, inputs=[out])
    assert out.numpy()[0] == 9.0


# ---- tuples of results -----------------------------------------------------------------------------------------------


@wp.func
def weights(x: float) -> Tuple[int, Tuple[vec8, vec8]]:
    return 3, (vec8(x), vec8(2.0 * x))


@wp.func
def nested(x: float) -> tuple[tuple[float, tuple[int, wp.vec2]], typing.Tuple[wp.Float, Any]]:
    return (x, (2, wp.vec2(x, x + 1.0))), (wp.float64(x), 4)


@wp.kernel
def unpack(out: wp.array(dtype=float)):
    node, parts = weights(1.5)
    out[0] = float(node)
    out[1] = parts[0][7]
    out[2] = parts[1][0]
    first, second = nested(2.0)
    out[3] = first[0]
    out[4] = first[1][1][1]
    n, v = first[1]
    out[5] = float(n) + v[0]
    out[6] = float(second[0]) + float(second[1])
    (a, (b, c)), d = nested(3.0)
    out[7] = a + float(b) + c[0] + float(d[1])


def test_nested_tuples_of_results(device):
    out = wp.zeros(8)
    wp.launch(unpack, dim=1, inputs=[out])
    assert out.numpy().tolist() == [3.0, 1.5, 3.0, 2.0, 3.0, 4.0, 6.0, 12.0]


def test_nested_tuples_as_objects(device):
    def pair(x: float):
        return 1, (x, 2.0 * x)

    pair.__annotations__ = {"x": float, "return": Tuple[int, Tuple[float, float]]}
    function = wp.func(pair)

    @wp.kernel(module="unique")
    def run(out: wp.array(dtype=float)):
        n, both = function(4.0)
        out[0] = float(n) + both[1]

    out = wp.zeros(1)
    wp.launch(run, dim=1, inputs=[out])
    assert out.numpy()[0] == 9.0


def test_a_nested_tuple_that_is_not_returned(device):
    def pair(x: float) -> Tuple[int, Tuple[float, int]]:
        return 1, (x, x)

    function = wp.func(pair)

    @wp.kernel(module="unique")
    def run(out: wp.array(dtype=float)):
        n, both = function(4.0)
        out[0] = both[1]

    with pytest.raises(Exception, match=r"its annotation says int32, tuple.float32, int32"):
        wp.launch(run, dim=1, inputs=[wp.zeros(1)])
