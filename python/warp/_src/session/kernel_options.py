"""What `@wp.kernel(…)` takes besides the function: checked where it is written.

Options of modules (`wp.set_module_options`) hold for one kernel here. `launch_bounds` and `cuda_max_registers` are for the
assembler of GPU code: blocks of launches are then no larger, and threads take no more registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MODULE_OPTIONS = (
    "max_unroll",
    "enable_backward",
    "fast_math",
    "fuse_fp",
    "deterministic",
    "lineinfo",
    "cuda_output",
    "cuda_libdevice",
    "mode",
    "optimization_level",
)
"""Options of modules whose default is the flag of `wp.config` of the same name."""

_LARGEST_BLOCK = 1024
_LARGEST_CLUSTER = 16
_WITHOUT_EFFECT = {"enable_cuda_smem_spilling": bool, "grid_stride": bool, "entry_point_abi": str}
_KNOWN = {*MODULE_OPTIONS, "block_dim", "launch_bounds", "cuda_max_registers", "cluster_dim", *_WITHOUT_EFFECT}


def _count(what: str, value: object, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an integer, not {value!r}")
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


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a kernel. TypeError for names that there are not, and values of the wrong kind."""
    inner = options.pop("module_options", None)
    if inner is not None and not isinstance(inner, Mapping):
        raise TypeError(f"module_options is a dictionary, not {inner!r}")
    options = {**(inner or {}), **options}
    for name, value in options.items():
        if name not in _KNOWN:
            raise TypeError(f"kernel() got an unexpected keyword argument {name!r}")
        kind = _WITHOUT_EFFECT.get(name)
        if kind is not None and value is not None and not isinstance(value, kind):
            raise TypeError(f"{name} must be of type {kind.__name__}, not {value!r}")
    if options.get("cluster_dim") is not None:
        _count("cluster_dim", options["cluster_dim"], _LARGEST_CLUSTER)
    bounds(options)
    return options
