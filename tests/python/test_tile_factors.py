"""Cholesky factors of tiles of every size: blocks of four columns, and what is left of them, give the bits of the plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


@wp.kernel(enable_backward=False)
def plain(a: wp.array3d(dtype=float), l: wp.array3d(dtype=float)):
    """Every element takes its updates in rising order of k; products and sums are fused."""
    w = wp.tid()
    for j in range(a.shape[1]):
        for i in range(j, a.shape[1]):
            s = a[w, i, j]
            for k in range(j):
                s -= l[w, i, k] * l[w, j, k]
            if i == j:
                l[w, i, j] = wp.sqrt(s)
            else:
                l[w, i, j] = s / l[w, j, j]


def factor_kernel(n, mode):
    @wp.kernel(module="unique", enable_backward=False)
    def kernel(a: wp.array3d(dtype=float), l: wp.array3d(dtype=float), again: wp.array3d(dtype=float)):
        w = wp.tid()
        for turn in range(2):  # memory of the second is that of the first
            t = wp.tile_load(a[w], shape=(n, n))
            wp.tile_cholesky_inplace(t, fill_mode=mode)
            if turn == 0:
                wp.tile_store(l[w], t)
            else:
                wp.tile_store(again[w], t)

    return kernel


@pytest.mark.parametrize("mode", ["lower", "upper"])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 9, 10, 11, 12, 16, 27, 28, 30, 64])
def test_factors_have_the_bits_of_plain_loops(n, mode):
    rng = np.random.default_rng(n)
    r = rng.normal(size=(5, n, n))
    a = (r @ r.transpose(0, 2, 1) + n * np.eye(n)).astype(np.float32)
    want, got, again = (wp.zeros(a.shape) for _ in range(3))
    wp.launch(plain, 5, [wp.array(a), want])
    triangle = np.tril(a) if mode == "lower" else np.triu(a)
    wp.launch_tiled(factor_kernel(n, mode), dim=5, inputs=[wp.array(triangle), got, again], block_dim=32)
    expected = want.numpy() if mode == "lower" else want.numpy().transpose(0, 2, 1)
    assert np.array_equal(got.numpy(), expected) and np.array_equal(again.numpy(), expected)


def test_what_is_no_number_stays_in_its_block():
    """A matrix without a factor leaves no trace in the next one of the same memory."""
    n = 10

    @wp.kernel(module="unique", enable_backward=False)
    def kernel(a: wp.array3d(dtype=float), l: wp.array3d(dtype=float)):
        for w in range(2):
            t = wp.tile_load(a[w], shape=(n, n))
            wp.tile_cholesky_inplace(t)
            wp.tile_store(l[w], t)

    a = np.stack([-np.eye(n), 4.0 * np.eye(n)]).astype(np.float32)
    l = wp.zeros((2, n, n))
    wp.launch_tiled(kernel, dim=1, inputs=[wp.array(a), l], block_dim=32)
    assert np.isnan(l.numpy()[0, 0, 0]) and np.array_equal(l.numpy()[1], 2.0 * np.eye(n, dtype=np.float32))
