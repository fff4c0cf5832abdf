"""`wp.config.verify_fp` outside of debug mode: what is not finite is printed with its place, and the launch goes on."""

from __future__ import annotations

import re

import numpy as np
import pytest
import warp as wp


@pytest.fixture(params=[0, 1], ids=["lanes", "one lane"], autouse=True)
def verify_fp(request):
    wp.config.verify_fp, wp.config.cpu_lanes = True, request.param
    yield
    wp.config.verify_fp, wp.config.cpu_lanes = False, 0


def said(capfd, kernel, inputs, dim=1, **options):
    """The lines that a launch prints: line number in this file, column, text."""
    capfd.readouterr()
    wp.launch(kernel, dim=dim, inputs=inputs, **options)
    wp.synchronize()
    lines = capfd.readouterr().out.splitlines()
    found = [re.fullmatch(r".*test_verify_fp\.py:(\d+):(\d+): not finite: (.*)", line) for line in lines]
    assert all(found), lines
    first = kernel.func.__code__.co_firstlineno
    return [(int(m[1]) - first, m[3].strip()) for m in found]


@wp.func
def root(x: float):
    return wp.sqrt(x)


@wp.kernel
def makes_them(x: wp.array(dtype=float), out: wp.array(dtype=float), vectors: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a = 1.0 / x[i]
    b = root(x[i] - 1.0)
    c = a + b
    out[i] = c
    v = wp.vec3(a, b, 1.0)
    vectors[i] = v


def test_operations_and_stores(device, capfd):
    x, out, vectors = wp.zeros(1), wp.zeros(1), wp.zeros(1, dtype=wp.vec3)
    lines = said(capfd, makes_them, [x, out, vectors])
    inside = lines.pop(1)
    assert lines == [(3, "inf"), (6, "nan"), (8, "inf nan 1")]
    assert inside[1] == "nan" and inside[0] < 0  # in the function, where it was made
    assert np.isnan(out.numpy()[0])


def test_finite_values_print_nothing(device, capfd):
    x, out, vectors = wp.full(100, 2.0), wp.zeros(100), wp.zeros(100, dtype=wp.vec3)
    assert said(capfd, makes_them, [x, out, vectors], 100) == []


def test_one_line_for_a_place_and_launch(device, capfd):
    n = 100_000
    x, out, vectors = wp.zeros(n), wp.zeros(n), wp.zeros(n, dtype=wp.vec3)
    for _ in range(2):
        assert len(said(capfd, makes_them, [x, out, vectors], 64)) == 4


@wp.kernel
def tells_infinity(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    best = wp.inf
    for k in range(3):
        best = wp.min(best, x[k])
    if wp.isfinite(x[i]) and not wp.isnan(x[i]):
        out[i] = best


def test_infinities_on_purpose_are_no_matter(device, capfd):
    out = wp.zeros(1)
    assert said(capfd, tells_infinity, [wp.array([3.0, 2.0, 5.0], dtype=float), out]) == []
    assert out.numpy()[0] == 2.0


@wp.kernel
def adds(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(out, 0, wp.log(x[i]))


def test_atomics_and_doubles(device, capfd):
    out = wp.zeros(1, dtype=wp.float64)
    assert said(capfd, adds, [wp.array([1.0, 0.0], dtype=wp.float64), out], 2) == [(3, "-inf"), (3, "-inf")]


@wp.kernel
def overflows(out: wp.array(dtype=wp.vec2)):
    wp.atomic_add(out, 0, wp.vec2(3.0e38, 1.0))
    out[1][0] -= 3.0e38


def test_sums_that_overflow(device, capfd):
    out = wp.array([[3.0e38, 0.0], [-3.0e38, 0.0]], dtype=wp.vec2)
    assert said(capfd, overflows, [out]) == [(2, "inf 1"), (3, "-inf")]


@wp.kernel
def slope(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.sqrt(x[i])


def test_gradients_that_are_written(device, capfd):
    x, out = wp.zeros(1, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(slope, dim=1, inputs=[x, out])
    wp.synchronize()
    assert capfd.readouterr().out == ""
    tape.backward(grads={out: wp.ones(1)})
    wp.synchronize()
    assert "not finite: inf" in capfd.readouterr().out


def test_off_prints_nothing(device, capfd):
    wp.config.verify_fp = False
    assert said(capfd, makes_them, [wp.zeros(1), wp.zeros(1), wp.zeros(1, dtype=wp.vec3)]) == []


def test_debug_mode_still_raises(device):
    wp.config.mode = "debug"
    try:
        with pytest.raises(RuntimeError, match="not finite"):
            wp.launch(slope, dim=1, inputs=[wp.array([-1.0], dtype=float), wp.zeros(1)])
            wp.synchronize()
    finally:
        wp.config.mode = "release"
