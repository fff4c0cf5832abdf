"""Calls of functions of the library that are written in the kernel language: in kernels, and the same from Python."""

from __future__ import annotations

import math

import numpy as np

import warp as wp

from . import calls


@wp.kernel
def lengths(v: wp.vec3, out: wp.array(dtype=float)):
    out[0] = wp.norm_l1(v)
    out[1] = wp.norm_l2(v)
    out[2] = wp.norm_huber(v, 1.0)
    out[3] = wp.norm_pseudo_huber(v, 1.0)
    out[4] = wp.length(wp.smooth_normalize(v, 1.0))


@calls("norm_l1", "norm_l2", "norm_huber", "norm_pseudo_huber", "smooth_normalize")
def norms() -> None:
    v, out = wp.vec3(3.0, 0.0, -4.0), wp.zeros(5, dtype=float)
    wp.launch(lengths, dim=1, inputs=[v], outputs=[out])
    want = [7.0, 5.0, 4.5, math.sqrt(26.0) - 1.0, 5.0 / math.sqrt(26.0)]
    seen = [wp.norm_l1(v), wp.norm_l2(v), wp.norm_huber(v, 1.0), wp.norm_pseudo_huber(v, 1.0), wp.length(wp.smooth_normalize(v, 1.0))]
    np.testing.assert_allclose(seen, out.numpy(), rtol=1e-6)
    np.testing.assert_allclose(seen[:2], want[:2], rtol=1e-6)


@wp.kernel
def turns(q: wp.quat, out: wp.array(dtype=wp.vec3)):
    out[0] = wp.quat_to_euler(q, 2, 1, 0)
    out[1] = wp.quat_to_rpy(q)
    axis = wp.vec3(0.0, 0.0, 1.0)
    out[2] = wp.vec3(wp.quat_twist_angle(axis, q), wp.quat_twist_angle_signed(axis, q), wp.quat_twist(axis, q)[2])


@calls("quat_from_euler", "quat_to_euler", "quat_to_rpy", "quat_twist", "quat_twist_angle", "quat_twist_angle_signed")
@calls("quat_between_vectors")
def angles() -> None:
    about_z = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), -0.5)
    out = wp.zeros(3, dtype=wp.vec3)
    wp.launch(turns, dim=1, inputs=[about_z], outputs=[out])
    seen = out.numpy()
    np.testing.assert_allclose(seen[1], [0.0, 0.0, -0.5], atol=1e-6)
    np.testing.assert_allclose(seen[2], [0.5, -0.5, math.sin(-0.25)], atol=1e-6)
    back = wp.quat_from_euler(wp.quat_to_euler(about_z, 2, 1, 0), 2, 1, 0)
    np.testing.assert_allclose(np.abs(np.dot(np.array(back), np.array(about_z))), 1.0, atol=1e-6)
    np.testing.assert_allclose(np.array(wp.quat_to_rpy(about_z)), seen[1], atol=1e-6)
    a, b = wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    np.testing.assert_allclose(np.array(wp.quat_rotate(wp.quat_between_vectors(a, b), a)), [0, 1, 0], atol=1e-6)


@wp.kernel
def moved(t: wp.transform, out: wp.array(dtype=wp.mat44)):
    out[0] = wp.transform_to_matrix(t)
    out[1] = wp.transform_compose(wp.transform_get_translation(t), wp.transform_get_rotation(t), wp.vec3(1.0, 2.0, 3.0))


@calls("transform_to_matrix", "transform_from_matrix", "transform_compose", "transform_decompose")
@calls("transform_twist", "transform_wrench", "velocity_at_point")
def places() -> None:
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 0.3))
    out = wp.zeros(2, dtype=wp.mat44)
    wp.launch(moved, dim=1, inputs=[t], outputs=[out])
    matrix = np.array(wp.transform_to_matrix(t)).reshape(4, 4)
    np.testing.assert_allclose(matrix, out.numpy()[0], atol=1e-6)
    np.testing.assert_allclose(np.array(wp.transform_from_matrix(wp.mat44(matrix))), np.array(t), atol=1e-6)
    _, _, scale = wp.transform_decompose(wp.mat44(out.numpy()[1]))
    np.testing.assert_allclose(np.array(scale), [1, 2, 3], atol=1e-5)
    spin = wp.spatial_vector(0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    assert np.array(wp.transform_twist(t, spin)).shape == np.array(wp.transform_wrench(t, spin)).shape == (6,)
    assert np.linalg.norm(np.array(wp.velocity_at_point(spin, wp.vec3(1.0, 0.0, 0.0)))) == 1.0
