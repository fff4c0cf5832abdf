"""Blocks of several threads on the CPU (wp.config.enable_cpu_blocks): who is asked for how many, threads that wait for each other,
leave, fail, and are recorded. What tiles compute there is in test_tile_programs.py and test_tile_blocks.py."""

from typing import Any

import numpy as np
import pytest

import warp as wp
from warp._src.kernels import custom_functions


@pytest.fixture(autouse=True)
def several():
    wp.config.enable_cpu_blocks = True
    yield
    wp.config.enable_cpu_blocks = False
    wp.config.mode = "release"


@wp.kernel(enable_backward=False)
def told(out: wp.array(dtype=int)):
    i, lane = wp.tid()
    wp.atomic_max(out, 0, wp.block_dim())
    wp.atomic_add(out, 1, 1)
    wp.atomic_max(out, 2, lane)


@wp.kernel(enable_backward=False)
def counted(out: wp.array(dtype=int)):
    i, lane = wp.tid()
    n = wp.tile_sum(wp.tile(1))
    wp.atomic_max(out, 0, wp.block_dim())
    wp.atomic_add(out, 1, 1)
    wp.atomic_max(out, 2, n[0] - 1)


@pytest.mark.parametrize("kernel", [told, counted], ids=["plain", "tiles"])
@pytest.mark.parametrize("asked, threads", [(None, 1), (0, 1), (-1, 1), (1, 1), (33, 33), (1024, 1024)])
def test_as_many_threads_as_were_asked_for(kernel, asked, threads):
    out = wp.zeros(3, dtype=int, device="cpu")
    wp.launch_tiled(kernel, dim=2, inputs=[out], block_dim=asked, device="cpu")
    assert out.numpy().tolist() == [threads, 2 * threads, threads - 1]


@pytest.mark.parametrize("kernel", [told, counted], ids=["plain", "tiles"])
def test_launches_that_name_no_block_have_blocks_of_one(kernel):
    out = wp.zeros(3, dtype=int, device="cpu")
    wp.launch(kernel, dim=(2, 16), inputs=[out], device="cpu")
    assert out.numpy()[:2].tolist() == [1, 32]


def test_the_flag_may_change_between_launches():
    out = wp.zeros(3, dtype=int, device="cpu")
    for on, threads in ((True, 64), (False, 1), (True, 64)):
        wp.config.enable_cpu_blocks = on
        out.zero_()
        wp.launch_tiled(counted, dim=[3], inputs=[out], block_dim=64, device="cpu")
        assert out.numpy().tolist() == [threads, 3 * threads, threads - 1]


def test_too_many_threads():
    out = wp.zeros(3, dtype=int, device="cpu")
    for kernel in (told, counted):
        with pytest.raises(ValueError, match="block_dim must be at most 1024 on CPU, got 2048"):
            wp.launch_tiled(kernel, dim=[2], inputs=[out], block_dim=2048, device="cpu")


