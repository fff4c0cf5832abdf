"""Algebra that simulators and networks do with tiles (tile_clients.py): small products, layers and their gradients, factors by blocks."""

import numpy as np
from tile_executors import Executor, blocks_of, launch

import warp as wp

# ---- composite inertias: 6 by 6 times 6 by n


def composite(n: int):
    @wp.kernel(enable_backward=False)
    def k(inertia: wp.array3d(dtype=float), motion: wp.array3d(dtype=float), mass: wp.array3d(dtype=float), damp: float):
        body = wp.tid()
        i = wp.tile_load(inertia[body], shape=(6, 6))
        s = wp.tile_load(motion[body], shape=(6, n))
        f = wp.tile_matmul(i, s)
        m = wp.tile_matmul(wp.tile_transpose(s), f)
        wp.tile_matmul(wp.tile_transpose(s), s, m, alpha=-damp)
        wp.tile_atomic_add(mass[body], m)

    return k


COMPOSITES = {n: composite(n) for n in (1, 3, 7)}


def composite_inertias(executor: Executor) -> None:
    rng = np.random.default_rng(4)
    for n, kernel in COMPOSITES.items():
        i, s = rng.normal(size=(4, 6, 6)).astype(np.float32), rng.normal(size=(4, 6, n)).astype(np.float32)
        start = rng.normal(size=(4, n, n)).astype(np.float32)
        *_, mass = launch(executor, kernel, 4, i, s, start, 0.5)
        turned = s.transpose(0, 2, 1)
        np.testing.assert_allclose(mass, start + turned @ i @ s - 0.5 * turned @ s, rtol=1e-4, atol=1e-4)


# ---- layers of a network: products over chunks, a bias for each row, an activation; and all of it backwards

SAMPLES, INNER, CHUNK = 8, 32, 16


@wp.func
def activation(x: float):
    return x / (1.0 + wp.exp(-x))


