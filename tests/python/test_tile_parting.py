"""Threads of a block that part, or hold different numbers, where they work on tiles together: plain cases are errors, others are
looked at in debug mode. On blocks of the CPU, which the same passes make as a GPU's."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

B = 64
DATA = np.arange(4 * B, dtype=np.float32)


@pytest.fixture(autouse=True)
def _blocks():
    before = wp.config.enable_cpu_blocks, wp.config.mode
    wp.config.enable_cpu_blocks = True
    yield
    wp.config.enable_cpu_blocks, wp.config.mode = before


def launch(kernel, *more, dim=2):
    x = wp.array(DATA, dtype=float, device="cpu")
    out = wp.zeros(4 * B, dtype=float, device="cpu")
    wp.launch_tiled(kernel, dim=dim, inputs=[x, out, *more], block_dim=B, device="cpu")
    return out.numpy()


@wp.kernel(enable_backward=False)
def by_data(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, offset=i * B)
    if x[lane] > 3.0:
        out[i] = wp.tile_sum(t)[0]


@wp.kernel(enable_backward=False)
def returned_by_data(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, offset=i * B)
    if i == 0:
        if x[lane] > 3.0:
            return
    wp.tile_store(out, t, offset=i * B)


@wp.kernel(enable_backward=False)
def turns_by_number(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, offset=i * B)
    k = lane
    while k < 10:
        t += t
        k += 1
    wp.tile_store(out, t, offset=i * B)


@wp.kernel(enable_backward=False)
def broken_by_data(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, offset=i * B)
    for k in range(x.shape[0]):
        t += t
        if x[lane + k] > 5.0:
            break
    wp.tile_store(out, t, offset=i * B)


@wp.kernel(enable_backward=False)
def by_a_counter(x: wp.array(dtype=float), out: wp.array(dtype=float), count: wp.array(dtype=int)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, offset=i * B)
    at = wp.atomic_add(count, 0, 1)
    if at < 7:
        wp.tile_store(out, t, offset=i * B)


@wp.kernel(enable_backward=False)
def inner_loop(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, offset=i * B)
    for k in range(lane / 2):
        wp.tile_store(out, t, offset=k)


@wp.kernel(enable_backward=False)
def offset_of_a_load(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    wp.tile_store(out, wp.tile_load(x, shape=4, offset=lane, bounds_check=False))


@wp.kernel(enable_backward=False)
def offset_of_a_store(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=4)
    wp.tile_store(out, t, offset=int(x[lane]), bounds_check=False)


@wp.kernel(enable_backward=False)
def value_of_all(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    wp.tile_store(out, wp.tile_full(shape=8, value=x[lane], dtype=float))


@wp.kernel(enable_backward=False)
def value_in_a_map(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B)
    wp.tile_store(out, t * x[lane])


@wp.kernel(enable_backward=False)
def start_of_a_window(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, storage="shared")
    wp.tile_store(out, wp.tile_view(t, offset=lane, shape=2) * 2.0)


@pytest.mark.parametrize(
    "kernel, words",
    [
        (by_data, r"they go different ways by what they read from x \(line \d+\)"),
        (returned_by_data, r"they go different ways by what they read from x \(line \d+\)"),
        (turns_by_number, "they go different ways by their number"),
        (broken_by_data, r"they go different ways by what they read from x \(line \d+\)"),
        (inner_loop, "they go different ways by their number"),
        (offset_of_a_load, "an offset is not the same for all of them: it differs by their number"),
        (offset_of_a_store, r"an offset is not the same for all of them: it differs by what they read from x \(line"),
        (value_of_all, "a value that goes into every element is not the same for all of them"),
        (value_in_a_map, "a value that goes into every element is not the same for all of them"),
        (start_of_a_window, "where a window begins is not the same for all of them: it differs by their number"),
    ],
    ids=lambda x: getattr(x, "key", ""),
)
def test_plain_cases_are_errors(kernel, words):
    with pytest.raises(Exception, match=words) as error:
        launch(kernel)
    assert "test_tile_parting.py" in str(error.value) and "wp.tile_from_thread" in str(error.value)


def test_what_an_atomic_operation_gave():
    with pytest.raises(Exception, match=r"by what an atomic operation gave each of them \(line"):
        launch(by_a_counter, wp.zeros(1, dtype=int, device="cpu"))


@pytest.mark.parametrize("kernel", [by_data, value_in_a_map, offset_of_a_load], ids=lambda x: x.key)
def test_a_block_of_one_thread_has_nobody_to_part_from(kernel):
    wp.config.enable_cpu_blocks = False
    launch(kernel)


@pytest.mark.parametrize("kernel", [by_data, value_in_a_map, turns_by_number], ids=lambda x: x.key)
def test_asked_for_blocks_of_one_thread_say_so_too(kernel):
    wp.config.enable_cpu_blocks = False
    wp.config.verify_tiles = True
    try:
        with pytest.raises(Exception, match="threads of a block work on tiles together"):
            launch(kernel)
        launch(alike)
    finally:
        wp.config.verify_tiles = False


@wp.func
def same_for_all(x: wp.array(dtype=float), i: int):
    return x[i] * 2.0


@wp.kernel(enable_backward=False)
def alike(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=B, offset=i * B)
    s = wp.tile_sum(t)
    turns = int(0)
    while s[0] > 1000.0 and turns < 3:
        t = t * 0.5
        s = wp.tile_sum(t)
        turns += 1
    if same_for_all(x, i + 1) > 1.0 and lane < wp.block_dim():
        wp.tile_store(out, t * x[i], offset=i * B)
    if lane == 0:
        out[3 * B + i] = s[0]


def test_what_is_alike_is_fine_in_both_modes():
    expected = None
    for mode in ("release", "debug"):
        wp.config.mode = mode
        got = launch(alike)
        expected = got if expected is None else expected
        assert np.array_equal(got, expected) and got[3 * B] > 0.0


@wp.kernel(enable_backward=False)
def strided(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    i, lane = wp.tid()
    for k in range(lane, n, wp.block_dim()):
        out[k] = wp.tile_sum(wp.tile(x[k]))[0]


@wp.kernel(enable_backward=False)
def from_memory(x: wp.array(dtype=float), out: wp.array(dtype=float), at: int):
    i, lane = wp.tid()
    seen = wp.zeros(shape=(4,), dtype=float)
    seen[2] = x[lane / at]
    k = int(0)
    while float(k) <= seen[2]:
        out[k] = wp.tile_sum(wp.tile(1.0))[0]
        k += 1


def test_debug_mode_compares_what_nobody_can_tell():
    wp.config.mode = "debug"
    out = launch(strided, 2 * B, dim=1)
    assert set(out[:B]) == {float(DATA[:B].sum())}
    out = launch(from_memory, B, dim=1)  # x[0] for all
    assert out.tolist()[:2] == [64.0, 0.0]
    for kernel, number in ((strided, B + 5), (from_memory, 32)):
        with pytest.raises(Exception, match="go different ways here, but work on tiles together inside.*differs from thread 0"):
            launch(kernel, number, dim=1)


# ---- Arrays by which threads hand numbers to each other ------------------------------------------------------------------


@wp.kernel(enable_backward=False)
def rows_up(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    wp.tile_store(a, wp.tile_load(a, shape=(32, 32), offset=(1, 0)))


@wp.kernel(enable_backward=False)
def through_an_array(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    x = wp.tile_load(a, shape=(32, 32))
    wp.tile_store(b, x * 2.0)
    y = wp.tile_load(b, shape=(32, 32))
    wp.tile_store(c, wp.tile_transpose(y))


@wp.kernel(enable_backward=False)
def one_behind_the_other(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    for k in range(4):
        wp.tile_store(b, wp.tile_load(a, shape=(8, 32), offset=(k, 0)) + wp.tile_load(b, shape=(8, 32), offset=(k + 1, 3)), offset=(k + 2, 1))


def test_what_one_operation_stores_the_next_one_finds():
    rng = np.random.default_rng(3)
    given = [rng.normal(size=(40, 40)).astype(np.float32) for _ in range(3)]
    for kernel in (rows_up, through_an_array, one_behind_the_other):
        results = []
        for block in (1, 32, 33, 64, 256):
            arrays = [wp.array(g, dtype=float, device="cpu") for g in given]
            wp.launch_tiled(kernel, dim=[1], inputs=arrays, block_dim=block, device="cpu")
            results.append(np.stack([array.numpy() for array in arrays]))
        for one in results[1:]:
            assert np.array_equal(one, results[0]), kernel.key


# ---- Blocks that lack threads ----------------------------------------------------------------------------------------------


@wp.func
def larger(a: float, b: float):
    return wp.where(a > b, a, b)


@wp.func
def product(a: float, b: float):
    return a * b


@wp.kernel(enable_backward=False)
def of_those_who_are_there(x: wp.array(dtype=float), out: wp.array2d(dtype=float), places: wp.array2d(dtype=int)):
    i = wp.tid()
    t = wp.tile(x[i])
    out[i, 0] = wp.tile_min(t)[0]
    out[i, 1] = wp.tile_max(-t)[0]
    out[i, 2] = wp.tile_reduce(larger, -t)[0]
    out[i, 3] = wp.tile_reduce(product, wp.tile_map(wp.sqrt, t))[0]
    out[i, 4] = wp.tile_sum(t)[0]
    v = wp.tile(wp.vec2(x[i], -2.0 * x[i]))
    out[i, 5] = wp.tile_max(v)[0]
    rows = wp.tile_reduce(wp.max, v, axis=1)
    out[i, 6] = rows[1]
    out[i, 7] = wp.tile_min(wp.tile_reduce(wp.min, -1.0 * v, axis=0))[0]
    scanned = wp.tile_scan_min_inclusive(v)
    out[i, 8] = scanned[1, 0]
    places[i, 0] = wp.tile_argmin(t)[0]
    places[i, 1] = wp.tile_argmax(-t)[0]


@pytest.mark.parametrize("block", [32, 33, 64])
def test_reductions_leave_out_threads_that_are_missing(block):
    n = 2 * block + 7
    x = (2.0 - np.random.default_rng(block).random(n)).astype(np.float32)
    out, places = wp.zeros((n, 9), dtype=float, device="cpu"), wp.zeros((n, 2), dtype=int, device="cpu")
    wp.launch(of_those_who_are_there, dim=n, inputs=[wp.array(x, dtype=float, device="cpu"), out, places], block_dim=block, device="cpu")
    for first in range(0, n, block):
        part = x[first : first + block]
        got = out.numpy()[first : first + part.size]
        assert np.array_equal(got, np.broadcast_to(got[0], got.shape))
        want = [part.min(), -part.min(), -part.min(), np.prod(np.sqrt(part.astype(np.float64))), part.sum(dtype=np.float64)]
        want += [part.max(), -2.0 * part.min(), -part.max(), part.min()]
        want[8] = min(part.min(), -2.0 * part[0])
        np.testing.assert_allclose(got[0], want, rtol=2e-5)
        assert places.numpy()[first].tolist() == [int(part.argmin())] * 2


@wp.kernel(enable_backward=False, module="unique")
def of_a_block(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_store(out, wp.tile_load(x, shape=B, offset=i * B) * x[i], offset=i * B)


def test_code_made_ahead_does_not_take_blocks_for_threads():
    device = wp.get_device()
    of_a_block.module.load(device)  # nobody has said yet how it is launched
    x = wp.array(DATA, dtype=float, device=device)
    out = wp.zeros(4 * B, dtype=float, device=device)
    wp.launch_tiled(of_a_block, dim=4, inputs=[x, out], block_dim=B, device=device)
    assert np.array_equal(out.numpy(), DATA * np.repeat(DATA[:4], B))
