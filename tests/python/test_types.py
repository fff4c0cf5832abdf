"""Types in Python scope: scalars, vectors, matrices, quaternions, transforms and what can be asked of types."""

import copy
import ctypes
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warp as wp

INTS = [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64]
FLOATS = [wp.float16, wp.float32, wp.float64]
VECTORS = [f"vec{n}{s}" for n in (2, 3, 4) for s in "f d h b ub s us i ui l ul".split()]
SUFFIX_TYPES = {
    "f": np.float32,
    "d": np.float64,
    "h": np.float16,
    "b": np.int8,
    "ub": np.uint8,
    "s": np.int16,
    "us": np.uint16,
    "i": np.int32,
    "ui": np.uint32,
    "l": np.int64,
    "ul": np.uint64,
}


class TestScalars:
    @given(st.sampled_from(INTS), st.integers(-(2**70), 2**70))
    def test_integers_wrap(self, cls, x):
        size = cls._wp_type_.size * 8
        expected = x % 2**size
        if cls.__name__.startswith("int") and expected >= 2 ** (size - 1):
            expected -= 2**size
        assert cls(x).value == expected

    @given(st.sampled_from(INTS), st.floats(allow_infinity=True))
    def test_floats_to_integers_truncate_and_saturate(self, cls, x):
        info = np.iinfo(cls.__name__)
        expected = 0 if math.isnan(x) else int(min(max(x, int(info.min)), int(info.max)))
        assert cls(x).value == expected

    @given(st.floats(width=64))
    def test_floats_round(self, x):
        with np.errstate(over="ignore"):
            for cls, dtype in ((wp.float32, np.float32), (wp.float16, np.float16), (wp.float64, np.float64)):
                np.testing.assert_equal(cls(x).value, float(dtype(x)))

    @given(st.floats(width=32, allow_nan=False))
    def test_bfloat16_is_the_nearest(self, x):
        got = wp.bfloat16(x).value
        if math.isinf(got):
            assert abs(x) >= 3.3895e38
            return
        bits = int.from_bytes(ctypes.c_float(got), "little")
        assert bits & 0xFFFF == 0
        for other in (bits + 0x10000, bits - 0x10000):
            near = np.array([other % 2**32], dtype=np.uint32).view(np.float32)[0]
            if np.isfinite(near) and np.sign(near) == np.sign(got):
                assert abs(float(near) - x) >= abs(got - x)

    def test_bfloat16_rounds_once(self):
        # One above a tie by less than float32 tells: rounding through float32 would lose it.
        assert wp.bfloat16(1.0 + 2.0**-8 + 2.0**-40).value == 1.0 + 2.0**-7
        assert wp.bfloat16(1.0 + 2.0**-8).value == 1.0
        assert math.isnan(wp.bfloat16(math.nan).value)

    def test_large_integers_round_once(self):
        x = 2**60 + 2**36 + 1
        assert wp.float32(x).value == float(2**60 + 2**37)
        assert wp.float32(10**400).value == math.inf

    @pytest.mark.parametrize("bad", ["1", None, [1], (1, 2), {}, b"1", 1j])
    def test_only_numbers(self, bad):
        for cls in (wp.int32, wp.float32, wp.float16, wp.bool):
            with pytest.raises(TypeError):
                cls(bad)

    def test_defaults_and_conversion_between_types(self):
        assert wp.float32() == 0.0 and wp.int8() == 0 and wp.bool() == False  # noqa: E712
        assert wp.float32(wp.float64(2.5)) == 2.5
        assert wp.int32(wp.float32(-2.7)).value == -2
        assert wp.int32(np.int64(5)) == 5 and wp.float64(np.float32(0.5)) == 0.5
        assert wp.int8(200).value == -56 and wp.uint8(300).value == 44

    def test_arithmetic_has_the_type_of_kernels(self):
        assert type(wp.float32(2.0) * 2.0) is float and wp.float32(2.0) * 2.0 == 4.0
        assert type(wp.int32(5) + 6) is int and 6 + wp.int32(5) == 11
        double = wp.float64(0.1) * wp.float64(3)
        assert type(double) is wp.float64 and double.value == 0.1 * 3
        assert type(wp.uint8(250) + wp.uint8(10)) is wp.uint8 and (wp.uint8(250) + wp.uint8(10)).value == 4
        assert wp.int32(7) / wp.int32(-2) == -3 and wp.int32(7) // -2 == -4 and wp.int32(-7) % 2 == -1
        assert (wp.uint64(6) & 3) == 2 and (wp.int64(1) << 40) == 2**40 and ~wp.int8(5) == -6
        assert -wp.float64(2) == -2 and abs(wp.int8(-3)) == 3

    def test_no_mixed_types_in_builtins(self):
        for wrong in (
            lambda: wp.add(wp.float64(1.0), wp.float32(1.0)),
            lambda: wp.add(wp.int32(1), 1.5),
            lambda: wp.add(wp.int32(1), wp.int64(1)),
        ):
            with pytest.raises(RuntimeError, match="Couldn't find a function"):
                wrong()
        with pytest.raises(TypeError):
            wp.int32(1) + "a"

    def test_comparison_and_hash(self):
        assert wp.int32(5) == 5 == wp.int64(5) and wp.int32(5) != 6
        assert wp.float32(1.5) < 2 <= wp.int8(2) and wp.int8(3) > wp.int8(2) >= 2
        assert hash(wp.int32(5)) == hash(5) and len({wp.int32(5), 5, wp.uint8(5)}) == 1
        assert wp.int32(5) != "5"
        with pytest.raises(TypeError):
            wp.int32(5) < "5"

    def test_as_python_numbers(self):
        assert int(wp.float32(5.5)) == 5 and float(wp.int32(5)) == 5.0 and not wp.int32(0)
        assert list(range(wp.int32(3))) == [0, 1, 2] and [7, 8][wp.uint8(1)] == 8
        with pytest.raises(TypeError):
            [1][wp.float32(0.0)]
        assert str(wp.float64(1.5)) == "1.5" and repr(wp.uint8(3)) == "uint8(3)" and f"{wp.float32(1.5):.2f}" == "1.50"
        assert np.array(wp.float64(2.5)).dtype == np.float64
        assert np.array([wp.int8(1), wp.int8(2)]).sum() == 3

    def test_immutable_and_picklable(self):
        for value in (wp.float16(0.1), wp.uint64(2**64 - 1), wp.bool(True), wp.bfloat16(1.5)):
            again = pickle.loads(pickle.dumps(value))
            assert type(again) is type(value) and again == value and copy.deepcopy(value) == value
            with pytest.raises(AttributeError):
                value.value = 3


