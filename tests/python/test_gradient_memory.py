"""What the backward pass of long loops costs: bounded memory, few repetitions, whatever the number of iterations."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import warp as wp


@wp.kernel
def recurrence(x: wp.array(dtype=wp.float64), n: int, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = x[i]
    for _k in range(n):
        s = s + wp.float64(1e-3) * wp.sin(s)
    y[i] = s


@wp.kernel
def in_place(n: int, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    for _k in range(n):
        y[i] = y[i] + wp.float64(1e-3) * wp.sin(y[i])


def slope(x: float, n: int) -> float:
    """ds_n/ds_0 of the recurrence."""
    s, d = x, 1.0
    for _ in range(n):
        d *= 1.0 + 1e-3 * np.cos(s)
        s += 1e-3 * np.sin(s)
    return d


def test_a_recurrence_of_a_hundred_thousand_steps():
    n = 100_000
    x = wp.array([0.1, 1.0, 2.0], dtype=wp.float64, requires_grad=True)
    y = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    y.grad.fill_(1.0)
    wp.launch(recurrence, 3, [x, n], [y], adjoint=True)
    want = [slope(v, 20_000) for v in x.numpy()]
    short = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    short.grad.fill_(1.0)
    assert np.isfinite(x.grad.numpy()).all()
    x.grad.zero_()
    wp.launch(recurrence, 3, [x, 20_000], [short], adjoint=True)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-9)


_PROGRAM = """
import resource, sys
sys.path.insert(0, {folder!r})
import numpy as np
import warp as wp
from test_gradient_memory import in_place, recurrence
wp.config.quiet = True
x = wp.array([0.5], dtype=wp.float64, requires_grad=True)
y = wp.zeros(1, dtype=wp.float64, requires_grad=True)
for n in (10, {count}):  # the first makes compiler and libraries resident
    with wp.Tape() as tape:
        if {kernel!r} == "recurrence":
            wp.launch(recurrence, 1, [x, n], [y])
        else:
            y.assign(x)
            wp.launch(in_place, 1, [n], [y])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    y.grad.fill_(1.0)
    tape.backward()
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert np.isfinite(x.grad.numpy()).all()
print(after - before, tape.log_bytes)
"""


@pytest.mark.cpu_only
@pytest.mark.parametrize("kernel, most_log", [("recurrence", 0), ("in_place", 9_000_000)])
def test_a_million_iterations_take_little_memory(kernel, most_log):
    import pathlib

    folder = str(pathlib.Path(__file__).parent)
    text = _PROGRAM.format(folder=folder, count=1_000_000, kernel=kernel)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    grown, log = map(int, done.stdout.split()[-2:])
    assert grown * 1024 < 64 << 20
    assert log <= most_log * 1.2
