"""Module paths that programs import beside `warp` itself: `warp.types`, `warp.context`, `warp._src.context`, …

They are entries in `sys.modules`, so that `import warp.types`, `from warp._src.context import Kernel` and `wp.types` all
work, without a file for each. Names that a path does not have come from `warp`.
"""

from __future__ import annotations

import importlib
import sys
import types as _pytypes
import typing

from warp import _src
from warp._src.api import startup
from warp._src.arrays import array
from warp._src.devices import device, streams
from warp._src.kernels import definitions, launching, modules
from warp._src.session import config, errors, kernel_cache, logger
from warp._src.values import builtins, composite, constants, scalars, struct, struct_ctypes, types


_RENAMED = {
    "bvh_query_t": "BvhQuery",
    "hash_grid_query_t": "HashGridQuery",
    "mesh_query_aabb_t": "MeshQueryAABB",
    "mesh_query_point_t": "MeshQueryPoint",
    "mesh_query_ray_t": "MeshQueryRay",
}
"""Names that types had in older versions."""


class _Path(_pytypes.ModuleType):
    """A module path that programs of other versions import; names that are not its own come from `warp`."""

    _wp_stands_for_warp_ = True  # in kernels, too

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        name = _RENAMED.get(name, name)
        top = sys.modules["warp"]
        for names in (vars(types), vars(top)) if name in top.__all__ else (vars(types), vars(typing)):
            if name in names:
                return names[name]
        found = getattr(top, name, None)  # loaded when it is asked for, or a builtin
        if found is not None:
            return found
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


class _LatePath(_pytypes.ModuleType):
    """A path to a module that is loaded when somebody asks for a name: start-up does not pay for it."""

    _weft_module: str

    def _load(self) -> None:
        module = importlib.import_module(self._weft_module)
        self.__dict__.update({n: v for n, v in vars(module).items() if not n.startswith("__") or n == "__all__"})

    def __getattr__(self, name: str) -> object:
        if not name.startswith("__") or name == "__all__":
            self._load()
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        self._load()
        return sorted(self.__dict__)


class _ContextPath(_Path):
    """`warp.context`."""

    @property
    def runtime(self) -> object:
        """The running package; None until something starts it."""
        return startup.runtime

    @property
    def builtin_functions(self) -> dict[str, object]:
        """All builtins by name, as functions of Python."""
        return {name: builtins.python_function(name) for name in sorted(builtins.names())}


def _path(name: str, members: dict[str, object], kind: type[_Path] = _Path) -> _pytypes.ModuleType:
    made = kind(f"warp.{name}", f"Names of warp under the path warp.{name}, for programs that import it.")
    made.__dict__.update(members)
    return made


def _late_path(name: str, module: str, doc: str) -> _pytypes.ModuleType:
    made = _LatePath(name, doc)
    made._weft_module = module
    return made


def _public(module: _pytypes.ModuleType) -> dict[str, object]:
    return {n: v for n, v in vars(module).items() if not n.startswith("_") and n != "annotations"}


def _listed(module: _pytypes.ModuleType) -> dict[str, object]:
    return {n: getattr(module, n) for n in module.__all__}


def _type_str(t: object) -> str:
    """A type as text."""
    return types.type_repr(t)


context = _path(
    "context",
    {
        **_public(definitions),
        **_public(launching),
        **_public(device),
        **_public(streams),
        "init": startup.init,
        "type_str": _type_str,
        "user_modules": modules._modules,
        "Devicelike": device.DeviceLike,
        "launch_bounds_t": launching.LaunchBounds,
    },
    _ContextPath,
)
_UTILS = "`warp.utils`: helpers that programs lean on, gathered from the modules that hold them."
utils = _late_path("warp.utils", "warp._src.api.utils", _UTILS)
_tape = _late_path("warp.tape", "warp._src.gradients.tape", "`wp.Tape`: records launches, copies and fills, and goes back over them.")
codegen = _path(
    "codegen",
    {
        **_listed(errors),
        "Struct": struct.Struct,
        "StructInstance": struct.StructInstance,
        "make_full_qualified_name": definitions.make_full_qualified_name,
    },
)

types.__class__ = kernel_cache.__class__ = _Path  # further names of these paths come from warp
types.array = types.Array = array.array  # type: ignore[attr-defined]
types.array_t = struct_ctypes.array_t  # type: ignore[attr-defined]

DOCUMENTED = {
    "build": kernel_cache,
    "builtins": _path("builtins", {"builtin_functions": builtins.python_function}),
    "codegen": codegen,
    "config": config,
    "constants": constants,
    "context": context,
    "types": types,
    "utils": utils,
}
"""`warp.<name>`, which are names of `warp`, too."""

_OLDER = {
    # Published programs import these.
    "autograd": _late_path("warp._src.autograd", "warp._src.gradients.autograd", "Names of warp.autograd."),
    "build": kernel_cache,
    "builtins": builtins,
    "codegen": codegen,
    "config": config,
    "constants": constants,
    "context": context,
    "logger": logger,
    "tape": _tape,
    "types": types,
    "utils": utils,
    # Pickles that were written when there were no rooms name functions and classes in these.
    "array": array,
    "composite": composite,
    "device": device,
    "scalars": scalars,
    "struct": struct,
}
"""`warp._src.<name>`."""

_thirdparty = _pytypes.ModuleType("warp._src.thirdparty", "Packages that programs look for here.")
_thirdparty.appdirs = _late_path(  # type: ignore[attr-defined]
    "warp._src.thirdparty.appdirs", "warp._src.interop.appdirs", "Folders of a user."
)
_OLDER |= {"thirdparty": _thirdparty, "thirdparty.appdirs": _thirdparty.appdirs}  # type: ignore[attr-defined]

_jax = _late_path("warp._src.jax", "warp._src.interop.jax_exchange", "Names of warp.jax.")
_jax.ffi = _late_path(  # type: ignore[attr-defined]
    "warp._src.jax.ffi", "warp.jax_experimental.ffi", "Names of warp.jax_experimental.ffi."
)
_OLDER |= {"jax": _jax, "jax.ffi": _jax.ffi}  # type: ignore[attr-defined]

PATHS = {"math": _path("math", {}), "tape": _tape}
"""`warp.<name>`, which are no names of `warp` until somebody asks."""

for _name, _module in {**DOCUMENTED, **PATHS}.items():
    sys.modules[f"warp.{_name}"] = _module
for _name, _module in _OLDER.items():
    sys.modules[f"warp._src.{_name}"] = _module
    if "." not in _name:
        setattr(_src, _name, _module)
