"""What is stored in a tile is rounded there, so that blocks of every size give the same bits: products are not fused into sums
that are taken of a tile's elements, whichever tiles the compiler keeps in registers."""

import numpy as np
import pytest

import warp as wp

COUNT = 64


@wp.func
def scaled(x: float, s: float):
    return x * s


@wp.func
def pair(x: float, y: float):
    return wp.vec2(x, y)


@wp.kernel(enable_backward=False)
def of_one(x: wp.array2d(dtype=float), s: float, y: wp.array2d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], COUNT)
    wp.tile_store(y[i], t - wp.tile_broadcast(wp.tile_sum(t) * s, (COUNT,)))


@wp.kernel(enable_backward=False)
def of_one_by_function(x: wp.array2d(dtype=float), s: float, y: wp.array2d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], COUNT)
    mean = wp.tile_map(scaled, wp.tile_sum(t), s)
    wp.tile_store(y[i], wp.tile_map(wp.sub, t, mean[0]))


@wp.kernel(enable_backward=False)
def one_each(x: wp.array2d(dtype=float), s: float, y: wp.array2d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], COUNT)
    u = -(t * s)
    wp.tile_store(y[i], u + wp.tile_load(x[i + 1], COUNT))


@wp.kernel(enable_backward=False)
def vectors(x: wp.array2d(dtype=float), s: float, y: wp.array2d(dtype=float)):
    i = wp.tid()
    v = wp.tile_sum(wp.tile_map(pair, wp.tile_load(x[i], COUNT), wp.tile_load(x[i + 1], COUNT))) * s
    for k in range(wp.static(COUNT // 2)):
        y[i, 2 * k] = v[0][0] - x[i, 2 * k]
        y[i, 2 * k + 1] = v[0][1] - x[i, 2 * k + 1]


@pytest.mark.parametrize("kernel", [of_one, of_one_by_function, one_each, vectors], ids=lambda kernel: kernel.key)
@pytest.mark.parametrize("threads", [32, COUNT])
def test_blocks_of_one_thread_round_as_larger_ones(kernel, threads, monkeypatch):
    x = wp.array(np.random.default_rng(3).normal(size=(9, COUNT)), dtype=float, device="cpu")

    def run():
        y = wp.zeros((8, COUNT), dtype=float, device="cpu")
        wp.launch_tiled(kernel, dim=8, inputs=[x, 0.1234567], outputs=[y], block_dim=threads, device="cpu")
        return y.numpy().view(np.int32)

    alone = run()
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)
    assert np.array_equal(run(), alone)