class TestVectors:
    @pytest.mark.parametrize("name", VECTORS)
    def test_named_types(self, name):
        cls, n, dtype = getattr(wp, name), int(name[3]), SUFFIX_TYPES[name[4:]]
        assert cls.__name__ == name and len(cls()) == n and cls._length_ == n and cls._shape_ == (n,)
        assert cls is wp.types.vector(n, cls._wp_scalar_type_) and cls is wp.types.vector(n, dtype)
        assert ctypes.sizeof(cls) == n * np.dtype(dtype).itemsize
        value = cls(*range(1, n + 1))
        array = np.array(value)
        assert array.dtype == dtype and array.tolist() == list(range(1, n + 1))
        assert value == cls(array) == cls(list(range(1, n + 1))) and value != cls()
        assert np.array(cls(3)).tolist() == [3] * n
        doubled = value + value
        assert type(doubled) is cls and np.array_equal(np.array(doubled), array + array)

    def test_aliases_and_attributes(self):
        assert wp.vec3 is wp.vec3f and wp.spatial_vector is wp.types.vector(6, float)
        assert wp.types.vector(length=5, dtype=wp.float64) is wp.types.vector(5, np.dtype("f8"))
        assert wp.vec3._type_ is ctypes.c_float and wp.vec3._wp_scalar_type_ is wp.float32
        assert wp.vec3._wp_generic_type_str_ == "vec_t" and wp.vec3._wp_type_params_ == (3, wp.float32)

    def test_constructors(self):
        assert list(wp.vec3()) == [0, 0, 0] and list(wp.vec3(2)) == [2, 2, 2]
        assert wp.vec3(wp.vec3d(1, 2, 3)) == wp.vec3(1, 2, 3) == wp.vec3(range(1, 4)) == wp.vec3(np.array([[1, 2, 3]]))
        assert wp.vec3(wp.float64(2.0), np.int8(2), True) == (2, 2, 1)
        assert wp.spatial_vector(wp.vec3(1, 2, 3), (4, 5, 6)) == (1, 2, 3, 4, 5, 6)
        assert wp.vec3i(2**40 + 7, -1, 3) == (7, -1, 3) and wp.vec3ub(300, -1, 3) == (44, 255, 3)
        assert wp.types.vector(1, float)(5) == [5] == wp.types.vector(1, float)([5])
        flags = wp.types.vector(3, bool)(1, 0, True)
        assert list(flags) == [True, False, True] and np.array(flags).dtype == np.bool_

    @pytest.mark.parametrize("args", [(1, 2), (1, 2, 3, 4), ((1, 2),), (wp.vec2(1, 2), 3), ([],)])
    def test_wrong_count(self, args):
        with pytest.raises(ValueError, match="expected 3 elements"):
            wp.vec3(*args)

    @pytest.mark.parametrize("args", [("abc",), ("a", "b", "c"), (None,), ((1, 2, "x"),), (1j, 0, 0)])
    def test_wrong_types(self, args):
        for cls in (wp.vec3, wp.vec3h, wp.vec3i, wp.types.vector(3, bool)):
            with pytest.raises(TypeError):
                cls(*args)

    def test_no_floats_in_integer_vectors(self):
        for bad in ((1.5, 2, 3), (1.5,), ([1.5, 2, 3],), (np.ones(3),), (wp.float32(1.0), 2, 3)):
            with pytest.raises(TypeError):
                wp.vec3i(*bad)

    def test_vectors_convert_as_in_kernels(self):
        assert wp.vec3i(wp.vec3(1.5, -2.5, 1e20)) == (1, -2, 2**31 - 1) and wp.vec2ub(wp.vec2i(300, -1)) == (44, 255)
        assert wp.vec2h(wp.vec2(0.1, 1e9)) == (float(np.float16(0.1)), math.inf)

    def test_indexing(self):
        v = wp.vec4(1, 2, 3, 4)
        assert v[0] == 1 and v[-1] == 4 and v[np.int32(1)] == 2 and v[wp.int32(2)] == 3 and type(v[0]) is float
        assert type(wp.vec3d(1, 2, 3)[0]) is wp.float64 and type(wp.vec3i(1, 2, 3)[0]) is int
        for k in (4, -5, 2**80):
            with pytest.raises(IndexError):
                v[k]
            with pytest.raises(IndexError):
                v[k] = 1.0
        for key in ("a", 1.0, None, (0, 1)):
            with pytest.raises(KeyError):
                v[key]
            with pytest.raises(KeyError):
                v[key] = 1.0

    @given(st.slices(5), st.integers(0, 3))
    def test_slices(self, key, which):
        cls = wp.types.vector(5, (wp.float32, wp.float16, wp.int64, wp.bfloat16)[which])
        value, numbers = cls(1, 2, 3, 4, 5), [1, 2, 3, 4, 5]
        assert list(value[key]) == numbers[key]
        if numbers[key]:
            assert type(value[key]) is wp.types.vector(len(numbers[key]), cls._wp_scalar_type_)
        value[key] = 9
        expected = np.arange(1, 6)
        expected[key] = 9
        assert list(value) == expected.tolist()
        value[key] = list(range(len(numbers[key])))
        expected[key] = np.arange(len(numbers[key]))
        assert list(value) == expected.tolist()
        with pytest.raises(ValueError):
            value[key] = [1] * (len(numbers[key]) + 1)

    def test_writes(self):
        v = wp.vec3(1, 2, 3)
        v[0], v[-1] = 5, wp.float32(7.5)
        v.y = 6
        assert v == (5, 6, 7.5) and v.x == 5 and (v.y, v.z) == (6, 7.5)
        v[0:2] = wp.vec2(1, 1)
        assert v == (1, 1, 7.5)
        h = wp.vec3h()
        h.x = 0.1
        assert h.x.value == float(np.float16(0.1))
        with pytest.raises(TypeError, match="Expected to assign a `float32` value but got `str`"):
            v[0] = "a"
        with pytest.raises(TypeError, match="int32"):
            wp.vec3i()[0] = 1.5
        before = wp.vec3i(1, 2, 3)
        with pytest.raises(TypeError):
            before[:] = (7, 8, 1.5)
        assert before == (1, 2, 3)
        for name in ("w", "xy", "foo"):
            with pytest.raises(AttributeError):
                getattr(v, name)

    def test_operators(self):
        a, b = wp.vec3(1, -2, 3), wp.vec3(4, 5, -6)
        x, y = np.array(a), np.array(b)
        pairs = ((a + b, x + y), (a - b, x - y), (a * 2.0, x * 2), (2.0 * a, x * 2), (a / 2.0, x / 2), (-a, -x))
        for got, want in pairs:
            assert type(got) is wp.vec3 and np.array_equal(np.array(got), want)
        assert +a == a and a % b == tuple(np.fmod(x, y))
        assert wp.vec3i(1, 2, 3) * 2 == (2, 4, 6) and wp.vec3i(7, -7, 3) / 2 == (3, -3, 1)
        assert a * wp.float32(2.0) == a * np.float32(2.0) == a + a
        assert wp.vec3d(1, 2, 3) * wp.float64(2.0) == wp.vec3d(1, 2, 3) * np.float64(2.0) == (2, 4, 6)
        v = wp.vec3(1, 2, 3)
        same = v
        v += a
        assert v == (2, 0, 6) and same == (1, 2, 3)

    def test_operators_refuse(self):
        v = wp.vec3(1, 2, 3)
        for wrong in (
            lambda: v * 2,
            lambda: 2 * v,
            lambda: v * v,
            lambda: v / 2,
            lambda: wp.vec3i(1, 2, 3) * 2.0,
            lambda: wp.vec3d(1, 2, 3) * 2,
            lambda: wp.vec3d(1, 2, 3) * wp.float32(2.0),
            lambda: v + wp.vec2(1, 2),
            lambda: v + wp.vec3d(1, 2, 3),
        ):
            with pytest.raises(RuntimeError, match="Couldn't find a function"):
                wrong()
        for other in ((1, 2, 3), [1, 2, 3], "abc", None):
            with pytest.raises(TypeError):
                v + other
            with pytest.raises(TypeError):
                other + v
        with pytest.raises(TypeError):
            v < v

    def test_equality(self):
        v = wp.vec3(1, 2, 3)
        assert v == (1, 2, 3) == v and v == [1, 2, 3] and v == np.array([1, 2, 3]) and v == wp.vec3d(1, 2, 3)
        assert v != wp.vec2(1, 2) and v != (1, 2) and v != None and v != 1.0 and not v != wp.vec3(1, 2, 3)  # noqa: E711
        nan = wp.vec3(math.nan, 0, 0)
        assert nan != wp.vec3(math.nan, 0, 0) and wp.vec3(0.0) == wp.vec3(-0.0) and v in [v]
        with pytest.raises(TypeError, match="unhashable"):
            hash(v)

    def test_text(self):
        assert str(wp.vec3(1, 2, 3)) == "[1.0, 2.0, 3.0]" and repr(wp.vec3(1, 2, 3)) == "vec3f([1.0, 2.0, 3.0])"
        assert str(wp.vec3i(1, 2, 3)) == "[1, 2, 3]" and repr(wp.vec3i(1, 2, 3)) == "vec3i([1, 2, 3])"
        assert str(wp.vec2h(0.1)) == "[0.0999755859375, 0.0999755859375]"
        assert repr(wp.vec2d(1, 2)) == "vec2d([float64(1.0), float64(2.0)])"
        assert repr(wp.types.vector(5, float)()) == "vector(length=5, dtype=float32)([0.0, 0.0, 0.0, 0.0, 0.0])"

    def test_factory_refuses(self):
        for length, dtype, error in (
            (-1, float, ValueError),
            (10**9, float, ValueError),
            ("a", float, TypeError),
            (2.0, float, TypeError),
            (3, str, TypeError),
            (3, wp.vec3, TypeError),
            (3, None, TypeError),
        ):
            with pytest.raises(error):
                wp.types.vector(length, dtype)

    def test_memory(self):
        v = wp.vec3(1, 2, 3)
        assert wp.vec3.from_ptr(ctypes.addressof(v)) == v
        assert bytes(v) == np.array([1, 2, 3], dtype=np.float32).tobytes()
        with pytest.raises(RuntimeError, match="NULL pointer exception"):
            wp.vec3.from_ptr(0)
        view = np.asarray(v)
        view[0] = 9
        assert v.x == 9 and np.asarray([v, v]).shape == (2, 3)
        assert memoryview(wp.vec3h(1, 2, 3)).format == "e"


