"""jax_kernel(portable=True): exported programs carry their kernels, and run in processes that have never heard of them."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from jax_support import jax, jnp

import warp as wp
from warp import _weft

pytest.importorskip("flatbuffers", reason="JAX writes exported programs with flatbuffers")
import jax.export  # noqa: E402


@wp.func
def bump(x: float):
    return x * x * x


@wp.func_grad(bump)
def adj_bump(x: float, adj_ret: float):
    wp.adjoint[x] += 3.0 * x * x * adj_ret * 10.0  # told apart from the true one


@wp.kernel
def shaped(x: wp.array(dtype=float), w: wp.array(dtype=wp.vec3), k: int, y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(k)
    for j in range(w.shape[0]):
        s += wp.dot(w[j], wp.vec3(x[i], 1.0, 2.0))
    y[i] = wp.sin(s) + bump(x[i])


@wp.kernel
def relax(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
    for _ in range(4):
        y[i] = wp.sin(y[i]) * x[i] + y[i] * y[i] * 0.1


X = jnp.asarray(np.linspace(0.1, 1.2, 6), jnp.float32)
W = jnp.asarray(np.arange(6).reshape(2, 3) * 0.1, jnp.float32)


_environment: dict[str, str] = {}


@pytest.fixture(autouse=True)
def other_processes_see_the_same_devices(gpu_environment):
    _environment.update(gpu_environment)


def elsewhere(program, args, tmp_path, before=""):
    """What an exported program gives in a process without the kernels' text."""
    exported = jax.export.export(jax.jit(program), disabled_checks=wp.jax.export_checks())(*args)
    (tmp_path / "program.bin").write_bytes(exported.serialize())
    np.savez(tmp_path / "args.npz", *[np.asarray(a) for a in args])
    code = textwrap.dedent(
        f"""
        import numpy as np, jax, jax.export, warp as wp
        {before}
        wp.jax.register_handlers()
        given = np.load({str(tmp_path / "args.npz")!r})
        program = jax.export.deserialize(open({str(tmp_path / "program.bin")!r}, "rb").read())
        out = jax.tree.leaves(program.call(*[given[k] for k in given.files]))
        np.savez({str(tmp_path / "out.npz")!r}, *[np.asarray(o) for o in out])
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    made = np.load(tmp_path / "out.npz")
    return [made[k] for k in made.files]


def check(program, args, tmp_path):
    for one, two in zip(elsewhere(program, args, tmp_path), jax.tree.leaves(jax.jit(program)(*args))):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)


f = wp.jax_kernel(shaped, portable=True)
g = wp.jax_kernel(relax, portable=True)


def test_values(tmp_path):
    check(lambda x, w: f(x, w, 3)[0], (X, W), tmp_path)


def test_derivatives_in_both_directions(tmp_path):
    def program(x, w):
        total = lambda x, w: jnp.sum(f(x, w, 3)[0])  # noqa: E731
        return jax.grad(total, (0, 1))(x, w), jax.jvp(total, (x, w), (x * 2, w + 1))[1], jax.hessian(total)(x, w)

    s = 3.0 + np.asarray(W) @ np.stack([X, np.ones(6), np.full(6, 2.0)])
    wanted = np.cos(s.sum(0) - 3.0) * np.asarray(W)[:, 0].sum() + 30.0 * np.asarray(X) ** 2
    np.testing.assert_allclose(elsewhere(program, (X, W), tmp_path)[0], wanted, rtol=1e-4)
    check(program, (X, W), tmp_path)


def test_a_kernel_that_writes_down_what_it_goes_back_over(tmp_path):
    check(lambda x: jax.grad(lambda x: jnp.sum(g(x)[0]))(x), (X,), tmp_path)


def test_batches(tmp_path):
    many = jnp.stack([X, X + 1, X * 2])
    check(lambda x, w: jax.vmap(lambda x: f(x, w, 1)[0])(x), (many, W), tmp_path)
    check(lambda x: jax.vmap(jax.grad(lambda x: jnp.sum(g(x)[0])))(x), (many,), tmp_path)


def test_one_that_is_not_portable_says_how(tmp_path):
    plain = wp.jax_kernel(shaped)
    with pytest.raises(AssertionError, match="kernel 'shaped'.*portable=True"):
        elsewhere(lambda x, w: plain(x, w, 3)[0], (X, W), tmp_path)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="on GPUs XLA does not wait for checks, and nothing in that process asks for them")
def test_debug_checks_travel(tmp_path):
    @wp.kernel
    def beyond(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i + 2]

    wp.config.mode = "debug"
    try:
        with pytest.raises(AssertionError) as failed:
            elsewhere(lambda x: wp.jax_kernel(beyond, portable=True)(x)[0], (X,), tmp_path)
        assert "OUT_OF_RANGE" in str(failed.value) and "'beyond'" in str(failed.value)
    finally:
        wp.config.mode = "release"


def test_native_functions_stay_at_home():
    @wp.func_native("return x * 2.0f;")
    def twice(x: float) -> float: ...

    @wp.kernel
    def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = twice(x[i])

    with pytest.raises(Exception, match="'doubled' calls a native function.*can't be portable"):
        wp.jax_kernel(doubled, portable=True)(X)


def test_equal_calls_are_equal_text():
    again = wp.jax_kernel(shaped, portable=True)
    assert again is f
    before = _weft.xla_calls()
    one = jax.jit(lambda x: f(x, W, 3)[0]).lower(X).as_text()
    two = jax.jit(lambda x: f(x, W, 3)[0]).lower(X).as_text()
    assert one == two and _weft.xla_calls() <= before + 1


def test_symbols_are_no_sizes():
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n"), jnp.float32)
    with pytest.raises(TypeError, match="kernel 'relax': argument 'x'.*the extent n is a symbol"):
        jax.export.export(jax.jit(lambda x: g(x)[0]), disabled_checks=wp.jax.export_checks())(shape)
