"""Modules: what they hold, their hashes and options, and how they are compiled."""

from __future__ import annotations

import gc
import linecache
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp


def built() -> int:
    return sum(wp._weft.build_counts()[name] for name in ("compiled", "disk", "process"))


def set_to(module: wp.Module, value: object, name: str = "set_to_value") -> wp.Kernel:
    @wp.kernel(module=module, name=name)
    def kernel(x: wp.array(dtype=float)):
        x[wp.tid()] = float(value)

    return kernel


def broken(module: wp.Module, name: str = "broken") -> wp.Kernel:
    @wp.kernel(module=module, name=name)
    def kernel(x: wp.array(dtype=float)):
        x[wp.tid()] = no_such_function(1.0)  # noqa: F821

    return kernel


def value_of(kernel: wp.Kernel) -> float:
    x = wp.zeros(1)
    wp.launch(kernel, 1, [x])
    return float(x.numpy()[0])


COUNT = 3


@wp.func
def counted():
    return COUNT


def hashed(step: int = 1) -> wp.Module:
    module = wp.Module("hashed")

    @wp.struct
    class Item:
        a: float
        b: wp.types.vector(length=step, dtype=float)

    @wp.kernel(module=module)
    def work(x: wp.array(dtype=int), items: wp.array(dtype=Item)):
        x[0] = counted() + step + wp.static(COUNT * 2)

    module.keep = work
    return module


def test_hashes_see_what_the_code_names():
    global COUNT
    module = hashed()
    first = module.hash_module()
    assert module.hash_module() == first and hashed().hash_module() == first
    assert hashed(2).hash_module() != first  # a closure, and the layout of a struct
    COUNT = 4
    try:
        assert module.hash_module() != first
    finally:
        COUNT = 3
    assert module.hash_module() == first
    wp.set_module_options({"fast_math": True}, module)
    assert module.hash_module() != first
    wp.set_module_options({"fast_math": False}, module)
    assert module.hash_module() == first


def test_hashes_see_static_values():
    def made(n: int) -> wp.Kernel:
        @wp.kernel(module=wp.Module("statics"))
        def work(x: wp.array(dtype=int)):
            x[0] = wp.static(n * 2)

        return work

    one, two = made(1), made(2)
    assert one.hash != two.hash and made(1).hash == one.hash


def test_hashes_see_options_of_kernels_and_settings():
    def made(**options: Any) -> wp.Module:
        @wp.kernel(module="unique", **options)
        def work(x: wp.array(dtype=int)):
            x[0] = 1

        return work.module  # which keeps its kernel

    first = made(launch_bounds=64).hash_module()
    assert first == made(launch_bounds=64).hash_module() != made(launch_bounds=128).hash_module()
    module = made(cluster_dim=2)
    gc.collect()
    assert len(module.live_kernels) == 1 and module.hash_module() not in (first, made(cluster_dim=4).hash_module())
    wp.config.verify_fp = True
    try:
        assert made(launch_bounds=64).hash_module() != first
    finally:
        wp.config.verify_fp = False


def test_kernels_that_nobody_has_leave_their_module(device):
    module = wp.Module("dying")
    good = set_to(module, 2.0)
    bad = broken(module)
    assert module.live_kernels == [good, bad] and set(module.kernels) == {good.key, bad.key}
    with pytest.raises(KeyError, match="no_such_function"):
        module.load(device)
    del bad
    gc.collect()
    assert module.live_kernels == [good] and set(module.kernels) == {good.key}
    module.load(device)
    assert value_of(good) == 2.0


@pytest.mark.cpu_only("what it does once in a process")
def test_kernels_at_module_level_stay(device):
    namespace = {"wp": wp, "__name__": "a_module_of_text"}
    text = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] = 4.5\n"
    linecache.cache["<a module of text>"] = (len(text), None, text.splitlines(True), "<a module of text>")
    exec(compile(text, "<a module of text>", "exec"), namespace)
    module = wp.get_module("a_module_of_text")
    before = module.hash_module()
    del namespace
    gc.collect()
    assert list(module.kernels) == ["k"] and module.hash_module() == before
    wp.load_module("a_module_of_text", device)