def test_threads_of_a_grid_of_one_dimension_that_part():
    @wp.kernel(enable_backward=False)
    def by_number(s: wp.array(dtype=int)):
        i = wp.tid()
        t = wp.tile_ones(shape=17, dtype=int)
        if i % 32 == 0:
            return
        s[i // 32] = wp.tile_sum(t)[0]

    @wp.kernel(enable_backward=False)
    def by_block(s: wp.array(dtype=int)):
        i = wp.tid()
        t = wp.tile_ones(shape=17, dtype=int)
        if i // 32 == 0:
            return
        s[i // 32] = wp.tile_sum(t)[0]

    s = wp.zeros(2, dtype=int, device="cpu")
    with pytest.raises(Exception, match="threads of a block work on tiles together"):
        wp.launch(by_number, dim=64, inputs=[s], block_dim=32, device="cpu")
    wp.launch(by_block, dim=64, inputs=[s], block_dim=32, device="cpu")
    assert s.numpy().tolist() == [0, 17]


def test_the_last_block_may_lack_threads():
    @wp.kernel
    def k(s: wp.array(dtype=int)):
        i = wp.tid()
        u = wp.tile_sum(wp.tile(i + 1))
        s[i] = u[0]

    s = wp.zeros(100, dtype=int, device="cpu")
    wp.launch(k, dim=100, inputs=[s], block_dim=64, device="cpu")
    assert set(s.numpy()[:64]) == {64 * 65 // 2} and set(s.numpy()[64:]) == {sum(range(65, 101))}


@wp.func
def least_of(t: wp.tile[int, 64]):
    return wp.tile_min(t)[0]


@wp.func
def of_threads(x: int):
    return wp.tile(x)


@wp.func
def moved(t: Any, by: int):
    return wp.tile_map(wp.add, t, by), by


@wp.func
def least_deep(t: Any):
    u, _ = moved(t, 1)
    return least_of(u) - 1


def test_functions_know_which_threads_a_block_lacks():
    """Tiles with a place for each thread keep it when they are passed to functions and returned by them."""

    @wp.kernel
    def k(s: wp.array(dtype=int), which: wp.array(dtype=int)):
        i = wp.tid()
        s[i] = least_of(wp.tile(i + 1)) + 1000 * least_deep(of_threads(i + 2))
        which[i] = wp.tile_argmin(of_threads(200 - i))[0]

    s, which = wp.zeros(100, dtype=int, device="cpu"), wp.zeros(100, dtype=int, device="cpu")
    wp.launch(k, dim=100, inputs=[s, which], block_dim=64, device="cpu")
    assert set(s.numpy()[:64]) == {1 + 2000} and set(s.numpy()[64:]) == {65 + 66000}
    assert set(which.numpy()[:64]) == {63} and set(which.numpy()[64:]) == {35}


def test_the_same_function_of_a_full_tile_and_of_one_that_lacks_threads():
    @wp.kernel
    def k(a: wp.array(dtype=int), s: wp.array(dtype=int)):
        i = wp.tid()
        s[i] = least_of(wp.tile_load(a, shape=64)) + 1000 * least_of(wp.tile(i + 1))

    s = wp.zeros(100, dtype=int, device="cpu")
    wp.launch(k, dim=100, inputs=[wp.full(64, 5, dtype=int, device="cpu"), s], block_dim=64, device="cpu")
    assert set(s.numpy()[:64]) == {5 + 1000} and set(s.numpy()[64:]) == {5 + 65000}


def test_threads_that_return_are_not_waited_for():
    @wp.kernel(enable_backward=False)
    def k(n: int, s: wp.array(dtype=int)):
        i, lane = wp.tid()
        if i >= n:
            return
        t = wp.tile_zeros(shape=64, dtype=int)
        t[63 - lane] = lane
        s[i * 64 + lane] = t[lane]

    s = wp.full(256, -1, dtype=int, device="cpu")
    wp.launch_tiled(k, dim=4, inputs=[3, s], block_dim=64, device="cpu")
    assert (s.numpy()[:192].reshape(3, 64) == np.arange(63, -1, -1)).all() and (s.numpy()[192:] == -1).all()


@wp.func_native("WP_TILE_SYNC();")
def sync(): ...


@wp.func_native("return __shfl_xor_sync(0xffffffffu, x, 1);")
def neighbour(x: int) -> int: ...


def test_native_barriers_and_shuffles():
    @wp.kernel(enable_backward=False)
    def k(scratch: wp.array2d(dtype=int), out: wp.array2d(dtype=int), swapped: wp.array2d(dtype=int)):
        i, lane = wp.tid()
        scratch[i, lane] = lane
        sync()
        out[i, lane] = scratch[i, (lane + 1) % 64]
        swapped[i, lane] = neighbour(lane)

    scratch, out, swapped = (wp.zeros((5, 64), dtype=int, device="cpu") for _ in range(3))
    wp.launch_tiled(k, dim=5, inputs=[scratch, out, swapped], block_dim=64, device="cpu")
    assert (out.numpy() == (np.arange(64) + 1) % 64).all()
    assert (swapped.numpy() == np.arange(64) ^ 1).all()


@wp.func_native("""
    scratch[row * 64 + WP_TILE_THREAD_IDX] = x;
    WP_TILE_SYNC();
    int left = WP_TILE_THREAD_IDX == 0 ? WP_TILE_BLOCK_DIM - 1 : WP_TILE_THREAD_IDX - 1;
    return scratch[row * 64 + left];
""")
def left_of(scratch: wp.array(dtype=int), row: int, x: int) -> int: ...


@pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")
def test_native_code_waits_and_knows_its_block():
    @wp.kernel(enable_backward=False)
    def k(scratch: wp.array(dtype=int), out: wp.array2d(dtype=int)):
        i, lane = wp.tid()
        out[i, lane] = left_of(scratch, i, lane)

    scratch, out = wp.zeros(5 * 64, dtype=int, device="cpu"), wp.zeros((5, 64), dtype=int, device="cpu")
    wp.launch_tiled(k, dim=5, inputs=[scratch, out], block_dim=64, device="cpu")
    assert (out.numpy() == (np.arange(64) - 1) % 64).all()
    wp.config.enable_cpu_blocks = False
    alone = wp.zeros((5, 1), dtype=int, device="cpu")
    wp.launch_tiled(k, dim=5, inputs=[scratch, alone], block_dim=64, device="cpu")
    assert (alone.numpy() == 0).all()


@wp.func_native("""
    int many = __syncthreads_count(x % 5);
    return many + 1000 * __syncthreads_or(x == 70) + 10000 * __syncthreads_and(x < 64);
""")
def block_votes(x: int) -> int: ...


@pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")
@pytest.mark.parametrize("threads", [1, 33, 64, 65])
def test_native_code_votes(threads):
    @wp.kernel(enable_backward=False)
    def k(out: wp.array2d(dtype=int)):
        i, lane = wp.tid()
        out[i, lane] = block_votes(lane)

    out = wp.zeros((5, threads), dtype=int, device="cpu")
    wp.launch_tiled(k, dim=5, inputs=[out], block_dim=threads, device="cpu")
    assert (out.numpy() == sum(x % 5 != 0 for x in range(threads)) + 10000 * (threads <= 64)).all()


def test_gradients():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        i, lane = wp.tid()
        t = wp.tile(x[i, lane] * x[i, lane])
        s = wp.tile_sum(t)
        if lane == 0:
            y[i] = s[0]

    numbers = np.random.default_rng(3).normal(size=(40, 96)).astype(np.float32)
    x = wp.array(numbers, dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(40, dtype=float, device="cpu", requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(k, dim=40, inputs=[x, y], block_dim=96, device="cpu")
    tape.backward(grads={y: wp.ones_like(y)})
    np.testing.assert_allclose(y.numpy(), (numbers**2).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(x.grad.numpy(), 2 * numbers, rtol=1e-6)


def test_recorded_launches_and_graphs():
    out = wp.zeros(3, dtype=int, device="cpu")
    recorded = wp.launch(counted, dim=(2, 32), inputs=[out], block_dim=32, device="cpu", record_cmd=True)
    recorded.launch()
    assert out.numpy().tolist() == [32, 64, 31]
    recorded.set_dim((4, 32))
    recorded.launch()
    assert out.numpy().tolist() == [32, 64 + 128, 31]


def test_a_failed_check_ends_the_launch():
    @wp.kernel(enable_backward=False)
    def k(a: wp.array(dtype=int), s: wp.array(dtype=int)):
        i, lane = wp.tid()
        t = wp.tile(a[lane + i])
        s[i] = wp.tile_sum(t)[0]

    wp.config.mode = "debug"
    a, s = wp.zeros(64, dtype=int, device="cpu"), wp.zeros(9, dtype=int, device="cpu")
    with pytest.raises(Exception, match="out of bounds"):
        wp.launch_tiled(k, dim=9, inputs=[a, s], block_dim=64, device="cpu")
    wp.launch_tiled(k, dim=1, inputs=[a, s], block_dim=64, device="cpu")


def test_many_blocks_run_side_by_side():
    @wp.kernel(enable_backward=False)
    def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, lane = wp.tid()
        t = wp.tile_load(x[i], shape=300)
        for n in range(3):
            t = wp.tile_scan_inclusive(t) * 0.01
        wp.tile_store(y[i], t)

    numbers = np.random.default_rng(4).normal(size=(500, 300)).astype(np.float32)
    x = wp.array(numbers, dtype=float, device="cpu")
    results = []
    for on in (False, True):
        wp.config.enable_cpu_blocks = on
        y = wp.zeros_like(x)
        wp.launch_tiled(k, dim=500, inputs=[x, y], block_dim=48, device="cpu")
        results.append(y.numpy())
    assert (results[0].view(np.uint32) == results[1].view(np.uint32)).all()


def test_deep_private_memory_has_room_on_the_stack():
    @wp.kernel(enable_backward=False)
    def k(y: wp.array2d(dtype=float)):
        i, lane = wp.tid()
        own = wp.zeros(shape=20000, dtype=float)
        for j in range(20000):
            own[j] = float(lane + j)
        s = wp.tile_sum(wp.tile(own[lane]))
        y[i, lane] = s[0] + own[19999]

    y = wp.zeros((2, 32), dtype=float, device="cpu")
    wp.launch_tiled(k, dim=2, inputs=[y], block_dim=32, device="cpu")
    total = sum(2.0 * lane for lane in range(32))
    assert (y.numpy() == total + 19999.0 + np.arange(32)).all()


@wp.kernel(enable_backward=False)
def told_by_one(n: int, out: wp.array(dtype=float)):
    i, lane = wp.tid()
    wp.tile_store(out, wp.tile_from_thread(2, float(lane) + 7.0, n))


def test_a_thread_that_is_not_there_is_the_nearest():
    out = wp.zeros(2, dtype=float, device="cpu")
    for threads, n, want in ((33, 5, 12), (33, 5000, 39), (33, -1, 7), (33, 2**31 - 1, 39), (1, 5, 7)):
        wp.launch_tiled(told_by_one, dim=1, inputs=[n, out], block_dim=threads, device="cpu")
        assert list(out.numpy()) == [want, want]
    wp.launch(told_by_one, dim=(1, 20), inputs=[40, out], block_dim=32, device="cpu")  # a block that lacks threads
    assert list(out.numpy()) == [26, 26]
