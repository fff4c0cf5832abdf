"""Kernels that stream memory or add to one place: the forms that GPUs have for them (several elements a thread, wide
accesses, sums kept by threads) give what plain ones give, for every size, alignment and grid."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


@wp.kernel
def stream(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def mixed(
    x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.int8), z: wp.array(dtype=wp.float16), w: wp.array(dtype=bool)
):
    i = wp.tid()
    z[i] = wp.float16(x[i]) + wp.float16(y[i])
    w[i] = x[i] > wp.float64(5.0)


@wp.kernel
def matrices(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = a[i] * b[i]


@wp.kernel
def rows(a: wp.array(dtype=wp.vec4, ndim=2), b: wp.array(dtype=wp.vec2, ndim=2)):
    i, j = wp.tid()
    b[i, j] = wp.vec2(a[i, j][0] + a[i, j][1], a[i, j][2] * a[i, j][3])


@wp.kernel
def sums(x: wp.array(dtype=wp.Any), out: wp.array(dtype=wp.Any)):
    i = wp.tid()
    wp.atomic_add(out, 1, x[i])
    wp.atomic_add(out, 0, x[i] + x[i])


@wp.kernel
def sums_of_some(x: wp.array(dtype=int), out: wp.array(dtype=int), place: int):
    i = wp.tid()
    if x[i] % 3 == 0:
        wp.atomic_add(out, place, x[i])
    for k in range(x[i] % 5):
        wp.atomic_add(out, 2, k)


@wp.kernel
def counter(out: wp.array(dtype=int), seen: wp.array(dtype=int)):
    i = wp.tid()
    seen[i] = wp.atomic_add(out, 0, 1)


@wp.kernel
def sum_and_read(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])
    x[i] = out[1]


SIZES = [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 127, 1023, 4096, 100003]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("start", [(0, 0), (1, 0), (0, 3), (1, 1), (4, 8)])
def test_streams_of_every_size_and_alignment(device: wp.Device, n: int, start: tuple[int, int]) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.random(n + 8).astype(np.float32), rng.random(n + 8).astype(np.float32)
    there = [wp.array(v) for v in (x, y)]
    wp.launch(stream, dim=n, inputs=[2.0, there[0][start[0] :], there[1][start[1] :]])
    expected = y.copy()
    expected[start[1] : start[1] + n] += 2.0 * x[start[0] : start[0] + n]
    np.testing.assert_allclose(there[1].numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("options", [{"block_dim": 32, "max_blocks": 1}, {"block_dim": 33}, {"max_blocks": 7}])
def test_streams_in_small_grids(device: wp.Device, options: dict) -> None:
    y = wp.zeros(10001)
    wp.launch(stream, dim=10001, inputs=[2.0, wp.array(np.arange(10001, dtype=np.float32)), y], **options)
    np.testing.assert_array_equal(y.numpy(), 2 * np.arange(10001))


@pytest.mark.parametrize("n", [1, 5, 64, 1001])
def test_scalars_of_several_sizes(device: wp.Device, n: int) -> None:
    x, y = np.linspace(0, 10, n), np.arange(n).astype(np.int8)
    z, w = wp.zeros(n, dtype=wp.float16), wp.zeros(n, dtype=bool)
    wp.launch(mixed, dim=n, inputs=[wp.array(x, dtype=wp.float64), wp.array(y)], outputs=[z, w])
    np.testing.assert_array_equal(z.numpy(), x.astype(np.float16) + y.astype(np.float16))
    np.testing.assert_array_equal(w.numpy(), x > 5.0)


@pytest.mark.parametrize("shift", [0, 1, 2, 4])
def test_matrices_of_every_alignment(device: wp.Device, shift: int) -> None:
    rng = np.random.default_rng(shift)
    a, b = rng.random((2, 50, 4, 4)).astype(np.float32)
    memory = [wp.zeros(50 * 16 + 8) for _ in range(3)]
    views = [wp.array(ptr=m.ptr + 4 * shift, shape=50, dtype=wp.mat44, device=device) for m in memory]
    for view, values in zip(views, (a, b)):
        view.assign(values)
    wp.launch(matrices, dim=50, inputs=views)
    np.testing.assert_allclose(views[2].numpy(), a @ b, rtol=1e-5)


def test_rows_of_every_spacing(device: wp.Device) -> None:
    values = np.random.default_rng(3).random((6, 9, 4)).astype(np.float32)
    expected = np.stack([values[..., 0] + values[..., 1], values[..., 2] * values[..., 3]], axis=-1)
    a = wp.array(values, dtype=wp.vec4)
    for columns in (slice(None), slice(1, 8), slice(0, 9, 2)):
        part = a[:, columns]
        b = wp.zeros(part.shape, dtype=wp.vec2)
        wp.launch(rows, dim=part.shape, inputs=[part, b])
        np.testing.assert_allclose(b.numpy(), expected[:, columns], rtol=1e-6)


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64, wp.float16])
@pytest.mark.parametrize("n", [1, 6, 32, 33, 1000, 70001])
def test_sums_to_one_place(device: wp.Device, dtype: type, n: int) -> None:
    values = np.arange(n) % 4
    if dtype is wp.float16:
        values = values * (np.arange(n) < 400)
    out = wp.array([10, 100, 7], dtype=dtype)
    wp.launch(sums, dim=n, inputs=[wp.array(values, dtype=dtype), out])
    assert [float(v) for v in out.numpy()] == [10.0 + 2.0 * values.sum(), 100.0 + values.sum(), 7.0]


@pytest.mark.parametrize("options", [{}, {"block_dim": 48}, {"max_blocks": 1, "block_dim": 64}])
def test_sums_under_conditions_and_in_loops(device: wp.Device, options: dict) -> None:
    values = np.random.default_rng(5).integers(0, 50, 5003).astype(np.int32)
    out = wp.zeros(3, dtype=int)
    wp.launch(sums_of_some, dim=values.size, inputs=[wp.array(values), out, 1], **options)
    loops = sum(int(v % 5) * (int(v % 5) - 1) // 2 for v in values)
    assert out.list() == [0, int(values[values % 3 == 0].sum()), loops]


def test_results_that_are_used_stay_single(device: wp.Device) -> None:
    out, seen = wp.zeros(1, dtype=int), wp.zeros(1000, dtype=int)
    wp.launch(counter, dim=1000, inputs=[out, seen])
    assert out.list() == [1000] and sorted(seen.list()) == list(range(1000))


def test_arrays_that_are_read_as_well(device: wp.Device) -> None:
    x, out = wp.ones(100), wp.array([0.0, 5.0], dtype=float)
    wp.launch(sum_and_read, dim=100, inputs=[x, out])
    assert out.list() == [100.0, 5.0] and x.list() == [5.0] * 100


def test_the_same_array_twice(device: wp.Device) -> None:
    x = wp.array(np.arange(100, dtype=np.float32))
    wp.launch(stream, dim=100, inputs=[2.0, x, x])
    np.testing.assert_array_equal(x.numpy(), 3 * np.arange(100))
