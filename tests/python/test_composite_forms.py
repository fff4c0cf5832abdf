"""Forms of vectors and matrices that programs use: large ones, redundant sizes, old constructors, tests of integers."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

vec128 = wp.types.vector(length=128, dtype=float)
vec11 = wp.types.vector(length=11, dtype=float)
mat11x3 = wp.types.matrix(shape=(11, 3), dtype=float)
mat32 = wp.types.matrix(shape=(3, 2), dtype=float)


class vec_state(wp.types.vector(length=7, dtype=float)):
    """A vector type by another name."""


@pytest.fixture(params=[0, 1], ids=["lanes", "one lane"], autouse=True)
def lanes(request):
    wp.config.cpu_lanes = request.param
    yield
    wp.config.cpu_lanes = 0


@wp.kernel
def own_sizes(out: wp.array(dtype=float)):
    m = mat32(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    again = mat32(m, shape=(3, 2))
    v = wp.vec3(wp.vec3(1.0, 2.0, 3.0), length=3)
    square = wp.mat22(1.0, 2.0, 3.0, 4.0, shape=(2, 2))
    out[0] = again[2, 1]
    out[1] = v[2]
    out[2] = square[1, 0]


def test_a_type_takes_its_own_size(device):
    out = wp.zeros(3)
    wp.launch(own_sizes, dim=1, inputs=[out])
    assert out.numpy().tolist() == [6.0, 3.0, 3.0]


@wp.kernel
def poses(p: wp.vec3, q: wp.quat, s: wp.vec3, out: wp.array(dtype=wp.mat44), wide: wp.array(dtype=wp.mat44d)):
    out[0] = wp.matrix(p, q, s, wp.float32)
    out[1] = wp.matrix(p, q, s, dtype=wp.float32)
    wide[0] = wp.matrix(wp.vec3d(p), wp.quatd(q), wp.vec3d(s), wp.float64)


def test_the_type_as_fourth_argument_of_a_pose(device):
    out, wide = wp.zeros(2, dtype=wp.mat44), wp.zeros(1, dtype=wp.mat44d)
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5)
    wp.launch(poses, dim=1, inputs=[wp.vec3(1.0, 2.0, 3.0), turn, wp.vec3(1.0, 2.0, 1.0), out, wide])
    first, second = out.numpy()
    assert np.array_equal(first, second) and first[:3, 3].tolist() == [1.0, 2.0, 3.0]
    assert np.allclose(wide.numpy()[0], first, atol=1e-6)


@wp.kernel
def classify_integers(n: int, small: wp.uint8, out: wp.array(dtype=bool)):
    v = wp.vec3i(n, n + 1, n + 2)
    m = wp.matrix(small, small, small, small, shape=(2, 2))
    out[0] = wp.isfinite(n) and wp.isfinite(small) and wp.isfinite(v) and wp.isfinite(m) and wp.isfinite(7)
    out[1] = wp.isnan(n) or wp.isnan(small) or wp.isnan(v) or wp.isnan(m)
    out[2] = wp.isinf(n) or wp.isinf(small) or wp.isinf(v) or wp.isinf(m)


def test_integers_are_finite(device):
    out = wp.zeros(3, dtype=bool)
    wp.launch(classify_integers, dim=1, inputs=[-5, 255, out])
    assert out.numpy().tolist() == [True, False, False]
    assert wp.isfinite(3) and not wp.isnan(wp.vec3i(1, 2, 3)) and not wp.isinf(wp.int8(4))


@wp.kernel
def divide(a: wp.array(dtype=int), b: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = a[i] / b[i] + 1


def test_division_of_integers_truncates(device):
    a, b, out = wp.array([7, -7, 7, -7, 3], dtype=int), wp.array([2, 2, -2, -2, 4], dtype=int), wp.zeros(5, dtype=int)
    wp.launch(divide, dim=5, inputs=[a, b, out])
    assert out.numpy().tolist() == [4, -2, -2, 4, 1]


@wp.kernel
def large(
    x: wp.array(dtype=vec128),
    rows: wp.array(dtype=mat11x3),
    sixes: wp.array(dtype=wp.spatial_matrix),
    out: wp.array2d(dtype=float),
):
    i = wp.tid()
    v = x[i]
    w = wp.cw_mul(v, v)
    w = wp.cw_div(w, v + vec128(1.0))
    w[127] = 5.0
    out[i, 0] = wp.dot(v, w)
    out[i, 1] = wp.length_sq(v) - wp.norm_l2(v) * wp.length(v)
    s = float(0.0)
    for k in range(128):
        s += w[k]
    out[i, 2] = s
    m = rows[i]
    out[i, 3] = wp.dot(m * wp.vec3(1.0, 2.0, 3.0), vec11(1.0))
    g = wp.transpose(m) * m
    out[i, 4] = wp.trace(g)
    out[i, 5] = wp.trace(wp.transpose(sixes[i]) * sixes[i])
    both = wp.spatial_vector(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0))
    turned = sixes[i] * both
    out[i, 6] = wp.dot(wp.spatial_top(turned), wp.spatial_bottom(turned))
    o = wp.outer(vec11(2.0), wp.vec3(1.0, 2.0, 3.0))
    out[i, 7] = o[10, 2] + wp.skew(wp.vec3(1.0, 2.0, 3.0))[1, 0] + wp.diag(wp.vec3(7.0, 8.0, 9.0))[1, 1]
    a, b = wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0)
    out[i, 8] = wp.matrix_from_rows(a, b)[1, 0] + wp.matrix_from_cols(a, b)[2, 1]


def test_large_vectors_and_matrices(device):
    rng = np.random.default_rng(3)
    x = rng.uniform(0.5, 1.5, (3, 128)).astype(np.float32)
    rows, sixes = rng.uniform(-1, 1, (3, 11, 3)).astype(np.float32), rng.uniform(-1, 1, (3, 6, 6)).astype(np.float32)
    out = wp.zeros((3, 9))
    inputs = [wp.array(x, dtype=vec128), wp.array(rows, dtype=mat11x3), wp.array(sixes, dtype=wp.spatial_matrix), out]
    wp.launch(large, dim=3, inputs=inputs)
    got = out.numpy()
    w = x * x / (x + 1)
    w[:, 127] = 5.0
    turned = sixes @ np.arange(1.0, 7.0)
    assert np.allclose(got[:, 0], (x * w).sum(1), rtol=1e-5)
    assert np.allclose(got[:, 1], 0.0, atol=1e-4)
    assert np.allclose(got[:, 2], w.sum(1), rtol=1e-5)
    assert np.allclose(got[:, 3], (rows @ np.array([1.0, 2.0, 3.0])).sum(1), rtol=1e-4, atol=1e-5)
    assert np.allclose(got[:, 4], (rows**2).sum((1, 2)), rtol=1e-5)
    assert np.allclose(got[:, 5], (sixes**2).sum((1, 2)), rtol=1e-5)
    assert np.allclose(got[:, 6], (turned[:, :3] * turned[:, 3:]).sum(1), rtol=1e-4, atol=1e-4)
    assert np.allclose(got[:, 7], 6.0 + 3.0 + 8.0) and np.allclose(got[:, 8], 4.0 + 6.0)


@wp.func
def doubled(v: vec_state) -> vec_state:
    return vec_state(2.0 * v[0]) + v


@wp.kernel
def use_derived(x: wp.array(dtype=vec_state), out: wp.array(dtype=vec_state)):
    i = wp.tid()
    out[i] = doubled(x[i])


def test_classes_derived_from_vector_types(device):
    x = wp.array(np.arange(7.0, dtype=np.float32).reshape(1, 7) + 1.0, dtype=vec_state)
    out = wp.zeros(1, dtype=vec_state)
    wp.launch(use_derived, dim=1, inputs=[x, out])
    assert out.numpy()[0].tolist() == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]


@wp.kernel
def atomics(x: wp.array(dtype=int), f: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(x, 0, 1)
    wp.atomic_sub(x, 1, 1)
    wp.atomic_min(x, 2, i)
    wp.atomic_max(x, 3, i)
    wp.atomic_or(x, 4, 1 << i)
    wp.atomic_cas(x, 5, 0, 9)
    wp.atomic_add(f, 0, float(wp.block_dim() > 0))
    r = wp.quat_rotate(wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), wp.half_pi), wp.vec3(1.0, 0.0, 0.0))
    f[1] = r[1]


def test_the_rest_of_what_large_programs_call(device):
    x, f = wp.array([0, 0, 99, -99, 0, 0], dtype=int), wp.zeros(2)
    wp.launch(atomics, dim=8, inputs=[x, f])
    assert x.numpy().tolist() == [8, -8, 0, 7, 255, 9]
    assert np.allclose(f.numpy(), [8.0, 1.0], atol=1e-6)


class Foreign:
    """What bindings of other languages often give: a length and items, and nothing to iterate by."""

    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.values[index]


def test_values_are_made_of_what_has_length_and_items():
    three, four = Foreign(1.0, 2.0, 3.0), Foreign(0.0, 0.0, 0.6, 0.8)
    assert list(wp.vec3(three)) == [1.0, 2.0, 3.0]
    assert list(wp.quat(four)) == list(wp.quat(0.0, 0.0, 0.6, 0.8))
    assert list(wp.transform(three, four)) == [1.0, 2.0, 3.0, *wp.quat(0.0, 0.0, 0.6, 0.8)]
    assert wp.mat33(three, three, three) == wp.mat33(Foreign(three, three, three))
    assert list(wp.spatial_vector(three, three)) == [1.0, 2.0, 3.0] * 2


def test_only_types_with_a_public_name_carry_one():
    for cls in (wp.vec3, wp.mat33, wp.mat44d, wp.vec2i, wp.quat, wp.transform, wp.spatial_vector, wp.spatial_matrix):
        assert getattr(wp, cls.__name__) is cls
    for cls in (mat32, wp.types.matrix(shape=(2, 2), dtype=int), wp.types.matrix(shape=(5, 5), dtype=float)):
        assert cls.__name__ == "mat_t"
