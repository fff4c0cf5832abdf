"""Gradients of samples: with respect to place, rows and background, against differences; slopes; transforms; tapes."""

import numpy as np
import pytest
from test_volume import MATRIX, made, sheared
from test_volume_index import some_voxels, sparse
from volume_reference import grids_of

import warp as wp

mat23 = wp.types.matrix((2, 3), wp.float32)


@wp.kernel
def sample(volume: wp.uint64, mode: int, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    n = wp.tid()
    out[n] = wp.volume_sample_f(volume, places[n], mode)


@wp.kernel
def slopes(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float), grads: wp.array(dtype=wp.vec3)):
    n = wp.tid()
    g = wp.vec3()
    out[n] = wp.volume_sample_grad_f(volume, places[n], wp.Volume.LINEAR, g)
    grads[n] = g


def inner_places(n: int, seed: int = 6) -> np.ndarray:
    """Places in the leaf at the origin and across its edges, not at voxels."""
    rng = np.random.default_rng(seed)
    return (rng.integers(-3, 9, (n, 3)) + rng.uniform(0.1, 0.9, (n, 3))).astype(np.float32)


def difference(f, p: np.ndarray) -> np.ndarray:
    """Of a function that is linear along each axis between voxels."""
    base = np.floor(p)
    out = []
    for k in range(3):
        low, high = p.astype(np.float64), p.astype(np.float64)
        low[k], high[k] = base[k] + 0.25, base[k] + 0.75
        out.append((np.asarray(f(high)) - np.asarray(f(low))) * 2)
    return np.array(out)


def backward(kernel, dim: int, inputs: list, outputs: list, adjoints: list) -> None:
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim, inputs, outputs)
    tape.backward(grads={out: wp.array(adj, dtype=out.dtype) for out, adj in zip(outputs, adjoints)})


def test_samples_by_place() -> None:
    volume, file = made(wp.float32)
    (grid,) = grids_of(file)
    p = inner_places(60)
    want = np.array([difference(grid.linear, x) for x in p])
    for mode in (wp.Volume.LINEAR, wp.Volume.CLOSEST):
        places, out = wp.array(p, dtype=wp.vec3, requires_grad=True), wp.zeros(60, dtype=float, requires_grad=True)
        backward(sample, 60, [volume.id, mode, places], [out], [np.full(60, 2.0)])
        if mode == wp.Volume.LINEAR:
            np.testing.assert_allclose(places.grad.numpy(), 2 * want, rtol=1e-4, atol=2e-3)
        else:
            assert not places.grad.numpy().any()