class TestMatrices:
    def test_named_types(self):
        for n in (2, 3, 4):
            for suffix, dtype in (("", np.float32), ("f", np.float32), ("d", np.float64), ("h", np.float16)):
                cls = getattr(wp, f"mat{n}{n}{suffix}")
                assert cls is wp.types.matrix((n, n), dtype) and cls._shape_ == (n, n) and cls._length_ == n * n
                got = np.array(cls(*range(n * n)))
                assert got.dtype == dtype and np.array_equal(got, np.arange(n * n, dtype=dtype))
        assert wp.spatial_matrix is wp.types.matrix(shape=(6, 6), dtype=float)
        assert wp.mat33._wp_generic_type_str_ == "mat_t" and wp.mat33._wp_row_type_ is wp.vec3

    def test_constructors(self):
        m, rows = wp.mat22(1, 2, 3, 4), [[1, 2], [3, 4]]
        for same in (
            wp.mat22(rows),
            wp.mat22([1, 2], [3, 4]),
            wp.mat22([1, 2, 3, 4]),
            wp.mat22(wp.vec2(1, 2), wp.vec2(3, 4)),
            wp.mat22(np.array(rows)),
            wp.mat22(np.arange(1, 5)),
            wp.mat22(wp.mat22d(1, 2, 3, 4)),
            wp.mat22([wp.vec2(1, 2), (3, 4)]),
        ):
            assert same == m and type(same) is wp.mat22
        assert wp.mat22() == [[0, 0], [0, 0]] and wp.mat22(5) == [[5, 5], [5, 5]]
        for wrong in ((1, 2, 3), ([1, 2, 3],), (wp.mat33(1),), (np.eye(3),)):
            with pytest.raises(ValueError):
                wp.mat22(*wrong)
        for wrong in ((1, 2), ([[1, 2], [3]],), ([1, 2], [3]), ((1, 2, 3), (3, 4, 5)), (wp.vec2(1, 2), wp.vec3(1, 2, 3))):
            with pytest.raises(TypeError, match="Invalid argument in matrix constructor, expected row of length 2, got"):
                wp.mat22(*wrong)
        mat23 = wp.types.matrix((2, 3), float)
        with pytest.raises(ValueError):
            mat23(np.zeros((3, 2)))
        with pytest.raises(TypeError):
            wp.mat22("abcd")

    def test_indexing_like_numpy(self):
        mat34 = wp.types.matrix((3, 4), wp.float64)
        want = np.arange(12.0).reshape(3, 4)
        m = mat34(want)
        keys = [0, -1, (1, 2), (-1, -1), slice(0, 2), (slice(None), 1), (1, slice(None)), (slice(1, 3), slice(0, 4, 2))]
        for key in keys:
            got = m[key]
            assert np.array_equal(np.array(got, dtype=float).ravel(), want[key].ravel()), key
            changed, other = copy.copy(m), want.copy()
            changed[key], other[key] = 7.0, 7.0
            assert changed == other, key
            if np.ndim(want[key]):
                changed[key] = (want[key] * 2).tolist()
                other[key] = want[key] * 2
                assert changed == other, key
        assert type(m[0]) is wp.types.vector(4, wp.float64) and type(m[0:2, 1:3]) is wp.mat22d
        for key in (3, -4, (0, 4), (0, -5)):
            with pytest.raises(IndexError):
                m[key]
            with pytest.raises(IndexError):
                m[key] = 1.0
        for key in ((0, 0, 0), "a", 1.0):
            with pytest.raises(KeyError):
                m[key]
        with pytest.raises(KeyError, match="Invalid key None, expected int or pair of ints"):
            m[None]
        for access in (lambda: m[3], lambda: m.set_row(3, (0, 0, 0, 0)), lambda: m.get_row(-4)):
            with pytest.raises(IndexError, match="Invalid row index$"):
                access()
        with pytest.raises(IndexError, match="Invalid column index$"):
            m.get_col(4)
        with pytest.raises(TypeError, match="a slice from a sequence of `float64` values but got `mat_t` instead"):
            m[0] = (m,)
        with pytest.raises(ValueError):
            m[0] = (1, 2)
        with pytest.raises(ValueError):
            m[0:2, 0:2] = [[1, 2, 3], [4, 5, 6]]

    def test_rows_and_columns(self):
        m = wp.mat22(1, 2, 3, 4)
        row = m[0]
        row[1] = 100
        assert m == [[1, 2], [3, 4]] and len(m) == 2 and [list(r) for r in m] == [[1, 2], [3, 4]]
        m.set_row(0, wp.vec2(5, 6))
        m.set_col(1, (7, 8))
        assert m == [[5, 7], [3, 8]] and m.get_row(1) == (3, 8) and m.get_col(0) == (5, 3)
        assert wp.matrix_from_rows(wp.vec2(1, 2), wp.vec2(3, 4)) == [[1, 2], [3, 4]]
        assert wp.matrix_from_cols(wp.vec2(1, 2), wp.vec2(3, 4)) == [[1, 3], [2, 4]]

    def test_operators(self):
        a, b = wp.mat33(*range(9)), wp.mat33(2, 0, 1, 0, 3, 0, 1, 1, 1)
        x, y = np.array([*a]), np.array([*b])
        v = wp.vec3(1, 2, 3)
        pairs = ((a + b, x + y), (a - b, x - y), (a * b, x @ y), (a @ b, x @ y), (a * 2.0, x * 2), (-a, -x))
        for got, want in (*pairs, (2.0 * a, 2 * x), (a / 2.0, x / 2)):
            assert type(got) is wp.mat33 and got == want
        for got, want in ((a * v, x @ v), (a @ v, x @ v), (v * a, v @ x), (v @ a, v @ x)):
            assert type(got) is wp.vec3 and np.array_equal(np.array(got), want)
        wide = wp.types.matrix((2, 3), float)(*range(6))
        assert wide * a == np.array([*wide]) @ x
        with pytest.raises(RuntimeError):
            a * wide
        assert a == x and a == x.tolist() and a != b and a != 1
        with pytest.raises(TypeError):
            hash(a)

    def test_text(self):
        assert str(wp.mat22(1, 2, 3, 4)) == "[[1.0, 2.0],\n [3.0, 4.0]]"
        assert repr(wp.mat22(1, 2, 3, 4)) == "mat22f([[1.0, 2.0], [3.0, 4.0]])"
        assert repr(wp.types.matrix((1, 5), int)()) == "matrix(shape=(1, 5), dtype=int32)([[0, 0, 0, 0, 0]])"
        for shape, error in (((2,), ValueError), (3, TypeError), ((0, 2), ValueError), ((300, 300), ValueError)):
            with pytest.raises(error):
                wp.types.matrix(shape, float)


