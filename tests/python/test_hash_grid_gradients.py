"""Gradients through loops over the neighbours that hash grids find, compared with loops over all points."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp


@wp.kernel
def density(
    grid: wp.uint64, x: wp.array(dtype=wp.vec3d), mass: wp.array(dtype=wp.float64), h: wp.float64, rho: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    total = wp.float64(0.0)
    for j in wp.hash_grid_query(grid, x[i], h):
        away = wp.length_sq(x[i] - x[j])
        if away < h * h:
            w = h * h - away
            total += mass[j] * w * w * w
    rho[i] = total


@wp.kernel
def density_by_while(
    grid: wp.uint64, x: wp.array(dtype=wp.vec3d), mass: wp.array(dtype=wp.float64), h: wp.float64, rho: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    total = wp.float64(0.0)
    query = wp.hash_grid_query(grid, x[i], h)
    j = int(0)
    while wp.hash_grid_query_next(query, j):
        away = wp.length_sq(x[i] - x[j])
        if away < h * h:
            w = h * h - away
            total += mass[j] * w * w * w
    rho[i] = total


@wp.kernel
def density_by_asking(
    grid: wp.uint64, x: wp.array(dtype=wp.vec3d), mass: wp.array(dtype=wp.float64), h: wp.float64, rho: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    total = wp.float64(0.0)
    query = wp.hash_grid_query(grid, x[i], h)
    j = int(0)
    n = int(0)
    while n < 100000 and wp.hash_grid_query_next(query, j):
        n += 1
        away = wp.length_sq(x[i] - x[j])
        if away < h * h:
            w = h * h - away
            total += mass[j] * w * w * w
    rho[i] = total


@wp.kernel
def density_of_all(
    grid: wp.uint64, x: wp.array(dtype=wp.vec3d), mass: wp.array(dtype=wp.float64), h: wp.float64, rho: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    total = wp.float64(0.0)
    for j in range(mass.shape[0]):
        away = wp.length_sq(x[i] - x[j])
        if away < h * h:
            w = h * h - away
            total += mass[j] * w * w * w
    rho[i] = total


@pytest.mark.parametrize("kernel", [density, density_by_while, density_by_asking], ids=lambda k: k.key)
def test_gradients_through_neighbours(kernel) -> None:
    rng = np.random.default_rng(4)
    places, masses, seeds = rng.uniform(-1, 1, (80, 3)), rng.uniform(1, 2, 80), rng.uniform(-1, 1, 80)

    def gradients(one) -> tuple[np.ndarray, ...]:
        x = wp.array(places, dtype=wp.vec3d, requires_grad=True)
        mass = wp.array(masses, dtype=wp.float64, requires_grad=True)
        rho = wp.zeros(80, dtype=wp.float64, requires_grad=True)
        grid = wp.HashGrid(8, 8, 8, dtype=wp.float64)
        grid.build(x, 0.4)
        with wp.Tape() as tape:
            wp.launch(one, dim=80, inputs=[grid.id, x, mass, wp.float64(0.4)], outputs=[rho])
        tape.backward(grads={rho: wp.array(seeds, dtype=wp.float64)})
        return rho.numpy(), x.grad.numpy(), mass.grad.numpy()

    for ours, theirs in zip(gradients(kernel), gradients(density_of_all)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@wp.kernel
def drift(
    grid: wp.uint64, x: wp.array(dtype=wp.vec3d), h: wp.float64, step: wp.float64, out: wp.array(dtype=wp.vec3d)
):
    i = wp.tid()
    force = wp.vec3d()
    for j in wp.hash_grid_query(grid, x[i], h):
        apart = x[i] - x[j]
        away = wp.length_sq(apart)
        if away < h * h:
            force += apart * (h * h - away)
    out[i] = x[i] + step * force


@wp.kernel
def drift_of_all(
    grid: wp.uint64, x: wp.array(dtype=wp.vec3d), h: wp.float64, step: wp.float64, out: wp.array(dtype=wp.vec3d)
):
    i = wp.tid()
    force = wp.vec3d()
    for j in range(x.shape[0]):
        apart = x[i] - x[j]
        away = wp.length_sq(apart)
        if away < h * h:
            force += apart * (h * h - away)
    out[i] = x[i] + step * force


def test_gradients_through_steps_that_rebuild_one_grid() -> None:
    """Going back finds the neighbours of each step."""
    start = np.random.default_rng(4).uniform(-1, 1, (60, 3))
    h, step = wp.float64(0.5), wp.float64(0.4)

    def gradient(kernel) -> tuple[np.ndarray, np.ndarray]:
        states = [wp.array(start, dtype=wp.vec3d, requires_grad=True)]
        states += [wp.zeros(60, dtype=wp.vec3d, requires_grad=True) for _ in range(10)]
        grid = wp.HashGrid(8, 8, 8, dtype=wp.float64)
        with wp.Tape() as tape:
            for before, after in zip(states, states[1:]):
                grid.build(before, 0.5)
                wp.launch(kernel, dim=60, inputs=[grid.id, before, h, step], outputs=[after])
        tape.backward(grads={states[-1]: wp.full(60, wp.vec3d(1.0, -2.0, 3.0), dtype=wp.vec3d)})
        return states[-1].numpy(), states[0].grad.numpy()

    for ours, theirs in zip(gradient(drift), gradient(drift_of_all)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
