"""Tiles by indices of tiles and of threads, choices between tiles, names that get another shape, and printing."""

import os

import numpy as np
import pytest

import warp as wp

rng = np.random.default_rng(5)


BLOCK = int(os.environ.get("WEFT_TILE_BLOCK", "32"))  # threads of a block on GPUs


def run(kernel, *arguments, dim=1):
    wp.launch_tiled(kernel, dim=dim, inputs=list(arguments), block_dim=BLOCK)


def arr(values, dtype=float, **options):
    return wp.array(np.asarray(values), dtype=dtype, **options)


def zeros(shape, dtype=float, **options):
    return wp.zeros(shape, dtype=dtype, **options)


@wp.kernel
def pick_rows(x: wp.array2d(dtype=float), at: wp.array(dtype=int), y: wp.array2d(dtype=float)):
    t = wp.tile_load(x, shape=(5, 3))
    wp.tile_store(y, t[wp.tile_load(at, shape=4), :])


@wp.kernel
def pick_columns(x: wp.array2d(dtype=float), at: wp.array(dtype=int), y: wp.array2d(dtype=float)):
    t = wp.tile_load(x, shape=(5, 3))
    columns = wp.tile_load(at, shape=4)
    wp.tile_store(y, t[1:4][:, columns])


def test_index_tiles_pick_rows_and_columns():
    x = rng.normal(size=(5, 3)).astype(np.float32)
    y = zeros((4, 3))
    run(pick_rows, arr(x), arr([4, -1, 0, -5], int), y)
    np.testing.assert_array_equal(y.numpy(), x[[4, -1, 0, -5]])
    y = zeros((3, 4))
    run(pick_columns, arr(x), arr([2, 0, -1, 2], int), y)
    np.testing.assert_array_equal(y.numpy(), x[1:4][:, [2, 0, -1, 2]])


def test_index_tiles_outside_give_zero():
    y = zeros((4, 3))
    run(pick_rows, arr(np.ones((5, 3))), arr([5, 0, -6, 2**30], int), y)
    np.testing.assert_array_equal(y.numpy()[:, 0], [0, 1, 0, 0])


def test_rows_that_are_picked_twice_get_both_gradients():
    x, y = arr(np.ones((5, 3)), requires_grad=True), zeros((4, 3), requires_grad=True)
    with wp.Tape() as tape:
        run(pick_rows, x, arr([1, 1, 3, -2], int), y)
    seeds = rng.normal(size=(4, 3)).astype(np.float32)
    tape.backward(grads={y: arr(seeds)})
    want = np.zeros((5, 3), np.float32)
    np.add.at(want, [1, 1, 3, 3], seeds)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


def test_a_picked_part_is_a_copy():
    @wp.kernel
    def change(y: wp.array2d(dtype=float)):
        t = wp.tile_ones((3, 2), dtype=float)
        part = t[wp.tile_arange(2, dtype=int), :]
        part *= 5.0
        wp.tile_store(y, t)
        wp.tile_store(y, wp.tile_slice_indexed(t, (wp.tile_arange(1, 3, dtype=int), 0)) * 2.0, offset=(3, 0))
        wp.tile_store(y, part, offset=(5, 0))

    y = zeros((7, 2))
    run(change, y)
    np.testing.assert_array_equal(y.numpy()[:, 0], [1, 1, 1, 2, 2, 5, 5])


@pytest.mark.cpu_only("as one thread does it; test_tile_blocks.py has the others")
def test_an_index_is_evaluated_once():
    @wp.kernel
    def count(calls: wp.array(dtype=int), y: wp.array(dtype=float)):
        t = wp.tile_arange(4, dtype=float)
        y[0] = t[wp.atomic_add(calls, 0, 1) + 2]
        rows = wp.tile_reshape(t, (2, 2))
        wp.tile_store(y, rows[wp.atomic_add(calls, 0, 1)], offset=1)

    calls, y = zeros(1, int), zeros(3)
    run(count, calls, y)
    assert calls.numpy()[0] == 2
    np.testing.assert_array_equal(y.numpy(), [2, 2, 3])


