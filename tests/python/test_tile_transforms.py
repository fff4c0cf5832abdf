"""Fourier transforms of tiles: all kinds of factors, tables and memory for the roots, windows, and the way back."""

import numpy as np
import pytest

import warp as wp

rng = np.random.default_rng(31)


def transform_of(n, rows, dtype, inverse):
    @wp.kernel(module="unique")
    def transform(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype)):
        t = wp.tile_load(a, shape=(rows, n))
        if wp.static(inverse):
            wp.tile_ifft(t)
        else:
            wp.tile_fft(t)
        wp.tile_store(b, t)

    return transform


def complex_array(values, dtype, **keywords):
    parts = np.stack([values.real, values.imag], axis=-1)
    return wp.array(parts, dtype=dtype, **keywords)


def numbers(array):
    parts = array.numpy()
    return parts[..., 0] + 1j * parts[..., 1]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 30, 32, 49, 61, 64, 96, 122, 128, 360, 512, 9000])
def test_lengths(n):
    rows = 2 if n < 9000 else 1  # the longest has too many roots for a table
    values = rng.normal(size=(rows, n)) + 1j * rng.normal(size=(rows, n))
    if n == 9000 and wp.get_device().is_cuda:
        b = wp.zeros((rows, n), dtype=wp.vec2d)
        with pytest.raises(Exception, match="shared memory"):
            wp.launch_tiled(transform_of(n, rows, wp.vec2d, False), dim=1, inputs=[b, b], block_dim=32)
        return
    for dtype, tolerance in ((wp.vec2d, 1e-13), (wp.vec2, 1e-6)):
        for inverse, want in ((False, np.fft.fft(values)), (True, np.fft.ifft(values) * n)):
            a, b = complex_array(values, dtype), wp.zeros((rows, n), dtype=dtype)
            wp.launch_tiled(transform_of(n, rows, dtype, inverse), dim=1, inputs=[a, b], block_dim=32)
            assert np.abs(numbers(b) - want).max() < tolerance * n


def test_columns():
    @wp.kernel
    def transform(a: wp.array2d(dtype=wp.vec2d), b: wp.array2d(dtype=wp.vec2d)):
        t = wp.tile_load(a, shape=(16, 3))
        wp.tile_fft(wp.tile_transpose(t))
        wp.tile_store(b, t)

    values = rng.normal(size=(16, 3)) + 1j * rng.normal(size=(16, 3))
    a, b = complex_array(values, wp.vec2d), wp.zeros((16, 3), dtype=wp.vec2d)
    wp.launch_tiled(transform, dim=1, inputs=[a, b], block_dim=32)
    np.testing.assert_allclose(numbers(b), np.fft.fft(values, axis=0), atol=1e-12)


@pytest.mark.parametrize("n", [6, 32, 100])
def test_gradients(n):
    values, slope = (rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n)) for _ in range(2))
    a = complex_array(values, wp.vec2d, requires_grad=True)
    b = wp.zeros((2, n), dtype=wp.vec2d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(transform_of(n, 2, wp.vec2d, False), dim=1, inputs=[a, b], block_dim=32)
    tape.backward(grads={b: complex_array(slope, wp.vec2d)})
    # The transform's adjoint is the transform the other way round.
    np.testing.assert_allclose(numbers(a.grad), np.fft.ifft(slope) * n, atol=1e-12 * n)