def test_modules_that_hold_nothing():
    for module in ("no_such_module", "json", linecache):
        with pytest.raises(RuntimeError, match="does not contain any Warp kernels, functions, or structs"):
            wp.load_module(module)


def test_errors_hold_no_kernels():
    module = wp.Module("released")
    bad, good = broken(module), set_to(module, 1.5)
    with pytest.raises(KeyError) as raised:
        wp.load_module(module, "cpu")
    del bad
    gc.collect()
    assert module.live_kernels == [good] and raised.value is not None


def test_kernels_of_one_key_are_all_alive():
    module = wp.Module("twins")
    one, two = set_to(module, 1.0), set_to(module, 2.0)
    assert module.live_kernels == [one, two] and module.kernels[one.key] is two
    assert module.find_kernel(one.func) is one and module.find_kernel(two.func) is two
    assert module.find_kernel(built) is None
    module.load("cpu")
    before = built()
    assert value_of(one) == 1.0 and value_of(two) == 2.0
    del two
    assert module.live_kernels == [one]
    assert before <= built()


@pytest.mark.parametrize("workers", [1, 4])
def test_bad_kernels_hold_up_no_other(workers, device):
    module = wp.Module("mixed")
    kernels = [set_to(module, k + 10.5 * workers, f"good{k}") for k in range(3)]
    bad = [broken(module, f"bad{k}") for k in range(2)]
    kernels += [set_to(module, 99.0 + workers, "good_last")]

    @wp.kernel(module=module)
    def unreadable(x: NoSuchType):  # noqa: F821
        pass

    before = built()
    with pytest.raises(KeyError) as raised:
        wp.load_module(module, device, max_workers=workers)
    assert str(raised.value).count("no_such_function") >= 2 and "NoSuchType" in str(raised.value)
    assert built() == before + 4
    assert value_of(kernels[0]) == 10.5 * workers and value_of(kernels[3]) == 99.0 + workers
    assert built() == before + 4
    with pytest.raises(KeyError, match="no_such_function"):
        value_of(bad[0])


def test_options_have_defaults():
    module = wp.Module("options")
    for name, value in {"enable_backward": True, "max_unroll": 16, "fast_math": False, "fuse_fp": True}.items():
        assert module.options[name] == value
    assert {"lineinfo", "cuda_output", "block_dim", "mode", "deterministic"} <= set(module.options)
    assert module.options.get("no_such_option") is None and "no_such_option" not in module.options
    assert dict(module.options)["block_dim"] == 256
    wp.set_module_options({"max_unroll": 4}, module)
    assert module.options["max_unroll"] == 4 and wp.get_module_options(module)["max_unroll"] == 4
    del module.options["max_unroll"]
    wp.config.max_unroll = 5
    try:
        assert module.options["max_unroll"] == 5  # defaults follow wp.config
    finally:
        wp.config.max_unroll = 16