def test_rows_count_from_the_end_at_run_time():
    @wp.kernel
    def row(x: wp.array2d(dtype=float), at: int, y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=(5, 3))
        wp.tile_store(y, t[at, :])

    x = rng.normal(size=(5, 3)).astype(np.float32)
    for at in (-5, -1, 0, 4):
        y = zeros(3)
        run(row, arr(x), at, y)
        np.testing.assert_array_equal(y.numpy(), x[at])


@pytest.mark.cpu_only("as one thread does it; test_tile_blocks.py has the others")
def test_threads_change_elements():
    @wp.kernel
    def change(y: wp.array2d(dtype=int), z: wp.array(dtype=float), n: int):
        t = wp.tile_full((2, 2), 12)
        wp.tile_add_inplace(t, 0, 0, 5)
        wp.tile_sub_inplace(t, 0, n, 5)
        wp.tile_bit_and_inplace(t, 1, 0, 9)
        wp.tile_bit_or_inplace(t, 1, n, 3)
        wp.tile_bit_xor_inplace(t, -1, n, 1)
        wp.tile_add_inplace(t, 7 * n, 0, 100)
        wp.tile_store(y, t)
        u = wp.tile_ones(2, dtype=float)
        wp.tile_sub_inplace(u, n, 0.25)
        wp.tile_store(z, u)

    y, z = zeros((2, 2), int), zeros(2)
    run(change, y, z, 1)
    np.testing.assert_array_equal(y.numpy(), [[17, 7], [8, 14]])
    np.testing.assert_array_equal(z.numpy(), [1.0, 0.75])


def test_where_chooses_tiles():
    @wp.kernel
    def choose(x: wp.array2d(dtype=float), n: int, y: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=(3, 3))
        u = wp.where(n > 0, t, wp.tile_transpose(t))
        u *= 2.0
        wp.tile_store(y, u)
        wp.tile_store(y, t, offset=(3, 0))

    x = rng.normal(size=(3, 3)).astype(np.float32)
    for n in (0, 1):
        y = zeros((6, 3))
        run(choose, arr(x), n, y)
        np.testing.assert_array_equal(y.numpy()[:3], 2 * (x if n else x.T))
        np.testing.assert_array_equal(y.numpy()[3:], x)


@wp.func
def positive(x: float):
    return x > 0.0


def test_where_by_elements():
    @wp.kernel
    def choose(x: wp.array(dtype=float), y: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=6)
        mask = wp.tile_map(positive, t)
        wp.tile_store(y[0], wp.where(mask, t, t * -3.0))
        wp.tile_store(y[1], wp.where(mask, t, 0.0))
        wp.tile_store(y[2], wp.where(mask, 1.0, t))

    x = rng.normal(size=6).astype(np.float32)
    y = zeros((3, 6))
    run(choose, arr(x), y)
    want = [np.where(x > 0, x, x * np.float32(-3)), np.where(x > 0, x, 0), np.where(x > 0, 1, x)]
    np.testing.assert_array_equal(y.numpy(), want)


def test_a_name_may_get_another_shape():
    @wp.kernel
    def reuse(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=(4, 4))
        y[0] = wp.tile_sum(t)[0]
        t = wp.tile_load(x, shape=(2, 3))
        y[1] = wp.tile_sum(t)[0]
        t = wp.tile_sum(t, axis=0)
        wp.tile_store(y, t, offset=2)

    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    y = zeros(5)
    run(reuse, arr(x), y)
    np.testing.assert_array_equal(y.numpy(), [120, x[:2, :3].sum(), *x[:2, :3].sum(axis=0)])


def test_map_with_default_and_static_functions():
    @wp.func
    def scaled(x: float, by: float = 3.0):
        return x * by

    def power(n):
        @wp.func
        def f(x: float):
            return x**n

        return f

    square = power(2.0)

    @wp.kernel
    def mapped(x: wp.array(dtype=float), y: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=4)
        wp.tile_store(y[0], wp.tile_map(scaled, t))
        wp.tile_store(y[1], wp.tile_map(scaled, t, 0.5))
        wp.tile_store(y[2], wp.tile_map(wp.static(square), t))

    x = np.array([1, 2, 3, 4], np.float32)
    y = zeros((3, 4))
    run(mapped, arr(x), y)
    np.testing.assert_allclose(y.numpy(), [3 * x, x / 2, x**2], rtol=1e-6)


