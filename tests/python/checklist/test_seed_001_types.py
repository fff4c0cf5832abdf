"""The runtime document: scalars, vectors, matrices, quaternions and transforms, with its snippets as they stand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warp as wp

SCALARS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()

# declare a new vector type for holding 5 double precision floats:
vec5d = wp.types.vector(length=5, dtype=wp.float64)
vec4d_like = wp.types.vector(length=4, dtype=wp.float64)

# declare a new 3x2 half precision float matrix type:
mat32h = wp.types.matrix(shape=(3, 2), dtype=wp.float16)
mat45d = wp.types.matrix(shape=(4, 5), dtype=wp.float64)
mat55d = wp.types.matrix(shape=(5, 5), dtype=wp.float64)

quatd = wp.types.quaternion(dtype=wp.float64)
transformd = wp.types.transformation(dtype=wp.float64)


def test_seed_052_scalar_storage_types():
    """Ten storage types for arrays, in and out of kernels."""
    for name in SCALARS:
        dtype = getattr(wp, name)
        a = wp.array([0, 1, 100], dtype=dtype)
        assert a.numpy().dtype == np.dtype(name) and a.numpy().tolist() == [0, 1, 100]


def test_seed_053_python_types_are_aliases():
    """float is float32, int is int32."""
    assert wp.zeros(1, dtype=float).dtype is wp.float32 and wp.zeros(1, dtype=int).dtype is wp.int32


def test_seed_054_vector_types_by_suffix():
    """vec2, vec3, vec4 of f, d, h, ub; spatial vectors of 6 numbers."""
    kinds = {"": np.float32, "f": np.float32, "d": np.float64, "h": np.float16, "ub": np.uint8}
    for suffix, dtype in kinds.items():
        for n in (2, 3, 4):
            t = getattr(wp, f"vec{n}{suffix}")
            values = wp.zeros(3, dtype=t).numpy()
            assert values.shape == (3, n) and values.dtype == dtype
        if suffix != "ub":
            values = wp.zeros(3, dtype=getattr(wp, f"spatial_vector{suffix}")).numpy()
            assert values.shape == (3, 6) and values.dtype == dtype
    assert wp.vec3 is wp.vec3f


@wp.kernel
def basis(out: wp.array(dtype=wp.vec3), lengths: wp.array(dtype=float)):
    # basis vectors
    a = wp.vec3(1.0, 0.0, 0.0)
    b = wp.vec3(0.0, 1.0, 0.0)

    # take the cross product
    c = wp.cross(a, b)

    # compute
    r = wp.dot(c, c)
    out[0] = c
    lengths[0] = r


def test_seed_055_cross_and_dot():
    """x cross y is z, of length 1."""
    out, lengths = wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=float)
    wp.launch(basis, dim=1, inputs=[out, lengths])
    assert tuple(out[0]) == (0.0, 0.0, 1.0) and lengths[0] == 1.0


@wp.kernel
def named_vectors(out: wp.array(dtype=vec5d)):
    # zero initialize a custom named vector type
    v = vec5d()
    out[0] = v

    # component-wise initialize a named vector type
    v = vec5d(wp.float64(1.0),
              wp.float64(2.0),
              wp.float64(3.0),
              wp.float64(4.0),
              wp.float64(5.0))
    out[1] = v


def test_seed_056_057_named_vector_types():
    """A declared vector type serves arrays and kernels, zero or by components."""
    arr = wp.zeros(10, dtype=vec5d)
    assert arr.numpy().shape == (10, 5) and arr.numpy().dtype == np.float64
    wp.launch(named_vectors, dim=1, inputs=[arr])
    assert arr.numpy()[:2].tolist() == [[0.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]]


@wp.kernel
def anonymous_vectors(out: wp.array(dtype=vec5d)):
    # zero initialize vector of 5 doubles:
    v = wp.vector(dtype=wp.float64, length=5)
    out[0] = v

    # scalar initialize a vector of 5 doubles to the same value:
    v = wp.vector(wp.float64(1.0), length=5)
    out[1] = v

    # component-wise initialize a vector of 5 doubles
    v = wp.vector(wp.float64(1.0),
                  wp.float64(2.0),
                  wp.float64(3.0),
                  wp.float64(4.0),
                  wp.float64(5.0))
    out[2] = v


def test_seed_058_059_060_anonymous_vectors():
    """wp.vector in a kernel: zero by dtype and length, one value by length, or by components."""
    out = wp.empty(3, dtype=vec5d)
    wp.launch(anonymous_vectors, dim=1, inputs=[out])
    assert out.numpy().tolist() == [[0.0] * 5, [1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]]


@wp.kernel
def vector_arithmetic(a: vec5d, b: vec5d, m: mat45d, out: wp.array(dtype=vec5d), short: wp.array(dtype=vec4d_like)):
    out[0] = a + b
    out[1] = a - b
    out[2] = a * wp.float64(2.0)
    out[3] = wp.float64(3.0) * a
    out[4] = -a
    short[0] = m * a


def test_seed_061_vector_arithmetic():
    """Sums, differences, products with numbers; a 4 by 5 matrix takes 5 numbers to 4."""
    an, bn = np.arange(5.0), np.arange(5.0)[::-1].copy()
    mn = np.arange(20.0).reshape(4, 5)
    out, short = wp.empty(5, dtype=vec5d), wp.empty(1, dtype=vec4d_like)
    wp.launch(vector_arithmetic, dim=1, inputs=[vec5d(*an), vec5d(*bn), mat45d(*mn.flatten()), out, short])
    np.testing.assert_array_equal(out.numpy(), [an + bn, an - bn, 2.0 * an, 3.0 * an, -an])
    np.testing.assert_array_equal(short.numpy()[0], mn @ an)
    np.testing.assert_array_equal(np.array(mat45d(*mn.flatten()) * vec5d(*an)), mn @ an)


def test_seed_062_matrix_types_by_suffix():
    """mat22, mat33, mat44 of f, d, h; spatial matrices of 6 by 6."""
    for suffix, dtype in {"": np.float32, "f": np.float32, "d": np.float64, "h": np.float16}.items():
        for n in (2, 3, 4):
            values = wp.zeros(2, dtype=getattr(wp, f"mat{n}{n}{suffix}")).numpy()
            assert values.shape == (2, n, n) and values.dtype == dtype
        values = wp.zeros(2, dtype=getattr(wp, f"spatial_matrix{suffix}")).numpy()
        assert values.shape == (2, 6, 6) and values.dtype == dtype


@wp.kernel
def inverse_kernel(out: wp.array(dtype=wp.mat22), moved: wp.array(dtype=wp.vec2)):
    # initialize matrix
    m = wp.mat22(1.0, 2.0,
                 3.0, 4.0)

    # compute inverse
    minv = wp.inverse(m)

    # transform vector
    v = minv * wp.vec2(0.5, 0.3)
    out[0] = m
    out[1] = minv
    moved[0] = v


def test_seed_063_064_matrices_by_rows_and_their_inverse():
    """Components fill rows; inverse and product with a vector."""
    out, moved = wp.empty(2, dtype=wp.mat22), wp.empty(1, dtype=wp.vec2)
    wp.launch(inverse_kernel, dim=1, inputs=[out, moved])
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(out.numpy()[0], m)
    np.testing.assert_allclose(out.numpy()[1], np.linalg.inv(m), rtol=1e-5)
    np.testing.assert_allclose(moved.numpy()[0], np.linalg.inv(m) @ [0.5, 0.3], rtol=1e-4, atol=1e-6)


@wp.kernel
def half_matrices(out: wp.array(dtype=wp.vec3h)):
    # initialize a mat32h matrix
    m = mat32h(wp.float16(1.0), wp.float16(2.0),
               wp.float16(3.0), wp.float16(4.0),
               wp.float16(5.0), wp.float16(6.0))

    # declare a 2 component half precision vector
    v2 = wp.vec2h(wp.float16(1.0), wp.float16(1.0))

    # multiply by the matrix, returning a 3 component vector:
    v3 = m * v2
    out[0] = v3


def test_seed_065_066_067_named_matrix_types():
    """A declared 3 by 2 matrix of halves: arrays of it, by components, times a vector of 2 gives 3."""
    a = wp.zeros(10, dtype=mat32h)
    assert a.numpy().shape == (10, 3, 2) and a.numpy().dtype == np.float16
    out = wp.empty(1, dtype=wp.vec3h)
    wp.launch(half_matrices, dim=1, inputs=[out])
    assert out.numpy()[0].tolist() == [3.0, 7.0, 11.0]


@wp.kernel
def anonymous_matrices(out: wp.array(dtype=mat32h), square: wp.array(dtype=mat55d)):
    # create a 3x2 half precision matrix from components (row major ordering):
    m = wp.matrix(
          wp.float16(1.0), wp.float16(2.0),
          wp.float16(1.0), wp.float16(2.0),
          wp.float16(1.0), wp.float16(2.0),
          shape=(3,2))
    out[0] = m

    # zero initialize a 3x2 half precision matrix:
    m = wp.matrix(wp.float16(0.0),shape=(3,2))
    out[1] = m

    # create a 5x5 double precision identity matrix:
    e = wp.identity(n=5, dtype=wp.float64)
    square[0] = e


def test_seed_068_069_anonymous_matrices():
    """wp.matrix with a shape from components or one value; wp.identity."""
    out, square = wp.empty(2, dtype=mat32h), wp.empty(1, dtype=mat55d)
    wp.launch(anonymous_matrices, dim=1, inputs=[out, square])
    assert out.numpy()[0].tolist() == [[1.0, 2.0]] * 3 and not out.numpy()[1].any()
    np.testing.assert_array_equal(square.numpy()[0], np.eye(5))


def test_seed_070_quaternions_keep_w_last():
    """i, j, k, w; quat, quatf, quatd, quath."""
    q = wp.quat(0.1, 0.2, 0.3, 0.9)
    np.testing.assert_allclose(tuple(q), (0.1, 0.2, 0.3, 0.9), rtol=1e-6)
    assert tuple(wp.quat_identity()) == (0.0, 0.0, 0.0, 1.0)
    for name, dtype in {"quat": np.float32, "quatf": np.float32, "quatd": np.float64, "quath": np.float16}.items():
        values = wp.zeros(2, dtype=getattr(wp, name)).numpy()
        assert values.shape == (2, 4) and values.dtype == dtype


@wp.kernel
def rotate(q_out: wp.array(dtype=wp.quat), v_out: wp.array(dtype=wp.vec3)):
    # construct a 30 degree rotation around the x-axis
    q = wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), wp.degrees(30.0))

    # rotate an axis by this quaternion
    v = wp.quat_rotate(q, wp.vec3(0.0, 1.0, 0.0))
    q_out[0] = q
    v_out[0] = v


def test_seed_071_072_axis_angle_and_rotation():
    """quat_from_axis_angle and quat_rotate; degrees takes radians to degrees, so the angle is 1718.87 radians."""
    q_out, v_out = wp.empty(1, dtype=wp.quat), wp.empty(1, dtype=wp.vec3)
    wp.launch(rotate, dim=1, inputs=[q_out, v_out])
    angle = float(np.float32(math.degrees(30.0)))
    np.testing.assert_allclose(q_out.numpy()[0], [math.sin(angle / 2), 0, 0, math.cos(angle / 2)], atol=2e-4)
    np.testing.assert_allclose(v_out.numpy()[0], [0, math.cos(angle), math.sin(angle)], atol=4e-4)


@wp.kernel
def quaternions(out: wp.array(dtype=quatd), half: wp.array(dtype=wp.quath), single: wp.array(dtype=wp.quat)):
    # create a double precision identity quaternion:
    qd = wp.quat_identity(dtype=wp.float64)
    out[0] = qd

    # precision defaults to wp.float32 so this creates a single precision identity quaternion:
    qf = wp.quat_identity()
    single[0] = qf

    # create a half precision quaternion from components, or a vector/scalar:
    qh = wp.quaternion(wp.float16(0.0),
                       wp.float16(0.0),
                       wp.float16(0.0),
                       wp.float16(1.0))
    half[0] = qh

    qh = wp.quaternion(
       wp.vector(wp.float16(0.0),wp.float16(0.0),wp.float16(0.0)),
       wp.float16(1.0))
    half[1] = qh


def test_seed_073_074_075_quaternion_types_and_constructors():
    """A declared quaternion type is the named one; identity by dtype; from four numbers, or a vector and a number."""
    assert quatd is wp.quatd
    out, half, single = wp.empty(1, dtype=quatd), wp.empty(2, dtype=wp.quath), wp.empty(1, dtype=wp.quat)
    wp.launch(quaternions, dim=1, inputs=[out, half, single])
    for row in (*out.numpy(), *half.numpy(), *single.numpy()):
        assert row.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_seed_076_transforms_are_seven_numbers():
    """Position, then quaternion; transform, transformf, transformd, transformh."""
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat(0.0, 0.0, 0.0, 1.0))
    assert tuple(t) == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)
    kinds = {"transform": np.float32, "transformf": np.float32, "transformd": np.float64, "transformh": np.float16}
    for name, dtype in kinds.items():
        values = wp.zeros(2, dtype=getattr(wp, name)).numpy()
        assert values.shape == (2, 7) and values.dtype == dtype


@wp.kernel
def transforms(points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.transform)):
    # create a transform from a vector/quaternion:
    t = wp.transform(
           wp.vec3(1.0, 2.0, 3.0),
           wp.quat_from_axis_angle(0.0, 1.0, 0.0, wp.degrees(30.0)))
    out[0] = t

    # transform a point
    p = wp.transform_point(t, wp.vec3(10.0, 0.5, 1.0))
    points[0] = p

    # transform a vector (ignore translation)
    p = wp.transform_vector(t, wp.vec3(10.0, 0.5, 1.0))
    points[1] = p


def test_seed_077_078_transforms_of_points_and_vectors():
    """wp.transform(vec3, quat) with the axis as three numbers; points move and turn, vectors only turn."""
    points, out = wp.empty(2, dtype=wp.vec3), wp.empty(1, dtype=wp.transform)
    wp.launch(transforms, dim=1, inputs=[points, out])
    angle = float(np.float32(math.degrees(30.0)))
    c, s = math.cos(angle), math.sin(angle)
    turned = np.array([c * 10.0 + s * 1.0, 0.5, -s * 10.0 + c * 1.0])
    np.testing.assert_allclose(points.numpy()[1], turned, atol=5e-3)
    np.testing.assert_allclose(points.numpy()[0], turned + [1.0, 2.0, 3.0], atol=5e-3)


@wp.kernel
def identity_transform(out: wp.array(dtype=transformd)):
    # create double precision identity transform:
    qd = wp.transform_identity(dtype=wp.float64)
    out[0] = qd


def test_seed_079_080_transform_types_and_identity():
    """A declared transform type is the named one; the identity has no translation and the unit quaternion."""
    assert transformd is wp.transformd
    out = wp.empty(1, dtype=transformd)
    wp.launch(identity_transform, dim=1, inputs=[out])
    assert out.numpy()[0].tolist() == [0.0] * 6 + [1.0]


def test_matrices_with_a_shape_of_other_components_are_refused():
    """The document's own slip: a matrix type of float64 does not take float16 by operators."""
    mat32d = wp.types.matrix(shape=(3, 2), dtype=wp.float64)

    @wp.kernel
    def mixed(out: wp.array(dtype=wp.vec3h)):
        m = mat32d(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
        out[0] = m * wp.vec2h(wp.float16(1.0), wp.float16(1.0))

    with pytest.raises(RuntimeError):
        wp.launch(mixed, dim=1, inputs=[wp.empty(1, dtype=wp.vec3h)])
