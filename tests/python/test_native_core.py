"""`runtime.core`: builtins and sums by the names of a native library, as programs that go past the public names call them."""

import ctypes

import numpy as np
import pytest

import warp as wp


@pytest.fixture()
def core():
    wp.init()
    return wp.context.runtime.core


def test_a_builtin_writes_to_the_place_it_is_given(core):
    a = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5))
    b = wp.transform(wp.vec3(-1.0, 0.5, 4.0), wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), -0.25))
    result = wp.transform()
    core.wp_builtin_mul_transformf_transformf(a, b, ctypes.byref(result))
    assert list(result) == list(a * b)
    core.wp_builtin_transform_inverse_transformf(a, ctypes.byref(result))
    assert list(result) == list(wp.transform_inverse(a))
    point = wp.vec3()
    core.wp_builtin_transform_point_transformf_vec3f(a, wp.vec3(1.0, 1.0, 1.0), ctypes.pointer(point))
    assert list(point) == list(wp.transform_point(a, wp.vec3(1.0, 1.0, 1.0)))


def test_the_shortest_name_that_leaves_types_is_meant(core):
    turn = wp.quat()
    core.wp_builtin_quat_from_matrix_mat44f(wp.mat44(np.eye(4, dtype=np.float32)), ctypes.byref(turn))
    assert list(turn) == [0.0, 0.0, 0.0, 1.0]


def test_numbers_get_the_type_that_the_name_says(core):
    single, double = ctypes.c_float(), ctypes.c_double()
    core.wp_builtin_sin_float32(0.3, ctypes.byref(single))
    core.wp_builtin_sin_float64(0.3, ctypes.byref(double))
    assert single.value == wp.sin(0.3)
    assert abs(double.value - np.sin(0.3)) < 1e-15


def test_several_results_go_to_several_places(core):
    m = wp.mat33(4.0, 1.0, 0.0, 1.0, 3.0, 0.5, 0.0, 0.5, 2.0)
    vectors, values = wp.mat33(), wp.vec3()
    core.wp_builtin_eig3_mat33f(m, ctypes.byref(vectors), ctypes.byref(values))
    expected = wp.eig3(m)
    assert np.array_equal(np.array(vectors), np.array(expected[0])) and list(values) == list(expected[1])


def test_what_does_not_fit_is_an_error(core):
    result = wp.vec3()
    with pytest.raises(TypeError, match="takes 2 values and a place for each result"):
        core.wp_builtin_mul_transformf_transformf(wp.transform(), wp.transform())
    with pytest.raises(TypeError, match="room for 12 bytes"):
        core.wp_builtin_mul_transformf_transformf(wp.transform_identity(), wp.transform_identity(), ctypes.byref(result))
    for name in ("wp_builtin_no_such_vec3f", "wp_builtin_mul_nothing", "wp_array_inner_int_host", "wp_array_inner_float_moon"):
        with pytest.raises(AttributeError, match=name):
            getattr(core, name)


@pytest.mark.parametrize("scalar, dtype", [("float", wp.float32), ("double", wp.float64)])
def test_sums_of_products_over_plain_memory(core, scalar, dtype):
    rng = np.random.default_rng(4)
    element = wp.types.vector(3, dtype)
    kind = wp.types.warp_type_to_np_dtype[dtype]
    x, y = rng.normal(size=(2, 50, 3)).astype(kind)
    a, b = wp.array(x, dtype=element, device="cpu"), wp.array(y, dtype=element, device="cpu")
    out = wp.zeros(1, dtype=dtype, device="cpu")
    size = wp.types.type_size_in_bytes(element)
    getattr(core, f"wp_array_inner_{scalar}_host")(a.ptr, b.ptr, out.ptr, len(a), size, size, 3)
    np.testing.assert_allclose(out.numpy()[0], np.sum(x * y), rtol=1e-5)
    getattr(core, f"wp_array_inner_{scalar}_host")(a.ptr, b.ptr, out.ptr, 25, 2 * size, size, 3)
    np.testing.assert_allclose(out.numpy()[0], np.sum(x[::2] * y[:25]), rtol=1e-5)
