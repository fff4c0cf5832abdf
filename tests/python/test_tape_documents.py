"""Programs with tapes as users write them: optimisation that records once, Jacobians row by row, matrix products."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


@wp.kernel
def loss_of_points(xs: wp.array(dtype=float, ndim=2), out: wp.array(dtype=float)):
    tid = wp.tid()
    wp.atomic_add(out, 0, xs[tid, 0] ** 2.0 + xs[tid, 1] ** 2.0)


@wp.kernel
def scaled(xs: wp.array(dtype=float, ndim=2), ys: wp.array(dtype=float, ndim=2)):
    i, j = wp.tid()
    ys[i, j] = xs[i, j] * xs[i, j] * 0.5 + 1.0


class Adam:
    """An optimiser of another library, which changes parameters in place and asks nobody."""

    def __init__(self, values: np.ndarray, rate: float) -> None:
        self.values, self.rate, self.turn = values, rate, 0
        self.mean, self.square = np.zeros_like(values), np.zeros_like(values)

    def step(self, gradient: np.ndarray) -> None:
        self.turn += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient * gradient - self.square)
        mean, square = self.mean / (1 - 0.9**self.turn), self.square / (1 - 0.999**self.turn)
        self.values -= self.rate * mean / (np.sqrt(square) + 1e-8)


@pytest.fixture(params=["release", "debug"])
def mode(request: pytest.FixtureRequest):
    saved = wp.config.mode
    wp.config.mode = request.param
    yield request.param
    wp.config.mode = saved


@pytest.mark.cpu_only  # of an array on a GPU NumPy sees a copy
@pytest.mark.parametrize("evaluate", [True, False])
@pytest.mark.parametrize("shared", ["from", "to"])
def test_points_go_to_the_origin(mode: str, evaluate: bool, shared: str) -> None:
    values = np.random.default_rng(3).normal(size=(20, 2)).astype(np.float32)
    if shared == "from":
        xs = wp.array(values, dtype=float, copy=False, requires_grad=True)
    else:
        xs = wp.array(values, dtype=float, requires_grad=True)
        values = xs.numpy()
    out = wp.zeros(1, dtype=float, requires_grad=True)
    optimiser = Adam(values, 0.1)
    tape = wp.Tape()
    with tape:
        wp.launch(loss_of_points, dim=len(xs), inputs=[xs], outputs=[out], device=xs.device)
    for _ in range(100):
        tape.zero()
        tape.backward(loss=out)
        np.testing.assert_allclose(xs.grad.numpy(), 2 * values, rtol=1e-5)
        optimiser.step(xs.grad.numpy())
        if evaluate:
            out.zero_()
            wp.launch(loss_of_points, dim=len(xs), inputs=[xs], outputs=[out], device=xs.device)
    assert np.abs(values).max() < 0.2
    if evaluate:
        np.testing.assert_allclose(out.numpy()[0], (values**2).sum(), rtol=1e-5)


def test_two_launches_and_their_evaluation(mode: str) -> None:
    values = np.random.default_rng(4).normal(size=(8, 2)).astype(np.float32)
    xs, ys = wp.array(values, dtype=float, requires_grad=True), wp.zeros((8, 2), dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)

    def evaluate() -> None:
        wp.launch(scaled, dim=(8, 2), inputs=[xs], outputs=[ys])
        wp.launch(loss_of_points, dim=8, inputs=[ys], outputs=[out])

    with wp.Tape() as tape:
        evaluate()
    losses = []
    for _ in range(50):
        tape.zero()
        tape.backward(loss=out)
        x = xs.numpy()
        np.testing.assert_allclose(xs.grad.numpy(), 2 * (0.5 * x * x + 1) * x, rtol=1e-4, atol=1e-6)
        xs.assign(x - 0.1 * xs.grad.numpy())
        out.zero_()
        evaluate()
        losses.append(float(out.numpy()[0]))
    assert losses == sorted(losses, reverse=True) and losses[-1] < 16.1


@wp.kernel
def polar(q: wp.array(dtype=float), out: wp.array(dtype=float)):
    e = wp.tid()
    out[2 * e] = q[2 * e] * wp.cos(q[2 * e + 1])
    out[2 * e + 1] = q[2 * e] * wp.sin(q[2 * e + 1])


@pytest.mark.parametrize("environments", [1, 3])
def test_jacobians_row_by_row(environments: int) -> None:
    q = np.linspace(0.5, 1.5, 2 * environments, dtype=np.float32)
    q_in = wp.array(q, dtype=float, requires_grad=True)
    out = wp.zeros(2 * environments, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(polar, environments, [q_in], [out])
    jacobians = np.empty((environments, 2, 2), dtype=np.float32)
    for row in range(2):
        select = np.zeros(2)
        select[row] = 1.0
        e = wp.array(np.tile(select, environments), dtype=wp.float32)
        tape.backward(grads={out: e})
        jacobians[:, row, :] = tape.gradients[q_in].numpy().reshape(environments, 2)
        tape.zero()
    r, a = q[::2], q[1::2]
    wanted = np.array([[np.cos(a), -r * np.sin(a)], [np.sin(a), r * np.cos(a)]]).transpose(2, 0, 1)
    np.testing.assert_allclose(jacobians, wanted, rtol=1e-5)


def test_gradients_of_a_chain_by_argument() -> None:
    a, b, d = (wp.zeros((4, 2), dtype=float, requires_grad=True) for _ in range(3))
    a.fill_(2.0)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(scaled, (4, 2), inputs=[a], outputs=[b])
        wp.launch(scaled, (4, 2), inputs=[b], outputs=[d])
        wp.launch(loss_of_points, 4, inputs=[d], outputs=[loss])
    tape.backward(loss)
    np.testing.assert_allclose(tape.gradients[a].numpy(), np.full((4, 2), 2 * 5.5 * 3.0 * 2.0))
    assert tape.adjoints[a] is tape.gradients[a] and "66" in str(tape.gradients[a])
    tape.zero()
    assert not tape.gradients[a].numpy().any()


def test_a_matrix_product_on_a_tape() -> None:
    rng = np.random.default_rng(1)
    a, b, c = (wp.array(rng.normal(size=(2, 2)), dtype=float, requires_grad=True) for _ in range(3))
    d, loss = wp.zeros((2, 2), dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.matmul(a, b, c, d)
        wp.launch(loss_of_points, dim=2, inputs=[d], outputs=[loss])
    for k in range(2):
        tape.zero()
        tape.backward(loss=loss)
        np.testing.assert_allclose(tape.gradients[a].numpy(), 2 * d.numpy() @ b.numpy().T, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(tape.gradients[b].numpy(), 2 * a.numpy().T @ d.numpy(), rtol=1e-4, atol=1e-5)
        a.assign(a.numpy() + 1.0)
        wp.matmul(a, b, c, d)
        wp.launch(loss_of_points, dim=2, inputs=[d], outputs=[loss])
