"""Tapes, Jacobians, gradients of products."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import warp as wp

from . import calls, members


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def add_up(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, y[wp.tid()])


@calls("Tape")
@members("Tape", "__enter__", "__exit__", "adjoints", "backward", "gradients", "launches", "loss", "record_func")
@members("Tape", "record_scope_begin", "record_scope_end", "reset", "visualize", "zero")
def tape(folder: Path) -> None:
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y, loss = wp.zeros(2, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    called: list[int] = []
    with wp.Tape() as made:
        made.record_scope_begin("all", {"of": "it"})
        wp.launch(squares, 2, [x], [y])
        wp.launch(add_up, 2, [y], [loss])
        made.record_func(lambda: called.append(1), [loss])
        made.record_scope_end()
    made.backward(loss)
    assert made.loss is loss and len(made.launches) == 3 and called == [1]
    assert made.gradients[x] is made.adjoints[x] and made.gradients[x].numpy().tolist() == [2.0, 4.0]
    assert "all" in made.visualize(str(folder / "tape.dot")) and (folder / "tape.dot").exists()
    made.zero()
    assert x.grad.numpy().tolist() == [0.0, 0.0]
    made.reset()
    assert made.launches == []


@calls("autograd", "autograd.gradcheck", "autograd.gradcheck_tape", "autograd.jacobian", "autograd.jacobian_fd")
def autograd() -> None:
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    for how in (wp.autograd.jacobian, wp.autograd.jacobian_fd):
        np.testing.assert_allclose(how(squares, 2, [x], [y])[0, 0].numpy(), np.diag([2.0, 4.0]), atol=2e-2)
    assert wp.autograd.gradcheck(squares, 2, [x], [y], show_summary=False)
    with wp.Tape() as made:
        wp.launch(squares, 2, [x], [y])
    assert wp.autograd.gradcheck_tape(made, show_summary=False)


def products(function: object, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(*batch, 2, 3)), rng.normal(size=(*batch, 3, 4))
    g = rng.normal(size=(*batch, 2, 4))
    given = [wp.array(v, dtype=wp.float64, ndim=len(batch) + 2) for v in (a, b, g, np.ones_like(a), 0 * b, 0 * g)]
    x, y, d, adj_a, adj_b, adj_c = given
    function(x, y, d, adj_a, adj_b, adj_c, d, alpha=2.0, beta=3.0)  # type: ignore[operator]
    np.testing.assert_allclose(adj_a.numpy(), 1 + 2 * g @ b.swapaxes(-1, -2))
    np.testing.assert_allclose(adj_b.numpy(), 2 * a.swapaxes(-1, -2) @ g)
    np.testing.assert_allclose(adj_c.numpy(), 3 * g)
    np.testing.assert_array_equal(d.numpy(), g)


@calls("build.adj_matmul", "types.adj_matmul")
def adjoint_of_a_product() -> None:
    assert wp.types.adj_matmul is wp.build.adj_matmul is wp.adj_matmul
    products(wp.adj_matmul, ())


@calls("build.adj_batched_matmul", "types.adj_batched_matmul")
def adjoint_of_products() -> None:
    assert wp.types.adj_batched_matmul is wp.build.adj_batched_matmul is wp.adj_batched_matmul
    products(wp.adj_batched_matmul, (2,))