@wp.kernel(module="unique", enable_backward=False)
def show(x: wp.array2d(dtype=float)):
    t = wp.tile_load(x, shape=(2, 3), storage="shared")
    wp.print(wp.tile_arange(4, dtype=int))
    wp.print(t)
    print(wp.tile_transpose(t))
    wp.print(wp.tile_ones(2, dtype=wp.vec2))
    wp.print(wp.tile_arange(1000, dtype=wp.uint64))


def test_printing(capfd):
    run(show, arr(np.arange(6).reshape(2, 3) + 0.5))
    wp.synchronize()
    assert capfd.readouterr().out.splitlines() == [
        "[0 1 2 3] = tile(shape=(4), storage=register)",
        "[[0.5 1.5 2.5]",
        " [3.5 4.5 5.5]] = tile(shape=(2,3), storage=shared)",
        "[[0.5 3.5]",
        " [1.5 4.5]",
        " [2.5 5.5]] = tile(shape=(3,2), storage=shared)",
        "[(1 1) (1 1)] = tile(shape=(2), storage=register)",
        "[0 1 2 ... 997 998 999] = tile(shape=(1000), storage=register)",
    ]


def test_ranges_have_as_many_elements_as_their_numbers_say():
    @wp.kernel
    def ranges(f: wp.array2d(dtype=float), g: wp.array(dtype=wp.int64)):
        wp.tile_store(f[0], wp.tile_arange(0.0, 0.3, 0.1))
        wp.tile_store(f[1], wp.tile_arange(2.0, 0.0, -0.3))
        wp.tile_store(g, wp.tile_arange(0, 9007199254740993, 9007199254740992, dtype=wp.int64))

    f, g = arr(np.full((2, 9), -1.0)), arr(np.full(4, -1), wp.int64)
    run(ranges, f, g)
    np.testing.assert_allclose(f.numpy()[0], [0, 0.1, 0.2] + 6 * [-1], rtol=1e-6)
    np.testing.assert_allclose(f.numpy()[1], [*np.arange(2.0, 0.0, -0.3), -1, -1], rtol=1e-6)
    assert g.numpy().tolist() == [0, 2**53, -1, -1]


def test_products_with_beta_zero_do_not_read_what_was_there():
    @wp.kernel
    def product(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), beta: float):
        t = wp.tile_load(x, shape=(3, 3))
        out = wp.tile_load(y, shape=(3, 3))
        wp.tile_matmul(t, t, out, beta=beta)
        wp.tile_store(y, out)

    y = arr(np.full((3, 3), np.nan))
    run(product, arr(np.ones((3, 3))), y, 0.0)
    np.testing.assert_array_equal(y.numpy(), np.full((3, 3), 3.0))


@pytest.mark.cpu_only("as one thread does it; test_tile_blocks.py has the others")
def test_stacks_as_parameters():
    @wp.func
    def fill(s: wp.tile_stack(capacity=4, dtype=int), n: int):
        for i in range(n):
            wp.tile_stack_push(s, 10 * i, True)

    @wp.kernel
    def stacked(y: wp.array(dtype=int)):
        s = wp.tile_stack(capacity=4, dtype=int)
        fill(s, 6)
        y[0] = wp.tile_stack_count(s)
        value, slot = wp.tile_stack_pop(s)
        y[1] = value
        y[2] = slot

    y = zeros(3, int)
    run(stacked, y)
    assert y.numpy().tolist() == [4, 30, 3]
    with pytest.raises(ValueError, match="positive integer"):
        wp.tile_stack(capacity=0, dtype=int)