def unique(**module_options: Any) -> wp.Kernel:
    @wp.kernel(module="unique", module_options=module_options, grid_stride=False, enable_backward=False)
    def alone(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    return alone


def test_module_options_of_a_kernel(device):
    mode = wp.DeterministicMode.RUN_TO_RUN
    assert wp.config.DeterministicMode is wp.DeterministicMode
    kernel = unique(
        deterministic=mode,
        deterministic_max_records=8,
        fast_math=True,
        block_dim=64,
        enable_mathdx_gemm=False,
        enable_backward=False,
    )
    options = kernel.module.options
    assert options.get("deterministic") == mode and options["deterministic_max_records"] == 8
    assert options["block_dim"] == 64 and options["fast_math"] is True and options["enable_mathdx_gemm"] is False
    assert unique().module.options["deterministic"] == wp.DeterministicMode.NOT_GUARANTEED
    assert unique().module is not kernel.module
    assert value_of(kernel) == 1.0
    wp.set_module_options({"default_grid_stride": False}, kernel.module)
    assert unique().module.name != kernel.module.name
    assert unique(deterministic_max_records=np.int64(20)).module.options["deterministic_max_records"] == 20
    for value, error in ((True, TypeError), (1.5, TypeError), (-1, ValueError)):
        with pytest.raises(error, match="deterministic_max_records"):
            unique(deterministic_max_records=value)


@pytest.mark.cpu_only("what it does once in a process")
def test_unknown_options_are_noted(capsys):
    kernel = unique(tuning_of_tomorrow=3)
    assert kernel.module.options["tuning_of_tomorrow"] == 3
    assert "'tuning_of_tomorrow' is not known here" in capsys.readouterr().out
    wp.set_module_options({"tuning_of_yesterday": 3}, kernel.module)
    assert "'tuning_of_yesterday'" in capsys.readouterr().out
    with pytest.raises(TypeError, match="no_such_keyword"):
        wp.kernel(no_such_keyword=1)


def test_equal_texts_with_other_closures_are_other_kernels(device):
    def factory(n: float) -> wp.Kernel:
        @wp.kernel(module="unique")
        def give(x: wp.array(dtype=float)):
            x[wp.tid()] = n

        return give

    one, two = factory(1.0), factory(2.0)
    assert one is not two and one.module.name != two.module.name
    assert value_of(one) == 1.0 and value_of(two) == 2.0 and value_of(one) == 1.0


def test_parameters_of_kernels_and_functions():
    @wp.func
    def f(v: wp.vec3, n: int):
        return v[n]

    @wp.kernel
    def k(a: wp.array(dtype=wp.vec3, ndim=2), x: float, n: int):
        a[0, 0] = wp.vec3(x)

    assert [p.label for p in k.adj.args] == ["a", "x", "n"]
    assert [p.type for p in k.adj.args[1:]] == [wp.float32, wp.int32]
    assert k.adj.args[0].type.dtype is wp.vec3 and k.adj.args[0].type.ndim == 2
    assert [(p.label, p.type) for p in f.adj.args] == [("v", wp.vec3), ("n", wp.int32)]
    assert not hasattr(k.adj, "blocks")


@pytest.mark.parametrize("dim", [0, (0,), (3, 0), (2, 0, 4)])
def test_empty_grids_compile_nothing(dim, device):
    bad, good = broken(wp.Module("empty")), set_to(wp.Module("empty"), 3.25)
    x = wp.zeros(3)
    before = built()
    wp.launch(bad, dim, [x])
    wp.launch(good, dim, [x])
    wp.launch(good, dim=dim, inputs=[x], adjoint=True, adj_inputs=[x])
    cmd = wp.launch(good, dim, [x], record_cmd=True)
    cmd.launch()
    with wp.Tape() as tape:
        wp.launch(bad, dim, [x])
    tape.backward()
    with wp.ScopedCapture() as capture:
        wp.launch(bad, dim, [x])
    wp.capture_launch(capture.graph)
    assert built() == before and np.all(x.numpy() == 0.0)
    with pytest.raises(RuntimeError, match="'x'"):
        wp.launch(good, dim, ["text"])  # arguments are looked at
    with pytest.raises(KeyError, match="no_such_function"):
        wp.launch(bad, 1, [x])
    cmd.set_dim(2)
    cmd.launch()
    assert x.numpy().tolist() == [3.25, 3.25, 0.0]


def test_empty_grids_of_what_is_no_kernel_text():
    @wp.kernel
    def unreadable(x: NoSuchType):  # noqa: F821
        pass

    @wp.kernel
    def odd(x: wp.array(dtype=float)):
        try:
            x[0] = 1.0
        except ValueError:
            pass

    for kernel in (unreadable, odd):
        wp.launch(kernel, 0, [wp.zeros(1)])
        with pytest.raises((KeyError, RuntimeError, TypeError, ValueError)):
            wp.launch(kernel, 1, [wp.zeros(1)])


def test_launch_and_kernels_can_be_wrapped(monkeypatch):
    seen = []
    launch, init = wp.launch, wp.Kernel.__init__
    monkeypatch.setattr(wp, "launch", lambda *args, **named: seen.append("launch") or launch(*args, **named))

    def counting(self, *args: Any, **named: Any) -> None:
        seen.append("kernel")
        init(self, *args, **named)

    monkeypatch.setattr(wp.Kernel, "__init__", counting)
    kernel = set_to(wp.Module("wrapped"), 1.0)
    assert value_of(kernel) == 1.0 and seen == ["kernel", "launch"]


PROGRAM = """
import os, sys
import warp as wp
import warp._src.context
assert warp._src.context.runtime is None and wp.context.runtime is None and wp.config.kernel_cache_dir is None

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0

assert warp._src.context.runtime is None

@wp.kernel
def bad(n: int):
    no_such_function(n)

wp.launch(bad, 0, [1])  # the first launch of all: nobody has asked for the device yet
x = wp.zeros(3)
assert wp.context.runtime is not None and wp.context.runtime.tape is None and wp.is_initialized()
with wp.Tape() as tape:
    assert wp.context.runtime.tape is tape
wp.context.runtime.verify_cuda_device("cpu")
assert not hasattr(wp.context.runtime.core, "no_such_function")
folder = wp.config.kernel_cache_dir
assert isinstance(folder, str) and os.path.samefile(folder, os.environ["WARP_CACHE_PATH"])
wp.launch(k, 3, [x])
assert os.listdir(folder)
wp.build.clear_kernel_cache()
assert os.listdir(folder) == [], os.listdir(folder)
wp.init()
"""


def test_first_use_starts_the_runtime(tmp_path: Path, gpu_environment):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**gpu_environment, "WARP_CACHE_PATH": str(tmp_path / "cache"), "CUDA_VISIBLE_DEVICES": "-1"}
    (tmp_path / "cache").mkdir()
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" initialized ") == 1  # by the first use, not by wp.init() again


