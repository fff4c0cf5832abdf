"""Cholesky factors of tiles of every size: blocks of four columns, and what is left of them, give the bits of the plain loops."""

import numpy as np
import pytest
import warp as wp


@pytest.fixture
def blocks_of_threads():
    wp.config.enable_cpu_blocks = True
    yield
    wp.config.enable_cpu_blocks = False


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


@pytest.fixture
def chosen_lanes():
    yield
    wp.config.cpu_lanes = 0


@pytest.mark.parametrize("dims", [(1,), (6,), (7,), (16,), (22,), (40,), (3, 9), (9, 3), (1, 17), (17, 1)])
def test_blocks_side_by_side_have_the_bits_of_blocks_alone(dims, chosen_lanes):
    """Groups of sixteen, what is left of them, and few blocks that run one by one; in one row of the grid and in several."""
    n, count = 10, int(np.prod(dims))

    @wp.kernel(module="unique", enable_backward=False)
    def solve(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float), where: wp.array(dtype=wp.vec2i)):
        i, j = wp.tid()
        w = i * wp.static(dims[1]) + j if wp.static(len(dims) == 2) else i
        factor = wp.tile_cholesky(wp.tile_load(a[w], shape=(n, n)))
        wp.tile_store(x[w], wp.tile_cholesky_solve(factor, wp.tile_load(b[w], shape=n)))
        where[w] = wp.vec2i(i, j)

    rng = np.random.default_rng(count)
    r = rng.normal(size=(count, n, n))
    a = wp.array((r @ r.transpose(0, 2, 1) + n * np.eye(n)).astype(np.float32))
    b = wp.array(rng.normal(size=(count, n)).astype(np.float32))
    found = []
    for lanes in (0, 16, 8, 4, 1):
        wp.config.cpu_lanes = lanes
        x, where = wp.zeros((count, n)), wp.zeros(count, dtype=wp.vec2i)
        wp.launch_tiled(solve, dim=dims, inputs=[a, b, x, where], block_dim=32)
        found.append(x.numpy())
        assert (where.numpy()[:, : len(dims)] == np.argwhere(np.ones(dims))).all()
    assert all(np.array_equal(one, found[-1]) for one in found)
    np.testing.assert_allclose(np.einsum("wij,wj->wi", a.numpy(), found[-1]), b.numpy(), rtol=1e-3, atol=1e-4)


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


def system_kernel(n, mode, inplace, dtype):
    @wp.kernel(module="unique", enable_backward=False)
    def kernel(
        a: wp.array3d(dtype=dtype),
        b: wp.array2d(dtype=dtype),
        l: wp.array3d(dtype=dtype),
        x: wp.array2d(dtype=dtype),
        y: wp.array2d(dtype=dtype),
    ):
        w = wp.tid()
        t = wp.tile_load(a[w], shape=(n, n))
        side = wp.tile_load(b[w], shape=n)
        if wp.static(inplace):
            wp.tile_cholesky_inplace(t, fill_mode=mode)
            wp.tile_store(l[w], t)
            wp.tile_store(x[w], wp.tile_cholesky_solve(t, side, fill_mode=mode))
        else:
            factor = wp.tile_cholesky(t, fill_mode=mode)
            wp.tile_store(l[w], factor)
            wp.tile_store(x[w], wp.tile_cholesky_solve(factor, side, fill_mode=mode))
        lower = wp.tile_load(l[w], shape=(n, n))
        if wp.static(mode == "lower"):
            wp.tile_lower_solve_inplace(lower, side)
        else:
            wp.tile_upper_solve_inplace(lower, side)
        wp.tile_store(y[w], side)

    return kernel