def test_indexed_arrays():
    @wp.kernel
    def double(x: wp.indexedarray(dtype=float, ndim=2), y: wp.indexedarray(dtype=float), z: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=(2, 3), offset=(1, 0))
        wp.tile_store(y, wp.tile_sum(t, axis=0))
        old = wp.tile_atomic_add(y, wp.tile_ones(3, dtype=float))
        wp.tile_store(z, old)

    x = rng.normal(size=(6, 4)).astype(np.float32)
    rows, columns = [5, 0, 2], [3, 1]
    y, z = zeros(6), zeros(3)
    picked = wp.indexedarray(arr(x), [arr(rows, int), arr(columns, int)])
    run(double, picked, wp.indexedarray(y, [arr([4, 0, 2], int)]), z)
    part = np.zeros((2, 3), np.float32)
    part[:, :2] = x[rows][1:, columns]
    want = part.sum(axis=0)
    np.testing.assert_allclose(z.numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(y.numpy()[[4, 0, 2]], want + 1, rtol=1e-6)


@wp.struct
class Mixed:
    x: float
    v: wp.vec3
    n: int
    flag: bool


def test_sums_of_structs():
    @wp.kernel
    def k(a: wp.array(dtype=Mixed), b: wp.array(dtype=Mixed), c: wp.array(dtype=Mixed), d: wp.array(dtype=Mixed)):
        t = wp.tile_load(a, shape=2)
        u = t + t
        u -= t
        u += t
        wp.tile_store(b, u)
        old = wp.tile_atomic_add(c, t)
        wp.tile_atomic_add(c, old)
        wp.tile_store(d, wp.tile_map(wp.add, old, wp.tile_atomic_add(c, t)))

    one = Mixed()
    one.x, one.v, one.n, one.flag = 1.5, wp.vec3(1.0, 2.0, 3.0), 4, True
    a = wp.array([one, one], dtype=Mixed)
    b, c, d = (wp.zeros(2, dtype=Mixed) for _ in range(3))
    run(k, a, b, c, d)
    assert [tuple(np.ravel(part)) for part in b.numpy()[0]] == [(3.0,), (2.0, 4.0, 6.0), (8,), (1,)]
    assert [tuple(np.ravel(part)) for part in c.numpy()[1]] == [(3.0,), (2.0, 4.0, 6.0), (8,), (0,)]
    assert [tuple(np.ravel(part)) for part in d.numpy()[0]] == [(1.5,), (1.0, 2.0, 3.0), (4,), (0,)]


def test_elements_that_are_structs():
    """What threads add to one element is all there, field by field; flags stay."""

    @wp.kernel
    def k(a: wp.array(dtype=Mixed), b: wp.array(dtype=Mixed)):
        _i, lane = wp.tid()
        t = wp.tile_zeros(shape=4, dtype=Mixed)
        one = Mixed()
        if lane == 0:
            one = a[0]
        t[0] += one
        t[1] -= one
        wp.tile_scatter_add(t, 2, one, lane == 0)
        t[3].x += one.x
        wp.tile_store(b, t)

    one = Mixed()
    one.x, one.v, one.n, one.flag = 1.5, wp.vec3(1.0, 2.0, 3.0), 4, True
    b = wp.zeros(4, dtype=Mixed)
    run(k, wp.array([one], dtype=Mixed), b)
    got = [[tuple(np.ravel(part)) for part in row] for row in b.numpy()]
    assert got[0] == [(1.5,), (1.0, 2.0, 3.0), (4,), (0,)]
    assert got[1] == [(-1.5,), (-1.0, -2.0, -3.0), (-4,), (0,)]
    assert got[2] == got[0] and got[3] == [(1.5,), (0.0, 0.0, 0.0), (0,), (0,)]


def test_slices_as_values():
    """slice(…) where t[…] has a slice: in tile_view, and in brackets."""

    @wp.kernel
    def k(x: wp.array2d(dtype=float), n: int, y: wp.array2d(dtype=float), z: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=(6, 5))
        wp.tile_store(y, wp.tile_view(t, offset=(slice(1, -1, 2), slice(None, None, -1))))
        wp.tile_store(z, wp.tile_view(t, offset=(n, slice(-3, None))))
        wp.tile_store(z, t[slice(2), 4], offset=3)
        wp.tile_view(t, offset=slice(0, 1))[0, 0] = 7.0
        wp.tile_store(z, t[0, 0:1], offset=5)

    x = rng.normal(size=(6, 5)).astype(np.float32)
    y, z = zeros((2, 5)), zeros(6)
    run(k, arr(x), 4, y, z)
    np.testing.assert_array_equal(y.numpy(), x[1:-1:2, ::-1])
    np.testing.assert_array_equal(z.numpy(), [*x[4, -3:], *x[:2, 4], 7.0])


def test_lengths_in_static_expressions():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=(3, 4))
        u = wp.tile_zeros(shape=wp.static(len(t) + len(t[0])), dtype=float)
        wp.tile_store(y, u + wp.tile_ones(shape=7, dtype=float))

    y = zeros(8)
    run(k, arr(np.zeros((3, 4))), y)
    assert y.numpy().tolist() == [1.0] * 7 + [0.0]


