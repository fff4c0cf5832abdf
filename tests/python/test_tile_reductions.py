"""Reductions by the threads of a block have the bits of one thread's, whatever the length, the type and the axis; functions of the
program and derivatives too, which go another way."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import warp as wp

VEC9 = wp.types.vector(length=9, dtype=float)


@pytest.fixture(autouse=True)
def blocks_of_one_thread():
    yield
    wp.config.enable_cpu_blocks = False


@wp.func
def longer(a: float, b: float):
    if wp.abs(b) > wp.abs(a):
        return b
    return a


def kernel_of(n: int):
    @wp.kernel(module="unique", enable_backward=False)
    def reductions(
        x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), w: wp.array(dtype=int),
        d: wp.array(dtype=wp.float64), v: wp.array(dtype=VEC9),
    ):  # fmt: skip
        i, lane = wp.tid()
        t = wp.tile_load(x, shape=n)
        wp.tile_store(y, wp.tile_sum(t))
        wp.tile_store(y, wp.tile_max(t), offset=1)
        wp.tile_store(y, wp.tile_reduce(wp.mul, t), offset=2)
        wp.tile_store(y, wp.tile_reduce(longer, t), offset=3)
        wp.tile_store(y, wp.tile_dot(t, t), offset=4)
        wp.tile_store(w, wp.tile_argmin(t))
        wp.tile_store(w, wp.tile_argmax(t), offset=1)
        wp.tile_store(d, wp.tile_sum(wp.tile_astype(t, wp.float64)))
        u = wp.tile_load(x, shape=(n,)) * 2.0
        rows = wp.tile_broadcast(u, shape=(5, n))
        wp.tile_store(z, wp.tile_sum(rows * 0.5, axis=1))
        vectors = wp.tile_map(VEC9, t)
        wp.tile_store(v, wp.tile_reduce(wp.add, vectors))

    return reductions


def results(kernel, numbers, block, device):
    x = wp.array(numbers, dtype=float, device=device)
    out = [wp.zeros(5, dtype=float, device=device), wp.zeros(5, dtype=float, device=device)]
    out += [wp.zeros(2, dtype=int, device=device), wp.zeros(1, dtype=wp.float64, device=device)]
    out += [wp.zeros(1, dtype=VEC9, device=device)]
    wp.launch_tiled(kernel, dim=1, inputs=[x, *out], block_dim=block, device=device)
    return [a.numpy() for a in out]


def bits_of(dtype, n: int):
    @wp.kernel(module="unique", enable_backward=False)
    def bits(x: wp.array2d(dtype=dtype), one: wp.array(dtype=dtype), rows: wp.array2d(dtype=dtype)):
        i, lane = wp.tid()
        t = wp.tile_load(x, shape=(3, n))
        wp.tile_store(one, wp.tile_reduce(wp.bit_or, t))
        wp.tile_store(one, wp.tile_reduce(wp.bit_and, t), offset=1)
        wp.tile_store(one, wp.tile_reduce(wp.bit_xor, t), offset=2)
        wp.tile_store(rows[0], wp.tile_reduce(wp.bit_or, t, axis=1))
        wp.tile_store(rows[1], wp.tile_reduce(wp.bit_and, t, axis=1))
        wp.tile_store(rows[2], wp.tile_reduce(wp.bit_xor, t, axis=1))

    return bits


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint64, wp.uint8], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("n", [1, 33, 200])
def test_reductions_of_bits(dtype, n):
    whole = np.dtype(dtype.__name__)
    numbers = np.random.default_rng(n).integers(0, 256, size=(3, n, whole.itemsize)).astype(np.uint8).view(whole)[..., 0]
    numbers = numbers | np.array([1], whole)  # so that something is left of all together
    x = wp.array(numbers, dtype=dtype)
    for block in (1, 32, 96):
        wp.config.enable_cpu_blocks = block > 1
        one, rows = wp.zeros(3, dtype=dtype), wp.zeros((3, 3), dtype=dtype)
        wp.launch_tiled(bits_of(dtype, n), dim=1, inputs=[x, one, rows], block_dim=block)
        joins = (np.bitwise_or, np.bitwise_and, np.bitwise_xor)
        assert one.numpy().tolist() == [int(join.reduce(numbers, axis=None)) for join in joins]
        assert rows.numpy().tolist() == [join.reduce(numbers, axis=1).tolist() for join in joins]


@pytest.mark.parametrize("n", [1, 2, 31, 33, 100, 256, 1000, 1025, 3000])
def test_same_bits_at_every_block_size(n):
    kernel = kernel_of(n)
    numbers = np.random.default_rng(n).normal(size=n).astype(np.float32)
    want = results(kernel, numbers, 1, "cpu")
    np.testing.assert_allclose(want[0][0], numbers.sum(), rtol=1e-3, atol=1e-3)
    assert want[2].tolist() == [numbers.argmin(), numbers.argmax()]
    wp.config.enable_cpu_blocks = True
    device = wp.get_device()
    for block in (32, 48, 64, 96, 256):
        for where in {"cpu", str(device)}:
            for got, one in zip(results(kernel, numbers, block, where), want):
                np.testing.assert_array_equal(got, one, err_msg=f"{n} at {block} on {where}")


def test_numbers_of_threads_in_one_round():
    @wp.kernel(module="unique", enable_backward=False)
    def k(x: wp.array2d(dtype=VEC9), whole: wp.array(dtype=VEC9), parts: wp.array2d(dtype=float)):
        i, lane = wp.tid()
        s = wp.tile_sum(wp.tile(x[i, lane], preserve_type=True))
        by_number = wp.tile_sum(wp.tile(x[i, lane]), axis=1)
        if lane == 0:
            whole[i] = s[0]
        wp.tile_store(parts[i], by_number)

    wp.config.enable_cpu_blocks = True
    for block in (32, 64, 96, 256):
        numbers = np.random.default_rng(block).integers(-9, 9, size=(4, block, 9)).astype(np.float32)
        whole, parts = wp.zeros(4, dtype=VEC9), wp.zeros((4, 9), dtype=float)
        wp.launch_tiled(k, dim=4, inputs=[wp.array(numbers, dtype=VEC9), whole, parts], block_dim=block)
        np.testing.assert_array_equal(whole.numpy(), numbers.sum(axis=1))
        np.testing.assert_array_equal(parts.numpy(), numbers.sum(axis=1))


WEFTC = os.environ.get("WEFTC") or shutil.which("weftc")


@pytest.mark.skipif(WEFTC is None, reason="needs weftc")
@pytest.mark.parametrize("block", [64, 256, 1024])
def test_two_barriers_whatever_the_length(tmp_path, block):
    source = tmp_path / "sums.py"
    source.write_text(
        "import warp as wp\n\n\n@wp.kernel(enable_backward=False)\n"
        "def sums(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):\n"
        "    i, lane = wp.tid()\n"
        "    y[i, lane] = wp.tile_sum(wp.tile(x[i, lane]))[0]\n"
    )
    command = [WEFTC, source, "--emit=ptx", "--target=sm_80", f"--block-dim={block}"]
    ptx = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert ptx.count("bar.sync") == 3  # and one before the block's memory is the next one's
    assert ptx.count("shfl.sync") == 6  # and one that tells which warp it is
