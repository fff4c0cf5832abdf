"""Tiles that are registers, for test_tile_own_tiles.py: on a GPU, or the fake driver's, as on the CPU, bit for bit."""

from __future__ import annotations

import numpy as np

import warp as wp

ROWS, LONG = 5, 1024


@wp.func
def bent(x: float, by: float):
    return wp.max(x, by * x) + wp.tanh(x)


@wp.kernel
def long_rows(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    x = wp.tile_load(a, shape=LONG, offset=i * LONG)
    y = wp.tile_load(b, shape=LONG, offset=i * LONG)
    z = wp.tile_map(bent, x, y) - x
    z += y
    wp.tile_store(b, z * 2.0, offset=i * LONG)


@wp.kernel
def planes(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x = wp.tile_load(a, shape=(16, 32), offset=(i * 16, j * 32))
    wp.tile_store(b, wp.tile_map(wp.sqrt, wp.tile_map(wp.abs, x)) + x, offset=(i * 16, j * 32))


@wp.kernel
def read_again(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    x = wp.tile_load(a, shape=LONG, offset=i * LONG)
    wp.tile_store(b, x + x, offset=i * LONG)
    y = wp.tile_load(b, shape=LONG, offset=i * LONG)
    wp.tile_store(a, y * x, offset=i * LONG)


@wp.kernel
def shifted(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    x = wp.tile_load(a, shape=LONG, offset=i * LONG)
    wp.tile_store(b, x * 2.0, offset=i * LONG)
    y = wp.tile_load(b, shape=LONG, offset=i * LONG + 128)
    wp.tile_store(a, x + y, offset=i * LONG)


@wp.kernel
def moved_up(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    wp.tile_store(a, wp.tile_load(a, shape=LONG, offset=128))


@wp.kernel
def moved_rows(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    wp.tile_store(a, wp.tile_load(a, shape=(32, 32), offset=(1, 0)))
    wp.tile_store(b, wp.tile_transpose(wp.tile_load(a, shape=(32, 32))))


@wp.kernel
def two_names(a: wp.array(dtype=float), b: wp.array(dtype=float), turns: int):
    p = a
    x = wp.tile_load(b, shape=512)
    for k in range(turns):
        wp.tile_store(p, x)
        x = x + wp.tile_load(a, shape=512, offset=4)
        p = b
    wp.tile_store(b, x)


@wp.kernel
def carried(a: wp.array(dtype=float), b: wp.array(dtype=float), turns: int):
    i = wp.tid()
    s = wp.tile_zeros(shape=LONG, dtype=float)
    for k in range(turns):
        x = wp.tile_load(a, shape=LONG, offset=((i + k) % ROWS) * LONG)
        if k % 2 == 0:
            s += x
        else:
            s = s * 0.5 + x
    wp.tile_store(b, s, offset=i * LONG)


@wp.kernel
def halves(a: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.float16), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x = wp.tile_load(a, shape=LONG, offset=i * LONG)
    wp.tile_store(b, x * x + x, offset=i * LONG)
    v = wp.tile_load(c, shape=250, offset=i * 250)
    wp.tile_store(c, v + v, offset=i * 250)


@wp.kernel
def ragged(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    x = wp.tile_load(a, shape=100, offset=i * 100 - 30)
    wp.tile_store(b, wp.tile_map(wp.exp, x) * x, offset=i * 100)


def numbers(*shape):
    return np.random.default_rng(5).normal(size=shape).astype(np.float32)


def results(kernel, dim, arrays, block: int, device: str, begin: int = 0, *more):
    """What a launch makes of arrays that begin so many numbers behind a multiple of 16 bytes."""
    given = []
    for array in arrays:
        data = np.ascontiguousarray(array)
        dtype = {"float32": wp.float32, "float16": wp.float16}[data.dtype.name]
        if data.ndim == 2 and data.shape[1] == 3:
            given.append(wp.array(data, dtype=wp.vec3, device=device))
        elif data.ndim == 1 and begin:
            room = wp.zeros(data.size + begin, dtype=dtype, device=device)
            part = room[begin:]
            part.assign(data)
            given.append(part)
        else:
            given.append(wp.array(data, dtype=dtype, device=device))
    wp.launch_tiled(kernel, dim=dim, inputs=[*given, *more], block_dim=block, device=device)
    return [one.numpy() for one in given]


def agree(kernel, dim, arrays, *more):
    for begin in (0, 1):
        want = results(kernel, dim, arrays, 1, "cpu", begin, *more)
        for block in (32, 64, 128, 256):
            got = results(kernel, dim, arrays, block, "cuda", begin, *more)
            for x, y in zip(want, got):
                assert x.tobytes() == y.tobytes(), (kernel.key, block, begin, np.abs(x - y).max())
    print("right:", kernel.key)


if __name__ == "__main__":
    wp.config.quiet = True
    row = numbers(ROWS * LONG - 100)
    agree(long_rows, ROWS, [row, row[::-1]])
    agree(planes, (3, 3), [numbers(40, 80), numbers(40, 80)])
    agree(read_again, ROWS, [row, row])
    agree(shifted, 1, [row, row])
    agree(moved_up, 1, [row, row])
    agree(moved_rows, 1, [numbers(40, 40), numbers(40, 40)])
    agree(two_names, 1, [row, row[::-1]], 3)
    agree(carried, ROWS, [row, row], 7)
    agree(halves, ROWS, [row.astype(np.float16), row.astype(np.float16), numbers(ROWS * 250, 3)])
    agree(ragged, ROWS, [numbers(ROWS * 100), numbers(ROWS * 100)])
    print("done")
