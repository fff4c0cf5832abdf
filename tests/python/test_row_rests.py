"""Grids whose rows are shorter than a group of lanes, or leave a rest of one: every thread runs once, and gives what it gives
alone."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


@wp.kernel
def straight(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), visits: wp.array2d(dtype=int)):
    i, j = wp.tid()
    v = x[i, j]
    if v > 0.5:
        v = wp.sin(v) * float(i + 1)
    y[i, j] = v + float(j)
    wp.atomic_add(visits, i, j, 1)


@wp.kernel
def turning(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), visits: wp.array2d(dtype=int)):
    i, j = wp.tid()
    v = x[i, j]
    for k in range(j % 5):
        v = v * 1.25 + float(k) * x[i, 0]
    y[i, j] = v
    wp.atomic_add(visits, i, j, 1)


@wp.kernel
def vectors(x: wp.array3d(dtype=wp.vec3), y: wp.array3d(dtype=wp.vec3), visits: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    y[i, j, k] = wp.cross(x[i, j, k], wp.vec3(float(i), float(j), float(k)))
    wp.atomic_add(visits, i, j, k, 1)


@wp.kernel
def sums(x: wp.array2d(dtype=float), rows: wp.array(dtype=float), most: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(rows, i, x[i, j])
    wp.atomic_max(most, i, x[i, j])


@pytest.fixture(params=[0, 1, 4, 8, 16])
def lanes(request):
    before = wp.config.cpu_lanes
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = before


ROWS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 27, 33, 64]


@pytest.mark.parametrize("kernel", [straight, turning])
def test_every_thread_of_a_short_row_runs_once(kernel, lanes):
    rng = np.random.default_rng(7)
    for row in ROWS:
        for count in (1, 3, 50, 2000):
            x = rng.random((count, row), dtype=np.float32)
            y, visits = wp.zeros((count, row)), wp.zeros((count, row), dtype=int)
            wp.launch(kernel, dim=(count, row), inputs=[wp.array(x), y, visits])
            assert (visits.numpy() == 1).all(), (row, count)
            wp.config.cpu_lanes = 1
            alone, again = wp.zeros((count, row)), wp.zeros((count, row), dtype=int)
            wp.launch(kernel, dim=(count, row), inputs=[wp.array(x), alone, again])
            wp.config.cpu_lanes = lanes
            assert np.array_equal(y.numpy(), alone.numpy()), (row, count)


def test_rows_of_three_dimensions(lanes):
    rng = np.random.default_rng(8)
    for shape in ((5, 3, 1), (4, 1, 6), (2, 7, 21), (1, 2, 27), (40, 30, 3)):
        x = rng.random((*shape, 3), dtype=np.float32)
        y, visits = wp.zeros(shape, dtype=wp.vec3), wp.zeros(shape, dtype=int)
        wp.launch(vectors, dim=shape, inputs=[wp.array(x, dtype=wp.vec3), y, visits])
        assert (visits.numpy() == 1).all(), shape
        at = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
        assert np.allclose(y.numpy(), np.cross(x, at), rtol=1e-5, atol=1e-5), shape


def test_sums_of_short_rows(lanes):
    rng = np.random.default_rng(9)
    for row in ROWS:
        x = rng.integers(0, 1000, (300, row)).astype(np.float32)  # whose sums are exact in any order
        rows, most = wp.zeros(300), wp.zeros(300)
        wp.launch(sums, dim=(300, row), inputs=[wp.array(x), rows, most])
        assert np.array_equal(rows.numpy(), x.sum(axis=1)) and np.array_equal(most.numpy(), x.max(axis=1)), row


@pytest.mark.parametrize("chunk", [1, 2])
def test_a_prefix_of_rows(chunk, lanes):
    """Grids of less than the array: what lies behind a row's end stays as it is."""
    x, y, visits = wp.ones((9, 40)), wp.full((9, 40), -1.0), wp.zeros((9, 40), dtype=int)
    wp.launch(straight, dim=(9 // chunk, 29), inputs=[x, y, visits])
    expected = np.zeros((9, 40), int)
    expected[: 9 // chunk, :29] = 1
    assert np.array_equal(visits.numpy(), expected)
    assert (y.numpy()[expected == 0] == -1.0).all()
