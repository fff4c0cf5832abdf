"""Options of modules, and what `@wp.kernel(…)` takes besides the function: checked where it is written.

Options of modules (`wp.set_module_options`) can hold for one kernel. `launch_bounds` and `cuda_max_registers` are for the
assembler of GPU code: blocks of launches are then no larger, and threads take no more registers.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from warp._src.session import config, logger

MODULE_OPTIONS = (
    "max_unroll",
    "enable_backward",
    "fast_math",
    "fuse_fp",
    "lineinfo",
    "cuda_output",
    "cuda_libdevice",
    "mode",
    "optimization_level",
    "deterministic",
    "deterministic_max_records",
    "default_grid_stride",
    "enable_mathdx_gemm",
    "enable_mathdx_fft",
    "enable_mathdx_solver",
    "cpu_compiler_flags",
    "compile_time_trace",
)
"""Options of modules whose default is the flag of `wp.config` of the same name."""
_OTHERS = {"block_dim": 256, "strip_hash": False, "extra_build_options": None}
"""Further options of modules, and their defaults."""

_LARGEST_BLOCK = 1024
_LARGEST_CLUSTER = 16
_WITHOUT_EFFECT = {"enable_cuda_smem_spilling": bool, "grid_stride": bool, "entry_point_abi": str}
_KNOWN = {*MODULE_OPTIONS, *_OTHERS, "launch_bounds", "cuda_max_registers", "cluster_dim", *_WITHOUT_EFFECT}


class ModuleOptions(MutableMapping):
    """The options of a module: those that were set (`own`), and the defaults of all others, which follow `wp.config`."""

    __slots__ = ("own",)

    def __init__(self) -> None:
        self.own: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.own:
            return self.own[name]
        return _OTHERS[name] if name in _OTHERS else getattr(config, name) if name in MODULE_OPTIONS else self.own[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "deterministic_max_records":
            value = _integer("deterministic_max_records", value)
            if value < 0:
                raise ValueError(f"deterministic_max_records is 0 or more, not {value}")
        elif name not in self.own and name not in MODULE_OPTIONS and name not in _OTHERS:
            logger.note_once(f"the module option {name!r} is not known here and has no effect")
        self.own[name] = value

    def __delitem__(self, name: str) -> None:
        del self.own[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(MODULE_OPTIONS), **_OTHERS, **self.own})

    def __len__(self) -> int:
        return len({*MODULE_OPTIONS, *_OTHERS, *self.own})

    def __repr__(self) -> str:
        return repr(dict(self))


def _integer(what: str, value: object) -> int:
    """A Python integer, or one of NumPy's."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be an integer, not {value!r}")
    return operator.index(value)


def _count(what: str, given: object, most: int | None = None) -> int:
    value = _integer(what, given)
    if value < 1 or (most is not None and value > most):
        raise ValueError(f"{what} is 1 " + ("or more" if most is None else f"to {most}") + f", not {value}")
    return value


def bounds(options: Mapping[str, Any]) -> dict[str, object]:
    """What the compiler is told of a kernel's blocks and registers. TypeError and ValueError for what can't be."""
    given = options.get("launch_bounds")
    registers = options.get("cuda_max_registers")
    found: dict[str, object] = {}
    if given is not None:
        if registers is not None:
            raise ValueError("cuda_max_registers and launch_bounds can't be given together: both decide on registers")
        parts = list(given) if isinstance(given, (tuple, list)) else [given]
        if not 1 <= len(parts) <= 3:
            raise ValueError(
                "launch_bounds is the most threads of a block, or (threads, blocks of a multiprocessor, blocks of a cluster) "
                f"with one to three numbers, not {given!r}"
            )
        limits = (("max_threads", _LARGEST_BLOCK), ("min_blocks", None), ("max_cluster", _LARGEST_CLUSTER))
        for part, (name, most) in zip(parts, limits):
            found[name] = _count("each number of launch_bounds", part, most)
    if registers is not None:
        found["max_registers"] = min(_count("cuda_max_registers", registers), 255)
    return found


def checked(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of a kernel, and its `module_options`. TypeError for names that there are not, and values of the wrong kind;
    options for the tuning of modules that are not known are noted."""
    given = options.pop("module_options", None)
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"module_options must be a dict, got {type(given).__name__}: {given!r}")
    for name in options:
        if name not in _KNOWN:
            raise TypeError(f"kernel() got an unexpected keyword argument {name!r}")
    of_module = dict(given or {})
    both = {**of_module, **options}
    for name, kind in _WITHOUT_EFFECT.items():
        value = both.get(name)
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name} must be of type {kind.__name__}, not {value!r}")
    if both.get("cluster_dim") is not None:
        _count("cluster_dim", both["cluster_dim"], _LARGEST_CLUSTER)
    bounds(both)
    return options, of_module
