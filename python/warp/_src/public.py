"""The names of `warp`: gathered from `warp._src` once; builtins become Python functions when first asked for."""

from __future__ import annotations

import sys as _sys
import types as _pytypes
from typing import Any, Callable  # noqa: F401

from warp import _weft
from warp._src import build, config, constants, context, device, errors, settings, utils  # noqa: F401
from warp._src import array as array_module
from warp._src import array_factories, array_interface, builtins, matmul, types
from warp._src import struct as struct_module
from warp._src.context import (  # noqa: F401
    Function,
    Kernel,
    Launch,
    Module,
    force_load,
    func,
    get_module,
    get_module_options,
    kernel,
    launch,
    load_module,
    overload,
    set_module_options,
    static,
)
from warp._src.device import (  # noqa: F401
    Device,
    ScopedDevice,
    get_cuda_device_count,
    get_cuda_devices,
    get_device,
    get_devices,
    get_preferred_device,
    is_cpu_available,
    is_cuda_available,
    is_device_available,
    set_device,
    synchronize,
    synchronize_device,
    synchronize_stream,
)
from warp._src.build import clear_kernel_cache, clear_lto_cache  # noqa: F401
from warp._src.utils import ScopedTimer, init, is_initialized  # noqa: F401

__version__ = config.version

for _module in (types, struct_module, constants, array_module, array_factories, matmul):
    for _name in getattr(_module, "__all__", [n for n in vars(_module) if not n.startswith("_")]):
        globals()[_name] = getattr(_module, _name)

_weft.set_hooks(array_interface.as_array, types.make_value, types.type_of, lambda text: _warn(text))


def _warn(text: str) -> None:
    if not config.quiet:
        print(text, file=_sys.stderr, end="")


def _submodule(name: str, **members: object) -> _pytypes.ModuleType:
    """A public module path of the documented API that re-exports what lives in `_src`."""
    module = _pytypes.ModuleType(f"warp.{name}", f"Re-exports of warp._src for programs that import warp.{name}.")
    module.__dict__.update(members)
    _sys.modules[f"warp.{name}"] = module
    return module


def _public(module: _pytypes.ModuleType) -> dict[str, object]:
    return {n: v for n, v in vars(module).items() if not n.startswith("_")}


codegen = _submodule("codegen", **{n: v for n, v in vars(errors).items() if n.startswith("Warp")})
_sys.modules["warp.config"] = config
_sys.modules["warp.build"] = build
_sys.modules["warp.types"] = types
_context_names = {**_public(context), **_public(device), "init": init}
warp_context = _submodule("context", **_context_names)
globals()["context"] = warp_context
_sys.modules["warp.utils"] = utils

for _name in ("array",):
    if hasattr(array_module, _name):
        setattr(types, _name, getattr(array_module, _name))


def __getattr__(name: str) -> object:
    """Builtins: wp.sin, wp.dot… made from their rows on first use."""
    if name.startswith("__"):
        raise AttributeError(name)
    function = builtins.python_function(name)
    if function is None:
        raise AttributeError(f"module 'warp' has no attribute '{name}'")
    setattr(_sys.modules["warp"], name, function)
    return function


__all__ = [n for n in globals() if not n.startswith("_") and n not in ("annotations", "array_module", "struct_module")]
