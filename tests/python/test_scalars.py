"""Scalars of every type are numbers of Python, and still say which type of the kernel language they have."""

import copy
import ctypes
import json
import math
import operator
import pickle

import numpy as np
import pytest

import warp as wp

FLOATS = (wp.float16, wp.bfloat16, wp.float32, wp.float64)
INTS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
TYPED = tuple(cls for cls in FLOATS + INTS if cls not in (wp.float32, wp.int32))  # Python's own numbers are these two


def is_exactly(value, expected):
    return type(value) is type(expected) and value == expected


@pytest.mark.parametrize("cls", FLOATS + INTS)
class TestEveryType:
    def test_is_a_python_number(self, cls):
        x, plain = cls(3), float if cls in FLOATS else int
        assert isinstance(x, plain) and issubclass(cls, plain) and is_exactly(x.value, plain(3))
        assert is_exactly(plain(x), plain(3)) and is_exactly(x.real, plain(3))
        assert x == 3 == x.value and x != 4 and 2 < x <= 3 and hash(x) == hash(3) and {3: "three"}[x] == "three"
        assert x in [3] and 3 in {x} and bool(x) and not cls(0)

    def test_text(self, cls):
        x = cls(3)
        assert str(x) == f"{x}" == str(x.value) and repr(x) == f"{cls.__name__}({x.value})"
        assert f"{x:>6}" == f"{x.value:>6}" and "%.2f" % x == "3.00" and f"{x:.3f}" == "3.000"
        assert json.dumps([x, {"x": x}]) == json.dumps([x.value, {"x": x.value}])

    def test_copies_keep_the_type(self, cls):
        for again in (copy.copy(cls(3)), copy.deepcopy([cls(3)])[0], pickle.loads(pickle.dumps(cls(3)))):
            assert is_exactly(again, cls(3))
        with pytest.raises(AttributeError):
            cls(3).value = 4

    def test_two_of_one_type_compute_as_kernels_do(self, cls):
        x, y = cls(7), cls(2)
        kind = {wp.float32: float, wp.int32: int}.get(cls, cls)
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
            builtin = {"truediv": "div"}.get(name, name)
            result = getattr(operator, name)(x, y)
            assert type(result) is kind and result == getattr(wp, builtin)(x, y), name
        assert type(-x) is type(+x) is type(abs(x)) is kind
        if cls in FLOATS:
            assert type(x**y) is kind and x**y == 49
        else:
            assert type(x & y) is type(x | y) is type(x ^ y) is type(x << y) is type(x >> y) is type(~x) is kind
            assert x / y == 3 and is_exactly(x**y, 49)  # there is no power of integers in kernels

    def test_numpy_numbers_of_the_same_type(self, cls):
        if cls is wp.bfloat16:
            return
        same = wp.dtype_to_numpy(cls)(2)
        assert type(cls(3) * same) is type(cls(3) * cls(3)) and cls(3) * same == 6
        assert isinstance(same * cls(3), np.generic) and same * cls(3) == 6

    def test_numpy(self, cls):
        x = cls(3)
        assert np.array([x, x]).tolist() == [3, 3] and np.array(x).shape == () and np.asarray([[x]]).shape == (1, 1)
        assert np.float32(x) == 3 and np.int64(x) == 3 and (np.arange(3) * x).tolist() == [0, 3, 6]
        assert (x * np.arange(3)).tolist() == [0, 3, 6] and np.sqrt(cls(4)) == 2
        if np.lib.NumpyVersion(np.__version__) >= "2.4.0" and cls is not wp.bfloat16:
            assert np.dtype(cls) == wp.dtype_to_numpy(cls) and np.zeros(2, dtype=cls).dtype == wp.dtype_to_numpy(cls)


@pytest.mark.parametrize("cls", TYPED)
def test_arithmetic_with_python_numbers_is_python(cls):
    x = cls(7)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        compute = getattr(operator, name)
        for other in (2, 2.0, True):
            assert is_exactly(compute(x, other), compute(x.value, other)), (name, other)
            assert is_exactly(compute(other, x), compute(other, x.value)), (name, other)
    assert divmod(x, 2) == divmod(7, 2) and is_exactly(round(x), 7) and is_exactly(sum([x, x]), x.value + x.value)
    if cls in INTS:
        for name in ("and_", "or_", "xor", "lshift", "rshift"):
            compute = getattr(operator, name)
            assert is_exactly(compute(x, 1), compute(7, 1)) and is_exactly(compute(1, x), compute(1, 7))


