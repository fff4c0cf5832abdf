"""Constant loops that are left early and choose numbers of vectors and matrices by their turn, which the compiler writes out: beside NumPy, with
one lane and all lanes, on the CPU and as PTX, and their gradients beside differences."""

from __future__ import annotations

import os

import numpy as np
import pytest
import warp as wp
from test_fake_driver import FAKE, run_with

mat63d = wp.types.matrix(shape=(6, 3), dtype=wp.float64)


@wp.func
def separated(axes: mat63d, sizes: wp.vec3d, offset: wp.vec3d) -> bool:
    """Whether two boxes, whose axes are rows of the matrix, lie apart along one of these."""
    for j in range(2):
        for k in range(3):
            axis = axes[3 * j + k]
            reach = wp.float64(0.0)
            for i in range(2):
                for n in range(3):
                    reach += sizes[n] * wp.abs(wp.dot(axes[3 * i + n], axis))
            if reach < wp.abs(wp.dot(offset, axis)):
                return True
    return False


@wp.kernel
def boxes(axes: wp.array(dtype=mat63d), offsets: wp.array(dtype=wp.vec3d), apart: wp.array(dtype=int)):
    i = wp.tid()
    if separated(axes[i], wp.vec3d(wp.float64(0.5), wp.float64(0.3), wp.float64(0.2)), offsets[i]):
        apart[i] = 1


@wp.kernel
def first_large(x: wp.array(dtype=wp.vec4d), limit: wp.float64, at: wp.array(dtype=int), out: wp.array(dtype=wp.vec4d)):
    """Squares of numbers up to the first that is too large, which stays as it is, as do those behind it."""
    i = wp.tid()
    v = x[i]
    where = int(4)
    for k in range(4):
        if v[k] > limit:
            where = k
            break
        v[k] = v[k] * v[k] + wp.float64(k)
    at[i] = where
    out[i] = v


def box_case(count: int = 200):
    random = np.random.default_rng(11)
    turns = np.linalg.qr(random.normal(size=(2 * count, 3, 3)))[0]
    return turns.reshape(count, 6, 3), random.normal(size=(count, 3)) * 0.8


def boxes_by_numpy(axes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    sizes = np.tile([0.5, 0.3, 0.2], 2)
    reach = (np.abs(np.einsum("bnc,bac->bna", axes, axes)) * sizes[None, :, None]).sum(1)
    return (reach < np.abs(np.einsum("bc,bac->ba", offsets, axes))).any(1).astype(np.int32)


def check_boxes(device: str | None) -> None:
    axes, offsets = box_case()
    apart = wp.zeros(len(offsets), dtype=int, device=device)
    inputs = [wp.array(axes, dtype=mat63d, device=device), wp.array(offsets, dtype=wp.vec3d, device=device), apart]
    wp.launch(boxes, dim=len(offsets), inputs=inputs, device=device)
    expected = boxes_by_numpy(axes, offsets)
    assert 0 < expected.sum() < len(expected)
    np.testing.assert_array_equal(apart.numpy(), expected)


def check_numbers(device: str | None) -> None:
    """Forwards by hand; backwards a square's slope where it was made, else one."""
    x = np.random.default_rng(5).random((100, 4)) * 1.25
    made = np.cumprod(x <= 1.0, axis=1).astype(bool)
    given = wp.array(x, dtype=wp.vec4d, requires_grad=True, device=device)
    at, out = wp.zeros(100, dtype=int, device=device), wp.zeros(100, dtype=wp.vec4d, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(first_large, dim=100, inputs=[given, 1.0, at, out], device=device)
    np.testing.assert_array_equal(at.numpy(), made.sum(1))
    np.testing.assert_allclose(out.numpy(), np.where(made, x * x + np.arange(4), x), rtol=1e-12)
    tape.backward(grads={out: wp.ones(100, dtype=wp.vec4d, device=device)})
    np.testing.assert_allclose(given.grad.numpy(), np.where(made, 2.0 * x, 1.0), rtol=1e-12)


@pytest.mark.parametrize("lanes", [1, 4, 16, 0])
@pytest.mark.parametrize("check", [check_boxes, check_numbers])
def test_lanes(check, lanes, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_lanes", lanes)
    check(None)


@pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)
def test_as_ptx(tmp_path):
    run_with("test_loops_left_early", 'for check in ("boxes", "numbers"):\n'
             '    getattr(test_loops_left_early, f"check_{check}")("cuda:0")', tmp_path)  # fmt: skip
