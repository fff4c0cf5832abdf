"""Threads of XLA, one for each device, and of programs: what wrappers, records, graphs and tapes share. Eight host devices need a
process of their own, for JAX reads its flags once."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("jax", reason="JAX is not installed")
from test_jax_devices import run  # noqa: E402

THREADS = f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from thread_support import changing_often, in_threads
mesh = Mesh(np.array(jax.devices()), "x")
def func(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.launch(square, dim=x.shape, inputs=[x, w], outputs=[y])
def spread(f):
    return jax.shard_map(lambda x, w: f(x, w)[0], mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
"""


def threads(body: str) -> None:
    run(THREADS + _plain(body))


def _plain(body: str) -> str:
    import textwrap

    return textwrap.dedent(body)


def test_functions_go_back_on_eight_devices():
    """Each call has a tape of its own, in its thread."""
    threads(
        """
        g = wp.jax_callable(func)
        value = jax.jit(jax.grad(lambda x, w: spread(g)(x, w).sum(), argnums=(0, 1)))
        with changing_often():
            for k in range(20):
                x = jnp.arange(40.0) + k
                dx, dw = value(x, jnp.full(1, 2.0))
                np.testing.assert_allclose(dx, 4 * np.asarray(x))
                np.testing.assert_allclose(dw, [np.sum(np.asarray(x) ** 2)], rtol=1e-6)
        """
    )


def test_functions_have_tangents_on_eight_devices():
    threads(
        """
        g = wp.jax_callable(func)
        value = jax.jit(lambda x, w: jax.jvp(lambda x: spread(g)(x, w), (x,), (jnp.ones_like(x),))[1])
        with changing_often():
            for k in range(20):
                x = jnp.arange(40.0) + k
                np.testing.assert_allclose(value(x, jnp.full(1, 2.0)), 4 * np.asarray(x))
        """
    )


def test_a_tape_of_the_program_hears_nothing_of_jax():
    threads(
        """
        g = wp.jax_callable(func)
        value = jax.jit(jax.grad(lambda x, w: spread(g)(x, w).sum()))
        a = wp.ones(4, dtype=float, requires_grad=True)
        b = wp.zeros(4, dtype=float, requires_grad=True)
        w = wp.ones(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            for k in range(5):
                x = jnp.arange(40.0) + k
                np.testing.assert_allclose(value(x, jnp.full(1, 2.0)), 4 * np.asarray(x))
                np.testing.assert_allclose(jax.jit(spread(g))(x, jnp.full(1, 2.0)), 2 * np.asarray(x) ** 2)
                np.testing.assert_allclose(jax.jit(g)(x, jnp.full(1, 2.0))[0], 2 * np.asarray(x) ** 2)
            wp.launch(square, dim=4, inputs=[a, w], outputs=[b])
        assert len(tape.launches) == 1
        tape.backward(grads={b: wp.ones(4, dtype=float)})
        np.testing.assert_allclose(a.grad.numpy(), 2.0)
        """
    )


def test_functions_with_tapes_inside():
    threads(
        """
        def slope(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
            at = wp.clone(x, requires_grad=True)
            value = wp.zeros_like(at)
            with wp.Tape() as tape:
                wp.launch(square, dim=x.shape, inputs=[at, w], outputs=[value])
            tape.backward(grads={value: wp.ones_like(value)})
            wp.copy(y, at.grad)
        g = jax.jit(spread(wp.jax_callable(slope)))
        with changing_often():
            for k in range(20):
                x = jnp.arange(40.0) + k
                np.testing.assert_allclose(g(x, jnp.full(1, 2.0)), 4 * np.asarray(x))
        """
    )


def test_wrappers_are_asked_for_at_once():
    """And called at once for the first time, and under settings that change."""
    threads(
        """
        x = jnp.arange(8.0)
        for round in range(10):
            scope = {"wp": wp}
            @wp.kernel
            def scaled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                i = wp.tid()
                y[i] = x[i] * wp.static(float(round))
            def launches(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                wp.launch(scaled, dim=x.shape, inputs=[x], outputs=[y])
            made = in_threads(lambda k: (wp.jax_kernel(scaled), wp.jax_callable(launches)))
            assert all(one == made[0] for one in made)
            def call(k):
                if k == 0:
                    wp.config.max_unroll = 16 + round % 2
                return [f(x)[0] for f in made[0]]
            for answers in in_threads(call):
                for y in answers:
                    np.testing.assert_array_equal(y, x * round)
            if round == 5:
                wp.clear_jax_callable_graph_cache()
        """
    )


def test_caches_are_cleared_while_others_are_made():
    threads(
        """
        def work(k):
            made = []
            for n in range(20):
                if k % 2:
                    wp.clear_jax_callable_graph_cache()
                else:
                    def own(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                        wp.copy(y, x)
                    made.append(wp.jax_callable(own, graph_mode=wp.JaxCallableGraphMode.WARP))
            return made
        in_threads(work)
        """
    )


def test_wrappers_of_one_function_with_other_graphs_are_told_apart():
    threads(
        """
        calls = []
        def counted(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            calls.append(1)
            wp.copy(y, x)
        x = jnp.arange(8.0)
        plain = wp.jax_callable(counted, graph_mode=wp.JaxCallableGraphMode.NONE)
        staged = wp.jax_callable(counted, graph_mode=wp.JaxCallableGraphMode.WARP_STAGED_EX)
        a, b = jax.jit(plain), jax.jit(staged)
        for _ in range(5):
            np.testing.assert_array_equal(a(x)[0], x)
            np.testing.assert_array_equal(b(x)[0], x)
        assert len(calls) == 5 + 1, len(calls)
        """
    )


def test_a_callback_is_registered_once():
    threads(
        """
        from warp.jax_experimental import register_ffi_callback
        def fill(inputs, outputs, attrs, ctx):
            np.asarray(outputs[0])[:] = attrs["value"]
        for n in range(10):
            in_threads(lambda k: register_ffi_callback(f"fill_{n}", fill))
        y = jax.jit(lambda: jax.ffi.ffi_call("fill_3", jax.ShapeDtypeStruct((4,), np.float32))(value=np.float32(7.0)))()
        np.testing.assert_array_equal(y, 7.0)
        """
    )


def test_traced_numbers_are_rewritten_once():
    threads(
        """
        @wp.kernel
        def times(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = s * x[i]
        made = in_threads(lambda k: wp.jax_kernel(times, traced_scalars=True).kernel)
        assert all(one is made[0] for one in made)
        """
    )
