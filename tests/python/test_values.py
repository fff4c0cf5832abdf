"""Vectors and matrices in Python beside numbers, NumPy and sequences, as programs written for Warp use them."""

import subprocess
import sys

import numpy as np
import pytest

import warp as wp


class TestNumbersBesideVectors:
    def test_sums_and_differences_count_for_every_component(self):
        v = wp.vec3(1.0, 2.0, 3.0)
        for got, want in ((v + 1.0, (2, 3, 4)), (1.0 + v, (2, 3, 4)), (v - 1.0, (0, 1, 2)), (1.0 - v, (0, -1, -2))):
            assert type(got) is wp.vec3 and got == want
        i = wp.vec3i(1, 2, 3)
        assert i + 1 == (2, 3, 4) and 1 - i == (0, -1, -2) and i % 2 == (1, 0, 1) and type(1 + i) is wp.vec3i
        assert v + wp.float32(1.0) == (2, 3, 4) and v + np.float32(1.0) == (2, 3, 4)
        assert wp.types.vector(5, float)(1.0) + 1.0 == (2,) * 5 and wp.spatial_vector(1.0) - 1.0 == (0,) * 6

    def test_python_numbers_take_the_component_type(self):
        v = wp.vec3d(1, 2, 3)
        for got, want in (
            (v * 0.1, (0.1, 0.2, 0.1 * 3)),
            (0.1 * v, (0.1, 0.2, 0.1 * 3)),
            (v / 2.0, (0.5, 1, 1.5)),
            (6.0 / v, (6, 3, 2)),
            (v + 0.1, (1.1, 2.1, 3.1)),
        ):
            assert type(got) is wp.vec3d and got == want  # nothing is rounded to 32 bits
        assert type(wp.vec3h(1, 2, 3) * 2.0) is wp.vec3h and wp.vec3s(1, 2, 3) * 2 == (2, 4, 6)
        assert wp.mat22d(1.0) * 0.5 == [[0.5, 0.5], [0.5, 0.5]] and wp.quatd(0, 0, 0, 2) * 0.1 == (0, 0, 0, 0.2)
        assert v * wp.float64(2) == (2, 4, 6) and v + wp.float64(1) == (2, 3, 4)

    def test_in_place_and_derived_classes(self):
        class Named(wp.types.vector(3, float)):
            pass

        v = wp.vec3(1.0, 2.0, 3.0)
        v += 1.0
        v -= 0.5
        v *= 2.0
        assert v == (3, 5, 7) and Named(1.0, 2.0, 3.0) + 1.0 == (2, 3, 4)

    @pytest.mark.parametrize(
        "wrong, words",
        [
            (lambda: wp.vec3(1.0) + 1, "'add' compatible with the arguments 'vec3f, int'"),
            (lambda: 2 * wp.vec3(1.0), "'mul' compatible with the arguments 'int, vec3f'"),
            (lambda: wp.vec3i(1) + 1.0, "'add' compatible with the arguments 'vec3i, float'"),
            (lambda: wp.vec3(1.0) + True, "'add' compatible with the arguments 'vec3f, bool'"),
            (lambda: wp.vec3d(1.0) + wp.float32(1.0), "'add' compatible with the arguments 'vec3d, float32'"),
            (lambda: wp.mat22(1.0) + 1.0, "'add' compatible with the arguments 'mat22f, float'"),
            (lambda: wp.mul(wp.mat22(), wp.mat22d()), "'mul' compatible with the arguments 'mat22f, mat22d'"),
            (lambda: wp.mul(np.int16(1), 2), "'mul' compatible with the arguments 'int16, int'"),
            (lambda: wp.sin(), "'sin' compatible with the arguments ''"),
        ],
    )
    def test_other_sorts_are_refused(self, wrong, words):
        with pytest.raises(RuntimeError, match=words + "$"):
            wrong()

    def test_too_large_for_the_component_type(self):
        with pytest.raises(OverflowError, match="300 does not fit int8"):
            wp.vec3b(1) * 300

    def test_kernels_want_vectors_on_both_sides(self):
        @wp.kernel
        def shift(out: wp.array(dtype=wp.vec3)):
            out[0] = out[0] + 1.0

        with pytest.raises(RuntimeError):
            wp.launch(shift, 1, [wp.zeros(1, dtype=wp.vec3)])