def test_nothing_is_rounded_or_wrapped_beside_python_numbers():
    assert is_exactly(wp.float16(1.5) - 0.1, 1.4)  # in 16 bits: 1.400390625
    assert is_exactly(wp.uint8(250) + 10, 260) and is_exactly(wp.int64(7) / 2, 3.5) and is_exactly(1 - wp.uint8(2), -1)
    assert wp.float64(1.0) == 1 and wp.float64(2.0**60) != 2**60 + 1  # exact, as Python compares
    assert wp.float64(1.0) < 10**400


def test_scalars_of_different_types_are_python_numbers():
    assert is_exactly(wp.float64(1.5) + wp.float16(0.5), 2.0) and is_exactly(wp.int64(3) * wp.float64(0.5), 1.5)
    assert is_exactly(wp.uint8(200) + wp.int16(100), 300) and is_exactly(wp.int32(1) + wp.int64(1), 2)


def test_float32_and_int32_are_what_python_numbers_are_in_kernels():
    third = wp.float32(1.0) / 3.0
    assert is_exactly(third, ctypes.c_float(1.0 / 3.0).value) and is_exactly(1.0 / wp.float32(3.0), third)
    assert is_exactly(wp.int32(-7) / 2, -3) and is_exactly(wp.int32(2**31 - 1) + 1, -(2**31))
    assert is_exactly(wp.int32(1) + 2**40, 2**40 + 1)  # which is no int32
    assert is_exactly(wp.int32(1) + 1.5, 2.5) and is_exactly(wp.float32(0.1) * 1, wp.float32(0.1).value)


class TestBool:
    """Python's bool can't be derived from: wp.bool is an int, as that is."""

    def test_is_an_int(self):
        yes, no = wp.bool(5), wp.bool()
        assert isinstance(yes, int) and yes == True == 1 and no == False == 0  # noqa: E712
        assert yes.value is True and no.value is False and bool(yes) and not no and hash(yes) == hash(True)
        assert str(yes) == f"{yes}" == "True" and repr(no) == "bool(False)"
        assert yes + 1 == 2 and (yes & True) == 1 and ["a", "b"][yes] == "b" and -yes == -1

    def test_keeps_its_type(self):
        for again in (copy.deepcopy(wp.bool(True)), pickle.loads(pickle.dumps(wp.bool(True)))):
            assert is_exactly(again, wp.bool(True)) and again.value is True
        assert wp.full(2, wp.bool(True)).dtype is wp.bool and wp.array([wp.bool(True)]).dtype is wp.bool


class TestWherePythonWantsNumbers:
    def test_library_functions(self):
        assert math.sin(wp.float64(1.0)) == math.sin(1.0) and math.isclose(wp.float64(1.5), 1.5)
        assert math.floor(wp.float64(1.5)) == 1 and math.gcd(wp.int64(6), wp.uint8(4)) == 2
        assert list(range(wp.int64(3))) == [0, 1, 2] and [7, 8][wp.uint8(1)] == 8 and "ab" * wp.int16(2) == "abab"
        assert wp.float64(1.5).as_integer_ratio() == (3, 2) and wp.int64(6).bit_length() == 3
        assert complex(wp.float64(1.5)) + 1j == wp.float64(1.5) + 1j
        with pytest.raises(TypeError):
            [1][wp.float64(0.0)]

    def test_ctypes(self):
        assert ctypes.c_double(wp.float64(1.5)).value == 1.5 and ctypes.c_int(wp.int64(3)).value == 3
        numbers = (ctypes.c_float * 2)(wp.float64(1.5), wp.int8(2))
        assert list(numbers) == [1.5, 2.0]

    def test_fields_and_components(self):
        @wp.struct
        class S:
            x: wp.float64
            n: wp.int16

        s = S()
        s.x, s.n = wp.float64(0.1), wp.int64(3)
        assert s.x == 0.1 and s.n == 3
        with pytest.raises(TypeError):
            s.n = wp.float64(1.5)
        v = wp.vec3(wp.float64(1.5), wp.int8(2), 3)
        v[1] = wp.float16(0.5)
        assert v == (1.5, 0.5, 3)

    def test_extents_and_indices(self):
        a = wp.zeros((wp.int64(2), wp.uint8(3)), dtype=float)
        assert a.shape == (2, 3) and a[wp.int64(1)].shape == (3,) and wp.array([wp.float64(1), 2.0]).dtype is wp.float64
        a.fill_(wp.float64(2.5))
        assert (a.numpy() == 2.5).all()

    def test_arrays_of_a_list_have_its_type(self):
        for cls in FLOATS + INTS:
            expected = wp.float32 if cls is wp.bfloat16 else cls
            assert wp.array([cls(1), cls(2)]).dtype is expected and wp.array([[cls(1)], [cls(2)]]).dtype is expected


