"""Settings in force: turns `warp.config` and module options into compile options, and notices changes.

`epoch` counts changes; a kernel remembers the epoch for which it chose its compiled form, so that an unchanged
configuration costs a launch one comparison.
"""

from __future__ import annotations

import sys
import types as _pytypes

from warp import _weft
from warp._src import config

epoch = 0


def bump() -> None:
    """Says that some setting changed."""
    global epoch
    epoch += 1


class _ConfigModule(_pytypes.ModuleType):
    """`warp.config` with assignments noticed."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "cpu_threads":
            _weft.set_thread_limit(int(value))
        if name == "kernel_cache_dir" and value is not None:
            _weft.set_cache_folder(str(value))
        bump()


config.__class__ = _ConfigModule
sys.modules.setdefault("warp.config", config)


def serial() -> bool:
    """Threads in increasing order on one core."""
    return config.cpu_threads == 1


def compile_options(module_options: dict[str, object]) -> dict[str, object]:
    """What the compiler is told, from configuration and a module's or kernel's own options."""

    def pick(name: str) -> object:
        return module_options.get(name, getattr(config, name))

    return {
        "debug": pick("mode") == "debug",
        "verify_fp": bool(config.verify_fp),
        "fuse_fp": bool(pick("fuse_fp")),
        "fast_math": bool(pick("fast_math")),
        "max_unroll": int(pick("max_unroll")),
        # Serial mode keeps threads in strict order: no lanes, unless asked for.
        "lanes": int(config.cpu_lanes) or (1 if serial() else 0),
        "cache": bool(config.cache_kernels),
    }


def codegen_error(text: str) -> Exception:
    """An exception of the class that documented programs catch."""
    from warp._src.errors import WarpCodegenError

    return WarpCodegenError(text)
