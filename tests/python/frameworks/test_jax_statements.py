"""What is said of JAX and held elsewhere only in passing: options that change when things happen, devices by their hardware's
number, versions, conversions that have to copy, and the programs under the names that the documents link."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
from jax_support import jax, jnp
from test_fake_driver import FAKE

import warp as wp
from warp._src.interop import jax_support as support


@wp.kernel
def scaled(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * s


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@pytest.mark.cpu_only
def test_signatures_and_enumerations():
    """The names, their order and their defaults; both spellings of the enumerations."""
    from warp import jax_experimental
    from warp.jax_experimental import ffi

    modes = {"NONE": 0, "JAX": 1, "WARP": 2, "WARP_STAGED": 3, "WARP_STAGED_EX": 4}
    assert {mode.name: int(mode) for mode in wp.JaxCallableGraphMode} == modes
    assert {mode.name: int(mode) for mode in wp.JaxModulePreloadMode} == {"NONE": 0, "CURRENT_DEVICE": 1, "ALL_DEVICES": 2}
    assert ffi.GraphMode is wp.JaxCallableGraphMode and ffi.ModulePreloadMode is wp.JaxModulePreloadMode
    kernel = list(inspect.signature(wp.jax_kernel).parameters)
    assert kernel[:11] == (
        "kernel num_outputs vmap_method launch_dims output_dims in_out_argnames module_preload_mode enable_backward "
        "has_side_effect block_dim traced_scalars"
    ).split()
    call = list(inspect.signature(wp.jax_callable).parameters)
    assert call[:13] == (
        "func num_outputs graph_mode vmap_method output_dims in_out_argnames stage_in_argnames stage_out_argnames "
        "graph_cache_max module_preload_mode has_side_effect enable_backward graph_compatible"
    ).split()
    for module in (ffi, jax_experimental):
        assert module.jax_callable is wp.jax_callable
        assert list(inspect.signature(module.register_ffi_callback).parameters) == ["name", "func", "graph_compatible"]
    assert ffi.jax_kernel is wp.jax_kernel


@pytest.mark.cpu_only("modules are loaded where the test runs")
@pytest.mark.parametrize("mode", list(wp.JaxModulePreloadMode))
def test_when_code_is_loaded_changes_nothing_else(mode):
    f = wp.jax_kernel(square, module_preload_mode=mode)
    np.testing.assert_array_equal(jax.jit(f)(jnp.arange(5.0))[0], np.arange(5.0) ** 2)

    def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(square, dim=x.shape, inputs=[x], outputs=[y])

    g = wp.jax_callable(twice, module_preload_mode=mode)
    np.testing.assert_array_equal(jax.jit(g)(jnp.arange(5.0))[0], np.arange(5.0) ** 2)


@pytest.mark.cpu_only("a function of the host")
@pytest.mark.parametrize("kept", [False, True])
def test_side_effects_keep_a_call_whose_result_nobody_wants(kept):
    calls = []

    def noting(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        calls.append(x.shape)

    f = wp.jax_callable(noting, has_side_effect=kept)

    @jax.jit
    def program(x):
        f(x)
        return x + 1.0

    jax.block_until_ready(program(jnp.arange(4.0)))
    jax.effects_barrier()
    assert len(calls) == int(kept)


@pytest.mark.cpu_only("recorded commands of the CPU")
@pytest.mark.parametrize("mode", [wp.JaxCallableGraphMode.WARP_STAGED, wp.JaxCallableGraphMode.WARP_STAGED_EX])
def test_which_arguments_are_staged(mode):
    def both(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), d: wp.array(dtype=float)):
        wp.launch(square, dim=a.shape, inputs=[a], outputs=[c])
        wp.launch(square, dim=b.shape, inputs=[b], outputs=[d])

    for staged_in, staged_out in ((None, None), (["a"], ["d"]), ([], []), (["b", "a"], ["c", "d"])):
        f = wp.jax_callable(both, num_outputs=2, graph_mode=mode, stage_in_argnames=staged_in, stage_out_argnames=staged_out)
        assert f.stage_in_argnames == set(staged_in or "ab") and f.stage_out_argnames == set(staged_out or "cd")
        program = jax.jit(lambda a, b, f=f: f(a * 1.0, b * 1.0))
        for turn in range(4):  # buffers that are not staged may move, and the graph follows them
            a, b = np.arange(6, dtype=np.float32) + turn, np.ones(6, np.float32) * turn
            c, d = program(a, b)
            np.testing.assert_array_equal(c, a * a)
            np.testing.assert_array_equal(d, b * b)
    for names in ({"stage_in_argnames": ["z"]}, {"stage_in_argnames": ["c"]}, {"stage_out_argnames": ["a"]}):
        with pytest.raises(ValueError, match=f"'{next(iter(names.values()))[0]}'"):
            wp.jax_callable(both, num_outputs=2, graph_mode=mode, **names)


@pytest.mark.cpu_only
def test_a_jax_that_is_too_old_is_named(monkeypatch):
    support.import_jax.cache_clear()
    try:
        with monkeypatch.context() as patched:
            patched.setattr(jax, "__version__", "0.4.30")
            with pytest.raises(RuntimeError, match="JAX 0.4.30 is too old.*0.5.0"):
                support.import_jax()
    finally:
        support.import_jax.cache_clear()
    assert support.import_jax() is jax


@pytest.mark.cpu_only
def test_what_to_jax_has_to_copy():
    memory = wp.array(np.arange(64, dtype=np.float32), device="cpu")
    assert memory.ptr % 64 == 0
    assert wp.to_jax(memory).unsafe_buffer_pointer() == memory.ptr
    view = memory[1:17]  # 4 bytes beyond 64: JAX copies
    made = wp.to_jax(view)
    np.testing.assert_array_equal(made, np.arange(1, 17))
    assert made.unsafe_buffer_pointer() != view.ptr
    wide = wp.to_jax(wp.array([0.5, 1.5], dtype=wp.float64, device="cpu"))
    assert wide.dtype == (jnp.float64 if jax.config.jax_enable_x64 else jnp.float32) and wide.tolist() == [0.5, 1.5]
    whole = wp.to_jax(wp.array([1, -2], dtype=wp.int64, device="cpu"))
    assert whole.dtype == (jnp.int64 if jax.config.jax_enable_x64 else jnp.int32) and whole.tolist() == [1, -2]


@pytest.mark.cpu_only
def test_arrays_of_jax_straight_to_launches():
    """They are read; a kernel that writes to one is refused, and told what to use."""
    here = jax.devices("cpu")[0]
    x, y = jax.device_put(np.arange(8.0, dtype=np.float32), here), wp.zeros(8, device="cpu")
    wp.launch(scaled, dim=8, inputs=[x, 2.0], outputs=[y], device="cpu")
    assert y.numpy().tolist() == [2.0 * i for i in range(8)]
    with pytest.raises(RuntimeError, match="argument 'y'.*ArrayImpl.*wp.jax_kernel"):
        wp.launch(scaled, dim=8, inputs=[x, 2.0], outputs=[jax.device_put(np.zeros(8, np.float32), here)], device="cpu")


@pytest.mark.cpu_only
def test_devices_of_this_process_and_of_others():
    assert all(wp.device_from_jax(one) == wp.get_device("cpu") for one in jax.local_devices(backend="cpu"))
    other = SimpleNamespace(platform="cpu", process_index=jax.process_index() + 1, id=0)
    with pytest.raises(RuntimeError, match="belongs to process"):
        wp.device_from_jax(other)
    with jax.default_device(jax.devices("cpu")[0]):
        assert wp.jax.get_jax_device() == jax.devices("cpu")[0]
    before = jax.config.jax_default_device
    jax.config.update("jax_default_device", "cpu")
    try:
        assert wp.jax.get_jax_device() == jax.local_devices(backend="cpu")[0]
    finally:
        jax.config.update("jax_default_device", before)


HARDWARE = """
import types, jax, warp as wp
wp.config.quiet = True
# JAX's numbers count the devices of all processes: the second GPU of this one may be its device 7.
gpus = [types.SimpleNamespace(platform="gpu", process_index=0, id=6 + i, local_hardware_id=i) for i in range(2)]
assert [str(wp.device_from_jax(one)) for one in gpus] == ["cuda:0", "cuda:1"]
plain = jax.local_devices
jax.local_devices = lambda *a, backend=None, **k: gpus[::-1] if backend == "cuda" else plain(*a, backend=backend, **k)
assert wp.device_to_jax("cuda:1") is gpus[1] and wp.device_to_jax("cuda:0") is gpus[0]
gpus.pop()
try:
    wp.device_to_jax("cuda:1")