def test_values_take_attributes():
    for value in (wp.vec3(), wp.mat22(), wp.quat(), wp.transform(), wp.vec3d(1, 2, 3)):
        value.tag = "x"
        assert value.tag == "x" and not hasattr(type(value)(), "tag")
    v = wp.vec3(1.0, 2.0, 3.0)
    v.note = 1
    v.x = 5.0
    assert v == (5, 2, 3) and v.__dict__ == {"note": 1}


def test_components_are_set_one_by_one():
    for value, names in (
        (wp.vec3(1.0, 2.0, 3.0), ("xy", "xyz", "xx", "w", "zw", "wxyz")),
        (wp.vec2i(1, 2), ("z", "w", "xw", "yx")),
        (wp.types.vector(6, wp.float64)(1.0), ("xy", "xyzw")),
        (wp.quat(1.0, 2.0, 3.0, 4.0), ("xyz", "wx")),
    ):
        before = list(value)
        for name in names:
            with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
                setattr(value, name, 9)
            assert not hasattr(value, name)
        value.wide = value.xyzwx = value.rgb = value._ = 5  # what looks like no component is the program's own
        value.y = 7
        assert list(value) == [before[0], 7, *before[2:]]

    class Named(wp.vec3):
        @property
        def xy(self):
            return wp.vec2(self.x, self.y)

        @xy.setter
        def xy(self, pair):
            self.x, self.y = pair

    named = Named(1.0, 2.0, 3.0)
    named.xy = wp.vec2(4.0, 5.0)
    assert list(named) == [4.0, 5.0, 3.0]



def test_annotations_of_structs_are_those_written():
    @wp.struct
    class Written:
        a: float
        b: "wp.vec3"
        c: wp.array(dtype=int)

    annotations = Written.__annotations__
    assert list(annotations) == ["a", "b", "c"] and annotations["a"] is float and annotations["b"] == "wp.vec3"
    assert annotations["c"].dtype is wp.int32


def test_null_pointers():
    for cls in (wp.vec3, wp.mat22, wp.quat, wp.transform):
        with pytest.raises(RuntimeError, match="NULL pointer exception"):
            cls.from_ptr(0)


