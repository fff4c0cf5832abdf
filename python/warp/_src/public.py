"""The names of `warp`: gathered from `warp._src` once; builtins become Python functions when first asked for.

Module paths of the documented API (`warp.types`, `warp.context`, `warp.build`, …) are entered into `sys.modules` here, so
that both `import warp.types` and `wp.types` work.
"""

from __future__ import annotations

import sys as _sys
import types as _pytypes
import typing as _typing

from warp import _weft
from warp._src import array as _array
from warp._src import array_factories as _array_factories
from warp._src import array_interface as _array_interface
from warp._src import build, config, constants, utils  # noqa: F401
from warp._src import builtins as _builtins
from warp._src import context as _context
from warp._src import device as _device
from warp._src import elementwise as _elementwise
from warp._src import errors as _errors
from warp._src import facts as _facts
from warp._src import logger as _logger
from warp._src import graph_files as _graph_files
from warp._src import graphs as _graphs
from warp._src import ipc as _ipc
from warp._src import matmul as _matmul
from warp._src import modules as _modules
from warp._src import native as _native
from warp._src import profiling as _profiling
from warp._src import startup as _startup
from warp._src import streams as _streams
from warp._src import forward as _forward
from warp._src import tape as _tape
from warp._src import torch_streams as _torch_streams
from warp._src import struct as _struct
from warp._src import types
from warp._src.allocators import (  # noqa: F401
    CudaManagedAllocator,
    ScopedAllocator,
    get_device_allocator,
    set_cuda_allocator,
    set_device_allocator,
)
from warp._src.config import DeterministicMode  # noqa: F401
from warp._src.context import Function, Kernel, Launch, Module, func, get_module, kernel, launch, overload, static
from warp._src.device import (  # noqa: F401
    Device,
    MemoryKind,
    ScopedDevice,
    can_access,
    get_cuda_device,
    get_cuda_device_count,
    get_cuda_devices,
    get_cuda_driver_version,
    get_cuda_supported_archs,
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
from warp._src.facts import ModuleBuildOptions  # noqa: F401
from warp._src.timer import ScopedTimer  # noqa: F401

__version__ = config.version
DeviceLike = _typing.Union[Device, str, None]
"""What is taken where a device is meant: a device, its name, or None for the current one."""

_facts.adopt(_array_factories.indexedarray, _facts.ArrayFacts)
_facts.adopt(Function, _facts.FunctionFacts)
_facts.adopt(Kernel, _facts.KernelFacts)
_facts.adopt(Module, _facts.ModuleFacts)

for _source in (
    types,
    _struct,
    constants,
    _array,
    _array_factories,
    _elementwise,
    _matmul,
    _errors,
    _logger,
    _modules,
    _native,
    _startup,
    _streams,
    _graphs,
    _graph_files,
    _profiling,
    _ipc,
    _torch_streams,
    _tape,
    _forward,
    build,
):
    for _name in getattr(_source, "__all__", [n for n in vars(_source) if not n.startswith("_")]):
        globals()[_name] = getattr(_source, _name)
del globals()["init_kernel_cache"]  # of warp.build only


def _warn(text: str) -> None:
    """A warning of the compiler, perhaps with lines of source text."""
    if not config.quiet:
        _logger.warn(text.rstrip("\n"))


_weft.set_hooks(_array_interface.as_array, types.make_value, _array_interface.type_of, _warn)


def _public(module: _pytypes.ModuleType) -> dict[str, object]:
    return {n: v for n, v in vars(module).items() if not n.startswith("_") and n != "annotations"}


class _Path(_pytypes.ModuleType):
    """A module path that programs of other versions import; names that are not its own come from `warp`."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        for place in ("warp._src.types", "warp", "typing"):
            module = _sys.modules[place]
            if name in vars(module):
                return vars(module)[name]
        found = _builtins.python_function(name) or _struct.library_struct(name)
        if found is not None:
            return found
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


def _path(name: str, members: dict[str, object]) -> _pytypes.ModuleType:
    module = _Path(f"warp.{name}", f"Names of warp under the path warp.{name}, for programs that import it.")
    module.__dict__.update(members)
    _sys.modules[f"warp.{name}"] = module
    return module


def _type_str(t: object) -> str:
    """A type as text."""
    return types.type_repr(t)


_context_names = {
    **_public(_context),
    **_public(_device),
    **_public(_streams),
    **{n: getattr(_graphs, n) for n in _graphs.__all__},
    **{n: getattr(_modules, n) for n in _modules.__all__},
    "init": _startup.init,
    "type_str": _type_str,
    "user_modules": _context._modules,
    "Devicelike": DeviceLike,
    "launch_bounds_t": getattr(_context, "LaunchBounds", None),
}
context = _path("context", _context_names)
codegen = _path(
    "codegen",
    {
        **{n: getattr(_errors, n) for n in _errors.__all__},
        "Struct": _struct.StructMeta,
        "StructInstance": _struct.StructInstance,
    },
)
builtins = _path("builtins", {"builtin_functions": _builtins.python_function})

types.__class__ = build.__class__ = _Path  # further names of these paths come from warp
for _name, _shared in {
    "config": config,
    "types": types,
    "build": build,
    "utils": utils,
    "constants": constants,
}.items():
    _sys.modules[f"warp.{_name}"] = _shared
types.array = types.Array = _array.array  # type: ignore[attr-defined]


def __getattr__(name: str) -> object:
    """Builtins (wp.sin, wp.dot…) and their structs, made on first use; modules that few programs need."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "autograd":
        import warp.autograd

        return warp.autograd
    found = _builtins.python_function(name) or _struct.library_struct(name)
    if found is None:
        raise AttributeError(f"module 'warp' has no attribute '{name}'")
    setattr(_sys.modules["warp"], name, found)
    return found


def __dir__() -> list[str]:
    """Everything, builtins and their structs included."""
    return sorted({*__all__, *_builtins.names(), *_weft.library_struct_names()})


__all__ = [n for n in globals() if not n.startswith("_") and n != "annotations"]