class TestQuaternionsAndTransforms:
    def test_quaternions(self):
        assert wp.quat is wp.quatf is wp.types.quaternion(float) and wp.quat() == (0, 0, 0, 0)
        q = wp.quat(1, 2, 3, 4)
        assert (q.x, q.y, q.z, q.w) == (1, 2, 3, 4) and q == wp.quat([1, 2, 3, 4]) == wp.quat(wp.vec3(1, 2, 3), 4.0)
        assert q * q == (8, 16, 24, 2) and q + q == q * 2.0 == 2.0 * q and repr(q) == "quatf([1.0, 2.0, 3.0, 4.0])"
        q.w = 9
        assert q[3] == 9 and list(q[:2]) == [1, 2]
        for wrong in ((1, 2, 3), (wp.vec2(1, 2), 4.0), ([1, 2],)):
            with pytest.raises(ValueError):
                wp.quat(*wrong)
        with pytest.raises(RuntimeError):
            q * wp.vec3(1, 2, 3)
        with pytest.raises(TypeError):
            wp.types.quaternion(int)

    def test_transforms(self):
        assert wp.transform is wp.transformf is wp.types.transformation(float)
        assert wp.transform() == (0, 0, 0, 0, 0, 0, 1)
        t = wp.transform((1, 2, 3), wp.quat(0, 0, 0, 1))
        for same in (
            wp.transform(1, 2, 3, 0, 0, 0, 1),
            wp.transform([1, 2, 3, 0, 0, 0, 1]),
            wp.transform(p=wp.vec3(1, 2, 3), q=(0, 0, 0, 1)),
            wp.transform(wp.vec3(1, 2, 3)),
            wp.transform((1, 2, 3), q=[0, 0, 0, 1]),
            wp.transform(wp.transformd((1, 2, 3))),
        ):
            assert same == t
        assert type(t.p) is wp.vec3 and type(t.q) is wp.quat and t.p == (1, 2, 3) and t[2] == 3
        t.p = (9, 8, 7)
        t.q = wp.quat(1, 0, 0, 0)
        assert t == (9, 8, 7, 1, 0, 0, 0)
        moved = wp.transform((1, 0, 0)) * wp.transform((0, 2, 0))
        assert type(moved) is wp.transform and moved.p == (1, 2, 0)
        for wrong in ((1, 2, 3), ((1, 2), (0, 0, 0, 1)), ((1, 2, 3), (0, 0, 1))):
            with pytest.raises(ValueError):
                wp.transform(*wrong)
        for wrong in ({"r": 1}, {"p": 1.0}):
            with pytest.raises(TypeError):
                wp.transform(**wrong)
        with pytest.raises(AttributeError):
            t.x