@pytest.mark.parametrize("dtype", [wp.int64, wp.uint64, wp.uint32])
def test_wide_indices(dtype):
    """Indices and offsets of any width: those beyond a tile are outside, also where their low bits are not."""

    @wp.kernel
    def k(x: wp.array(dtype=float), n: dtype, y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=4)
        y[0] = t[n]
        t[n] = 9.0
        wp.tile_store(y, wp.tile_view(t, offset=(n,), shape=(2,)), offset=1)

    far = {wp.int64: [1 << 32, -(1 << 32), (1 << 40) + 1], wp.uint64: [1 << 32, (1 << 63) + 1], wp.uint32: [0xFFFFFFFF, 0x80000001]}
    x = arr([1.0, 2.0, 3.0, 4.0])
    for n in far[dtype]:
        y = zeros(3)
        run(k, x, dtype(n), y)
        assert y.numpy().tolist() == [0.0, *([1.0, 2.0] if n < 0 else [3.0, 4.0])]
    y = zeros(3)
    run(k, x, dtype(2), y)
    assert y.numpy().tolist() == [3.0, 9.0, 4.0]


def test_windows_of_what_a_loop_makes():
    """A name that a loop changes may become a part of a tile that the turn makes."""

    @wp.kernel
    def k(x: wp.array2d(dtype=float), n: int, y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=(4, 4))
        u = wp.tile_load(x, shape=(2, 4))
        for _turn in range(n):
            t = t[wp.tile_arange(3, -1, -1, dtype=int), :]
            u = (t + t)[1:3]
        wp.tile_store(y, t)
        wp.tile_store(z, u)

    x = rng.normal(size=(4, 4)).astype(np.float32)
    for n in range(4):
        y, z = zeros((4, 4)), zeros((2, 4))
        run(k, arr(x), n, y, z)
        now = x[::-1] if n % 2 else x
        np.testing.assert_array_equal(y.numpy(), now)
        np.testing.assert_array_equal(z.numpy(), 2 * now[1:3] if n else x[:2])


def test_elements_take_numbers_of_other_types():
    @wp.kernel
    def k(n: int, y: wp.array2d(dtype=float), whole: wp.array(dtype=int), v: wp.array(dtype=wp.vec3)):
        t = wp.tile_zeros((2, 2), dtype=float)
        t[0, 0] = 7
        t[0, 1] = n + 1
        t[n, n] = wp.float64(0.5)
        wp.tile_store(y, t)
        w = wp.tile_zeros(3, dtype=int)
        w[0] = 2.7
        w[1] = float(n) + 0.5
        w[2] = wp.int64(-3)
        wp.tile_store(whole, w)
        u = wp.tile_zeros(1, dtype=wp.vec3)
        u[0][1] = n
        wp.tile_store(v, u)

    y, whole, v = zeros((2, 2)), zeros(3, int), zeros(1, wp.vec3)
    run(k, 1, y, whole, v)
    np.testing.assert_array_equal(y.numpy(), [[7, 2], [0, 0.5]])
    np.testing.assert_array_equal(whole.numpy(), [2, 1, -3])
    np.testing.assert_array_equal(v.numpy(), [[0, 1, 0]])
