"""Gradients of native functions: adj_snippet and replay_snippet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
from warp._src.kernels.custom_functions import find_clang

needs_clang = pytest.mark.skipif(find_clang() is None, reason="native functions need a clang")


def floats(values: object, dtype: Any = wp.float32) -> wp.array:
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=True)


def backward(kernel: wp.Kernel, n: int, inputs: list, outputs: list, seed: float = 1.0) -> None:
    """Runs the kernel, then its adjoint from outputs whose gradient is `seed`."""
    wp.launch(kernel, dim=n, inputs=inputs, outputs=outputs)
    for out in outputs:
        out.grad.fill_(seed)
    none = [None] * len(inputs)
    wp.launch(kernel, n, inputs, outputs, adj_inputs=none, adj_outputs=[None] * len(outputs), adjoint=True)


saxpy_text = "out[i] = a * x[i] + y[i];"
adj_saxpy_text = """
    adj_a += x[i] * adj_out[i];
    adj_x[i] += a * adj_out[i];
    adj_y[i] += adj_out[i];
"""


@wp.func_native(saxpy_text, adj_snippet=adj_saxpy_text)
def saxpy(
    a: wp.float32, x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32), i: int
):  # fmt: skip
    ...


@wp.kernel
def run_saxpy(
    a: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)
):  # fmt: skip
    i = wp.tid()
    saxpy(a[0], x, y, out, i)


@needs_clang
def test_snippets_on_arrays() -> None:
    n = 12
    a, x, y, out = floats([3.0]), floats(np.arange(n)), floats(np.ones(n)), floats(np.zeros(n))
    backward(run_saxpy, n, [a, x, y], [out])
    np.testing.assert_allclose(out.numpy(), 3 * x.numpy() + 1)
    assert a.grad.numpy()[0] == x.numpy().sum()
    np.testing.assert_allclose(x.grad.numpy(), np.full(n, 3.0))
    np.testing.assert_allclose(y.grad.numpy(), np.ones(n))
    plain = wp.array(np.ones(n), dtype=float)  # without a gradient: what is added goes nowhere
    backward(run_saxpy, n, [a, x, plain], [out])


@wp.func_native("return wp::dot(v, v) * s * k;", adj_snippet="adj_v += v * (2.0f * s * adj_ret); adj_s += adj_ret;")
def native_energy(v: wp.vec3, s: float, k: int) -> float: ...


@wp.kernel
def use_energy(v: wp.array(dtype=wp.vec3), s: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    e = native_energy(v[i], s[i], 2)
    out[i] = e * e


@needs_clang
def test_snippets_on_values() -> None:
    n = 5
    v, s, out = floats(np.arange(3 * n).reshape(n, 3), wp.vec3), floats(np.full(n, 0.5)), floats(np.zeros(n))
    backward(use_energy, n, [v, s], [out])
    e = (v.numpy() ** 2).sum(1)
    np.testing.assert_allclose(out.numpy(), e * e, rtol=1e-5)
    np.testing.assert_allclose(v.grad.numpy(), v.numpy() * (2 * e)[:, None], rtol=1e-5)
    np.testing.assert_allclose(s.grad.numpy(), 2 * e, rtol=1e-5)


@wp.func_native("return x + 1.0f;", adj_snippet="adj_x += adj_ret;", replay_snippet="return x + 1000.0f;")
def native_shifted(x: float) -> float: ...


@wp.kernel
def call_native_shifted(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    y = native_shifted(x[0])
    out[0] = y * y


@needs_clang
def test_replay_snippets() -> None:
    x, out = floats([2.0]), floats([0.0])
    backward(call_native_shifted, 1, [x], [out])
    assert out.numpy()[0] == 9.0 and x.grad.numpy()[0] == 2004.0


@wp.func_native("return 2.0f * x;")
def opaque(x: float) -> float: ...


@wp.kernel
def call_opaque(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = opaque(x[0])


@needs_clang
def test_native_functions_without_adjoint_are_refused() -> None:
    x, out = floats([2.0]), floats([0.0])
    with pytest.raises(RuntimeError, match=r"native function 'opaque' has no code to differentiate it by"):
        backward(call_opaque, 1, [x], [out])


@wp.func_native("return x[i] * 2.0f;", adj_snippet="adj_x[i] += 2.0f * adj_ret;")
def native_read(x: wp.array(dtype=float), i: int) -> float: ...


@wp.kernel
def call_native_read(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    y = native_read(x, i)
    out[i] = y * y


@needs_clang
def test_tapes_write_down_what_native_code_returned() -> None:
    # It takes an array, so that it may write: it is not run again.
    x, out = floats(np.arange(8)), floats(np.zeros(8))
    with pytest.raises(RuntimeError, match="the backward pass needs the value"):
        backward(call_native_read, 8, [x], [out])
    with wp.Tape() as tape:
        wp.launch(call_native_read, 8, [x], [out])
    out.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), 8 * x.numpy())
