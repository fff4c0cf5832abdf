"""The names of `warp`: gathered from the rooms once. What few programs need is loaded when first asked for; so are builtins,
which become Python functions then."""

from __future__ import annotations

from importlib import import_module as _import_module
import sys as _sys

from warp import _weft
from warp._src.api import module_paths as _module_paths
from warp._src.api import startup as _startup
from warp._src.api import wiring as _wiring  # noqa: F401 - joins the rooms
from warp._src.arrays import array as _array
from warp._src.arrays import array_factories as _array_factories
from warp._src.devices import streams as _streams
from warp._src.devices.device import (  # noqa: F401
    Device,
    DeviceLike,
    MemoryKind,
    ScopedDevice,
    can_access,
    get_cuda_device,
    get_cuda_device_count,
    get_cuda_devices,
    get_cuda_driver_version,
    get_cuda_supported_archs,
    get_cuda_toolkit_version,
    get_device,
    get_devices,
    get_preferred_device,
    is_cpu_available,
    is_cuda_available,
    is_device_available,
    map_cuda_device,
    set_device,
    synchronize,
    synchronize_device,
    unmap_cuda_device,
)
from warp._src.kernels import introspection as _introspection  # noqa: F401 - adds methods to kernels and functions
from warp._src.kernels.definitions import Function, Kernel, Module, func, get_module, kernel, overload, static  # noqa: F401
from warp._src.kernels.launching import Launch, launch, launch_tiled  # noqa: F401
from warp._src.session import config as _config
from warp._src.session import errors as _errors
from warp._src.session import kernel_cache as _kernel_cache
from warp._src.session import logger as _logger
from warp._src.session.config import DeterministicMode  # noqa: F401
from warp._src.values import builtins as _builtins
from warp._src.values import constants as _constants
from warp._src.values import struct as _struct
from warp._src.values import types as _types

__version__ = _config.version

for _source in (
    _types,
    _struct,
    _constants,
    _array,
    _array_factories,
    _errors,
    _logger,
    _startup,
    _streams,
    _kernel_cache,
):
    for _name in _source.__all__:
        globals()[_name] = getattr(_source, _name)
handle = _types.uint64  # of numbers that stand for objects: mesh.id
del globals()["init_kernel_cache"]  # of warp.build only
globals().update(_module_paths.DOCUMENTED)

loaded = [n for n in globals() if not n.startswith("_") and n != "annotations"]
"""The names that `warp` has from the start."""