def test_slopes_and_their_slopes() -> None:
    volume, file = made(wp.float32)
    (grid,) = grids_of(file)
    p = inner_places(40)
    places = wp.array(p, dtype=wp.vec3, requires_grad=True)
    out, grads = wp.zeros(40, dtype=float, requires_grad=True), wp.zeros(40, dtype=wp.vec3, requires_grad=True)
    rng = np.random.default_rng(7)
    of_value, of_slopes = rng.uniform(-1, 1, 40), rng.uniform(-1, 1, (40, 3))
    backward(slopes, 40, [volume.id, places], [out, grads], [of_value, of_slopes])
    slope = np.array([difference(grid.linear, x) for x in p])
    np.testing.assert_allclose(out.numpy(), [grid.linear(x) for x in p], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(grads.numpy(), slope, rtol=1e-4, atol=2e-3)
    second = np.array([difference(lambda y: difference(grid.linear, y), x) for x in p])  # symmetric, zero on the diagonal
    for k in range(3):
        second[:, k, k] = 0
    want = of_value[:, None] * slope + np.einsum("nij,nj->ni", second, of_slopes)
    np.testing.assert_allclose(places.grad.numpy(), want, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("dtype, slope", [(wp.float64, wp.vec3d), (wp.vec3f, wp.mat33), (wp.vec4d, wp.types.matrix((4, 3), wp.float64))])
def test_slopes_of_every_type(dtype, slope) -> None:
    @wp.kernel(module="unique")
    def ask(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=dtype), grads: wp.array(dtype=slope)):
        n = wp.tid()
        g = slope()
        out[n] = wp.volume_sample_grad(volume, places[n], wp.Volume.LINEAR, g, dtype=dtype)
        grads[n] = g

    volume, file = made(dtype)
    (grid,) = grids_of(file)
    p = inner_places(20)
    out, grads = wp.zeros(20, dtype=dtype), wp.zeros(20, dtype=slope)
    wp.launch(ask, 20, [volume.id, wp.array(p, dtype=wp.vec3)], [out, grads])
    want = np.array([difference(grid.linear, x).T for x in p])
    np.testing.assert_allclose(out.numpy(), [grid.linear(x) for x in p], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(grads.numpy(), want, rtol=1e-4, atol=5e-3)


def test_grad_needs_the_right_variable() -> None:
    @wp.kernel(module="unique")
    def wrong(volume: wp.uint64):
        g = wp.vec2()
        wp.volume_sample_grad(volume, wp.vec3(), 1, g, dtype=float)

    with pytest.raises(Exception, match="the slopes of float32 are vec3f, not vec2f"):
        wp.launch(wrong, 1, [wp.uint64(0)])


@wp.kernel
def rows(
    volume: wp.uint64,
    mode: int,
    places: wp.array(dtype=wp.vec3),
    data: wp.array(dtype=wp.vec2),
    background: wp.array(dtype=wp.vec2),
    out: wp.array(dtype=wp.vec2),
    grads: wp.array(dtype=mat23),
):
    n = wp.tid()
    g = mat23()
    out[n] = wp.volume_sample_grad_index(volume, places[n], mode, data, background[0], g)
    out[n] += wp.volume_sample_index(volume, places[n], mode, data, background[0])
    grads[n] = g


@pytest.mark.parametrize("mode", [0, 1])
def test_rows_and_background(mode: int) -> None:
    volume = sparse(some_voxels(n=2500, reach=7))
    rng = np.random.default_rng(8)
    count = volume.get_voxel_count()
    p = inner_places(50)
    arrays = {
        "places": wp.array(p, dtype=wp.vec3, requires_grad=True),
        "data": wp.array(rng.uniform(-1, 1, (count, 2)), dtype=wp.vec2, requires_grad=True),
        "background": wp.array([[3.0, -2.0]], dtype=wp.vec2, requires_grad=True),
    }
    out = wp.zeros(50, dtype=wp.vec2, requires_grad=True)
    grads = wp.zeros(50, dtype=mat23, requires_grad=True)
    of_out, of_grads = rng.uniform(-1, 1, (50, 2)), rng.uniform(-1, 1, (50, 2, 3))
    backward(rows, 50, [volume.id, mode, *arrays.values()], [out, grads], [of_out, of_grads])

    def loss(**given) -> float:
        now = {"places": p, **{name: given.get(name, one.numpy()) for name, one in arrays.items()}, **given}
        types = {"places": wp.vec3, "data": wp.vec2, "background": wp.vec2}
        o, g = wp.zeros(50, dtype=wp.vec2), wp.zeros(50, dtype=grads.dtype)
        wp.launch(rows, 50, [volume.id, mode, *(wp.array(v, dtype=types[k]) for k, v in now.items())], [o, g])
        return float((o.numpy().astype(np.float64) * of_out).sum() + (g.numpy().astype(np.float64) * of_grads).sum())

    if mode == wp.Volume.CLOSEST:
        assert not arrays.pop("places").grad.numpy().any()
    for name, one in arrays.items():
        for _ in range(3):
            direction = rng.uniform(-1, 1, one.numpy().shape)
            step = 1e-2 if name == "places" else 0.5
            value = one.numpy()
            slope = (loss(**{name: value + step * direction}) - loss(**{name: value - step * direction})) / (2 * step)
            got = float((one.grad.numpy() * direction).sum())
            assert got == pytest.approx(slope, rel=2e-2, abs=2e-2), name


@wp.kernel
def turn(volume: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    out[0] = wp.volume_index_to_world(volume, p[0])
    out[1] = wp.volume_world_to_index(volume, p[1])
    out[2] = wp.volume_index_to_world_dir(volume, p[2])
    out[3] = wp.volume_world_to_index_dir(volume, p[3])


def test_transforms_by_the_transposed_matrix() -> None:
    volume = sheared()
    p, out = wp.zeros(4, dtype=wp.vec3, requires_grad=True), wp.zeros(4, dtype=wp.vec3, requires_grad=True)
    adjoint = np.array([1.0, -2.0, 3.0])
    backward(turn, 1, [volume.id, p], [out], [np.tile(adjoint, (4, 1))])
    there, back = MATRIX.T @ adjoint, np.linalg.inv(MATRIX).T @ adjoint
    np.testing.assert_allclose(p.grad.numpy(), [there, back, there, back], rtol=1e-5)


@wp.kernel
def overwrite(volume: wp.uint64, value: float):
    i, j, k = wp.tid()
    wp.volume_store_f(volume, i, j, k, value)


def test_a_tape_keeps_voxels_that_are_overwritten() -> None:
    volume, file = made(wp.float32)
    (grid,) = grids_of(file)
    p = inner_places(30) * 0.5 + 3.0
    want = np.array([difference(grid.linear, x) for x in p])
    places, out = wp.array(p, dtype=wp.vec3, requires_grad=True), wp.zeros(30, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(sample, 30, [volume.id, 1, places], [out])
        wp.launch(overwrite, (8, 8, 8), [volume.id, 3.0])
    tape.backward(grads={out: wp.full(30, 1.0, dtype=float)})
    np.testing.assert_allclose(places.grad.numpy(), want, rtol=1e-4, atol=2e-3)
    now = wp.zeros(30, dtype=float)
    wp.launch(sample, 30, [volume.id, 0, wp.full(30, wp.vec3(3.0, 3.0, 3.0), dtype=wp.vec3)], [now])
    assert (now.numpy() == 3.0).all()


@wp.kernel
def march(volume: wp.uint64, start: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    n = wp.tid()
    p = start[n]
    total = float(0.0)
    for _ in range(10):
        total += wp.exp(-0.1 * wp.volume_sample_f(volume, p, wp.Volume.LINEAR))
        p += wp.vec3(0.31, 0.17, 0.23)
    out[n] = total


def test_loops() -> None:
    volume, file = made(wp.float32)
    (grid,) = grids_of(file)
    p = inner_places(10)
    start, out = wp.array(p, dtype=wp.vec3, requires_grad=True), wp.zeros(10, dtype=float, requires_grad=True)
    backward(march, 10, [volume.id, start], [out], [np.ones(10)])
    want = np.zeros((10, 3))
    for n, x in enumerate(p.astype(np.float64)):
        for _ in range(10):
            x32 = x.astype(np.float32)
            want[n] -= 0.1 * np.exp(-0.1 * grid.linear(x32)) * difference(grid.linear, x32)
            x = x + np.array([0.31, 0.17, 0.23])
    np.testing.assert_allclose(start.grad.numpy(), want, rtol=2e-3, atol=2e-2)


def test_the_dtype_of_an_array_as_argument() -> None:
    @wp.kernel(module="unique")
    def by_array(volume: wp.uint64, values: wp.array(dtype=float), grads: wp.array(dtype=wp.vec3)):
        g = wp.vec3()
        values[0] = wp.volume_sample_grad(volume, wp.vec3(0.5, 0.5, 0.5), 1, g, dtype=values.dtype)
        grads[0] = g

    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=2.5)
    values, grads = wp.zeros(1, dtype=float), wp.zeros(1, dtype=wp.vec3)
    wp.launch(by_array, 1, [volume.id], [values, grads])
    assert values.list() == [2.5] and not grads.numpy().any()