except RuntimeError as error:
    assert "no device for cuda:1" in str(error)
else:
    raise AssertionError("a device of JAX that is not there")
print("done")
"""


@pytest.mark.cpu_only("on the fake driver")
def test_gpus_by_their_hardware():
    if not os.path.exists(os.path.join(FAKE, "libcuda.so.1")):
        pytest.skip("the fake driver was not built (target fake_cuda)")
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    run(HARDWARE, LD_LIBRARY_PATH=path, CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu")


def run(program: str, *arguments: str, **more: str) -> str:
    command = [sys.executable, *(arguments or ("-c", textwrap.dedent(program)))]
    done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and (not program or "done" in done.stdout), done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.cpu_only("programs of their own")
@pytest.mark.parametrize("name", ["example_jax_kernel", "example_jax_callable", "example_jax_ffi_callback"])
def test_examples_under_the_names_that_the_documents_link(name):
    assert run("", "-m", f"warp.examples.interop.{name}", JAX_PLATFORMS="cpu").strip()


@pytest.mark.cpu_only("a program of its own")
def test_the_benchmark_prints_a_line_for_each_case():
    lines = run("", "-m", "warp.examples.benchmarks.benchmark_interop_jax", JAX_PLATFORMS="cpu").splitlines()
    assert len([line for line in lines if line.endswith("µs")]) == 7