def wild_systems(n, dtype):
    """Systems whose numbers are plain, and such that a warp's quick arithmetic can't do: in the first columns, in later ones, everywhere."""
    rng = np.random.default_rng(n)
    r = rng.normal(size=(n, n))
    plain = r @ r.T + n * np.eye(n)
    late = plain.copy()
    late[-1, :-1] = late[:-1, -1] = 1e-32  # small dividends in the last row
    early = plain.copy()
    early[1:, 0] = early[0, 1:] = 1e-35
    large = plain * 1e30  # roots beyond 2**30
    tiny = plain * 1e-36
    nowhere = plain.copy()
    nowhere[n - 1, n - 1] = -1.0  # no factor from the last column on
    half = plain.copy()
    half[n // 2, n // 2] = -1.0
    sparse = np.eye(n) * 2.0
    sparse[n - 1, 0] = sparse[0, n - 1] = 0.5
    lost = plain.copy()
    lost[n // 2, 0] = lost[0, n // 2] = np.nan
    a = np.stack([plain, late, early, large, tiny, nowhere, half, sparse, lost]).astype(dtype)
    b = rng.normal(size=(len(a), n))
    b[2] *= 1e-34
    b[7] = 0.0
    return a, b.astype(dtype)


@pytest.mark.parametrize("mode", ["lower", "upper"])
@pytest.mark.parametrize("n, dtype", [*((n, np.float32) for n in (2, 9, 12, 13, 16, 23, 32)), (7, np.float64), (16, np.float64)])
def test_systems_have_the_bits_of_one_thread(n, mode, dtype, blocks_of_threads):
    """A warp factors some columns at a time, in loops, and does those again whose numbers its quick arithmetic is not for."""
    a, b = wild_systems(n, dtype)
    # Nobody reads the other triangle: what stands there must not matter.
    other = np.triu(np.ones((n, n), bool), 1) if mode == "lower" else np.tril(np.ones((n, n), bool), -1)
    a[0][other] = 7.0
    kernels = {inplace: system_kernel(n, mode, inplace, wp.dtype_from_numpy(dtype)) for inplace in (False, True)}

    def results(block, inplace, device):
        inputs = [wp.array(v, device=device) for v in (a, b)]
        made = [wp.zeros(shape, dtype=wp.dtype_from_numpy(dtype), device=device) for shape in (a.shape, b.shape, b.shape)]
        wp.launch_tiled(kernels[inplace], dim=len(a), inputs=[*inputs, *made], block_dim=block, device=device)
        return [v.numpy() for v in made]

    want = results(1, False, "cpu")
    assert np.isfinite(want[1][0]).all()
    for block in (32, 64) if n > 16 else (32, 96):
        for inplace in (False, True):
            got = results(block, inplace, wp.get_device())
            for name, g, w in zip(("factor", "solution", "half of it"), got, want, strict=True):
                assert np.array_equal(g, w, equal_nan=True), (name, block, inplace)


@wp.func
def doubled(t: wp.tile(dtype=float, shape=(24, 24))):
    t += t


def change_kernel(how, n):
    @wp.kernel(module="unique", enable_backward=False)
    def kernel(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array3d(dtype=float)):
        w = wp.tid()
        t = wp.tile_load(a[w], shape=(n, n))
        side = wp.tile_load(b[w], shape=n)
        factor = wp.tile_cholesky(t)
        wp.tile_store(x[w, 0], wp.tile_cholesky_solve(factor, side))
        if wp.static(how == "operator"):
            factor += factor
        elif wp.static(how == "window"):
            part = wp.tile_view(factor, offset=(3, 2), shape=(2, 1))
            wp.tile_assign(part, wp.tile_ones(shape=(2, 1), dtype=float))
        elif wp.static(how == "function"):
            doubled(factor)
        elif wp.static(how == "branch"):
            if w == 1:
                factor += factor
        elif wp.static(how == "element"):
            factor[5, 1] = 2.0
        elif wp.static(how == "again"):
            factor = wp.tile_cholesky(t + t)
        elif wp.static(how == "in place"):
            factor += wp.tile_transpose(factor)
            wp.tile_cholesky_inplace(factor)
        wp.tile_store(x[w, 1], wp.tile_cholesky_solve(factor, side))
        for turn in range(2):
            wp.tile_store(x[w, 2 + turn], wp.tile_lower_solve(factor, side))
            factor += factor

    return kernel


@pytest.mark.parametrize("how", ["operator", "window", "function", "branch", "element", "again", "in place", "nothing"])
def test_a_factor_that_changes_is_solved_with_as_it_is(how, blocks_of_threads):
    """A factor of more than 16 rows lies in memory twice, and both are the same only until somebody writes to it."""
    n = 24
    a, b = (v[:3] for v in wild_systems(n, np.float32))
    kernel = change_kernel(how, n)

    def results(block, device):
        x = wp.zeros((3, 4, n), dtype=float, device=device)
        inputs = [wp.array(a, device=device), wp.array(b, device=device), x]
        wp.launch_tiled(kernel, dim=3, inputs=inputs, block_dim=block, device=device)
        return x.numpy()

    want = results(1, "cpu")
    changes = (want[:, 0] != want[:, 1]).any(axis=1)
    assert changes.tolist() == ([False] * 3 if how == "nothing" else [False, True, False] if how == "branch" else [True] * 3)
    for block in (32, 64):
        assert np.array_equal(results(block, wp.get_device()), want), block