def test_paths_and_names():
    import warp.math
    import warp.tape
    from warp._src.context import Graph, builtin_functions

    assert warp.tape.Tape is wp.Tape and warp.math.length is wp.length and Graph is wp.Graph
    assert builtin_functions["sin"] is wp.sin and "no_such_builtin" not in builtin_functions
    assert wp.get_cuda_toolkit_version() is None or len(wp.get_cuda_toolkit_version()) == 2


def test_modules_from_a_folder(tmp_path: Path, device):
    module = wp.Module("shipped")
    kernel = set_to(module, 123.75)
    with pytest.raises(FileNotFoundError):
        wp.load_aot_module(module, device, module_dir=tmp_path / "none")
    files = wp.compile_aot_module(module, device, module_dir=tmp_path)
    assert files and all(isinstance(file, Path) and file.parent == tmp_path and file.stat().st_size for file in files)
    assert wp.compile_aot_module(module, device, module_dir=tmp_path) == files  # also where they are there already
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    other = wp.Module("shipped, too")
    set_to(other, 124.75)
    assert not {*files} & {*wp.compile_aot_module(other, device, module_dir=tmp_path)}
    assert {*files} < {*tmp_path.iterdir()}
    module.unload()
    compiled = wp._weft.build_counts()["compiled"]
    wp.load_aot_module(module, device, module_dir=tmp_path)
    assert wp._weft.build_counts()["compiled"] == compiled and value_of(kernel) == 123.75


def test_objects_without_contents_can_be_dropped():
    for cls in (wp.array, wp.Stream, wp.Event):
        del_me = cls.__new__(cls)
        del del_me


def test_code_of_a_module_is_one_object_for_a_device_and_block_size():
    @wp.kernel(module="unique")
    def once(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    module, device = once.module, wp.get_device("cpu")
    loaded = module.load(device)
    assert loaded and loaded is module.load("cpu", block_dim=module.options["block_dim"])
    assert list(module.execs) == [(device.context, module.options["block_dim"])]
    assert module.load(device, block_dim=64) is not loaded and len(module.execs) == 2
    module.unload()
    assert not module.execs
    wp.force_load(device, modules=[module])
    assert list(module.execs) == [(device.context, module.options["block_dim"])]
    wp.load_module(module, device, block_dim=32)
    assert (device.context, 32) in module.execs


@pytest.mark.parametrize("launch", [wp.launch, wp.launch_tiled])
def test_an_error_that_is_kept_does_not_keep_its_kernel(launch):
    """Notebooks keep the last error, and redefine what failed."""

    @wp.kernel
    def wrong(x: wp.array(dtype=float)):
        x[0] = wp.vec3(1.0, 2.0, 3.0)

    gone, holder, kept = weakref.ref(wrong), [wrong], None
    del wrong
    x = wp.zeros(1, dtype=float, device="cpu")
    try:
        launch(holder[0], dim=1, inputs=[x], device="cpu", block_dim=1)
    except Exception as error:
        kept = error
    holder.clear()
    gc.collect()
    assert kept is not None and gone() is None
