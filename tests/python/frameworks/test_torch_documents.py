"""The programs of the documentation that use PyTorch, as they stand there, and what they rest on."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import warp as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

PROGRAMS = pathlib.Path(__file__).parent / "documented"


@wp.func
def rosenbrock(x: wp.float64, y: wp.float64):
    return (wp.float64(1.0) - x) ** wp.float64(2.0) + wp.float64(100.0) * (y - x * x) ** wp.float64(2.0)


@wp.kernel
def eval_rosenbrock(xs: wp.array(dtype=wp.vec2d), z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x = xs[i]
    z[i] = rosenbrock(x[0], x[1])


class Rosenbrock(torch.autograd.Function):
    """The documented function, in doubles."""

    @staticmethod
    def forward(ctx, xy, num_points):
        ctx.xy = wp.from_torch(xy, dtype=wp.vec2d, requires_grad=True)
        ctx.num_points = num_points
        ctx.z = wp.zeros(num_points, dtype=wp.float64, requires_grad=True)
        wp.launch(kernel=eval_rosenbrock, dim=ctx.num_points, inputs=[ctx.xy], outputs=[ctx.z])
        return wp.to_torch(ctx.z)

    @staticmethod
    def backward(ctx, adj_z):
        ctx.z.grad = wp.from_torch(adj_z)
        wp.launch(
            kernel=eval_rosenbrock,
            dim=ctx.num_points,
            inputs=[ctx.xy],
            outputs=[ctx.z],
            adj_inputs=[ctx.xy.grad],
            adj_outputs=[ctx.z.grad],
            adjoint=True,
        )
        return (wp.to_torch(ctx.xy.grad), None)


@pytest.mark.cpu_only("programs of their own")
@pytest.mark.parametrize("name", ["from_torch", "to_torch", "autograd_function", "custom_op"])
def test_program(name):
    # Inductor would start a process for each core, which takes it minutes beside other tests.
    few = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    program = [sys.executable, str(PROGRAMS / f"torch_{name}.py")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=800, env=few)
    assert done.returncode == 0, done.stderr[-3000:]
    if name in ("from_torch", "to_torch"):
        losses = [float(x) for x in re.findall(r"loss: (\S+)", done.stdout)]
        assert len(losses) == 500 and losses[-1] < 1e-12 < losses[0]
    else:
        mean = [float(x) for x in re.findall(r"[\d.]+", done.stdout.strip().splitlines()[-1])]
        assert np.allclose(mean, [1.0, 1.0], atol=0.02)


def points(device, n=6):
    values = np.random.default_rng(1).normal(size=(n, 2))
    return torch.tensor(values, dtype=torch.float64, requires_grad=True, device=wp.device_to_torch(device))


def by_hand(xy):
    x, y = xy[:, 0], xy[:, 1]
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def test_the_gradient_of_a_leaf_is_not_doubled(device):
    xy, other = points(device), points(device)
    by_hand(other).sum().backward()
    for _ in range(2):  # again with a gradient that is there already
        xy.grad = None
        Rosenbrock.apply(xy, 6).sum().backward()  # comes expanded
        torch.testing.assert_close(xy.grad, other.grad)
    Rosenbrock.apply(xy, 6).sum().backward()
    torch.testing.assert_close(xy.grad, 2 * other.grad)


def test_incoming_gradients_stay_as_they_are(device):
    xy = points(device)
    given = torch.full((6,), 3.0, dtype=torch.float64, device=wp.device_to_torch(device))
    Rosenbrock.apply(xy, 6).backward(given)
    assert (given == 3.0).all()


class Repeatable(Rosenbrock):
    """The same for a node that runs backward more than once: gradients are added up where they lie."""

    @staticmethod
    def backward(ctx, adj_z):
        ctx.xy.grad.zero_()
        gradient, _ = Rosenbrock.backward(ctx, adj_z)
        return gradient.clone(), None


def test_gradcheck(device):
    xy = points(device)
    assert torch.autograd.gradcheck(lambda t: Repeatable.apply(t, 6), (xy,))


def test_sgd_goes_the_same_way_as_torch(device):
    def run(f):
        xy = (0.1 * points(device).detach()).requires_grad_()
        opt = torch.optim.SGD([xy], lr=1e-4)
        for _ in range(20):
            opt.zero_grad()
            f(xy).sum().backward()
            opt.step()
        return xy.detach()

    torch.testing.assert_close(run(lambda t: Rosenbrock.apply(t, 6)), run(by_hand))
