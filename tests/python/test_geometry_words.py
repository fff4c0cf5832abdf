"""What users are told who take geometry wrong: the argument, what it is, what to write instead."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


def _points() -> wp.array:
    return wp.array(CORNERS, dtype=wp.vec3)


def _indices() -> wp.array:
    return wp.array([0, 1, 2], dtype=int)


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        (lambda: wp.array([[0, 1, 2]], dtype=int), r"Mesh indices should be a flattened 1d array .* not of shape \(1, 3\)"),
        (lambda: wp.array([0, 1, 2], dtype=wp.int64), r"Mesh indices should be .* of type wp\.int32, not of int64"),
        (lambda: wp.array([0, 0, 1, 1, 2, 2], dtype=int)[::2], r"Mesh indices .*: this one is not contiguous"),
        (lambda: np.array([0, 1, 2]), r"Mesh indices .*, not ndarray"),
        (lambda: None, r"Mesh indices .*, not NoneType"),
    ],
)
def test_indices(indices, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        wp.Mesh(_points(), indices())


def test_points_and_boxes() -> None:
    with pytest.raises(RuntimeError, match=r"Mesh points should be .* wp\.vec3, not of vec3d"):
        wp.Mesh(wp.array(CORNERS, dtype=wp.vec3d), _indices())
    with pytest.raises(RuntimeError, match=r"Bvh uppers should be .* wp\.vec3, not list"):
        wp.Bvh(_points(), CORNERS)
    mesh = wp.Mesh(_points(), _indices())
    with pytest.raises(RuntimeError, match=r"must have the same shape: the new ones have \(4,\), the original ones \(3,\)"):
        mesh.points = wp.zeros(4, dtype=wp.vec3)
    with pytest.raises(RuntimeError, match=r"must have the same shape: these have \(2,\), the points \(3,\)"):
        mesh.velocities = wp.zeros(2, dtype=wp.vec3)


@pytest.mark.parametrize("dims", [(2.5, 4, 4), (4, 4, "cpu"), (None, 4, 4)])
def test_dimensions_of_hash_grids(dims: tuple) -> None:
    with pytest.raises(TypeError, match="HashGrid dimensions must be integers, not"):
        wp.HashGrid(*dims)


def test_dimensions_may_be_numpys() -> None:
    grid = wp.HashGrid(np.int64(2), np.int32(3), np.uint8(4))
    grid.build(_points(), 1.0)


def test_points_of_hash_grids() -> None:
    grid = wp.HashGrid(2, 2, 2)
    with pytest.raises(TypeError, match="not ndarray$"):
        grid.build(np.zeros((5, 3), np.float32), 1.0)
    with pytest.raises(TypeError, match="an array of int32, not int64$"):
        grid.build(_points(), 1.0, groups=wp.zeros(3, dtype=wp.int64))


def test_results_need_variables() -> None:
    @wp.kernel(module="unique")
    def ask(mesh: wp.uint64, out: wp.array(dtype=float)):
        if wp.mesh_query_point(mesh, wp.vec3(), 10.0, 0.0, 0, 0.0, 0.0):
            out[0] = 1.0

    with pytest.raises(RuntimeError, match="'mesh_query_point' updates its argument 'inside', so it needs a variable here"):
        wp.launch(ask, 1, [0], [wp.zeros(1, dtype=float)])


def test_a_result_is_no_condition() -> None:
    @wp.kernel(module="unique")
    def ask(mesh: wp.uint64, out: wp.array(dtype=float)):
        if wp.mesh_query_ray(mesh, wp.vec3(), wp.vec3(1.0), 10.0):
            out[0] = 1.0

    with pytest.raises(RuntimeError, match="not MeshQueryRay(.|\n)*ask its field 'result'"):
        wp.launch(ask, 1, [0], [wp.zeros(1, dtype=float)])


def test_classes_are_no_types_of_parameters() -> None:
    @wp.kernel(module="unique")
    def ask(mesh: wp.Mesh, out: wp.array(dtype=float)):
        out[0] = 1.0

    with pytest.raises(RuntimeError, match="'wp.Mesh' is not a type(.|\n)*know a Mesh by its id: write wp.uint64"):
        wp.launch(ask, 1, [0], [wp.zeros(1, dtype=float)])
