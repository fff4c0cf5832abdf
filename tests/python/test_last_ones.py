"""Grids whose last dimensions have one thread: lanes are neighbours in the last one that has more, and nobody sees it."""

import numpy as np
import pytest
import warp as wp
from warp import _weft


@wp.kernel
def places(out: wp.array3d(dtype=wp.vec4i)):
    i, j, k, m = wp.tid()
    out[i, j, k] = wp.vec4i(i, j, k, m)


@wp.kernel
def scaled(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = 3.0 * x[i, j] * x[i, j]


@pytest.mark.parametrize("dims", [(5, 1, 1, 1), (1, 1, 1, 1), (3, 4, 1, 1), (2, 3, 4, 1), (1, 5, 1, 1), (40, 1, 7, 1)])
def test_threads_know_their_places(dims, device):
    out = wp.zeros(dims[:3], dtype=wp.vec4i, device=device)
    wp.launch(places, dim=dims, inputs=[out], device=device)
    expected = np.stack([*np.indices(dims[:3]), np.zeros(dims[:3], dtype=int)], axis=-1)
    assert np.array_equal(out.numpy(), expected)


def test_gradients_and_recorded_launches(device):
    values = np.linspace(-2.0, 2.0, 70, dtype=np.float32).reshape(70, 1)
    x = wp.array(values, dtype=float, device=device, requires_grad=True)
    y = wp.zeros((70, 1), dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scaled, dim=(70, 1), inputs=[x, y], device=device)
    y.grad.fill_(1.0)
    tape.backward()
    assert np.allclose(y.numpy(), 3.0 * values**2)
    assert np.allclose(x.grad.numpy(), 6.0 * values)
    y.zero_()
    command = wp.launch(scaled, dim=(70, 1), inputs=[x, y], device=device, record_cmd=True)
    command.launch()
    assert np.allclose(y.numpy(), 3.0 * values**2)


def forms() -> int:
    counts = _weft.build_counts()
    return counts["compiled"] + counts["disk"] + counts["process"]


def test_recorded_launches_run_what_others_run(device):
    @wp.kernel
    def halved(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, j = wp.tid()
        y[i, j] = 0.5 * x[i, j]

    x = wp.array(np.arange(12, dtype=np.float32).reshape(12, 1), dtype=float, device=device)
    y = wp.zeros_like(x)
    wp.launch(halved, dim=(12, 1), inputs=[x, y], device=device)
    wp.synchronize_device(device)
    seen, before = y.numpy().copy(), forms()
    command = wp.launch(halved, dim=(12, 1), inputs=[x, y], device=device, record_cmd=True)
    assert command.dim == (12, 1)  # as it was given
    y.zero_()
    command.launch()
    assert np.array_equal(y.numpy(), seen) and forms() == before
    y.zero_()
    command.set_dim((5, 1))
    assert command.dim == (5, 1)
    command.launch()
    assert np.array_equal(y.numpy()[:5], seen[:5]) and not y.numpy()[5:].any() and forms() == before
    command.set_dim((0, 1))
    command.launch()
    command.set_dim((1, 1))
    y.zero_()
    command.launch()
    assert np.array_equal(y.numpy()[:1], seen[:1]) and not y.numpy()[1:].any() and forms() == before


def test_adjoints_that_are_launched(device):
    values = np.linspace(-2.0, 2.0, 9, dtype=np.float32).reshape(9, 1)
    x = wp.array(values, dtype=float, device=device, requires_grad=True)
    y = wp.zeros_like(x, requires_grad=True)
    counts = []
    for dims in ((9, 1), (9, 1, 1)):
        x.grad.zero_()
        y.grad.fill_(1.0)  # it is used up
        wp.launch(scaled, dim=dims, inputs=[x, y], adj_inputs=[x.grad, y.grad], device=device, adjoint=True)
        assert np.allclose(x.grad.numpy(), 6.0 * values)
        counts.append(forms())
    assert counts[0] == counts[1] or wp.get_device(device).is_cuda  # a GPU's form has all dimensions


def test_no_threads_at_all(device):
    out = wp.zeros((2, 2, 2), dtype=wp.vec4i, device=device)
    wp.launch(places, dim=(0, 1, 1, 1), inputs=[out], device=device)
    assert not out.numpy().any()
