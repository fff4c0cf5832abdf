"""Kernels, functions, structs, modules, launches and the cache."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import numpy as np
import pytest

import warp as wp

from . import calls, members


@wp.func
def square(x: float):
    return x * x


@wp.func
def square(x: int):  # noqa: F811 - an overload
    return x * x


@wp.kernel
def scale(a: wp.array(dtype=float), s: float):
    i = wp.tid()
    a[i] = square(a[i]) * s


@wp.kernel
def generic(a: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    a[i] = a[i] * s


def _run() -> list[float]:
    a = wp.array([1.0, 2.0, 3.0], dtype=float)
    wp.launch(scale, 3, inputs=[a, 2.0])
    return a.list()


@calls("kernel", "func", "launch")
def launch() -> None:
    assert _run() == [2.0, 8.0, 18.0]

    @wp.kernel(enable_backward=False, module="unique")
    def local(a: wp.array(dtype=float)):
        a[wp.tid()] = 1.0

    a = wp.zeros(2)
    wp.launch(kernel=local, dim=[2], inputs=[a], outputs=[], device=wp.get_device(), stream=None, max_blocks=0, block_dim=64)
    assert a.list() == [1.0, 1.0]


@calls("Kernel", "Kernel.__call__", "Kernel.hash", "Kernel.get_mangled_name", "Kernel.infer_argument_types")
def kernel_object() -> None:
    assert isinstance(scale, wp.Kernel) and scale.key == "scale" and scale.module.name == __name__
    assert scale.func.__name__ == "scale" and not scale.is_generic and generic.is_generic
    with pytest.raises(NotImplementedError, match="wp.launch"):
        scale(wp.zeros(1), 1.0)
    assert isinstance(scale.hash, bytes) and scale.hash != generic.hash
    assert scale.get_mangled_name() == f"scale_{scale.hash.hex()[:8]}"
    assert scale.get_mangled_name(kernel_hash=b"\1\2\3\4") == "scale_01020304"
    found = generic.infer_argument_types([wp.zeros(1, dtype=wp.vec3), 2.0])
    assert wp.types.types_equal(found[0], wp.array(dtype=wp.vec3)) and found[1] is wp.float32
    assert scale.arg_indices == {"a": 0, "s": 1}


@calls("overload", "Kernel.add_overload", "Kernel.get_overload")
def overloads() -> None:
    types = [wp.array(dtype=wp.float64), wp.float64]
    assert generic.get_overload([wp.array(dtype=wp.int8), wp.int8]) is None
    made = generic.add_overload(types)
    assert generic.get_overload(types) is made
    assert wp.overload(generic, {"a": wp.array(dtype=wp.float16), "s": wp.float16}) is not None
    a = wp.array([1.0, 2.0], dtype=wp.float64)
    wp.launch(generic, 2, [a, wp.float64(3.0)])
    assert a.list() == [3.0, 6.0]


@calls("Function", "Function.mangle", "Function.add_overload", "Function.get_overload", "Function.build")
def function_object() -> None:
    assert isinstance(square, wp.Function) and square.key == "square" and square(3.0) == 9.0 and square(3) == 9
    assert square.get_overload([float]).input_types == {"x": float}
    assert square.get_overload([int], {}).input_types == {"x": int}
    assert square.get_overload([wp.vec3]) is None
    assert square.mangle() != square.get_overload([float]).mangle()
    assert not square.is_builtin() and not square.is_simple()
    square.build(None)

    @wp.func(name="cube")
    def cube(x: float):
        return x * x * x

    @wp.func(name="cube_of_int")
    def cube_of_int(x: int):
        return x * x * x

    cube.add_overload(cube_of_int)
    assert cube.get_overload([int]) is cube_of_int and cube.get_overload([float]) is cube


@calls("Function.get_builtin")
def user_functions_are_no_builtins() -> None:
    with pytest.raises(RuntimeError, match="user function"):
        square.get_builtin(1.0)


@calls("static", "constant")
def compile_time() -> None:
    n = wp.constant(3)
    assert wp.static(n) == 3

    @wp.kernel
    def uses(a: wp.array(dtype=int)):
        a[0] = wp.static(n * 2)

    a = wp.zeros(1, dtype=int)
    wp.launch(uses, 1, [a])
    assert a.list() == [6]
    with pytest.raises(TypeError, match="Invalid constant type"):
        wp.constant([1])


@calls("struct")
def struct() -> None:
    @wp.struct
    class Pair:
        x: float
        v: wp.vec3

    p = Pair()
    p.x = 2.0
    assert p.x == 2.0 and p.v == wp.vec3()


@calls("Launch")
@members("Launch", "launch", "set_dim", "set_param_at_index", "set_param_by_name", "set_params")
def recorded() -> None:
    a, b = wp.array([1.0, 2.0], dtype=float), wp.array([3.0, 4.0], dtype=float)
    command = wp.launch(scale, 2, inputs=[a, 1.0], record_cmd=True)
    assert isinstance(command, wp.Launch) and a.list() == [1.0, 2.0]
    command.set_param_by_name("s", 2.0)
    command.launch()
    assert a.list() == [2.0, 8.0]
    command.set_dim(1)
    command.set_params([b, 10.0])
    command.launch(stream=None)
    assert b.list() == [90.0, 4.0]
    command.set_param_at_index(0, a)
    with pytest.raises(IndexError):
        command.set_param_at_index(2, 1.0)
    with pytest.raises(ValueError, match="nope"):
        command.set_param_by_name("nope", 1.0)


@members("Launch", "set_param_at_index_from_ctype", "set_param_by_name_from_ctype")
def recorded_from_ctypes() -> None:
    a = wp.array([1.0, 2.0], dtype=float)
    command = wp.launch(scale, 2, inputs=[a, 1.0], record_cmd=True)
    command.set_param_at_index_from_ctype(1, ctypes.c_float(3.0))
    command.launch()
    assert a.list() == [3.0, 12.0]
    command.set_param_by_name_from_ctype("s", 0.0)
    command.launch()
    assert a.list() == [0.0, 0.0]


@calls("map")
def map_() -> None:
    out = wp.map(square, wp.array([1.0, 2.0], dtype=float))
    assert out.list() == [1.0, 4.0]


@calls("Module", "get_module")
@members("Module", "hash_module", "get_module_hash", "get_module_identifier", "resolve_options", "get_kernel_hooks")
def module_object() -> None:
    module = wp.get_module(__name__)
    assert isinstance(module, wp.Module) and module is scale.module and wp.get_module(__name__) is module
    assert module.kernels["scale"] is scale and module.functions["square"] is square
    assert module.hash_module() == module.get_module_hash() != wp.Module("other").hash_module()
    assert module.get_module_identifier() == f"wp_{__name__.replace('.', '_')}_{module.hash_module().hex()[:7]}"
    assert module.resolve_options(wp.config)["max_unroll"] == wp.config.max_unroll
    assert module.get_kernel_hooks(scale, wp.get_device()).forward is not None


@members("Module", "load", "unload", "mark_modified")
def module_life() -> None:
    module = wp.get_module(__name__)
    module.load("cpu")
    assert _run() == [2.0, 8.0, 18.0]
    module.unload()
    assert _run() == [2.0, 8.0, 18.0]
    module.mark_modified()
    assert _run() == [2.0, 8.0, 18.0]


@calls("load_module", "force_load")
def load() -> None:
    wp.load_module(__name__, device="cpu")
    wp.load_module(sys.modules[__name__], device=["cpu"], recursive=True, max_workers=2)
    wp.load_module(wp.get_module(__name__))
    wp.load_module()
    with pytest.raises(RuntimeError, match="does not contain any Warp kernels"):
        wp.load_module("no such module")
    wp.force_load("cpu", [wp.get_module(__name__)], block_dim=256, max_workers=1)
    with pytest.raises(TypeError, match="must be a module"):
        wp.load_module(5)
    with pytest.raises(ValueError, match="Invalid device identifier"):
        wp.force_load("nope")


@calls("set_module_options", "get_module_options")
def options() -> None:
    module = wp.Module("options")
    wp.set_module_options({"max_unroll": 4, "zork": 1}, module)
    assert wp.get_module_options(module)["max_unroll"] == 4 and wp.get_module_options(module)["zork"] == 1
    before = wp.get_module_options()
    assert before["enable_backward"] is True and before["mode"] == wp.config.mode
    try:
        wp.set_module_options({"fuse_fp": False})
        assert wp.get_module_options()["fuse_fp"] is False
        assert wp.get_module(__name__).options["fuse_fp"] is False
        assert _run() == [2.0, 8.0, 18.0]
    finally:
        wp.set_module_options({"fuse_fp": None})
    assert wp.get_module_options() == before
    with pytest.raises(ValueError, match="mode"):
        wp.set_module_options({"mode": "fast"})
    with pytest.raises(TypeError, match="dictionary"):
        wp.set_module_options(["mode"])


@calls("ModuleBuildOptions", "ModuleBuildOptions.merged")
def build_options() -> None:
    one = wp.ModuleBuildOptions(extra_cpu_include_dirs=["a"], extra_cpu_preamble="x")
    two = wp.ModuleBuildOptions(extra_cpu_include_dirs=["b"], extra_cuda_preamble="y")
    both = one.merged(two)
    assert both.extra_cpu_include_dirs == ["a", "b"] and both.extra_cpu_preamble == "x"
    assert both.extra_cuda_preamble == "y"


@calls("build.init_kernel_cache", "build.clear_kernel_cache", "clear_kernel_cache", "clear_lto_cache", "build")
def cache(tmp_path: Any) -> None:
    before = wp._weft.cache_folder()
    try:
        wp.build.init_kernel_cache(str(tmp_path / "kernels"))
        assert wp.config.kernel_cache_dir == str(tmp_path / "kernels")
        wp.get_module(__name__).unload()

        @wp.kernel
        def fresh(a: wp.array(dtype=float)):
            a[wp.tid()] = 41.5

        wp.launch(fresh, 1, [wp.zeros(1)])
        files = [f for _, _, names in os.walk(tmp_path) for f in names]
        assert files
        wp.build.clear_kernel_cache()
        wp.clear_kernel_cache()
        wp.clear_lto_cache()
        assert len([f for _, _, names in os.walk(tmp_path) for f in names]) < len(files)
    finally:
        wp.config.kernel_cache_dir = before
    wp.config.kernel_cache_dir = None


@calls("compile_aot_module", "get_cpu_kernel_cache_key")
def ahead_of_time(tmp_path: Any) -> None:
    wp.compile_aot_module(wp.get_module(__name__), device="cpu", module_dir=tmp_path / "aot")
    assert any(names for _, _, names in os.walk(tmp_path / "aot"))
    assert _run() == [2.0, 8.0, 18.0]
    assert wp.get_cpu_kernel_cache_key() == wp.get_cpu_kernel_cache_key()
    assert wp.get_cpu_kernel_cache_key() != wp.get_cpu_kernel_cache_key(cpu_compiler_flags="-O0")


@calls("func_native", "func_grad", "func_replay", "adjoint")
def own_bodies() -> None:
    @wp.func
    def product(x: float, y: float):
        return x * y

    @wp.func_grad(product)
    def adj_product(x: float, y: float, adj_ret: float):
        wp.adjoint[x] += y * adj_ret

    @wp.func_replay(product)
    def replay_product(x: float, y: float):
        return 0.0

    assert product.custom_grad_func.func is adj_product and product.custom_replay_func.func is replay_product
    assert product(2.0, 3.0) == 6.0  # neither is used in forward passes

    @wp.func_native("return x + 1.0f;", adj_snippet="adj_x += adj_ret;", replay_snippet="return 0.0f;")
    def plus_one(x: float) -> float: ...

    assert plus_one.native_snippet == "return x + 1.0f;" and plus_one.adj_native_snippet == "adj_x += adj_ret;"
    assert plus_one.replay_snippet == "return 0.0f;"
    assert np.isfinite(product(1.0, 1.0))


@wp.func
def _cube(x: float):
    return x * x * x


@wp.kernel
def _slope_of_cube(a: wp.array(dtype=float)):
    a[0] = wp.grad(_cube)(a[0])


@calls("grad")
def derivatives() -> None:
    a = wp.array([2.0], dtype=float)
    wp.launch(_slope_of_cube, 1, [a])
    assert a.list() == [12.0] and "grad" in repr(wp.grad(_cube))


@wp.func
def pushed(x: wp.ref[float], by: float):
    x += by


@calls("ref", "address_of")
def references() -> None:
    assert wp.ref[float].dtype is float and repr(wp.ref[wp.int32]) == "wp.ref[int32]"

    @wp.kernel
    def run(a: wp.array(dtype=float), where: wp.array(dtype=wp.uint64)):
        i = wp.tid()
        pushed(a[i], 2.0)
        where[i] = wp.address_of(a[i])

    a, where = wp.zeros(3, dtype=float), wp.zeros(3, dtype=wp.uint64)
    wp.launch(run, 3, inputs=[a, where])
    assert a.list() == [2.0, 2.0, 2.0] and where.list() == [a.ptr + 4 * i for i in range(3)]
    with pytest.raises(RuntimeError, match="only in kernels"):
        wp.address_of(1.0)
