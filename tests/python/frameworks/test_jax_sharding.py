"""Arrays that lie on several devices, given to kernels in jitted programs without shard_map: launches are cut along their first
dimension where threads keep to rows of their own, and everything is gathered where they don't. Results are those of one
device. In processes of their own, for JAX reads its flags once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

START = """
import jax, jax.numpy as jnp, numpy as np, warp as wp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
wp.config.quiet = True
wp.set_device("cpu")
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
def spread(x, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))
def program(f, *args):
    return jax.jit(f).lower(*args).compile()
def gathers(compiled):
    text = compiled.as_text()
    return "all-gather" in text or "dynamic-slice" in text

@wp.kernel
def square(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * w[1] + float(w.shape[0])
@wp.kernel
def rows(x: wp.array2d(dtype=wp.vec2), y: wp.array2d(dtype=float), n: wp.array(dtype=int)):
    i, j = wp.tid()
    y[i, j] = wp.dot(x[i, j], x[i, 0])
    n[i] = x.shape[1]
@wp.kernel
def total(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, 0, x[i] * x[i])
@wp.kernel
def step(v: wp.array(dtype=float), x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 0.5 * v[i] * x[i]
@wp.kernel
def numbered(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + float(i)
@wp.kernel
def neighbour(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[(i + 1) % x.shape[0]]
@wp.kernel
def lookup(index: wp.array(dtype=int), table: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = table[index[i]] * table[index[i]]
f = wp.jax_kernel(square)
X, W = jnp.arange(48.0), jnp.asarray([5.0, 2.0])
wanted = 2 * np.arange(48.0) ** 2 + 2
"""


def run(body):
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    path = f"/tmp/weft_jax_sharding_{os.getpid()}.py"
    with open(path, "w") as file:
        file.write(textwrap.dedent(START) + textwrap.dedent(body))
    try:
        done = subprocess.run([sys.executable, path], env=env, capture_output=True, text=True, timeout=600)
    finally:
        os.unlink(path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rows_stay_where_they_are():
    run(
        """
        for spec in (("a",), ("b",), (("a", "b"),)):
            x = spread(X, *spec)
            made = program(lambda x, w: f(x, w)[0], x, W)
            assert not gathers(made), made.as_text()
            y = made(x, W)
            np.testing.assert_array_equal(y, wanted)
            assert y.sharding.is_equivalent_to(x.sharding, 1), y.sharding
            np.testing.assert_array_equal(f(x, W)[0], wanted)  # eagerly
        z = spread(jnp.arange(96.0).reshape(8, 6, 2), "a")
        g = wp.jax_kernel(rows, num_outputs=2, output_dims={"y": (8, 6), "n": 8})
        made = program(lambda z: g(z, launch_dims=(8, 6)), z)
        assert not gathers(made), made.as_text()
        for one, two in zip(made(z), g(jnp.asarray(np.asarray(z)), launch_dims=(8, 6))):
            np.testing.assert_array_equal(one, two)
        """
    )


def test_other_dimensions_are_gathered_rows_stay():
    run(
        """
        z = spread(jnp.arange(96.0).reshape(8, 6, 2), "a", "b")
        g = wp.jax_kernel(rows, num_outputs=2, output_dims={"y": (8, 6), "n": 8})
        y, n = jax.jit(lambda z: g(z, launch_dims=(8, 6)))(z)
        one, two = g(jnp.asarray(np.asarray(z)), launch_dims=(8, 6))
        np.testing.assert_array_equal(y, one)
        np.testing.assert_array_equal(n, two)
        """
    )


def test_sums_over_all_devices():
    run(
        """
        t = wp.jax_kernel(total, output_dims=1)
        x = spread(X, ("a", "b"))
        made = program(lambda x: t(x)[0], x)
        assert "all-reduce" in made.as_text() and not gathers(made), made.as_text()
        np.testing.assert_allclose(made(x), [np.sum(np.arange(48.0) ** 2)])
        np.testing.assert_allclose(jax.jit(jax.grad(lambda x: t(x)[0][0]))(x), 2 * np.arange(48.0))
        """
    )


def test_derivatives():
    run(
        """
        x = spread(X, "a")
        loss = lambda x, w: jnp.sum(f(x, w)[0] * jnp.cos(x))
        wanted = jax.grad(loss, (0, 1))(X, W)
        made = program(jax.grad(loss, (0, 1)), x, W)
        assert not gathers(made), made.as_text()
        for one, two in zip(made(x, W), wanted):
            np.testing.assert_allclose(one, two, rtol=1e-5)
        d = jax.jit(lambda x, w: jax.jvp(loss, (x, w), (x, w))[1])
        np.testing.assert_allclose(d(x, W), d(X, W), rtol=1e-5)
        np.testing.assert_allclose(jax.jit(jax.hessian(loss))(x, W), jax.hessian(loss)(X, W), rtol=1e-5, atol=1e-4)
        s = wp.jax_kernel(step, in_out_argnames=["x"])
        v = spread(X * 0.1, "a")
        np.testing.assert_allclose(jax.jit(s)(v, x)[0], X + 0.05 * X * X, rtol=1e-6)
        slopes = jax.jit(jax.grad(lambda v, x: jnp.sum(s(v, x)[0] ** 2), (0, 1)))
        for one, two in zip(slopes(v, x), slopes(X * 0.1, X)):
            np.testing.assert_allclose(one, two, rtol=1e-5)
        """
    )


def test_kernels_that_leave_their_rows_are_right_all_the_same():
    run(
        """
        x = spread(X, "a")
        np.testing.assert_array_equal(jax.jit(wp.jax_kernel(numbered))(x)[0], 2 * np.arange(48.0))
        np.testing.assert_array_equal(jax.jit(wp.jax_kernel(neighbour))(x)[0], np.roll(np.arange(48.0), -1))
        # A grid that is not the rows.
        np.testing.assert_array_equal(
            jax.jit(lambda x, w: f(x, w, launch_dims=12, output_dims=48)[0])(x, W)[:13], [*wanted[:12], 0])
        """
    )


def test_tables_lie_on_every_device():
    run(
        """
        index = spread(jnp.asarray(np.arange(48) % 7, jnp.int32), "a")
        table = spread(jnp.arange(8.0), "b")
        g = jax.jit(lambda i, t: wp.jax_kernel(lookup)(i, t)[0])
        np.testing.assert_array_equal(g(index, table), (np.arange(48) % 7) ** 2.0)
        slope = jax.jit(jax.grad(lambda t, i: jnp.sum(g(i, t))))(table, index)
        np.testing.assert_allclose(slope, [2 * k * np.sum(np.arange(48) % 7 == k) for k in range(8)])
        """
    )


def test_rows_that_do_not_come_out_even():
    run(
        """
        odd = jnp.arange(7.0)
        g = jax.jit(lambda x, w: f(jax.lax.with_sharding_constraint(x * 2, NamedSharding(mesh, P("a"))), w)[0])
        np.testing.assert_array_equal(g(odd, W), 8 * np.arange(7.0) ** 2 + 2)
        t = wp.jax_kernel(total, output_dims=1)
        h = jax.jit(lambda x: t(jax.lax.with_sharding_constraint(x + 1, NamedSharding(mesh, P("a"))))[0])
        np.testing.assert_allclose(h(odd), [np.sum(np.arange(1.0, 8.0) ** 2)])
        """
    )


def test_batches_are_rows():
    run(
        """
        many = jnp.stack([X + k for k in range(8)])
        x = spread(many, "a")
        made = program(lambda x, w: jax.vmap(lambda x: f(x, w)[0])(x), x, W)
        assert not gathers(made), made.as_text()
        np.testing.assert_array_equal(made(x, W), 2 * np.asarray(many) ** 2 + 2)
        """
    )


def test_debug_mode_and_scan():
    run(
        """
        x = spread(X, "a")
        loop = jax.jit(lambda x, w: jax.lax.scan(lambda c, _: (f(c * 0.1, w)[0], None), x, None, length=3)[0])
        np.testing.assert_allclose(loop(x, W), loop(X, W), rtol=1e-6)
        wp.config.mode = "debug"
        made = program(lambda x, w: f(x, w)[0], x, W)
        assert not gathers(made), made.as_text()
        np.testing.assert_array_equal(made(x, W), wanted)
        """
    )
