"""Builtins called from Python: results, keywords, errors."""

import inspect
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warp as wp
from warp._src.values import builtins

FLOAT = st.floats(-100, 100, width=32)
UNARY = {
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "exp": np.exp,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "abs": np.abs,
    "atan": np.arctan,
    "degrees": np.degrees,
    "radians": np.radians,
    "cbrt": np.cbrt,
}


@pytest.mark.parametrize("name", sorted(UNARY))
@given(x=FLOAT)
def test_unary_functions(name, x):
    want = float(UNARY[name](np.float64(x)))
    single, double = getattr(wp, name)(x), getattr(wp, name)(wp.float64(x))
    assert type(single) is float and type(double) is wp.float64
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(np.float32(single), np.float32(want), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(float(double), want, rtol=1e-13, atol=1e-14)


@given(st.lists(FLOAT, min_size=3, max_size=3), st.lists(FLOAT, min_size=3, max_size=3))
def test_vectors(a, b):
    x, y = np.array(a), np.array(b)
    v, w = wp.vec3d(a), wp.vec3d(b)
    np.testing.assert_allclose(float(wp.dot(v, w)), x @ y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.array(wp.cross(v, w)), np.cross(x, y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(float(wp.length(v)), np.linalg.norm(x), rtol=1e-12)
    assert wp.outer(v, w) == np.outer(x, y)
    np.testing.assert_array_equal(np.array(wp.min(v, w)), np.minimum(x, y))
    np.testing.assert_array_equal(np.array(wp.cw_mul(v, w)), x * y)


def test_matrices():
    m = wp.mat33d(2, 1, 0, 0, 3, 1, 1, 0, 4)
    a = np.array([*m])
    np.testing.assert_allclose(np.array([*wp.inverse(m)]), np.linalg.inv(a), rtol=1e-12)
    np.testing.assert_allclose(float(wp.determinant(m)), np.linalg.det(a), rtol=1e-12)
    assert wp.transpose(m) == a.T and wp.trace(m) == 9 and wp.get_diag(m) == (2, 3, 4)
    assert type(wp.transpose(wp.types.matrix((2, 3), float)())) is wp.types.matrix((3, 2), float)


def test_quaternions_and_transforms():
    q = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), math.pi / 2)
    np.testing.assert_allclose(np.array(wp.quat_rotate(q, wp.vec3(1, 0, 0))), [0, 1, 0], atol=1e-6)
    t = wp.transform((1, 2, 3), q)
    np.testing.assert_allclose(np.array(wp.transform_point(t, wp.vec3(1, 0, 0))), [1, 3, 3], atol=1e-6)
    assert wp.transform_get_translation(t) == (1, 2, 3) and type(wp.transform_get_rotation(t)) is wp.quat


def test_results_are_typed_as_documented():
    assert type(wp.min(1, 2)) is int and type(wp.min(1.0, 2.0)) is float and wp.isfinite(1.0) is True
    assert type(wp.rand_init(5)) is wp.uint32 and type(wp.dot(wp.vec3h(1, 2, 3), wp.vec3h(1, 2, 3))) is wp.float16
    assert wp.where(True, 1.0, 2.0) == 1.0 and wp.len(wp.vec3()) == 3


def test_random_numbers_do_not_advance():
    state = wp.rand_init(42)
    value = state.value
    assert wp.randf(state) == wp.randf(state) and state == value and 0.0 <= wp.randf(state) < 1.0
    assert wp.rand_init(5) == 2161170183


def test_numpy_scalars_keep_their_type():
    assert type(wp.sin(np.float64(1.0))) is wp.float64 and type(wp.sin(np.float32(1.0))) is float
    assert type(wp.max(np.uint8(3), wp.uint8(4))) is wp.uint8
    with pytest.raises(RuntimeError):
        wp.sin(np.int32(1))


def test_keywords():
    assert wp.sin(x=1.0) == wp.sin(1.0) and wp.lerp(a=1.0, b=3.0, t=0.5) == wp.lerp(1.0, t=0.5, b=3.0) == 2.0
    assert wp.where(value_if_false=2.0, cond=False, value_if_true=1.0) == 2.0
    calls = (lambda: wp.sin(y=1.0), lambda: wp.lerp(1.0, a=1.0, b=2.0), lambda: wp.sin(1.0, x=1.0), lambda: wp.sin())
    for wrong in calls:
        with pytest.raises(RuntimeError, match="Couldn't find a function"):
            wrong()


def test_keywords_may_leave_out_defaults_before_them():
    state, point = wp.uint32(7), wp.vec3(0.1, 0.2, 0.3)
    assert wp.curlnoise(state, point, gain=0.25) == wp.curlnoise(state, point, wp.uint32(1), 2.0, 0.25)
    some = wp.curlnoise(state, point, octaves=wp.uint32(3), gain=0.25)
    assert some == wp.curlnoise(state, point, wp.uint32(3), 2.0, 0.25) != wp.curlnoise(state, point, wp.uint32(3))
    with pytest.raises(RuntimeError, match="Couldn't find a function 'clamp'"):
        wp.clamp(1.0, high=2.0)


@pytest.mark.parametrize("args", [(1,), (1.0, 2.0), (wp.vec3(),), (True,), (None,), (wp.float32,)])
def test_no_overload(args):
    with pytest.raises(RuntimeError, match="Couldn't find a function 'sin'"):
        wp.sin(*args)


@pytest.mark.parametrize("bad", [(1.0, "b", 3.0), [], np.ones(3, dtype=complex), "abc", [[1.0], [1.0, 2.0]]])
def test_what_no_value_can_be_made_of(bad):
    with pytest.raises(TypeError, match="cannot be called with a"):
        wp.dot(bad, bad)
    with pytest.raises(TypeError, match="cannot be called with a"):
        wp.dot(wp.vec3(), bad)


def test_functions_are_objects():
    assert wp.sin is builtins.python_function("sin") and wp.sin.key == wp.sin.__name__ == "sin"
    assert "Sine of x" in wp.sin.__doc__ and callable(wp.sin) and pickle.loads(pickle.dumps(wp.sin)) is wp.sin
    assert builtins.python_function("no_such_builtin") is None and builtins.python_function("_acos") is None
    with pytest.raises(AttributeError):
        wp.no_such_builtin
    for name in builtins.names():
        function = builtins.python_function(name)
        assert inspect.getdoc(function) or name == "tid", name
        assert all(param.isidentifier() for row in function.params for param in row), name


def test_only_in_kernels():
    with pytest.raises(RuntimeError, match="only be called in kernels"):
        builtins.python_function("tid")()


class TestConstructors:
    def test_vector(self):
        assert type(wp.vector(1.0, 2.0, 3.0)) is wp.vec3 and type(wp.vector(1, 2)) is wp.vec2i
        assert wp.vector(wp.float64(1.0), length=5) == (1,) * 5
        assert type(wp.vector(dtype=wp.float64, length=5)) is wp.types.vector(5, wp.float64)
        v = wp.vector(wp.vec3(1.5, -2.5, 3), dtype=wp.int32)
        assert type(v) is wp.vec3i and v == (1, -2, 3)
        calls = (lambda: wp.vector(), lambda: wp.vector(1.0, 2), lambda: wp.vector(length=3), lambda: wp.vector("a"))
        for wrong in calls:
            with pytest.raises(RuntimeError):
                wrong()
        with pytest.raises(ValueError):
            wp.vector(1.0, 2.0, length=3)

    def test_matrix(self):
        assert wp.matrix(wp.float16(0.0), shape=(3, 2)) == np.zeros((3, 2))
        assert type(wp.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2))) is wp.mat22
        assert type(wp.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2), dtype=wp.float64)) is wp.mat22d
        assert wp.matrix(wp.mat22(1.5, 2, 3, 4), dtype=int) == [[1, 2], [3, 4]]
        assert wp.matrix(wp.vec2(1, 2), wp.vec2(3, 4)) == [[1, 3], [2, 4]]
        assert wp.matrix(shape=(2, 3), dtype=int) == np.zeros((2, 3))
        for wrong in (lambda: wp.matrix(1.0), lambda: wp.matrix(1.0, 2, shape=(1, 2)), lambda: wp.matrix(shape=(2, 2))):
            with pytest.raises(RuntimeError):
                wrong()

    def test_quaternion_and_transformation(self):
        half = wp.float16
        assert type(wp.quaternion(half(0), half(0), half(0), half(1))) is wp.quath
        assert wp.quaternion(wp.vec3d(1, 2, 3), wp.float64(4)) == (1, 2, 3, 4) and wp.quaternion() == (0, 0, 0, 0)
        assert type(wp.quaternion(dtype=wp.float64)) is wp.quatd
        assert type(wp.quaternion(wp.quat(), dtype=wp.float64)) is wp.quatd
        assert type(wp.quat_identity(dtype=wp.float64)) is wp.quatd and wp.quat_identity() == (0, 0, 0, 1)
        t = wp.transformation(wp.vec3d(1, 2, 3), wp.quatd(0, 0, 0, 1))
        assert type(t) is wp.transformd and t.p == (1, 2, 3)
        assert wp.transformation() == (0,) * 7
        assert type(wp.transformation((1, 2, 3), (0, 0, 0, 1), dtype=float)) is wp.transform
        assert wp.transform_identity() == wp.transform() and type(wp.transform_identity(wp.float64)) is wp.transformd

    def test_identity_and_cast(self):
        assert wp.identity(n=3, dtype=wp.float64) == np.eye(3) and type(wp.identity(2, float)) is wp.mat22
        assert wp.cast(1.0, wp.int32) == 0x3F800000 and wp.cast(wp.uint32(0x3F800000), float) == 1.0
        assert type(wp.cast(wp.vec2(1, 2), wp.uint64)) is wp.uint64 and wp.cast(wp.uint16(0x3C00), wp.float16) == 1.0
        with pytest.raises(RuntimeError):
            wp.cast(1.0, wp.float64)

    def test_printing(self, capsys):
        builtins.python_function("printf")("%d %.2f\n", wp.int32(3), 1.5)
        assert capsys.readouterr().out == "3 1.50\n"
