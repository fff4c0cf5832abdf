"""Eight host devices in one process, threads, mesh axes, errors of kernels, and JAX's cache on disk; each in a process of its
own, for JAX reads its flags once."""

from __future__ import annotations

import importlib.util
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
@wp.kernel
def square(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * w[0]
f = wp.jax_kernel(square)
"""


def run(body, flags="--xla_force_host_platform_device_count=8", **environment):
    program = textwrap.dedent(START) + textwrap.dedent(body)
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", **environment}
    path = os.path.join(environment.get("WHERE", "/tmp"), f"weft_jax_{os.getpid()}.py")
    with open(path, "w") as file:
        file.write(program)
    try:
        done = subprocess.run([sys.executable, path], env=env, capture_output=True, text=True, timeout=600)
    finally:
        os.unlink(path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("check", [True, False])
def test_shards_on_eight_devices(check):
    run(
        f"""
        mesh = Mesh(np.array(jax.devices()), "x")
        x, w = jnp.arange(40.0), jnp.full(1, 2.0)
        spread = jax.shard_map(lambda x, w: f(x, w)[0], mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"), check_vma={check})
        for g in (spread, jax.jit(spread)):
            np.testing.assert_array_equal(g(x, w), 2 * np.arange(40.0) ** 2)
        if {check}:
            dx, dw = jax.jit(jax.grad(lambda x, w: spread(x, w).sum(), argnums=(0, 1)))(x, w)
            np.testing.assert_allclose(dx, 4 * np.arange(40.0))
            np.testing.assert_allclose(dw, [np.sum(np.arange(40.0) ** 2)])
            loop = lambda x, w: jax.lax.scan(lambda c, _: (f(c, w)[0], None), x, None, length=3)[0]
            g = jax.shard_map(loop, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
            np.testing.assert_allclose(g(x * 0.1, w), loop(x * 0.1, w), rtol=1e-5)
        y = jax.device_put(x, NamedSharding(mesh, P("x")))
        np.testing.assert_array_equal(jax.jit(f)(y, w)[0], 2 * np.arange(40.0) ** 2)
        try:
            wp.from_jax(y)
        except RuntimeError as e:
            assert "addressable_shards" in str(e)
        else:
            raise AssertionError
        assert wp.from_jax(y.addressable_shards[3].data).numpy().tolist() == list(range(15, 20))
        """
    )


def test_functions_on_eight_devices():
    run(
        """
        def func(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
            wp.launch(square, dim=x.shape, inputs=[x, w], outputs=[y])
        mesh = Mesh(np.array(jax.devices()), "x")
        for mode in wp.JaxCallableGraphMode:
            g = wp.jax_callable(func, graph_mode=mode)
            spread = jax.jit(jax.shard_map(lambda x, w: g(x, w)[0], mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x")))
            for k in range(40):
                x = jnp.arange(40.0) + k
                np.testing.assert_array_equal(spread(x, jnp.full(1, 2.0)), 2 * np.asarray(x) ** 2)
        """
    )


def test_threads_call_at_once():
    """Eight threads on eight devices, jitted and not; a minute of it with WEFT_STRESS."""
    run(
        """
        import os, threading, time
        seconds = 60 if os.environ.get("WEFT_STRESS") else 1.5
        wrong, turns = [], [0] * 8
        def work(k):
            try:
                x = jax.device_put(jnp.arange(100.0) + k, jax.devices()[k])
                three = jax.device_put(jnp.full(1, 3.0), jax.devices()[k])
                g = jax.jit(lambda x, s: f(x, s)[0])
                end = time.monotonic() + seconds
                while time.monotonic() < end or turns[k] < 100:
                    if not (g(x, three) == 3 * x * x).all() or not (f(x, three)[0] == 3 * x * x).all():
                        wrong.append(k)
                    turns[k] += 1
            except BaseException as e:
                wrong.append((k, repr(e)))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        assert not wrong and min(turns) >= 100, (wrong[:3], turns)
        """
    )


def test_a_failed_check_says_where():
    out = run(
        """
        @wp.kernel
        def beyond(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = x[i + 3]
        wp.config.mode = "debug"
        try:
            jax.block_until_ready(wp.jax_kernel(beyond)(jnp.zeros(4)))
        except Exception as e:
            print(type(e).__name__, e)
        """
    )
    assert "OUT_OF_RANGE" in out and "'beyond'" in out and "index" in out


def test_a_second_process_finds_its_programs(tmp_path):
    body = """
        import logging
        jax.config.update("jax_compilation_cache_dir", CACHE)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
        hits = []
        jax.monitoring.register_event_listener(lambda name, **_: hits.append(name))
        print(f(jnp.arange(4.0), jnp.ones(1))[0])
        print(jax.jit(jax.grad(lambda x: f(x, jnp.ones(1))[0].sum()))(jnp.arange(4.0)))
        print("hits", sum("cache_hit" in h for h in hits), "misses", sum("cache_miss" in h for h in hits))
    """
    text = textwrap.dedent(body).replace("CACHE", repr(str(tmp_path)))
    where = {"WHERE": str(tmp_path)}
    run(text, flags="", **where)
    assert "misses 0" in run(text, flags="", **where)


exports = pytest.mark.skipif(
    importlib.util.find_spec("flatbuffers") is None, reason="jax.export writes programs with flatbuffers, which is missing"
)


@exports
def test_an_exported_program_runs_where_its_kernel_lives(tmp_path):
    file = str(tmp_path / "program.bin")
    body = """
        import os
        import jax.export
        def g(x, w):
            return jax.grad(lambda x: f(x, w)[0].sum())(x) + f(x, w)[0]
        x, w = jnp.arange(4.0), jnp.full(1, 2.0)
        if not os.path.exists(FILE):
            made = jax.export.export(jax.jit(g), disabled_checks=wp.jax.export_checks())(x, w)
            open(FILE, "wb").write(made.serialize())
        else:
            wrapper, f = f, None
            print(jax.export.deserialize(open(FILE, "rb").read()).call(x, w))
            del wrapper
    """
    text = textwrap.dedent(body).replace("FILE", repr(file))
    where = {"WHERE": str(tmp_path)}
    run(text, flags="", **where)
    assert "[ 0.  6. 16. 30.]" in run(text, flags="", **where)


@exports
def test_a_program_without_its_kernel_names_it(tmp_path):
    file = str(tmp_path / "program.bin")
    body = """
        import os
        import jax.export
        x, w = jnp.arange(4.0), jnp.full(1, 2.0)
        if not os.path.exists(FILE):
            made = jax.export.export(jax.jit(lambda x, w: f(x, w)[0]), disabled_checks=wp.jax.export_checks())(x, w)
            open(FILE, "wb").write(made.serialize())
        else:
            import gc
            from warp._src.interop.jax_support import register_handlers
            register_handlers()
            f = None
            gc.collect()
            try:
                jax.block_until_ready(jax.export.deserialize(open(FILE, "rb").read()).call(x, w))
            except Exception as e:
                print(e)
    """
    text = textwrap.dedent(body).replace("FILE", repr(file))
    where = {"WHERE": str(tmp_path)}
    run(text, flags="", **where)
    assert "kernel 'square'" in run(text, flags="", **where)


def test_importing_warp_imports_no_jax():
    code = "import sys, warp, warp.jax; assert 'jax' not in sys.modules and 'jaxlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_jax_the_error_names_the_package():
    code = """
import sys
sys.modules["jax"] = None
import warp as wp
@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = x[wp.tid()]
for call in (lambda: wp.jax_kernel(k), lambda: wp.from_jax(1), lambda: wp.dtype_to_jax(wp.float32)):
    try:
        call()
    except ModuleNotFoundError as e:
        assert "pip install jax" in str(e)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
