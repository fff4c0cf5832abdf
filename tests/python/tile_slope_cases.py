"""Kernels of tiles whose derivatives test_tile_slopes.py checks, one for each builtin that has a rule or a path of its own, straight, in loops and
in place: gradients beside differences, forward mode and Hessians times vectors, in float64.

Each kernel takes rows of x and whole numbers, and fills rows of y; what threads do hangs on the size of a block only where it must.
"""

import numpy as np
from tile_executors import Executor, blocks_of

import warp as wp

f64 = wp.float64
WORLDS, N, M = 2, 45, 64  # rows, numbers of x and y in each
CASES: dict[str, wp.Kernel] = {}
FAR: dict[str, float] = {}  # steps of differences that are not the usual ones


def case(function) -> wp.Kernel:
    CASES[function.__name__] = wp.kernel(function)
    return CASES[function.__name__]


@wp.func
def bent(x: f64, y: f64):
    return wp.sin(x) * y + f64(0.25) * x


@wp.func
def joined(x: f64, y: f64):
    return x + y + f64(0.125) * x * y


@wp.func
def paired(x: f64, y: f64):
    return wp.vec3d(x, x * y, y)


@case
def stored_rows(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Rows go where indices say; the tile changes behind it."""
    world = wp.tid()
    t = wp.tile_reshape(wp.tile_load(x[world], shape=24), (6, 4))
    rows = wp.tile_arange(9, -3, -2, dtype=int)
    whole = wp.tile_zeros(shape=(8, 8), dtype=f64)
    out = y[world]
    wp.tile_store_indexed(out, rows, wp.tile_sum(t, axis=1), offset=(3,))
    t *= wp.tile_broadcast(wp.tile_load(x[world], shape=4, offset=30), shape=(6, 4))
    wp.tile_store_indexed(out, wp.tile_arange(20, 26, dtype=int), wp.tile_map(wp.exp, wp.tile_sum(t, axis=1)))
    whole[0, 0] = t[1, 2]
    wp.tile_store(out, wp.tile_reshape(whole, (64,))[0:3], offset=40)


@case
def stored_columns(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world = wp.tid()
    t = wp.tile_reshape(wp.tile_load(x[world], shape=30), (1, 30))
    odd = wp.tile_arange(1, 61, 2, dtype=int)
    for k in range(2):
        u = wp.tile_map(bent, t, t) * f64(k + 1)
        wp.tile_store_indexed(y, odd - wp.tile_full(30, k, dtype=int), u, offset=(world, 0), axis=1)
        t *= u


@case
def added_rows(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Rows that are added, some to one place, some outside."""
    world = wp.tid()
    t = wp.tile_load(x[world], shape=12)
    picked = wp.tile_load(at, shape=12)
    out = y[world]
    for k in range(3):
        wp.tile_atomic_add_indexed(out, picked, wp.tile_map(bent, t, t[::-1]), offset=k)
        t = t * t
    wp.tile_atomic_add(out, t, offset=5)
    wp.tile_atomic_add_indexed(y, picked, wp.tile_reshape(t, (1, 12)), offset=(world, 20), axis=1)


@case
def picked_rows(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Along both axes, some twice, some outside."""
    world = wp.tid()
    picked = wp.tile_load(at, shape=6)
    t = wp.tile_load_indexed(x[world], picked, shape=(6,), offset=(3,))
    u = wp.tile_load_indexed(x, picked, shape=(2, 6), offset=(0, 1), axis=1)
    v = wp.tile_load_indexed(x, wp.tile_arange(3, -1, -1, dtype=int), shape=(4, 5), axis=0)
    wp.tile_store(y[world], wp.tile_map(bent, t, u[0]))
    wp.tile_store(y[world], wp.tile_map(bent, u[1], t[::-1]), offset=6)
    wp.tile_store(y[world], wp.tile_map(joined, v[2], v[3]), offset=20)
    for k in range(3):
        t = wp.tile_slice_indexed(t * t, wp.tile_arange(5, -1, -1, dtype=int))
        t[k] = u[1, k]
    wp.tile_store(y[world], t, offset=30)


@case
def scattered(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Threads add to elements, many to one, in a loop."""
    world, lane = wp.tid()
    t = wp.tile_map(wp.sin, wp.tile_load(x[world], shape=16))
    for turn in range(2):
        for j in range(lane, N, wp.block_dim()):
            wp.tile_scatter_add(t, at[j % at.shape[0]], x[world, j] * x[world, N - 1 - j], j % 3 != turn)
        t = wp.tile_map(bent, t, t[::-1])
    for j in range(lane, 16, wp.block_dim()):
        wp.tile_scatter_add(t, 15 - j, wp.exp(x[world, j]), j % 2 == 0, atomic=False)
    wp.tile_store(y[world], t)


@case
def scattered_by_some(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Stores of threads over what was there."""
    world, lane = wp.tid()
    t = wp.tile_map(wp.sin, wp.tile_load(x[world], shape=40))
    for j in range(lane, 40, wp.block_dim()):
        wp.tile_scatter_masked(t, j, x[world, j] * x[world, N - 1 - j], j % 3 == 1)
    u = t * t
    for j in range(lane, 40, wp.block_dim()):
        u[j] = u[j] * wp.sin(x[world, j])
    wp.tile_store(y[world], u + t)


@case
def elements_in_place(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Elements that all threads change, and single threads."""
    world, lane = wp.tid()
    t = wp.tile_load(x[world], shape=20)
    for j in range(lane, 40, wp.block_dim()):
        wp.tile_add_inplace(t, j % 20, x[world, j] * x[world, j])
        wp.tile_sub_inplace(t, at[j % at.shape[0]], wp.sin(x[world, j]))
    if lane == 0:
        t[3] *= t[4]
    t[5] = t[6] * t[7]
    a = wp.tile_extract(t, 5)
    wp.tile_store(y[world], wp.tile_map(bent, t, t) * a)


@case
def from_one_thread(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world, lane = wp.tid()
    own = wp.sin(x[world, lane % N]) * x[world, 1]
    last = wp.tile_from_thread(shape=7, value=own, thread_idx=wp.block_dim() - 1)
    first = wp.tile_from_thread(shape=7, value=own * own, thread_idx=-5, storage="shared")
    t = wp.tile_load(x[world], shape=7)
    for k in range(3):
        last = wp.tile_map(bent, last, t) + wp.tile_from_thread(shape=7, value=last[k] * own, thread_idx=k)
    wp.tile_store(y[world], last)
    wp.tile_store(y[world], wp.tile_map(bent, first, t), offset=10)


@case
def values_of_threads(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world, lane = wp.tid()
    own = f64(0.0)
    for j in range(lane, N, wp.block_dim()):
        own += wp.sin(x[world, j])
    t = wp.tile(own)
    s = wp.tile_sum(t)
    total = wp.tile_scan_inclusive(t * s[0])
    mine = wp.untile(wp.tile_map(bent, t, total))
    v = wp.tile_sum(wp.tile(wp.vec3d(own, mine, own * mine)), axis=1)
    u = wp.tile_reduce(wp.add, wp.tile(wp.vec3d(own, mine, own * mine), preserve_type=True))
    wp.tile_store(y[world], v)
    y[world, 10] = wp.dot(u[0], wp.vec3d(f64(1.0), f64(2.0), f64(3.0)))
    if lane == 0:
        y[world, 11] = mine * own


@case
def windows_in_place(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Squeezed, transposed, reshaped, broadcast, at places that the block computes."""
    world = wp.tid()
    t = wp.tile_reshape(wp.tile_load(x[world], shape=30), (5, 6))
    for k in range(3):
        row = wp.tile_squeeze(wp.tile_view(t, offset=(k, 1), shape=(1, 4)))
        row *= wp.tile_squeeze(wp.tile_view(t, offset=(0, k), shape=(4, 1)), axis=(1,))
        wp.tile_transpose(t)[k] += t[:, 5] * t[k, 2]
        t[1:, ::2] = t[:-1, ::2]
        wp.tile_assign(t, wp.tile_broadcast(t[k, 0:2], shape=(2, 2)), offset=(k, k + 1))
        t = wp.tile_map(wp.sin, t)
    wp.tile_store(y[world], wp.tile_reshape(t, (30,)))


@case
def converted(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """By way of float32, and of whole numbers, through which nothing flows."""
    world = wp.tid()
    t = wp.tile_load(x[world], shape=20)
    u = wp.tile_astype(wp.tile_astype(t * t, wp.float32) * wp.float32(3.0), f64)
    n = wp.tile_astype(wp.tile_astype(t * f64(0.0) + wp.tile_full(20, f64(3.7), dtype=f64), int), f64)
    wp.tile_store(y[world], wp.tile_map(wp.mul, u, t))
    wp.tile_store(y[world], wp.tile_map(wp.mul, n, t), offset=20)


FAR["converted"] = 1e-2


@case
def extremes(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world = wp.tid()
    t = wp.tile_map(wp.sin, wp.tile_load(x[world], shape=33))
    for k in range(3):
        low, high = wp.tile_min(t), wp.tile_max(t)
        t[k] = low[0] * high[0]
        t[4 + k] = t[wp.tile_argmin(t)[0]] * f64(0.5)
        t[9 + k] = t[wp.tile_argmax(t)[0]] * f64(0.25)
    wp.tile_store(y[world], t)
    wp.tile_store(y[world], wp.tile_reduce(wp.min, wp.tile_reshape(t, (3, 11)), axis=0), offset=33)
    wp.tile_store(y[world], wp.tile_reduce(wp.max, wp.tile_reshape(t, (3, 11)), axis=1), offset=50)


@case
def reductions(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """By functions of two, whole and along axes, of odd extents."""
    world = wp.tid()
    t = wp.tile_reshape(wp.tile_load(x[world], shape=45), (3, 3, 5))
    wp.tile_store(y[world], wp.tile_reshape(wp.tile_reduce(joined, t, axis=1), (15,)))
    wp.tile_store(y[world], wp.tile_reshape(wp.tile_reduce(joined, t, axis=2), (9,)), offset=15)
    s = wp.tile_reduce(joined, t[0])
    for k in range(2):
        t *= s[0] * f64(0.1)
        s = wp.tile_reduce(joined, t)
    wp.tile_store(y[world], s, offset=30)
    wp.tile_store(y[world], wp.tile_reduce(wp.mul, wp.tile_load(x[world], shape=7)), offset=31)
    v = wp.tile_map(paired, wp.tile_load(x[world], shape=40), wp.tile_load(x[world], shape=40, offset=5))
    total = wp.tile_sum(v)[0]
    y[world, 40] = wp.length(total)
    wp.tile_store(y[world], wp.tile_dot(v, v[::-1]), offset=41)


@case
def scans(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world = wp.tid()
    t = wp.tile_load(x[world], shape=45)
    before = wp.tile_scan_exclusive(wp.tile_map(wp.sin, t))
    wp.tile_store(y[world], wp.tile_map(wp.mul, before, t))
    u = wp.tile_load(x[world], shape=9)
    for k in range(2):
        u = wp.tile_scan_exclusive(u * u) + u
    wp.tile_store(y[world], u, offset=50)


@case
def running_extremes(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world = wp.tid()
    t = wp.tile_load(x[world], shape=45)
    high = wp.tile_scan_max_inclusive(t)
    low = wp.tile_scan_min_inclusive(wp.tile_map(bent, t, t[::-1]))
    wp.tile_store(y[world], wp.tile_map(bent, high, low))
    wp.tile_store(y[world], wp.tile_scan_max_inclusive(wp.tile_reshape(low[0:16], (4, 4))[1]), offset=50)


@case
def sorted_twice(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world = wp.tid()
    keys = wp.tile_load(x[world], shape=33)
    values = wp.tile_map(wp.sin, wp.tile_load(x[world], shape=33, offset=12))
    for _k in range(2):
        wp.tile_sort(keys, values)
        other = wp.tile_map(bent, values, keys)
        values = keys * f64(0.5)
        keys = other
    wp.tile_store(y[world], wp.tile_map(bent, keys, values))


@case
def sums_in_place(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """Multiples that are added, sums onto diagonals, sums that go to arrays and come back; loops that data ends."""
    world, lane = wp.tid()
    t = wp.tile_load(x[world], shape=(16,))
    a = wp.tile_reshape(t, (4, 4))
    k = int(0)
    while wp.tile_sum(t)[0] < f64(9.0):
        wp.tile_axpy(t[k], wp.tile_map(wp.sin, t), t)
        a = wp.tile_diag_add(a, t[0:4])
        k += 1
        if k > 2:
            break
        d = wp.tile_dot(a, a)[0] * f64(0.1)
        if lane == 0:
            t[k] += d
    wp.tile_store(y[world], t)
    wp.tile_atomic_add(y[world], wp.tile_reshape(a, (16,)), offset=20)


@case
def values_before(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    """What additions find; only where one thread after the other runs."""
    world = wp.tid()
    t = wp.tile_load(x[world], shape=12)
    out = y[world]
    wp.tile_store(out, wp.tile_map(wp.cos, wp.tile_load(x[world], shape=40, offset=3)))
    before = wp.tile_atomic_add_indexed(out, wp.tile_arange(12, dtype=int) * 2, t * t, offset=30)
    before *= wp.tile_atomic_add(out, wp.tile_map(bent, before, t), offset=6)
    wp.tile_atomic_add(out, wp.tile_map(wp.mul, before, t), offset=50)


IN_ORDER = {"values_before"}  # for blocks of one thread on the CPU


@case
def spectra(x: wp.array2d(dtype=f64), at: wp.array(dtype=int), y: wp.array2d(dtype=f64)):
    world = wp.tid()
    t = wp.tile_map(wp.vec2d, wp.tile_load(x[world], shape=15), wp.tile_load(x[world], shape=15, offset=20))
    wp.tile_fft(t)
    u = t * t[3][0]
    wp.tile_ifft(u)
    for k in range(15):
        y[world, k] = u[k][0]
        y[world, 20 + k] = u[k][1] * u[k][0]


def loss_of(y: wp.array, weights: wp.array) -> wp.array:
    loss = wp.zeros(1, dtype=f64, device=y.device, requires_grad=True)
    wp.launch(weigh, dim=y.shape, inputs=[y, weights, loss], device=y.device)
    return loss


@wp.kernel
def weigh(y: wp.array2d(dtype=f64), w: wp.array2d(dtype=f64), loss: wp.array(dtype=f64)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, w[i, j] * (y[i, j] + f64(0.5) * y[i, j] * y[i, j]))


class Slopes:
    """A kernel on an executor, as a function of x whose result is one number."""

    def __init__(self, name: str, executor: Executor):
        rng = np.random.default_rng(len(name))
        self.kernel, self.executor = CASES[name], executor
        self.x, self.along = rng.normal(size=(WORLDS, N)), rng.normal(size=(WORLDS, N))
        self.device = executor[0]
        self.at = wp.array(np.array([3, 0, 7, 3, -9, 15, 2, 11, 3, 99, 5, 6], np.int32), device=self.device)
        self.weights = wp.array(rng.normal(size=(WORLDS, M)), dtype=f64, device=self.device)

    def function(self, x: wp.array) -> wp.array:
        y = wp.zeros((WORLDS, M), dtype=f64, device=self.device, requires_grad=True)
        inputs = [x, self.at, y]
        wp.launch_tiled(self.kernel, dim=WORLDS, inputs=inputs, block_dim=self.executor[1], device=self.device)
        return loss_of(y, self.weights)

    def array(self, x: np.ndarray, **options) -> wp.array:
        return wp.array(x, dtype=f64, device=self.device, **options)

    def value(self, x: np.ndarray) -> float:
        return float(self.function(self.array(x)).numpy()[0])

    def gradient(self, x: np.ndarray) -> np.ndarray:
        one = self.array(x, requires_grad=True)
        with wp.Tape() as tape:
            loss = self.function(one)
        tape.backward(loss)
        return one.grad.numpy()


def differences(function, x: np.ndarray, along: np.ndarray, step: float):
    narrow, wide = ((function(x + h * along) - function(x - h * along)) / (2 * h) for h in (step / 2, step))
    return (4 * narrow - wide) / 3


def check(name: str, executor: Executor, forward: bool = True, every: int = 7) -> None:
    """Each seventh element of the gradient; along a direction forward mode and the gradient's own change."""
    slopes, where = Slopes(name, executor), f"{name} on {executor}"
    step = FAR.get(name, 1e-5)
    close = {"rtol": 1e-3, "atol": 1e-3} if name in FAR else {"rtol": 1e-6, "atol": 1e-6}
    with blocks_of(executor):
        gradient = slopes.gradient(slopes.x)
        size = np.abs(gradient).max()
        for e in range(executor[1] % every, slopes.x.size, every):
            unit = np.zeros(slopes.x.size)
            unit[e] = 1.0
            want = differences(slopes.value, slopes.x, unit.reshape(slopes.x.shape), step)
            np.testing.assert_allclose(gradient.reshape(-1)[e] / size, want / size, err_msg=f"{where}, element {e}", **close)
        if not forward:
            return
        want = float((gradient * slopes.along).sum())
        _, tangent = wp.jvp(slopes.function, [slopes.array(slopes.x)], [slopes.array(slopes.along)])
        np.testing.assert_allclose(tangent.numpy()[0], want, rtol=1e-6 if name in FAR else 1e-9, err_msg=where)
        _, (product,) = wp.hvp(slopes.function, [slopes.array(slopes.x)], [slopes.array(slopes.along)])
        want = differences(slopes.gradient, slopes.x, slopes.along, step)
        np.testing.assert_allclose(product.numpy() / np.abs(want).max(), want / np.abs(want).max(), err_msg=where, **close)