@wp.kernel
def layer(
    w: wp.array2d(dtype=float),
    bias: wp.array2d(dtype=float),
    x: wp.array2d(dtype=float),
    y: wp.array2d(dtype=float),
):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(16, SAMPLES), dtype=float)
    for k in range(w.shape[1] // CHUNK):
        a = wp.tile_load(w, shape=(16, CHUNK), offset=(i * 16, k * CHUNK))
        b = wp.tile_load(x, shape=(CHUNK, SAMPLES), offset=(k * CHUNK, j * SAMPLES))
        wp.tile_matmul(a, b, total)
    total += wp.tile_broadcast(wp.tile_load(bias, shape=(16, 1), offset=(i * 16, 0)), shape=(16, SAMPLES))
    wp.tile_store(y, wp.tile_map(activation, total), offset=(i * 16, j * SAMPLES))


@wp.kernel
def squared_error(y: wp.array2d(dtype=float), aim: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    j = wp.tid()
    d = wp.tile_load(y, shape=(16, SAMPLES), offset=(0, j * SAMPLES)) - wp.tile_load(aim, shape=(16, SAMPLES), offset=(0, j * SAMPLES))
    wp.tile_atomic_add(loss, wp.tile_sum(wp.tile_map(wp.mul, d, d)))


def network(executor: Executor) -> None:
    rng = np.random.default_rng(5)
    count = 3 * SAMPLES
    first, second = 0.3 * rng.normal(size=(INNER, 48)), 0.3 * rng.normal(size=(16, INNER))
    b1, b2 = rng.normal(size=(INNER, 1)), rng.normal(size=(16, 1))
    x, aim = rng.normal(size=(48, count)), rng.normal(size=(16, count))
    with blocks_of(executor) as device:
        arrays = [wp.array(v, dtype=float, device=device, requires_grad=True) for v in (first, b1, second, b2, x)]
        inner, outer = (wp.zeros((n, count), dtype=float, device=device, requires_grad=True) for n in (INNER, 16))
        loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
        how = {"block_dim": executor[1], "device": device}
        with wp.Tape() as tape:
            wp.launch_tiled(layer, dim=(INNER // 16, 3), inputs=[arrays[0], arrays[1], arrays[4], inner], **how)
            wp.launch_tiled(layer, dim=(1, 3), inputs=[arrays[2], arrays[3], inner, outer], **how)
            wp.launch_tiled(squared_error, dim=3, inputs=[outer, wp.array(aim, dtype=float, device=device), loss], **how)
        tape.backward(loss)
        got = [a.grad.numpy() for a in arrays]

    def forward(v):
        s = 1 / (1 + np.exp(-v))
        return v * s, s + v * s * (1 - s)

    h, dh = forward(first @ x + b1)
    y, dy = forward(second @ h + b2)
    slope = 2 * (y - aim) * dy
    inside = second.T @ slope * dh
    np.testing.assert_allclose(loss.numpy()[0], ((y - aim) ** 2).sum(), rtol=1e-4)
    wants = [inside @ x.T, inside.sum(1, keepdims=True), slope @ h.T, slope.sum(1, keepdims=True), first.T @ inside]
    for a, want in zip(got, wants):
        np.testing.assert_allclose(a, want, rtol=1e-3, atol=1e-3)


# ---- factors by blocks, as many as a world has; the right side is one tile, changed through windows

BLOCK, MOST = 8, 40


@wp.kernel(enable_backward=False)
def solve_by_blocks(sizes: wp.array(dtype=int), a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):
    world = wp.tid()
    n = sizes[world]
    u = wp.tile_load(a[world], shape=(MOST, MOST), storage="shared")
    right = wp.tile_load(b[world], shape=MOST, storage="shared")
    for j in range(0, n, BLOCK):
        corner = wp.tile_view(u, offset=(j, j), shape=(BLOCK, BLOCK))
        for m in range(0, j, BLOCK):
            left = wp.tile_view(u, offset=(m, j), shape=(BLOCK, BLOCK))
            wp.tile_matmul(wp.tile_transpose(left), left, corner, alpha=-1.0)
        wp.tile_cholesky_inplace(corner, fill_mode="upper")
        for i in range(j + BLOCK, n, BLOCK):
            side = wp.tile_view(u, offset=(j, i), shape=(BLOCK, BLOCK))
            for m in range(0, j, BLOCK):
                top = wp.tile_view(u, offset=(m, j), shape=(BLOCK, BLOCK))
                over = wp.tile_view(u, offset=(m, i), shape=(BLOCK, BLOCK))
                wp.tile_matmul(wp.tile_transpose(top), over, side, alpha=-1.0)
            wp.tile_lower_solve_inplace(wp.tile_transpose(corner), side)
        piece = wp.tile_reshape(wp.tile_view(right, offset=(j,), shape=(BLOCK,)), (BLOCK, 1))
        for m in range(0, j, BLOCK):
            left = wp.tile_view(u, offset=(m, j), shape=(BLOCK, BLOCK))
            known = wp.tile_reshape(wp.tile_view(right, offset=(m,), shape=(BLOCK,)), (BLOCK, 1))
            wp.tile_matmul(wp.tile_transpose(left), known, piece, alpha=-1.0)
        wp.tile_lower_solve_inplace(wp.tile_transpose(corner), piece)
    for turn in range(n / BLOCK):
        j = n - BLOCK - turn * BLOCK
        piece = wp.tile_reshape(wp.tile_view(right, offset=(j,), shape=(BLOCK,)), (BLOCK, 1))
        for i in range(j + BLOCK, n, BLOCK):
            across = wp.tile_view(u, offset=(j, i), shape=(BLOCK, BLOCK))
            known = wp.tile_reshape(wp.tile_view(right, offset=(i,), shape=(BLOCK,)), (BLOCK, 1))
            wp.tile_matmul(across, known, piece, alpha=-1.0)
        wp.tile_upper_solve_inplace(wp.tile_view(u, offset=(j, j), shape=(BLOCK, BLOCK)), piece)
    wp.tile_store(x[world], right)


@wp.kernel(enable_backward=False)
def factor_rows(sizes: wp.array(dtype=int), a: wp.array3d(dtype=float), rows: wp.array3d(dtype=float), low: wp.array3d(dtype=float)):
    """Row blocks of L are solved where they lie in the array's tile, through windows that are turned twice; empty blocks are left out."""
    world = wp.tid()
    n = sizes[world]
    l = wp.tile_load(a[world], shape=(MOST, MOST), storage="shared")
    for i in range(0, n, BLOCK):
        for j in range(0, i, BLOCK):
            below = wp.tile_view(l, offset=(i, j), shape=(BLOCK, BLOCK))
            corner = wp.tile_view(l, offset=(j, j), shape=(BLOCK, BLOCK))
            for m in range(0, j, BLOCK):
                x = wp.tile_view(l, offset=(i, m), shape=(BLOCK, BLOCK))
                y = wp.tile_view(l, offset=(j, m), shape=(BLOCK, BLOCK))
                wp.tile_matmul(y, wp.tile_transpose(x), wp.tile_transpose(below), alpha=-1.0)
            wp.tile_lower_solve_inplace(corner, wp.tile_transpose(below))
        corner = wp.tile_view(l, offset=(i, i), shape=(BLOCK, BLOCK))
        for m in range(0, i, BLOCK):
            x = wp.tile_view(l, offset=(i, m), shape=(BLOCK, BLOCK))
            wp.tile_matmul(x, wp.tile_transpose(x), corner, alpha=-1.0)
        wp.tile_cholesky_inplace(corner)
        # The rows that are done, and what comes of a right side by them.
        rhs = wp.tile_load(rows[world], shape=(BLOCK, 3), offset=(i, 0))
        wp.tile_lower_solve_inplace(corner, rhs)
        wp.tile_store(rows[world], rhs, offset=(i, 0))
    wp.tile_store(low[world], l)


def positive(rng, worlds: int, room: int) -> np.ndarray:
    r = rng.normal(size=(worlds, room, room))
    return (r @ r.transpose(0, 2, 1) / room + np.eye(room)).astype(np.float32)


def blocked_solves(executor: Executor) -> None:
    rng = np.random.default_rng(8)
    sizes = np.array([8, 24, 40, 0], np.int32)
    a, b = positive(rng, 4, MOST), rng.normal(size=(4, MOST)).astype(np.float32)
    *_, x = launch(executor, solve_by_blocks, 4, sizes, a, b, np.zeros((4, MOST), np.float32))
    for i, n in enumerate(sizes):
        np.testing.assert_allclose(x[i, :n], np.linalg.solve(a[i, :n, :n].astype(float), b[i, :n]), rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(x[i, n:], b[i, n:])


def blocked_factors_through_transposes(executor: Executor) -> None:
    rng = np.random.default_rng(9)
    sizes = np.array([16, 40], np.int32)
    a, b = positive(rng, 2, MOST), rng.normal(size=(2, MOST, 3)).astype(np.float32)
    _, _, rows, low = launch(executor, factor_rows, 2, sizes, a, b, np.zeros((2, MOST, MOST), np.float32))
    for i, n in enumerate(sizes):
        want = np.linalg.cholesky(a[i, :n, :n].astype(float))
        np.testing.assert_allclose(np.tril(low[i, :n, :n]), want, rtol=1e-3, atol=1e-4)
        for j in range(0, n, BLOCK):
            part = slice(j, j + BLOCK)
            np.testing.assert_allclose(rows[i, part], np.linalg.solve(want[part, part], b[i, part]), rtol=1e-3, atol=1e-3)


CASES = composite_inertias, network, blocked_solves, blocked_factors_through_transposes
