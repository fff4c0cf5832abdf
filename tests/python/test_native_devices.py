"""Functions in C++ on every device: values, arrays, structs, atomics and their gradients."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from warp._src import gpu_options, native

pytestmark = pytest.mark.skipif(native.find_clang() is None, reason="no clang on this machine")


@pytest.fixture(autouse=True)
def _libdevice(_on_device):
    if wp.get_device().is_cuda and not gpu_options.find_libdevice():
        pytest.skip("there is no libdevice")


@wp.struct
class Body:
    x: wp.vec3
    mass: float


@wp.func_native(
    "return a * sin(b) + pow(b, 2.0f);",
    adj_snippet="adj_a += adj_ret * sin(b); adj_b += adj_ret * (a * cos(b) + 2.0f * b);",
)
def wave(a: float, b: float) -> float: ...


@wp.func_native("body.x[1] += 1.0f; return body.mass * length(body.x);")
def weigh(body: Body) -> float: ...


@wp.func_native("atomic_add(sums, k % 3, 1.0f); return sums.shape[0];")
def count(sums: wp.array(dtype=float), k: int) -> wp.int64: ...


@wp.kernel
def waves(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wave(a[i], b[i])


@wp.kernel
def weights(bodies: wp.array(dtype=Body), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = weigh(bodies[i])


@wp.kernel
def counts(sums: wp.array(dtype=float), sizes: wp.array(dtype=wp.int64)):
    i = wp.tid()
    sizes[i] = count(sums, i)


def test_numbers_and_their_gradients():
    x = np.linspace(0.1, 2.0, 1001).astype(np.float32)
    a, b = wp.array(2.0 * x, dtype=float, requires_grad=True), wp.array(x, dtype=float, requires_grad=True)
    out = wp.zeros(1001, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(waves, 1001, [a, b], [out])
    np.testing.assert_allclose(out.numpy(), 2.0 * x * np.sin(x) + x * x, rtol=1e-5)
    out.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(a.grad.numpy(), np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), 2.0 * x * np.cos(x) + 2.0 * x, rtol=1e-5, atol=1e-6)


def test_structs():
    one = Body()
    one.x, one.mass = wp.vec3(3.0, 3.0, 0.0), 2.0
    bodies, out = wp.array([one] * 5, dtype=Body), wp.zeros(5, dtype=float)
    wp.launch(weights, 5, [bodies, out])
    assert out.numpy().tolist() == [10.0] * 5


def test_arrays_and_atomics():
    sums, sizes = wp.zeros(3, dtype=float), wp.zeros(300, dtype=wp.int64)
    wp.launch(counts, 300, [sums, sizes])
    assert sums.numpy().tolist() == [100.0] * 3 and np.all(sizes.numpy() == 3)
