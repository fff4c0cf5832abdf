"""jax.vmap in one launch: kernels that have a form for batches, those that have none, and what both give."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import warp as wp
from jax_support import jax, jnp
from warp import _weft
from warp._src.interop.jax_batched import batched_kernel
from warp._src.interop.jax_kernel import _adopt
from warp.jax_experimental.ffi import jax_kernel


@wp.func
def twice(x: float) -> float:
    return 2.0 * x


@wp.kernel
def reverse(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[x.shape[0] - 1 - i] = twice(x[i])


@wp.kernel
def at_once(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """The thread without a variable of its own."""
    y[wp.tid()] = x[wp.tid()] * float(wp.tid())


@wp.kernel
def first_of_two(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """One index of a grid of two dimensions: there is no form for batches."""
    i = wp.tid()
    wp.atomic_add(y, i, x[i])


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def spread(x: wp.array(dtype=wp.vec3), w: wp.array(dtype=float), scale: float, total: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_add(total, i % total.shape[0], x[i] * w[i] * scale)


@wp.kernel
def grown(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] * y[i] + x[i]


def looped(f, *args):
    return jnp.stack([f(*one) for one in zip(*args)])


X = jnp.linspace(-1.0, 2.0, 30).reshape(5, 6)
KERNELS = {"reverse": reverse, "at_once": at_once, "first_of_two": first_of_two}


@pytest.mark.parametrize("name", KERNELS)
def test_samples_are_themselves(name):
    f = jax_kernel(KERNELS[name])
    call = lambda x: f(x)[0]  # noqa: E731
    if name == "first_of_two":
        call = lambda x: f(x, launch_dims=(x.shape[0], 3), output_dims=x.shape[0])[0]  # noqa: E731
    np.testing.assert_array_equal(jax.jit(jax.vmap(call))(X), looped(call, X))
    np.testing.assert_array_equal(jax.vmap(call, in_axes=1, out_axes=1)(X), looped(call, X.T).T)
    nested = jax.vmap(jax.vmap(call))(jnp.stack([X, 2 * X]))
    np.testing.assert_array_equal(nested, jnp.stack([looped(call, X), looped(call, 2 * X)]))
    slope = jax.vmap(jax.grad(lambda x: (call(x) ** 2).sum()))(X)
    np.testing.assert_allclose(slope, looped(jax.grad(lambda x: (call(x) ** 2).sum()), X), rtol=1e-6)
    _, tangent = jax.jvp(jax.vmap(call), (X,), (jnp.ones_like(X),))
    np.testing.assert_allclose(tangent, looped(lambda x: jax.jvp(call, (x,), (jnp.ones(6),))[1], X), rtol=1e-6)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (2, 1)])
def test_operands_with_and_without_a_batch(axes):
    f = jax_kernel(product)
    call = lambda a, b: f(a, b, launch_dims=(a.shape[0], b.shape[1]))[0]  # noqa: E731
    a, b = jnp.arange(24.0).reshape(4, 2, 3), jnp.arange(36.0).reshape(4, 3, 3)
    given = [
        one[0] if axis is None else jnp.moveaxis(one, 0, axis) for one, axis in zip((a, b), axes)
    ]
    out = jax.vmap(call, in_axes=axes)(*given)
    wanted = [call(a[0] if axes[0] is None else a[k], b[0] if axes[1] is None else b[k]) for k in range(4)]
    np.testing.assert_allclose(out, jnp.stack(wanted))
    total = lambda a, b: (jax.vmap(call, in_axes=axes)(a, b) ** 2).sum()  # noqa: E731
    plain = lambda a, b: sum(  # noqa: E731
        (jnp.take(a, k, axes[0]) if axes[0] is not None else a)
        .__matmul__(jnp.take(b, k, axes[1]) if axes[1] is not None else b)
        .__pow__(2)
        .sum()
        for k in range(4)
    )
    for one, two in zip(jax.grad(total, (0, 1))(*given), jax.grad(plain, (0, 1))(*given)):
        np.testing.assert_allclose(one, two, rtol=1e-4)


def test_vectors_numbers_and_sums():
    f = jax_kernel(spread, output_dims=2)
    x, w = jnp.arange(60.0).reshape(4, 5, 3), jnp.linspace(0.0, 1.0, 5)
    call = lambda x: f(x, w, 3.0, launch_dims=5)[0]  # noqa: E731
    np.testing.assert_allclose(jax.vmap(call)(x), looped(call, x), rtol=1e-6)
    shared = lambda w: (jax.vmap(lambda x: f(x, w, 3.0, launch_dims=5)[0])(x) ** 2).sum()  # noqa: E731
    apart = lambda w: sum((f(one, w, 3.0, launch_dims=5)[0] ** 2).sum() for one in x)  # noqa: E731
    np.testing.assert_allclose(jax.grad(shared)(w), jax.grad(apart)(w), rtol=1e-5)


def test_what_is_changed_in_place():
    f = jax_kernel(grown, in_out_argnames=["y"])
    y = jnp.full(6, 0.5)
    call = lambda x: f(x, y)[0]  # noqa: E731
    np.testing.assert_allclose(jax.vmap(call)(X), looped(call, X), rtol=1e-6)
    slope = lambda g: jax.grad(lambda y: (g(y) ** 2).sum())(y)  # noqa: E731
    np.testing.assert_allclose(
        slope(lambda y: jax.vmap(lambda x: f(x, y)[0])(X)), slope(lambda y: looped(lambda x: f(x, y)[0], X)), rtol=1e-5
    )


def test_kernels_that_have_a_form_for_batches():
    def form(kernel, batched, rank=1):
        return batched_kernel(kernel, [handle for _, handle, _, _ in kernel.native().params()], batched, rank)

    assert form(reverse, (True, True)) is form(reverse, (True, True)) is not form(reverse, (False, True))
    assert form(at_once, (True, True)) is not None and form(spread, (True, False, False, True)) is not None
    assert form(first_of_two, (True, True), 2) is None
    assert form(product, (True, True, True), 2) is not None
    assert form(product, (True, True, True), 1) is None  # it asks for two indices
    assert form(reverse, (True, True), 4) is None


def test_a_batch_is_one_call():
    f = jax_kernel(reverse)
    batched = jax.jit(jax.vmap(lambda x: f(x)[0]))
    jax.block_until_ready(batched(X))
    text = batched.lower(X).as_text()
    assert text.count("weft.launch") == 1 and "while" not in text
    large = jnp.ones((2, 1 << 15))  # a sample is worth a launch of its own
    np.testing.assert_array_equal(jax.vmap(lambda x: f(x)[0])(large), 2 * large)


def test_exports_hold_batches():
    pytest.importorskip("flatbuffers", reason="JAX writes exported programs with flatbuffers")
    import jax.export

    f = jax_kernel(reverse)
    exported = jax.export.export(jax.jit(jax.vmap(lambda x: f(x)[0])), disabled_checks=wp.jax.export_checks())(X)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(X), looped(lambda x: f(x)[0], X))


@pytest.mark.cpu_only("records for the CPU; adopted ones stay known")
def test_programs_of_other_processes_find_batches():
    """A record that was made elsewhere, of the kernel's form for batches and of its adjoint."""
    program = """
import sys
sys.path[:0] = [FOLDER]
from test_jax_batched import X, jax, jax_kernel, reverse
call = jax_kernel(reverse)._call(reverse.native(), None, [X[0]]).batched(7, (True,))
print(call.forward_plan(0).record.hex(), call.adjoint_plan(0, (True,), (True,)).record.hex())
"""
    done = subprocess.run(
        [sys.executable, "-c", program.replace("FOLDER", repr(os.path.dirname(os.path.abspath(__file__))))],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    f = jax_kernel(reverse)
    for record in map(bytes.fromhex, done.stdout.splitlines()[-1].split()):
        with pytest.raises(ValueError, match="not registered"):
            _weft.xla_compile(record, -1)
        _adopt(record)
        _weft.xla_compile(record, -1)
    assert f.kernel is reverse


@wp.kernel
def nearest(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_point(mesh, x[i], 100.0)
    y[i] = wp.length(x[i] - wp.mesh_eval_position(mesh, query.face, query.u, query.v))


def test_exports_refuse_ids():
    import jax.export

    points = wp.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=wp.vec3, device=wp.device_from_jax(jax.devices()[0]))
    mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int, device=points.device))
    f = jax_kernel(nearest)
    x = jnp.array([[0.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    call = jax.jit(lambda x: f(mesh.id, x)[0])
    np.testing.assert_allclose(call(x), [2.0, 2.0], rtol=1e-6)
    with pytest.raises(ValueError, match="'nearest' takes the id of a mesh.*can't be exported"):
        jax.export.export(call, disabled_checks=wp.jax.export_checks())(x)