class TestComponentsAndResults:
    def test_components(self):
        v = wp.vec3d(0.1, 2, 3)
        assert isinstance(v[0], float) and type(v[0]) is wp.float64 and v[0] == 0.1 and is_exactly(v[0] + 1.0, 1.1)
        assert is_exactly(v.y * 2, 4.0) and [type(x) for x in v] == [wp.float64] * 3 and sum(v) == 5.1
        m = wp.mat22h(1, 2, 3, 4)
        assert isinstance(m[0, 1], float) and type(m[0, 1]) is wp.float16 and m[0, 1] == 2
        s = wp.vec3s(1, 2, 3)
        assert isinstance(s[0], int) and type(s[0]) is wp.int16 and ["a", "b"][s[0]] == "b"
        assert type(wp.vec3()[0]) is float and type(wp.vec3i()[0]) is int

    def test_results_of_builtins(self):
        v = wp.vec3d(1, 2, 3)
        assert is_exactly(wp.dot(v, v), wp.float64(14)) and is_exactly(wp.dot(v, v) / 4, 3.5)
        assert is_exactly(wp.length(v) * 1.0, math.sqrt(14)) and type(wp.sqrt(wp.dot(v, v))) is wp.float64
        assert type(wp.max(wp.int64(2), wp.int64(3))) is wp.int64

    def test_legacy_flag_is_taken(self):
        before = wp.config.legacy_scalar_return_types
        try:
            wp.config.legacy_scalar_return_types = True
            assert isinstance(wp.vec3d(1, 2, 3)[0], float) and isinstance(wp.vec3s(1, 2, 3)[0], int)
            assert type(wp.dot(wp.vec3d(1, 2, 3), wp.vec3d(1, 2, 3))) is float
        finally:
            wp.config.legacy_scalar_return_types = before


@wp.kernel
def store_generic(x: wp.Scalar, out: wp.array(dtype=wp.Scalar)):
    out[0] = x + x


THIRD = wp.float64(1.0) / wp.float64(3.0)
YES = wp.bool(True)


@wp.kernel
def store_constant(out: wp.array(dtype=wp.float64), flag: wp.array(dtype=bool)):
    out[0] = THIRD
    flag[0] = YES


class TestTypesAreKnown:
    @pytest.mark.parametrize("cls", FLOATS + INTS)
    def test_generic_kernels(self, cls):
        out = wp.zeros(1, dtype=cls)
        wp.launch(store_generic, 1, [cls(3), out])
        if cls is not wp.bfloat16:
            assert out.numpy()[0] == 6
        assert store_generic.infer_argument_types([cls(3), out])[0] is cls

    def test_other_types_do_not_fit_generic_kernels(self):
        with pytest.raises(RuntimeError):
            wp.launch(store_generic, 1, [wp.float64(3), wp.zeros(1, dtype=wp.float32)])

    def test_annotated_parameters_convert(self):
        @wp.kernel
        def take(x: float, n: int, out: wp.array(dtype=float)):
            out[0] = x + float(n)

        out = wp.zeros(1, dtype=float)
        wp.launch(take, 1, [wp.float64(1.5), wp.int64(2), out])
        assert out.numpy()[0] == 3.5
        wp.launch(take, 1, [wp.int8(1), wp.bool(True), out])
        assert out.numpy()[0] == 2.0
        with pytest.raises(RuntimeError, match="expected int32, got float64"):
            wp.launch(take, 1, [1.0, wp.float64(2.0), out])

    def test_captured_constants(self):
        out, flag = wp.zeros(1, dtype=wp.float64), wp.zeros(1, dtype=bool)
        wp.launch(store_constant, 1, [out, flag])
        assert out.numpy()[0] == 1.0 / 3.0 and flag.numpy()[0]

    def test_builtins_choose_by_type(self):
        assert type(wp.sin(wp.float64(1.0))) is wp.float64 and wp.sin(wp.float64(1.0)) == math.sin(1.0)
        assert wp.sin(1.0) == ctypes.c_float(math.sin(1.0)).value
        with pytest.raises(RuntimeError, match="compatible with the arguments 'float64, float'$"):
            wp.max(wp.float64(1.0), 2.0)
        with pytest.raises(RuntimeError, match="compatible with the arguments 'int16, int'$"):
            wp.mul(wp.int16(1), 2)
        with pytest.raises(RuntimeError, match="compatible with the arguments 'bool'$"):
            wp.sin(True)
