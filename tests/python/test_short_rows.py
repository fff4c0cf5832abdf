"""Grids whose rows end in the middle of a group of lanes: every thread runs once, and knows where it is."""

import numpy as np
import pytest
import warp as wp


@wp.kernel
def visit2(seen: wp.array2d(dtype=int), place: wp.array2d(dtype=int)):
    i, j = wp.tid()
    wp.atomic_add(seen, i, j, 1)
    place[i, j] = i * 1000 + j


@wp.kernel
def visit3(seen: wp.array3d(dtype=int), place: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    n = int(0)
    for _ in range(k % 3 + 1):  # lanes leave at different times
        n += 1
    seen[i, j, k] = seen[i, j, k] + n - k % 3
    place[i, j, k] = (i * 1000 + j) * 1000 + k


@pytest.fixture(params=[0, 4, 16])
def lanes(request):
    wp.config.cpu_lanes = request.param
    yield
    wp.config.cpu_lanes = 0


@pytest.mark.parametrize("row", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 18, 27, 31, 32, 33, 100])
def test_rows_of_every_length(lanes, row):
    for shape in ((5, row), (300, row), (1, row)):
        seen, place = (wp.zeros(shape, dtype=int, device="cpu") for _ in range(2))
        wp.launch(visit2, dim=shape, inputs=[seen, place], device="cpu")
        assert (seen.numpy() == 1).all()
        i, j = np.indices(shape)
        assert (place.numpy() == i * 1000 + j).all()
    shape = (3, 4, row)
    seen, place = (wp.zeros(shape, dtype=int, device="cpu") for _ in range(2))
    wp.launch(visit3, dim=shape, inputs=[seen, place], device="cpu")
    assert (seen.numpy() == 1).all()
    i, j, k = np.indices(shape)
    assert (place.numpy() == (i * 1000 + j) * 1000 + k).all()
