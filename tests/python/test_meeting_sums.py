"""Additions in which threads of a warp meet: in one place, in one place per loop turn, per row, some of them, all of them.

Numbers are small integers, so that sums are exact in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warp as wp

N = 1003  # 31 whole warps and a part of one

mat57d = wp.types.matrix(shape=(5, 7), dtype=wp.float64)
mat88 = wp.types.matrix(shape=(8, 8), dtype=wp.float32)
mat99 = wp.types.matrix(shape=(9, 9), dtype=wp.float32)
vec5i = wp.types.vector(length=5, dtype=wp.int32)
vec33 = wp.types.vector(length=33, dtype=wp.float32)
vec3l = wp.types.vector(length=3, dtype=wp.int64)

TYPES = [
    wp.float32,
    wp.float64,
    wp.int32,
    wp.uint64,
    wp.vec2,
    wp.vec3,
    wp.vec3d,
    wp.vec3h,
    wp.quat,
    wp.transform,
    wp.mat33,
    wp.mat44,
    mat57d,
    mat88,
    mat99,
    vec5i,
    vec33,
    vec3l,
]


@pytest.fixture(autouse=True)
def on_device(device: wp.Device):
    with wp.ScopedDevice(device):
        yield


@wp.kernel
def add_one_place(x: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    wp.atomic_add(out, 1, x[i])


@wp.kernel
def add_in_loop(x: wp.array(dtype=Any), turns: int, out: wp.array(dtype=Any)):
    i = wp.tid()
    for k in range(turns):
        wp.atomic_add(out, turns - 1 - k, x[i])


@wp.kernel
def add_turns(x: wp.array(dtype=Any), turns: int, out: wp.array2d(dtype=Any)):
    i = wp.tid()
    for k in range(turns):
        wp.atomic_add(out, 0, k, x[i])
    for k in range(turns - 1, -1, -1):
        wp.atomic_add(out, 1, k + 1, x[i])
    if i % 4 != 3:  # no warp is whole
        for k in range(turns):
            wp.atomic_add(out, 2, k, x[i])
    if i < 500:  # some are
        for k in range(1, turns):
            wp.atomic_add(out, 3, k - 1, x[i])
            wp.atomic_add(out, 4, k, x[i])
    for k in range(turns):
        wp.atomic_add(out, 5, i % 2 + k, x[i])  # two places


@wp.kernel
def add_some(x: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    if i % 3 == 1:
        wp.atomic_add(out, 0, x[i])
    for k in range(i % 5):  # threads leave one after the other
        wp.atomic_add(out, 1 + k, x[i])


@wp.kernel
def add_rows(x: wp.array2d(dtype=Any), out: wp.array(dtype=Any)):
    i, j = wp.tid()
    wp.atomic_add(out, i, x[i, j])


@wp.kernel
def add_before_and_behind(x: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])
    if i % 2 == 0:
        wp.atomic_add(out, 0, x[i])
    wp.atomic_add(out, 2, x[i])


def numbers(dtype: type, *shape: int) -> np.ndarray:
    """Small integers, as NumPy has elements of this type."""
    inner = wp.zeros(1, dtype=dtype, device="cpu").numpy()
    values = np.random.default_rng(7).integers(0, 4, size=(*shape, *inner.shape[1:]))
    if dtype is not wp.vec3h:
        return values.astype(inner.dtype)
    return (values % 2).astype(inner.dtype)  # sums below 2048 are exact


def check(found: wp.array, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(found.numpy(), expected.astype(found.numpy().dtype))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_types(dtype: type) -> None:
    values = numbers(dtype, N)
    x = wp.array(values, dtype=dtype)
    wide = values.astype(np.float64)

    out = wp.zeros(3, dtype=dtype)
    wp.launch(add_one_place, N, [x, out])
    check(out, np.stack([0 * wide[0], wide.sum(0), 0 * wide[0]]))

    out = wp.zeros(4, dtype=dtype)
    wp.launch(add_in_loop, N, [x, 4, out])
    check(out, np.stack([wide.sum(0)] * 4))

    i = np.arange(N)
    out = wp.zeros(6, dtype=dtype)
    wp.launch(add_some, N, [x, out])
    check(out, np.stack([wide[i % 3 == 1].sum(0)] + [wide[i % 5 > k].sum(0) for k in range(5)]))

    out = wp.zeros(3, dtype=dtype)
    wp.launch(add_before_and_behind, N, [x, out])
    check(out, np.stack([wide.sum(0) + wide[::2].sum(0), 0 * wide[0], wide.sum(0)]))


@pytest.mark.parametrize("turns", [0, 1, 7, 8, 9, 30])
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec2, wp.vec3, wp.mat33, wp.mat44], ids=lambda t: t.__name__)
def test_turns(turns: int, dtype: type) -> None:
    values = numbers(dtype, N)
    out = wp.zeros((6, turns + 1), dtype=dtype)
    wp.launch(add_turns, N, [wp.array(values, dtype=dtype), turns, out])
    wide, i = values.astype(np.float64), np.arange(N)
    expected = np.zeros(out.numpy().shape)
    expected[0, :turns] = expected[1, 1:] = wide.sum(0)
    expected[2, :turns] = wide[i % 4 != 3].sum(0)
    expected[3, : max(turns - 1, 0)] = expected[4, 1:turns] = wide[:500].sum(0)
    expected[5, :turns] += wide[::2].sum(0)
    expected[5, 1:] += wide[1::2].sum(0)
    check(out, expected)


@pytest.mark.parametrize("block_dim", [1, 24, 32, 100, 256, 1024])
@pytest.mark.parametrize("dtype", [wp.float32, wp.vec3d, wp.mat44], ids=lambda t: t.__name__)
def test_blocks(block_dim: int, dtype: type) -> None:
    values = numbers(dtype, 20 * N)
    out = wp.zeros(3, dtype=dtype)
    wp.launch(add_before_and_behind, 20 * N, [wp.array(values, dtype=dtype), out], block_dim=block_dim)
    wide = values.astype(np.float64)
    check(out, np.stack([wide.sum(0) + wide[::2].sum(0), 0 * wide[0], wide.sum(0)]))


@pytest.mark.parametrize("inner", [1, 5, 31, 32, 33, 100, 256])
@pytest.mark.parametrize("dtype", [wp.float32, wp.vec3, wp.mat33], ids=lambda t: t.__name__)
def test_rows(inner: int, dtype: type) -> None:
    values = numbers(dtype, 41, inner)
    out = wp.zeros(41, dtype=dtype)
    wp.launch(add_rows, (41, inner), [wp.array(values, dtype=dtype, ndim=2), out])
    check(out, values.astype(np.float64).sum(1))


@wp.kernel
def layers(
    x: wp.array(dtype=wp.vec3), w: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.vec3), count: int, y: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    h = x[i]
    for k in range(count):
        h = w[k] * h + b[k]
    y[i] = h + b[0]


@wp.kernel
def one_layer(
    x: wp.array(dtype=wp.vec3), w: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    if i % 7 != 0:
        y[i] = w[0] * x[i] + b[1]
    else:
        y[i] = w[0] * (w[1] * x[i]) - b[1]


@wp.kernel
def all_pairs(x: wp.array(dtype=wp.vec3d), mass: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    p = x[i]
    sum = wp.vec3d()
    for j in range(x.shape[0]):
        d = x[j] - p
        sum += d * (mass[j] / (wp.dot(d, d) + wp.float64(0.1)))
    y[i] = sum


@pytest.mark.parametrize("count", [1, 33, 300])
def test_gradients_of_all_pairs(count: int) -> None:
    random = np.random.default_rng(11)
    vx, vm, seed = random.normal(size=(count, 3)), random.uniform(1, 2, size=count), random.normal(size=(count, 3))
    x, mass = wp.array(vx, dtype=wp.vec3d, requires_grad=True), wp.array(vm, dtype=wp.float64, requires_grad=True)
    y = wp.zeros(count, dtype=wp.vec3d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(all_pairs, count, [x, mass], [y])
    y.grad.assign(seed)
    tape.backward()
    d = vx[None] - vx[:, None]
    near = 1.0 / ((d * d).sum(2) + 0.1)
    np.testing.assert_allclose(mass.grad.numpy(), np.einsum("ij,ijk,ik->j", near, d, seed), rtol=1e-9, atol=1e-9)
    along = np.einsum("ijk,ik->ij", d, seed)
    pair = (near * vm)[..., None] * (seed[:, None] - 2.0 * (near * along)[..., None] * d)
    np.testing.assert_allclose(x.grad.numpy(), pair.sum(0) - pair.sum(1), rtol=1e-9, atol=1e-9)


def random_arrays() -> tuple[wp.array, wp.array, wp.array, wp.array]:
    random = np.random.default_rng(3)
    x = wp.array(random.integers(-3, 4, size=(N, 3)), dtype=wp.vec3, requires_grad=True)
    w = wp.array(random.integers(-1, 2, size=(2, 3, 3)), dtype=wp.mat33, requires_grad=True)
    b = wp.array(random.integers(-3, 4, size=(2, 3)), dtype=wp.vec3, requires_grad=True)
    return x, w, b, wp.zeros(N, dtype=wp.vec3, requires_grad=True)


def back(kernel: wp.Kernel, inputs: list, y: wp.array) -> np.ndarray:
    with wp.Tape() as tape:
        wp.launch(kernel, N, inputs, [y])
    seed = np.random.default_rng(5).integers(-2, 3, size=(N, 3)).astype(np.float64)
    y.grad.assign(seed)
    tape.backward()
    return seed


def test_gradients_of_shared_weights() -> None:
    x, w, b, y = random_arrays()
    seed = back(one_layer, [x, w, b], y)
    vx, vw, part = x.numpy().astype(np.float64), w.numpy().astype(np.float64), np.arange(N) % 7 != 0
    hidden = np.where(part[:, None], vx, vx @ vw[1].T)
    rest = seed[~part] @ vw[0]
    check(w.grad, np.stack([np.einsum("na,nb->ab", seed, hidden), np.einsum("na,nb->ab", rest, vx[~part])]))
    check(b.grad, np.stack([np.zeros(3), seed[part].sum(0) - seed[~part].sum(0)]))
    check(x.grad, np.where(part[:, None], seed @ vw[0], seed @ vw[0] @ vw[1]))


def test_gradients_of_shared_weights_in_loops() -> None:
    x, w, b, y = random_arrays()
    seed = back(layers, [x, w, b, 2], y)
    vx, vw, vb = (a.numpy().astype(np.float64) for a in (x, w, b))
    hidden = vx @ vw[0].T + vb[0]
    check(w.grad, np.stack([np.einsum("na,nb->ab", seed @ vw[1], vx), np.einsum("na,nb->ab", seed, hidden)]))
    check(b.grad, np.stack([(seed @ vw[1]).sum(0) + seed.sum(0), seed.sum(0)]))


def test_gradients_nobody_wants() -> None:
    x, w, b, y = random_arrays()
    w = wp.array(w.numpy(), dtype=wp.mat33)
    seed = back(one_layer, [x, w, b], y)
    part = np.arange(N) % 7 != 0
    check(b.grad, np.stack([np.zeros(3), seed[part].sum(0) - seed[~part].sum(0)]))
