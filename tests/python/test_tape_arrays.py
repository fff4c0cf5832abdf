"""Gradients by tapes for everything that an array can be, against closed forms and differences."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import warp as wp
from tape_support import F64, Outer, X, check, double, doubles, slopes, square, through_struct, total, weigh, weigh_linear, zeros


@pytest.fixture(params=[0, 1, 4])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


# ---- what arrays can be ---------------------------------------------------------------------------------------------


def test_views_and_slices(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        y = zeros(12)
        table = y.reshape((3, 4))
        wp.launch(square, 4, [x[::2]], [table[1]])
        wp.launch(double, 3, [x[1:4]], [table.transpose()[2]])
        wp.launch(square, 4, [x[4:]], [y[::-1][:4]])
        return total(y)

    check(forward, np.linspace(-1, 1, 8))


def test_more_dimensions(lanes: int) -> None:
    @wp.kernel
    def mix(x: wp.array(dtype=F64, ndim=4), y: wp.array(dtype=F64, ndim=3), z: wp.array(dtype=F64, ndim=2)):
        i, j, k, l = wp.tid()
        wp.atomic_add(y, i, j, k, x[i, j, k, l] * x[i, j, k, l])
        wp.atomic_add(z, j, l, wp.sin(x[i, j, k, l]))

    def forward(x: wp.array) -> wp.array:
        y = wp.zeros((2, 1, 3), dtype=F64, requires_grad=True)
        z = wp.zeros((1, 2), dtype=F64, requires_grad=True)
        wp.launch(mix, (2, 1, 3, 2), [x.reshape((2, 1, 3, 2))], [y, z])
        loss = total(y.flatten())
        wp.launch(weigh, 2, [z.flatten()], [loss])
        return loss

    check(forward, np.linspace(-1, 1.5, 12))


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_scalar_types(dtype: Any) -> None:
    @wp.kernel
    def cube(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
        i = wp.tid()
        y[i] = x[i] * x[i] * x[i]

    x = wp.array(X, dtype=dtype, requires_grad=True)
    y = wp.zeros(5, dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(cube, 5, [x], [y])
    tape.backward(grads={y: wp.ones(5, dtype=dtype)})
    np.testing.assert_allclose(x.grad.numpy().astype(float), 3 * X**2, rtol={2: 5e-3, 4: 1e-6, 8: 1e-14}[y.strides[0]])


def test_vectors_matrices_and_rotations(lanes: int) -> None:
    @wp.kernel
    def compose(
        v: wp.array(dtype=wp.vec3d),
        m: wp.array(dtype=wp.mat33d),
        q: wp.array(dtype=wp.quatd),
        t: wp.array(dtype=wp.transformd),
        out: wp.array(dtype=F64),
    ):
        i = wp.tid()
        a = wp.quat_rotate(q[i], m[i] * v[i])
        b = wp.transform_point(t[i], a)
        out[i] = wp.dot(b, v[i]) + a[1] * b[2] + m[i][2, 0]

    shapes = {"v": (2, 3), "m": (2, 3, 3), "q": (2, 4), "t": (2, 7)}
    kinds = {"v": wp.vec3d, "m": wp.mat33d, "q": wp.quatd, "t": wp.transformd}
    rng = np.random.default_rng(3)
    values = {name: rng.normal(size=shape) for name, shape in shapes.items()}

    def forward(values: dict, grad: bool = False) -> tuple:
        arrays = {n: wp.array(v, dtype=kinds[n], requires_grad=grad) for n, v in values.items()}
        out, loss = zeros(2), zeros(1)
        wp.launch(compose, 2, list(arrays.values()), [out])
        wp.launch(weigh, 2, [out], [loss])
        return arrays, loss

    with wp.Tape() as tape:
        arrays, loss = forward(values, True)
    tape.backward(loss)
    for name in values:
        expected = slopes(lambda v: float(forward({**values, name: v})[1].numpy()[0]), values[name])  # noqa: B023
        np.testing.assert_allclose(arrays[name].grad.numpy(), expected, rtol=1e-5, atol=1e-7)


def test_arrays_in_structs(lanes: int) -> None:
    x, x2, y, loss = doubles(X), doubles(X + 1), zeros(5), zeros(1)
    s = Outer()
    s.x, s.inner.y, s.inner.scale = x, y, 3.0
    with wp.Tape() as tape:
        wp.launch(through_struct, 5, [s], [loss])
        wp.launch(weigh_linear, 5, [y], [loss])
        s.x = x2  # the tape knows which array it was
        wp.launch(through_struct, 5, [s], [loss])
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * 6 * X + 1)
    np.testing.assert_allclose(x2.grad.numpy(), 1.0)
    assert tape.gradients[s].x is x2.grad and tape.gradients[s].inner.y is y.grad
    assert tape.gradients[x] is x.grad and tape.gradients[y] is y.grad
    tape.zero()
    assert not x.grad.numpy().any() and not x2.grad.numpy().any()
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * 6 * X + 1)


@wp.struct
class Particle:
    p: wp.vec3d
    mass: F64


def test_arrays_of_structs() -> None:
    @wp.kernel
    def energy(parts: wp.array(dtype=Particle), loss: wp.array(dtype=F64)):
        i = wp.tid()
        q = parts[i]
        wp.atomic_add(loss, 0, q.mass * wp.dot(q.p, q.p))

    values = np.array([((1.0, 2, 3), 4.0), ((0.5, 0, -1), 2.0)], dtype=Particle.numpy_dtype())
    parts = wp.array(values, dtype=Particle, requires_grad=True)
    copied = wp.zeros(2, dtype=Particle, requires_grad=True)
    loss = zeros(1)
    with wp.Tape() as tape:
        wp.copy(copied, parts)
        wp.launch(energy, 2, [copied], [loss])
        copied.zero_()
    tape.backward(loss)
    grads = parts.grad.numpy()
    np.testing.assert_allclose(grads["p"], 2 * values["mass"][:, None] * values["p"])
    np.testing.assert_allclose(grads["mass"], [14.0, 1.25])


@wp.struct
class Holder:
    a: wp.array(dtype=F64)


@wp.kernel
def read_held(held: wp.array(dtype=Holder), loss: wp.array(dtype=F64)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, held[i].a[j] * held[i].a[j])


def test_arrays_held_by_structs_in_memory() -> None:
    arrays = [doubles(X), doubles(X + 1)]
    held = wp.zeros(2, dtype=Holder)
    for k, one in enumerate(arrays):
        h = Holder()
        h.a = one
        held[k] = h
    loss = zeros(1)
    tape = wp.Tape()
    with tape:
        wp.launch(read_held, (2, 5), [held], [loss])
    tape.backward(loss)
    for one, values in zip(arrays, (X, X + 1)):
        np.testing.assert_allclose(one.grad.numpy(), 2 * values)
    tape.zero()
    assert not arrays[0].grad.numpy().any()
    with tape:
        arrays[0].zero_()
    tape.backward(loss)  # the launch wrote down what it read: the loss could have been one of them
    np.testing.assert_allclose(arrays[0].grad.numpy(), 2 * X)


def test_a_choice_of_arrays_counts_as_all_of_them() -> None:
    @wp.kernel
    def choose(a: wp.array(dtype=F64), b: wp.array(dtype=F64), n: int, y: wp.array(dtype=F64)):
        i = wp.tid()
        c = a
        if n > 0:
            c = b
        y[i] = c[i] * c[i]

    a, b, y = doubles(X), doubles(X + 1), zeros(5)
    with wp.Tape() as tape:
        wp.launch(choose, 5, [a, b, 1], [y])
        b.zero_()
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_allclose(b.grad.numpy(), 2 * (X + 1))
    assert not a.grad.numpy().any()
    assert tape.kept_bytes >= 40


def test_indexed_arrays(lanes: int) -> None:
    @wp.kernel
    def scale(x: wp.indexedarray(dtype=F64), y: wp.indexedarray(dtype=F64)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    def forward(x: wp.array) -> wp.array:
        rows = wp.array([3, 0, 4], dtype=int)
        into = wp.array([1, 2, 0], dtype=int)
        y = zeros(4)
        wp.launch(scale, 3, [wp.indexedarray(x, [rows])], [wp.indexedarray(y, [into])])
        rows.zero_()
        return total(y)

    check(forward, X)
    x, y = doubles(X), zeros(5)
    seen = wp.indexedarray(x, [wp.array([1, 3], dtype=int)])
    with wp.Tape() as tape:
        wp.launch(scale, 2, [seen], [y])
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_allclose(tape.gradients[seen].numpy(), 2 * X[[1, 3]])


def test_one_array_for_two_parameters(lanes: int) -> None:
    @wp.kernel
    def product(a: wp.array(dtype=F64), b: wp.array(dtype=F64), y: wp.array(dtype=F64)):
        i = wp.tid()
        y[i] = a[i] * wp.exp(b[i])

    def forward(x: wp.array) -> wp.array:
        y = zeros(5)
        wp.launch(product, 5, [x, x], [y])
        wp.launch(product, 5, [y, x], [y])
        wp.launch(product, 5, [y, y], [y])
        return total(y)

    check(forward, X * 0.3, 1e-5)


@pytest.mark.cpu_only
def test_numpy_arrays_and_launches_without_dim() -> None:
    @wp.kernel
    def scaled(x: wp.array(dtype=F64), w: wp.array(dtype=F64), y: wp.array(dtype=F64)):
        i = wp.tid()
        y[i] = w[i] * x[i] * x[i]

    x, y, loss = doubles(X), zeros(5), zeros(1)
    weights = np.arange(5.0)
    with wp.Tape() as tape:
        wp.launch(scaled, inputs=[x, weights], outputs=[y])
        wp.launch(weigh_linear, inputs=[y, loss])
    del weights
    gc.collect()
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * np.arange(5.0) * 2 * X)


def test_empty_arrays_and_missing_ones() -> None:
    @wp.kernel
    def maybe(x: wp.array(dtype=F64), w: wp.array(dtype=F64), y: wp.array(dtype=F64)):
        i = wp.tid()
        y[i] = x[i]
        if w:
            y[i] = x[i] * w[i]

    x, y = doubles(X), zeros(5)
    with wp.Tape() as tape:
        wp.launch(maybe, 5, [x, None], [y])
        wp.launch(square, 0, [zeros(0)], [zeros(0)])
        zeros(0).zero_()
        wp.copy(zeros(0), zeros(0))
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_allclose(x.grad.numpy(), 1.0)
