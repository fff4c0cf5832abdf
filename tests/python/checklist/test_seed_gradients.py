"""What the documents state about gradients: tapes, seeds, Jacobians, adjoint launches, subgradients."""

from __future__ import annotations

import numpy as np
import warp as wp


@wp.kernel
def compute1(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * a[i]


@wp.kernel
def compute2(c: wp.array(dtype=float), d: wp.array(dtype=float)):
    i = wp.tid()
    d[i] = wp.sin(c[i])


@wp.kernel
def loss(d: wp.array(dtype=float), l: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(l, 0, d[i])


A = np.array([0.5, 1.0, -2.0, 0.25], np.float32)


def recorded() -> tuple:
    a = wp.array(A, dtype=float, requires_grad=True)
    b, d = (wp.zeros(4, dtype=float, requires_grad=True) for _ in range(2))
    l = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel=compute1, inputs=[a, b], device=wp.get_device())
        wp.launch(kernel=compute2, inputs=[b, d], device=wp.get_device())
        wp.launch(kernel=loss, inputs=[d, l], device=wp.get_device())
    return tape, a, l


def expected() -> np.ndarray:
    return np.cos(A * A) * 2 * A


def test_seed_027_028_029_030_tapes_of_launches():
    """Kernels have an adjoint form; a tape records launches without dim, goes back without arguments, maps adjoints."""
    tape, a, l = recorded()
    assert len(tape.launches) == 3
    l.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(tape.adjoints[a].numpy(), expected(), rtol=1e-5)


def test_seed_051_gradients_of_products():
    """tape.backward(loss=loss) fills A.grad of a matrix product."""
    rng = np.random.default_rng(1)
    x, y, z = (rng.normal(size=(4, 4)).astype(np.float32) for _ in range(3))
    a, b, c = (wp.array2d(v, dtype=wp.float32, requires_grad=True) for v in (x, y, z))
    d = wp.zeros((4, 4), dtype=wp.float32, requires_grad=True)
    l = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.matmul(a, b, c, d, device=wp.get_device(), beta=1.0)
        wp.launch(loss, dim=16, inputs=[d.flatten(), l], device=wp.get_device())
    tape.backward(loss=l)
    ones = np.ones((4, 4), np.float32)
    np.testing.assert_allclose(a.grad.numpy(), ones @ y.T, rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), x.T @ ones, rtol=1e-5)
    np.testing.assert_allclose(c.grad.numpy(), ones)


def test_seed_111_112_113_losses():
    """backward(l) of a scalar loss; tape.gradients[a]; gradients add up until tape.zero()."""
    tape, a, l = recorded()
    tape.backward(l)
    assert tape.gradients[a] is a.grad
    np.testing.assert_allclose(tape.gradients[a].numpy(), expected(), rtol=1e-5)
    tape.backward(l)
    np.testing.assert_allclose(a.grad.numpy(), 2 * expected(), rtol=1e-5)
    tape.zero()
    assert not a.grad.numpy().any()


@wp.kernel
def arm(q: wp.array(dtype=float), tip: wp.array(dtype=float)):
    """Each environment has two angles and the two coordinates of its tip."""
    e = wp.tid()
    a = q[2 * e]
    b = q[2 * e + 1]
    tip[2 * e] = wp.cos(a) + wp.cos(a + b)
    tip[2 * e + 1] = wp.sin(a) + wp.sin(a + b)


def arm_jacobian(a: float, b: float) -> np.ndarray:
    s, c = np.sin, np.cos
    return np.array([[-s(a) - s(a + b), -s(a + b)], [c(a) + c(a + b), c(a + b)]])


def test_seed_115_rows_of_jacobians():
    """backward(grads={output: e}) computes the row of the Jacobian that e selects."""
    q = wp.array([0.4, 0.9], dtype=float, requires_grad=True)
    tip = wp.zeros(2, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(arm, dim=1, inputs=[q], outputs=[tip])
    jacobian = np.empty((2, 2), dtype=np.float32)
    for row in range(2):
        select = np.zeros(2)
        select[row] = 1.0
        e = wp.array(select, dtype=wp.float32)
        tape.backward(grads={tip: e})
        jacobian[row, :] = tape.gradients[q].numpy()
        tape.zero()
    np.testing.assert_allclose(jacobian, arm_jacobian(0.4, 0.9), rtol=1e-5)


def test_seed_116_jacobians_of_many_environments():
    """A selection that is tiled gives one row of every environment's Jacobian at once."""
    count = 5
    angles = np.random.default_rng(2).uniform(-1, 1, size=(count, 2)).astype(np.float32)
    q = wp.array(angles.ravel(), dtype=float, requires_grad=True)
    tip = wp.zeros(2 * count, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(arm, dim=count, inputs=[q], outputs=[tip])
    jacobians = np.empty((count, 2, 2), dtype=np.float32)
    for row in range(2):
        select = np.zeros(2)
        select[row] = 1.0
        tape.backward(grads={tip: wp.array(np.tile(select, count), dtype=wp.float32)})
        jacobians[:, row, :] = tape.gradients[q].numpy().reshape(count, 2)
        tape.zero()
    for k in range(count):
        np.testing.assert_allclose(jacobians[k], arm_jacobian(*angles[k]), rtol=1e-4, atol=1e-5)


def test_seed_153_adjoint_launches():
    """adjoint=True with adj_inputs=[x.grad] and adj_outputs=[z.grad]: an array's own gradient is used up, one given beside it stays."""
    x = wp.array(A, dtype=float, requires_grad=True)
    z = wp.zeros(4, requires_grad=True)
    wp.launch(kernel=compute1, dim=4, inputs=[x], outputs=[z])
    z.grad = wp.array(np.ones(4), dtype=float)
    wp.launch(
        kernel=compute1,
        dim=4,
        inputs=[x],
        outputs=[z],
        adj_inputs=[x.grad],
        adj_outputs=[z.grad],
        adjoint=True,
    )
    np.testing.assert_allclose(x.grad.numpy(), 2 * A)
    np.testing.assert_array_equal(z.grad.numpy(), 0.0)
    given = wp.ones(4, dtype=float)
    wp.launch(kernel=compute1, dim=4, inputs=[x], outputs=[z], adj_inputs=[x.grad], adj_outputs=[given], adjoint=True)
    np.testing.assert_allclose(x.grad.numpy(), 4 * A)
    np.testing.assert_array_equal(given.numpy(), 1.0)


def test_seed_199_the_gradient_of_abs_at_zero():
    """abs has the subgradient 1 at 0."""

    @wp.kernel
    def magnitude(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.abs(x[i])

    x = wp.array([0.0, -2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(magnitude, dim=3, inputs=[x], outputs=[y])
    tape.backward(grads={y: np.ones(3)})
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, -1.0, 1.0])
