"""Optimisers against the same steps in NumPy."""

import numpy as np
import pytest
import warp as wp
import warp.optim


def gradients(shape, steps):
    return np.random.default_rng(11).normal(size=(steps, *shape))


def adam_in_numpy(x, grads, lr, betas, eps):
    m, v = np.zeros_like(x), np.zeros_like(x)
    for n, g in enumerate(grads, 1):
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        x = x - lr * (m / (1 - betas[0] ** n)) / (np.sqrt(v / (1 - betas[1] ** n)) + eps)
    return x


def sgd_in_numpy(x, grads, lr, momentum, dampening, decay, nesterov):
    b = None
    for g in grads:
        g = g + decay * x
        if momentum:
            b = g if b is None else momentum * b + (1 - dampening) * g
            g = g + momentum * b if nesterov else b
        x = x - lr * g
    return x


TYPES = [
    (wp.float32, (7,), 2e-6),
    (wp.float64, (2, 3), 1e-14),
    (wp.float16, (5,), 5e-3),
    (wp.vec3, (4, 3), 2e-6),
    (wp.mat22, (2, 3, 2, 2), 2e-6),
    (wp.vec2h, (3, 2), 5e-3),
]


@pytest.mark.parametrize("dtype, shape, near", TYPES)
def test_adam(dtype, shape, near):
    start, grads = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape), gradients(shape, 6)
    x = wp.array(start, dtype=dtype)
    optimizer = wp.optim.Adam([x], lr=0.1, betas=(0.8, 0.95), eps=1e-6)
    for g in grads:
        optimizer.step([wp.array(g, dtype=dtype)])
    assert optimizer.t == 6
    assert np.allclose(x.numpy(), adam_in_numpy(start, grads, 0.1, (0.8, 0.95), 1e-6), atol=near)


@pytest.mark.parametrize("dtype, shape, near", TYPES)
@pytest.mark.parametrize("momentum, dampening, decay, nesterov", [(0.0, 0.0, 0.0, False), (0.9, 0.2, 0.1, False), (0.5, 0.0, 0.0, True)])
def test_sgd(dtype, shape, near, momentum, dampening, decay, nesterov):
    start, grads = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape), gradients(shape, 5)
    x = wp.array(start, dtype=dtype)
    optimizer = wp.optim.SGD([x], lr=0.05, momentum=momentum, dampening=dampening, weight_decay=decay, nesterov=nesterov)
    for g in grads:
        optimizer.step([wp.array(g, dtype=dtype)])
    assert np.allclose(x.numpy(), sgd_in_numpy(start, grads, 0.05, momentum, dampening, decay, nesterov), atol=near)


@wp.kernel
def distance(x: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(x[i] - wp.vec3(1.0, 2.0, float(i))))


@pytest.mark.parametrize("kind, rate", [(wp.optim.Adam, 0.2), (wp.optim.SGD, 0.2)])
def test_they_find_a_minimum_by_gradients_of_a_tape(kind, rate):
    x = wp.zeros(5, dtype=wp.vec3, requires_grad=True)
    optimizer = kind([x], lr=rate)
    for _ in range(200):
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        tape = wp.Tape()
        with tape:
            wp.launch(distance, dim=5, inputs=[x, loss])
        tape.backward(loss)
        optimizer.step([x.grad])
        tape.zero()
    assert np.allclose(x.numpy(), [[1.0, 2.0, i] for i in range(5)], atol=1e-3)


def test_several_arrays_some_of_them_left_alone_and_strided_ones():
    whole = wp.array(np.ones((4, 4)), dtype=float)
    a, b = wp.array([1.0, 2.0], dtype=float), whole[:, 1:3]
    optimizer = wp.optim.SGD([a, None, b], lr=1.0)
    optimizer.step([wp.array([0.5, 0.5], dtype=float), None, wp.full((4, 2), 2.0, dtype=float)])
    assert a.numpy().tolist() == [0.5, 1.5]
    assert whole.numpy().tolist() == [[1.0, -1.0, -1.0, 1.0]] * 4


def test_state_can_be_forgotten():
    def run(optimizer, x):
        for g in gradients((3,), 3):
            optimizer.step([wp.array(g, dtype=float)])
        return x.numpy()

    for kind in (wp.optim.Adam, lambda p: wp.optim.SGD(p, momentum=0.9)):
        x = wp.zeros(3, dtype=float)
        optimizer = kind([x])
        first = run(optimizer, x)
        optimizer.reset_internal_state()
        x.zero_()
        assert optimizer.t == 0 and np.array_equal(run(optimizer, x), first)
        y = wp.zeros(3, dtype=float)
        optimizer.reset_internal_state()
        optimizer.set_params([y])
        assert np.array_equal(run(optimizer, y), first)


def test_state_stays_with_parameters_of_the_same_form():
    x, grad = wp.zeros(3, dtype=wp.float16), wp.ones(3, dtype=wp.float16)
    optimizer = wp.optim.Adam([x])
    optimizer.step([grad])
    m, before = optimizer.m[0], optimizer.m[0].numpy()
    optimizer.set_params([wp.zeros(3, dtype=wp.float16)])
    assert optimizer.m[0] is m and np.array_equal(m.numpy(), before) and optimizer.t == 1
    optimizer.set_params([wp.zeros(4, dtype=wp.float16), None])
    assert optimizer.m[0].shape == (4,) and optimizer.m[0].numpy().sum() == 0.0 and optimizer.m[1] is None


def test_mistakes():
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        wp.optim.Adam([wp.zeros(3, dtype=int)])
    optimizer = wp.optim.Adam([wp.zeros(3, dtype=float)])
    with pytest.raises(ValueError, match="shape"):
        optimizer.step([wp.zeros(4, dtype=float)])
    with pytest.raises(TypeError, match="dtype"):
        optimizer.step([wp.zeros(3, dtype=wp.float64)])
    with pytest.raises(IndexError, match="1 gradients, got 0"):
        optimizer.step([])
    with pytest.raises(RuntimeError, match="parameters must be set"):
        wp.optim.SGD().step([])