@pytest.mark.parametrize(
    "value",
    [
        wp.vec3(1, 2, 3),
        wp.vec2h(0.5, 1.5),
        wp.types.vector(5, float)(1, 2, 3, 4, 5),
        wp.types.vector(3, wp.bfloat16)(1, 2, 3),
        wp.mat33(*range(9)),
        wp.types.matrix((2, 5), int)(*range(10)),
        wp.quatd(1, 2, 3, 4),
        wp.transform((1, 2, 3)),
    ],
    ids=repr,
)
def test_copies_and_pickles(value):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(value, protocol))
        assert type(again) is type(value) and again == value
    for other in (copy.copy(value), copy.deepcopy(value), type(value)(value)):
        assert type(other) is type(value) and other == value and other is not value
        other[0] = 77
        assert other != value
    assert pickle.loads(pickle.dumps(type(value))) is type(value)


class TestQuestions:
    def test_handles(self):
        handle = wp.types.type_handle
        for same in (wp.float32, np.float32, np.dtype("f4"), np.float32(1)):
            assert handle(same) == handle(float)
        assert handle(int) == handle(wp.int32) == handle(np.intc)
        assert handle(bool) == handle(wp.bool) == handle(np.bool_)
        assert handle(wp.vec3).name == "vec3f" and handle(handle(wp.vec3)) == handle(wp.vec3)
        for name in wp.types.__all__:
            cls = getattr(wp.types, name)
            if isinstance(cls, type) and wp.types.type_handle_or_none(cls):
                assert wp.types.class_of(handle(cls)) is cls
        for wrong in (str, None, "float32", 1.0, object, [], np.complex64, np.dtype(">f4"), np.dtype([("a", "f4")])):
            with pytest.raises(TypeError):
                handle(wrong)

    def test_numpy_maps(self):
        for cls in INTS + FLOATS + [wp.bool]:
            dtype = wp.types.warp_type_to_np_dtype[cls]
            assert wp.types.np_dtype_to_warp_type[dtype] is cls is wp.types.np_dtype_to_warp_type[np.dtype(dtype)]
            assert wp.dtype_from_numpy(dtype) is cls and wp.dtype_to_numpy(cls) is dtype
        assert wp.dtype_from_numpy(np.longlong) is wp.int64 and wp.dtype_to_numpy(wp.bfloat16) is np.uint16
        for wrong in (np.complex64, "nonsense", np.dtype("U3")):
            with pytest.raises(TypeError):
                wp.dtype_from_numpy(wrong)
        with pytest.raises(TypeError):
            wp.dtype_to_numpy(wp.vec3)

    def test_sizes_and_strides(self):
        t = wp.types
        assert t.type_size_in_bytes(wp.mat33) == 36 and t.type_size_in_bytes(float) == 4
        assert t.type_size_in_bytes(bool) == 1
        assert t.type_length(wp.vec3) == 3 == t.type_size(wp.vec3) and t.type_length(float) == 1
        assert t.strides_from_shape((2, 3), float) == (12, 4)
        assert t.strides_from_shape((4, 2, 3), wp.vec3) == (72, 36, 12)
        assert t.strides_from_shape(5, wp.float64) == (8,)

    def test_equal(self):
        equal = wp.types.types_equal
        assert equal(wp.vec3, wp.types.vector(3, float)) and equal(float, wp.float32) and not equal(wp.vec3, wp.vec3d)
        assert not equal(wp.Float, float) and equal(wp.Float, float, match_generic=True) and equal(wp.Int, wp.Int)
        assert not equal(wp.Int, float, match_generic=True) and equal(wp.uint8, wp.Scalar, match_generic=True)

    def test_predicates(self):
        t = wp.types
        samples = {
            "int": 1,
            "float": 1.0,
            "vector": wp.vec3(),
            "matrix": wp.mat22(),
            "quaternion": wp.quat(),
            "transformation": wp.transform(),
        }
        for kind, value in samples.items():
            for other in samples:
                assert getattr(t, f"is_{other}")(value) == (kind == other)
                assert getattr(t, f"type_is_{other}")(type(value)) == (kind == other)
            assert t.is_value(value) and t.type_is_value(type(value))
        assert t.is_scalar(wp.int8(1)) and not t.is_scalar(wp.vec3()) and not t.type_is_scalar(bool)
        assert not t.is_int(True)
        assert t.is_composite(wp.quat()) and not t.is_value("a") and not t.is_int(wp.int32)
        assert not t.type_is_array(wp.vec3)
        assert t.scalar_types == t.int_types + t.float_types and wp.vec3 in t.vector_types
        assert wp.mat44h in t.vector_types

    def test_names_of_types(self):
        names = {wp.vec3: "vec3f", wp.types.vector(5, float): "vector(length=5, dtype=float32)", wp.mat22: "mat22f"}
        names |= {float: "float", wp.types.matrix((2, 3), float): "mat23f", wp.quat: "quatf", wp.quatd: "quatd"}
        assert {cls: wp.types.type_repr(cls) for cls in names} == names


def test_constants():
    v = wp.vec3(1, 2, 3)
    for value in (1, 2.5, True, wp.float64(1.0), v, wp.mat22(), wp.quat(), wp.transform(), np.float32(1)):
        assert wp.constant(value) is value
    for wrong in ("a", [1], None, wp.vec3, np.array([1]), {}):
        with pytest.raises(TypeError, match="Invalid constant type"):
            wp.constant(wrong)
    assert wp.pi == wp.PI == math.pi and wp.tau == wp.TAU == 2 * math.pi and wp.half_pi == wp.HALF_PI == math.pi / 2
    assert wp.e == wp.E == math.e and wp.inf == wp.INF == math.inf and math.isnan(wp.nan) and math.isnan(wp.NAN)
    assert math.isclose(wp.phi, 1.618033988749895) and wp.PHI == wp.phi
    assert wp.ln2 == wp.LN2 == math.log(2) and wp.ln10 == wp.LN10 == math.log(10)
    assert math.isclose(wp.log2e, 1.4426950408889634) and math.isclose(wp.log10e, 0.4342944819032518)


def test_spatial_transform_is_the_old_name_of_transform():
    assert wp.spatial_transform is wp.transform
    assert wp.spatial_transformd is wp.transformd