class TestMatricesAsArrays:
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)

    def test_flat_in_row_order(self):
        m = self.m
        assert np.array(m).tolist() == [1, 2, 3, 4] and np.asarray(m).shape == (4,) and np.array([m, m]).shape == (2, 4)
        assert np.array(wp.types.matrix((2, 3), wp.float64)(*range(6))).tolist() == list(range(6))
        rows = np.zeros((2, 4))
        rows[1] = m
        assert rows[1].tolist() == [1, 2, 3, 4] and np.array(m).reshape(2, 2).tolist() == [[1, 2], [3, 4]]
        assert np.array([*m]).tolist() == [[1, 2], [3, 4]]  # its rows
        view = np.asarray(wp.mat22d(1.0))
        view[3] = 7.0
        assert view.dtype == np.float64 and view.base is not None

    def test_still_compare_and_convert(self):
        m = self.m
        assert m == np.array([[1.0, 2.0], [3.0, 4.0]]) and wp.mat22(np.array(m)) == m == wp.mat22(np.array([*m]))
        assert m == [[1, 2], [3, 4]] and m != np.array([1.0, 2.0, 3.0, 4.0])

    def test_arrays_of_matrices(self):
        m, n = self.m, wp.mat22(5.0, 6.0, 7.0, 8.0)
        want = np.arange(1.0, 9.0).reshape(2, 2, 2)
        for made in (
            wp.array([m, n], dtype=wp.mat22),
            wp.array((m, n), dtype=wp.mat22),
            wp.array(np.array([m, n]), dtype=wp.mat22),
            wp.from_numpy(np.array([m, n]), dtype=wp.mat22),
            wp.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], dtype=wp.mat22),
        ):
            assert made.shape == (2,) and made.dtype is wp.mat22 and np.array_equal(made.numpy(), want)
        assert wp.array([[m, n]], dtype=wp.mat22).shape == (1, 2) and wp.array([m, n]).shape == (2, 4)
        wide = wp.types.matrix((2, 3), float)(*range(6))
        assert np.array_equal(wp.array([wide, wide], dtype=type(wide)).numpy()[1], np.arange(6).reshape(2, 3))

    def test_written_into_arrays(self):
        a = wp.zeros(3, dtype=wp.mat22)
        a.fill_(self.m)
        a[1:2].fill_(wp.mat22(2.0))
        a[2] = wp.mat22(5.0, 6.0, 7.0, 8.0)
        assert a.numpy().tolist() == [[[1, 2], [3, 4]], [[2, 2], [2, 2]], [[5, 6], [7, 8]]]
        a.assign([self.m] * 3)
        assert a.numpy()[2].tolist() == [[1, 2], [3, 4]]
        assert wp.full(2, self.m).numpy().tolist() == [[[1, 2], [3, 4]]] * 2
        assert wp.full(2, value=self.m, dtype=wp.mat22).dtype is wp.mat22

    def test_passed_to_kernels(self):
        @wp.kernel
        def take(m: wp.mat22, out: wp.array(dtype=float)):
            out[0] = m[0, 1]

        out = wp.zeros(1, dtype=float)
        for value in (self.m, np.array(self.m), np.array([*self.m]), [[1.0, 2.0], [3.0, 4.0]]):
            out.zero_()
            wp.launch(take, 1, [value, out])
            assert out.numpy()[0] == 2.0


class TestSequencesInBuiltins:
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_stand_for_vectors_and_matrices(self):
        assert wp.dot((1.0, 2.0), (3.0, 4.0)) == 11.0 and wp.dot([1, 2], wp.vec2i(3, 4)) == 11
        assert type(wp.cross((1.0, 0.0, 0.0), (0, 1.0, 0))) is wp.vec3
        assert wp.trace(((1.0, 2.0), (3.0, 4.0))) == 5.0 == wp.trace((1.0, 2.0, 3.0, 4.0))
        assert wp.mul(wp.mat22(1.0), (1.0, 2.0)) == (3, 3) and wp.trace([wp.vec2(1.0, 2.0), (3.0, 4.0)]) == 5.0
        assert wp.quat_rotate((0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0)) == (1, 2, 3)
        assert wp.transform_point((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0)) == (2, 2, 3)

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_elements_decide_the_type(self):
        assert type(wp.length(np.array([3.0, 4.0]))) is wp.float64 and type(wp.length([3.0, 4.0])) is float
        assert type(wp.dot([wp.float16(1)] * 2, (wp.float16(2),) * 2)) is wp.float16
        assert type(wp.dot(np.array([1, 2], dtype=np.int16), wp.vec2s(1, 2))) is wp.int16
        assert type(wp.determinant(np.eye(3))) is wp.float64
        with pytest.raises(TypeError):
            wp.dot((1.0, 2.0), np.array([1.0, 2.0]))  # float32 and float64

    def test_warns_once(self):
        program = """
import warnings, warp as wp
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    wp.dot((1.0, 2.0), (3.0, 4.0))
    wp.dot((1.0, 2.0), (3.0, 4.0))
    wp.trace(((1.0, 2.0), (3.0, 4.0)))
print([(w.category.__name__, w.lineno) for w in caught])
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[('DeprecationWarning', 5)]"