_LATE = {
    "warp._src.algorithms.elementwise": ("map",),
    "warp._src.algorithms.matmul": ("adj_batched_matmul", "adj_matmul", "batched_matmul", "matmul"),
    "warp._src.arrays.fabric_array": (
        "fabricarray",
        "fabricarrayarray",
        "indexedfabricarray",
        "indexedfabricarrayarray",
    ),
    "warp._src.arrays.fixed_array": ("fixedarray",),
    "warp._src.arrays.indexed_array": ("indexedarray", "indexedarray1d", "indexedarray2d", "indexedarray3d", "indexedarray4d"),
    "warp._src.devices.allocators": (
        "CudaManagedAllocator",
        "ScopedAllocator",
        "get_device_allocator",
        "set_cuda_allocator",
        "set_device_allocator",
    ),
    "warp._src.devices.profiling": (
        "ScopedCudaProfiler",
        "TimingResult",
        "cuda_profiler_start",
        "cuda_profiler_stop",
        "timing_begin",
        "timing_end",
        "timing_print",
    ),
    "warp._src.devices.timer": ("ScopedTimer",),
    "warp._src.geometry.hash_grid": ("HashGrid",),
    "warp._src.geometry.marching_cubes": ("MarchingCubes",),
    "warp._src.geometry.texture": ("Texture", "Texture1D", "Texture2D", "Texture3D", "TextureAddressMode", "TextureFilterMode"),
    "warp._src.geometry.volume": ("Volume",),
    "warp._src.geometry.mesh": ("Bvh", "BvhConstructor", "Mesh", "is_cubql_available"),
    "warp._src.gradients.forward": ("ForwardMode", "hvp", "jvp"),
    "warp._src.gradients.tape": ("Tape",),
    "warp._src.graphs.capture": (
        "CaptureMode",
        "Graph",
        "ScopedCapture",
        "capture_begin",
        "capture_debug_dot_print",
        "capture_end",
        "capture_if",
        "capture_launch",
        "capture_while",
        "is_conditional_graph_supported",
    ),
    "warp._src.graphs.graph_files": ("capture_load", "capture_load_from_bytes", "capture_save"),
    "warp._src.interop.gl_buffer": ("RegisteredGLBuffer",),
    "warp._src.interop.ipc": ("from_ipc_handle",),
    "warp._src.interop.dlpack": ("from_dlpack", "to_dlpack"),
    "warp._src.interop.jax_callable": ("jax_callable",),
    "warp._src.interop.jax_exchange": (
        "device_from_jax",
        "device_to_jax",
        "dtype_from_jax",
        "dtype_to_jax",
        "from_jax",
        "get_jax_device",
        "to_jax",
    ),
    "warp._src.interop.jax_graphs": (
        "JaxCallableGraphMode",
        "clear_jax_callable_graph_cache",
        "get_jax_callable_default_graph_cache_max",
        "set_jax_callable_default_graph_cache_max",
    ),
    "warp._src.interop.jax_kernel": ("JaxModulePreloadMode", "jax_kernel"),
    "warp._src.interop.paddle_exchange": (
        "device_from_paddle",
        "device_to_paddle",
        "dtype_from_paddle",
        "dtype_to_paddle",
        "from_paddle",
        "stream_from_paddle",
        "to_paddle",
    ),
    "warp._src.interop.torch_exchange": ("dtype_from_torch", "dtype_to_torch", "from_torch", "to_torch"),
    "warp._src.interop.torch_streams": ("device_from_torch", "device_to_torch", "stream_from_torch", "stream_to_torch"),
    "warp._src.kernels.custom_functions": (
        "GradWrapper",
        "ModuleBuildOptions",
        "adjoint",
        "func_grad",
        "func_native",
        "func_replay",
        "grad",
    ),
    "warp._src.kernels.gpu_properties": (
        "get_cuda_kernel_properties",
        "get_cuda_max_cluster_dim",
        "get_suggested_block_size",
    ),
    "warp._src.kernels.module_loading": (
        "compile_aot_module",
        "finish_kernels",
        "force_load",
        "get_cpu_kernel_cache_key",
        "get_module_options",
        "load_aot_module",
        "load_module",
        "set_module_options",
    ),
    "warp._src.kernels.reference": ("address_of", "ref"),
    "warp._src.session.kernel_report": ("kernel_report",),
    "warp._src.session.memory_report": ("ScopedMemoryTracker", "print_memory_report"),
    "warp._src.values.tile_type": ("tile", "tile_stack"),
}
"""Modules that start-up does not pay for, and their names."""
_late_names = {name: module for module, names in _LATE.items() for name in names}


_MODULES = ("autograd", "dlpack", "fem", "geometry", "jax", "jax_experimental", "optim", "paddle", "torch")
"""Modules that are imported when `wp.autograd` and the like is first asked for."""


def __getattr__(name: str) -> object:
    """Names that are made when first asked for: those of modules that few programs need, builtins (wp.sin, wp.dot…) and
    their structs."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _MODULES:
        return _import_module(f"warp.{name}")
    if name in _module_paths.PATHS:
        return _module_paths.PATHS[name]
    module = _late_names.get(name)
    if module is None:
        value = _builtins.python_function(name) or _struct.library_struct(name)
    else:
        value = getattr(_import_module(module), name)
    if value is None:
        raise AttributeError(f"module 'warp' has no attribute '{name}'")
    setattr(_sys.modules["warp"], name, value)
    return value


def __dir__() -> list[str]:
    """Everything, builtins and their structs included."""
    return sorted({*__all__, *_builtins.names(), *_weft.library_struct_names()})


__all__ = [*loaded, *_late_names]
